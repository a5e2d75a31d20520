"""Which tool, by the policy's providers: each in its order until one answers, and what that came to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from routing.engine.config import RoutingConfig
from routing.engine.decision_table import undecided, validate_tools
from routing.engine.errors import (
    InvalidProviderResponse,
    ProviderError,
    ProviderTimeoutError,
    RouterConfigurationError,
    UnknownToolError,
)
from routing.engine.models import HarnessState, RouteDecision, RoutingMode, ToolDescriptor, Usage
from routing.engine.policies import EffectivePolicy
from routing.engine.registry import Provider
from routing.errors import RoutingError
from routing.services.providers import figures, routers, settings
from routing.services.providers.accounts import calls_made
from routing.services.providers.figures import Call
from routing.snapshot import Live

N = TypeVar("N", int, float)
NO_KEY = "missing_openrouter_api_key"
_NO_ANSWER = ("provider_error", "router_error")


class RouteFailed(RoutingError):
    """Mode jev_only: no provider answered, and the planner is not to decide in its place. `code` tells how it failed."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """A decision, who made it, and what it took. `provider` is None where nobody was asked."""

    decision: RouteDecision
    provider: str | None = None
    model: str | None = None
    requests: int = 0
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """What came of asking one provider: a decision, or a failure with its reason for hybrid and its error for jev_only."""

    provider: str
    decision: RouteDecision | None = None
    reason: str = ""
    error: RouteFailed | None = None


def decide(
    live: Live,
    policy: EffectivePolicy,
    scope: str | None,
    state: HarnessState,
    tools: Sequence[ToolDescriptor],
) -> Routed:
    """The decision under a policy; `scope` None for tools that a caller brings. Blocks while providers are waited for.

    Raises RouteFailed in mode jev_only where no provider answers, ValueError for tools that cannot be told apart.
    """
    early = undecided_under(policy, tools)
    if early is not None:
        return Routed(decision=early)
    made: list[Call] = []
    try:
        with _noting(made):
            attempts = list(_attempts(live, policy, scope, state, tools))
    finally:
        if made:
            figures.record(live.workspace_id, made)
    last = attempts[-1]
    if last.decision is None or last.decision.fallback_reason in _NO_ANSWER:
        return _unanswered(policy, attempts, made)
    return _answered(live, last.provider, last.decision, made, stands_in=len(attempts) > 1)


def by_one(
    live: Live,
    policy: EffectivePolicy,
    scope: str | None,
    provider: str,
    state: HarnessState,
    tools: Sequence[ToolDescriptor],
) -> RouteDecision | None:
    """What one provider alone would decide under a policy; None where it does not answer."""
    made: list[Call] = []
    try:
        with _noting(made):
            entries = routers.entries_of(live, [provider])
            attempt = _attempt(live, policy, scope, entries[0], state, tools) if entries else None
    finally:
        if made:
            figures.record(live.workspace_id, made)
    if attempt is None or attempt.decision is None or attempt.decision.fallback_reason in _NO_ANSWER:
        return None
    return attempt.decision


def undecided_under(policy: EffectivePolicy, tools: Sequence[ToolDescriptor]) -> RouteDecision | None:
    """The decision where no provider is asked; ValueError where one would be and the tools cannot be told apart."""
    early = undecided(RoutingConfig(mode=policy.router["mode"]), tools)
    if early is None:
        validate_tools(tools)
    return early


def longest_s(live: Live, policy: EffectivePolicy) -> float:
    """How long a decision may take at most while all of its accounts are waited for in vain."""
    entries = routers.entries_of(live, policy.router["providers"])
    return sum(2 * entry.timeout_s for entry in entries if entry.kind != "local")


def _attempts(
    live: Live, policy: EffectivePolicy, scope: str | None, state: HarnessState, tools: Sequence[ToolDescriptor]
) -> Iterator[_Attempt]:
    """One provider after another, until one has answered."""
    for entry in routers.entries_of(live, policy.router["providers"]):
        attempt = _attempt(live, policy, scope, entry, state, tools)
        yield attempt
        if attempt.decision is not None and attempt.decision.fallback_reason not in _NO_ANSWER:
            return


def _attempt(
    live: Live,
    policy: EffectivePolicy,
    scope: str | None,
    entry: Provider,
    state: HarnessState,
    tools: Sequence[ToolDescriptor],
) -> _Attempt:
    try:
        if entry.kind == "local":
            return _Attempt(provider=entry.name, decision=routers.local(live, policy, scope)(state, tools))
        if not figures.has_budget(live.workspace_id, entry.name):
            _note(Call(provider=entry.name, took_ms=0.0, requests=0, failure="budget"))
            return _failed(entry, "provider_error", "its budget for this month is spent", "provider_error")
        decision = routers.remote(live, policy, entry)(state, tools)
        return _Attempt(provider=entry.name, decision=decision, reason=decision.fallback_reason or "")
    except RouterConfigurationError as problem:
        _note(Call(provider=entry.name, took_ms=0.0, requests=0, failure="unconfigured"))
        return _failed(entry, NO_KEY, str(problem), "provider_unconfigured")
    except ProviderTimeoutError:
        return _failed(entry, "provider_error", _WORDS["timeout"], "provider_timeout")
    except ProviderError as problem:
        return _failed(entry, "provider_error", words_for(problem), "provider_error")
    except (InvalidProviderResponse, UnknownToolError):
        return _failed(entry, "router_error", "what it answered is no decision", "invalid_provider_response")


# An error's own words may quote what the provider said, and that may quote what it was asked.
_WORDS: Mapping[str, str] = {
    "credential": "its credential is not accepted",
    "payment": "its account has no credit",
    "request": "it refuses the request",
    "overload": "it is overloaded",
    "server": "it has a fault",
    "redirect": "it answers with a redirect, and none is followed",
    "connection": "it cannot be reached",
    "timeout": "it did not answer in time",
    "refused": "nothing was sent: its address or the request is not allowed",
    "open": "it failed again and again and is left alone for a while",
}


def words_for(problem: ProviderError) -> str:
    """What a failure means to operators, in words that quote nobody."""
    words = _WORDS.get(problem.kind or "", "it did not answer")
    return f"{words} (status {problem.status})" if problem.status else words


def _failed(entry: Provider, reason: str, words: str, code: str) -> _Attempt:
    return _Attempt(provider=entry.name, reason=reason, error=RouteFailed(f"Provider {entry.name}: {words}.", code))


def _unanswered(policy: EffectivePolicy, attempts: Sequence[_Attempt], made: Sequence[Call]) -> Routed:
    """Nobody answered. What is told is the failure of the last that could be asked at all."""
    told = next((one for one in reversed(attempts) if one.reason != NO_KEY), attempts[-1])
    if policy.router["mode"] == RoutingMode.JEV_ONLY and told.error is not None:
        raise told.error
    asked = told.reason != NO_KEY
    decision = told.decision or RouteDecision(
        fallback=True, fallback_reason=told.reason, source="provider" if asked else "none"
    )
    return Routed(decision=decision, provider=told.provider, requests=_sent(made))


def _answered(live: Live, provider: str, decision: RouteDecision, made: Sequence[Call], *, stands_in: bool) -> Routed:
    is_local = all(entry.kind == "local" for entry in routers.entries_of(live, [provider]))
    own = [call for call in made if call.provider == provider and not call.failure]
    fresh = decision.source == "provider"
    if fresh and not is_local and not own:
        decision = replace(decision, source="coalesced")  # another process asked for all of it
    if fresh and is_local and stands_in:
        decision = replace(decision, source="local")
    return Routed(
        decision=decision,
        provider=provider,
        model=next((answer.model for answer in reversed(decision.answers) if answer.model), None),
        requests=_sent(made) + int(fresh and is_local),
        usage=_usage(live, own),
    )


def _sent(made: Iterable[Call]) -> int:
    return sum(call.requests for call in made)


def _usage(live: Live, made: Sequence[Call]) -> Usage | None:
    """What the answers of one decision came to; None where none told."""
    told = [(call, call.usage) for call in made if call.usage is not None]
    if not told:
        return None
    costs = [figures.cost_of(usage, settings.of(live.workspace_id, call.provider).token_price) for call, usage in told]
    return Usage(
        input_tokens=_total([usage.input_tokens for _, usage in told]),
        output_tokens=_total([usage.output_tokens for _, usage in told]),
        cost=_total(costs),
    )


def _total(numbers: Sequence[N | None]) -> N | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _note(call: Call) -> None:
    made = calls_made.get()
    if made is not None:
        made.append(call)


@contextmanager
def _noting(made: list[Call]) -> Iterator[None]:
    token = calls_made.set(made)
    try:
        yield
    finally:
        calls_made.reset(token)
