"""Provider accounts of registries, each with one pool of connections in this process.

An account is a decision provider that asks where its registry entry says, through the breaker that all processes share and
together with whoever asks the same at the same time. Its key is read from its reference at each call and kept nowhere.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from routing import bus
from routing.engine.errors import InvalidProviderResponse, ProviderError
from routing.engine.models import ChoiceDecision
from routing.engine.registry import Provider
from routing.models import Actor, Workspace
from routing.providers.addresses import Destinations
from routing.sealing import keyed_digest
from routing.services import audit
from routing.services.providers import flights, loop
from routing.services.providers.breakers import CLOSED, Admission, Breaker
from routing.services.providers.figures import Call
from routing.snapshot import Live

# Faults of the request, not of the provider: they say nothing about whether the next one is answered.
_OURS = ("request", "refused")
calls_made: ContextVar[list[Call] | None] = ContextVar("calls_made", default=None)


class Account:
    """A decision provider over HTTP. `choose` runs on the loop of `services.providers.loop`.

    Raises RouterConfigurationError where its credential cannot be read, besides what a provider raises.
    """

    def __init__(self, workspace_id: Any, entry: Provider, allow: Destinations) -> None:
        from routing.providers import OpenRouterJevProvider  # a process that asks nobody needs no HTTP client

        self.name = entry.name
        self.entry = entry
        self.breaker = breaker_of(workspace_id, entry)
        self._workspace_id = workspace_id
        self._provider = OpenRouterJevProvider.from_account(entry, allow=allow)

    @property
    def identity(self) -> str:
        return self._provider.identity

    @property
    def most_labels(self) -> int | None:
        return self._provider.most_labels

    async def choose(
        self,
        *,
        state: str,
        instructions: str,
        criteria: Mapping[str, str],
        timeout_s: float | None = None,
        takes_recent: bool = True,
    ) -> ChoiceDecision:
        """As a provider chooses. `takes_recent`: an answer that another process was given a moment ago will do."""
        limit = self.entry.timeout_s if timeout_s is None else min(timeout_s, self.entry.timeout_s)
        asked = [str(self._workspace_id), self.name, self.identity, state, instructions, *map(str, criteria.items())]
        return await flights.shared(
            keyed_digest("flight", "\0".join(asked)),
            lambda: self._ask(state, instructions, criteria, limit),
            takes_recent=takes_recent,
            patience_s=limit,
        )

    async def _ask(
        self, state: str, instructions: str, criteria: Mapping[str, str], timeout_s: float
    ) -> ChoiceDecision:
        admission = await asyncio.to_thread(self.breaker.admit)
        if not admission.passes:
            self._note(Call(provider=self.name, took_ms=0.0, requests=0, failure="open"))
            wait = max(1, round(admission.wait_s))
            raise ProviderError(f"it failed again and again and is left alone for {wait} s", kind="open")
        began = time.monotonic()
        try:
            choice = await self._provider.choose(
                state=state, instructions=instructions, criteria=criteria, timeout_s=timeout_s
            )
        except (ProviderError, InvalidProviderResponse) as problem:
            await self._failed(admission, problem, began)
            raise
        except BaseException:  # cancelled, or not set up: nothing is known of the provider
            await asyncio.to_thread(self.breaker.let_go, admission)
            raise
        self._note(
            Call(
                provider=self.name,
                took_ms=(time.monotonic() - began) * 1000,
                requests=choice.requests,
                model=choice.model,
                usage=choice.usage,
            )
        )
        await asyncio.to_thread(self.breaker.worked, admission)
        return choice

    async def _failed(
        self, admission: Admission, problem: ProviderError | InvalidProviderResponse, began: float
    ) -> None:
        kind = failure_of(problem)
        took_ms = (time.monotonic() - began) * 1000
        self._note(Call(provider=self.name, took_ms=took_ms, requests=problem.requests, failure=kind))
        if kind in _OURS:
            await asyncio.to_thread(self.breaker.let_go, admission)
        else:
            await asyncio.to_thread(self.breaker.failed, admission, kind)

    @staticmethod
    def _note(call: Call) -> None:
        noted = calls_made.get()
        if noted is not None:
            noted.append(call)

    async def aclose(self) -> None:
        await self._provider.aclose()


def failure_of(problem: ProviderError | InvalidProviderResponse) -> str:
    """The class of a failure, as it is counted and shown."""
    return "answer" if isinstance(problem, InvalidProviderResponse) else problem.kind or "unknown"


def breaker_of(workspace_id: Any, entry: Provider) -> Breaker:
    return Breaker(
        workspace_id=workspace_id,
        provider=entry.name,
        failures=entry.breaker_failures,
        open_s=entry.breaker_open_s,
        # Whoever probes has been heard of by then, or has died.
        probe_s=entry.timeout_s + 1,
    )


class _Accounts:
    """The accounts of this process, by workspace and name; an entry that changed gets a new one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[Any, str], tuple[Provider, tuple[str, ...], Account]] = {}

    def of(self, live: Live, entry: Provider) -> Account:
        """Raises RouterConfigurationError for an entry that nobody can be asked by."""
        key = (live.workspace_id, entry.name)
        with self._lock:
            known = self._kept.get(key)
            if known is not None and known[:2] == (entry, live.allow_private):
                return known[2]
            account = Account(live.workspace_id, entry, Destinations.of(live.allow_private))
            self._kept[key] = (entry, live.allow_private, account)
        if known is not None:  # whoever is being answered through its connections keeps them until then
            loop.later(known[0].timeout_s + 1, known[2].aclose())
        return account


_accounts = _Accounts()
of = _accounts.of


def close_breaker(workspace: Workspace, entry: Provider, *, by: Actor) -> bool:
    """Let calls to an account pass again at once; False where the bus is away and only this process hears of it."""
    breaker = breaker_of(workspace.pk, entry)
    was = breaker.standing()
    before = {"state": was.state, "failures": was.failures, "last": was.kind}
    audit.record(
        workspace.pk, "provider.breaker_closed", f"provider {entry.name}", by=by, before=before, after={"state": CLOSED}
    )
    try:
        breaker.reset()
    except bus.BusAway:
        return False
    return True
