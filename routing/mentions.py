"""Who names an endpoint or one of its tools: every place of a registry that refers to them, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from routing.engine.registry import Capability, Expectation, Policy, Registry, Scope
from routing.engine.validation.expectations import TOOL_LISTS, TOP_LISTS

GROUP = "group:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """`noun` and `name` say what refers to `target`, an endpoint or a tool in either spelling; `place` says where in it."""

    noun: str  # scope, policy, capability, expectation, group or gateway
    name: str  # empty for the gateway, of which there is one
    place: str  # "in its list of endpoints"
    target: str

    @property
    def endpoint(self) -> str:
        return self.target.partition("__")[0]

    @property
    def who(self) -> str:
        return f"{self.noun} {self.name}" if self.name else f"the {self.noun}"


def of_endpoints(registry: Registry, endpoints: Iterable[str]) -> list[Mention]:
    """What refers to these endpoints or to tools of theirs."""
    wanted = set(endpoints)
    return [one for one in every(registry) if one.endpoint in wanted]


def every(registry: Registry) -> Iterator[Mention]:
    """All references to endpoints and tools, in the order of the document."""
    yield from _all("gateway", "", "among its pins", registry.gateway.pins)
    for group, members in registry.groups.items():
        yield from _all("group", group, "as a member", members)
    for capability in registry.capabilities:
        yield from _capability(capability)
    for scope in registry.scopes:
        yield from _scope(scope, registry)
    for policy in registry.policies:
        yield from _policy(policy)
    for expectation in registry.expectations:
        yield from _expectation(expectation)


def _all(noun: str, name: str, place: str, targets: Iterable[str]) -> Iterator[Mention]:
    for target in targets:
        yield Mention(noun=noun, name=name, place=place, target=target)


def _capability(capability: Capability) -> Iterator[Mention]:
    yield from _all("capability", capability.name, "among the endpoints that it prefers", capability.prefer)


def _scope(scope: Scope, registry: Registry) -> Iterator[Mention]:
    for named in scope.endpoints or ():
        if named.startswith(GROUP):
            group = named.removeprefix(GROUP)
            yield from _all("scope", scope.name, f"through its group {group}", registry.groups.get(group, ()))
        else:
            yield from _all("scope", scope.name, "in its list of endpoints", [named])
    yield from _all("scope", scope.name, "in its list of tools", scope.tools or ())
    yield from _all("scope", scope.name, "among what it denies", scope.deny)
    yield from _all("scope", scope.name, "among its pins", scope.pins or ())
    if scope.default_endpoint is not None:
        yield from _all("scope", scope.name, "as its default endpoint", [scope.default_endpoint])


def _policy(policy: Policy) -> Iterator[Mention]:
    fallbacks = policy.selection.get("fallback_endpoints", ())
    yield from _all("policy", policy.name, "among its fallback endpoints", fallbacks)
    if policy.turns.get("summarizer") is not None:
        yield from _all("policy", policy.name, "as the summarizer of turns", [policy.turns["summarizer"]])
    for number, rule in enumerate(policy.execution.get("rules", ()), 1):
        named = [rule[key] for key in ("endpoint", "tool") if rule.get(key)]
        yield from _all("policy", policy.name, f"in execution rule {number}", named)


def _expectation(expectation: Expectation) -> Iterator[Mention]:
    yield from _all("expectation", expectation.name, "as an endpoint that is away", expectation.offline)
    if expectation.endpoint is not None:
        yield from _all("expectation", expectation.name, "as its endpoint", [expectation.endpoint])
    if expectation.search is not None:
        return  # its tools are those of its own graph
    expect = expectation.expect
    named = [expect["recommendation"]] if expect.get("recommendation") else []
    named += [tool for key in TOOL_LISTS for tool in expect.get(key, ())]
    named += [tool for key in TOP_LISTS for tool in expect.get(key, {}).get("tools", ())]
    yield from _all("expectation", expectation.name, "in what it expects", named)
