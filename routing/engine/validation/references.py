"""What a document's parts say of each other: every name that is used must exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from routing.engine.naming import EndpointNames, split_name
from routing.engine.policies import IMPLIED
from routing.engine.registry import Capability, Endpoint, Expectation, Policy, Registry, Scope
from routing.engine.validation.expectations import TOOL_LISTS, TOP_LISTS
from routing.engine.validation.problems import Problems, child, item

GROUP = "group:"


class Known:
    """The names that a document defines."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.endpoints = {endpoint.name: endpoint for endpoint in registry.endpoints}
        self._spellings: dict[str, EndpointNames] = {}

    @cached_property
    def capabilities(self) -> set[str]:
        return {capability.name for capability in self.registry.capabilities}

    @cached_property
    def policies(self) -> set[str]:
        return {policy.name for policy in self.registry.policies} | set(IMPLIED)

    @cached_property
    def scopes(self) -> set[str]:
        return {scope.name for scope in self.registry.scopes} | {"default"}

    def spellings(self, endpoint: str) -> EndpointNames:
        if endpoint not in self._spellings:
            tools = self.endpoints[endpoint].tools
            self._spellings[endpoint] = EndpointNames(endpoint, (tool.name for tool in tools))
        return self._spellings[endpoint]


def check_references(registry: Registry, places: Mapping[str, Sequence[str]], problems: Problems) -> None:
    """`places` gives the path of each item that could be read, by list."""
    check = _Check(Known(registry), problems)
    for group, members in registry.groups.items():
        check.endpoints(child("groups", group), members)
    check.pins("gateway.pins", registry.gateway.pins)
    for path, endpoint in zip(places["endpoints"], registry.endpoints, strict=True):
        check.endpoint(path, endpoint)
    for path, capability in zip(places["capabilities"], registry.capabilities, strict=True):
        check.capability(path, capability)
    for path, scope in zip(places["scopes"], registry.scopes, strict=True):
        check.scope(path, scope)
    for path, policy in zip(places["policies"], registry.policies, strict=True):
        check.policy(path, policy)
    for path, expectation in zip(places["expectations"], registry.expectations, strict=True):
        check.expectation(path, expectation)


class _Check:
    def __init__(self, known: Known, problems: Problems) -> None:
        self.known = known
        self.problems = problems

    def endpoint(self, path: str, endpoint: Endpoint) -> None:
        for index, capability in enumerate(endpoint.capabilities):
            self._capability_warning(item(child(path, "capabilities"), index), capability.name)
        for index, adapter in enumerate(endpoint.adapters):
            if "capability" in adapter:
                self._capability_warning(
                    child(item(child(path, "adapters"), index), "capability"), adapter["capability"]
                )
        if endpoint.tool_use_when:
            self._tool_hints(child(path, "tool_use_when"), endpoint)

    def _capability_warning(self, path: str, capability: str) -> None:
        if capability not in self.known.capabilities:
            self.problems.warn(path, f"no capability of this document is named {capability}")

    def _tool_hints(self, path: str, endpoint: Endpoint) -> None:
        names = self.known.spellings(endpoint.name)
        met: dict[str, str] = {}
        for key in endpoint.tool_use_when:
            wire = names.wire_of_key(key)
            if wire is None:
                self.problems.warn(child(path, key), "meets no tool of this endpoint")
            elif wire in met:
                self.problems.warn(child(path, key), f"means the same tool as {met[wire]}: both lists count")
            else:
                met[wire] = key

    def capability(self, path: str, capability: Capability) -> None:
        self.endpoints(child(path, "prefer"), capability.prefer)
        replacement = capability.replaced_by
        if replacement is not None and (replacement not in self.known.capabilities or replacement == capability.name):
            self.problems.add(child(path, "replaced_by"), "names no other capability", value=replacement)

    def scope(self, path: str, scope: Scope) -> None:
        for index, named in enumerate(scope.endpoints or ()):
            place = item(child(path, "endpoints"), index)
            if not named.startswith(GROUP):
                self.endpoint_name(place, named)
            elif named.removeprefix(GROUP) not in self.known.registry.groups:
                self._unknown(place, "group", named, self.known.registry.groups)
        for index, named in enumerate(scope.tools or ()):
            self.tool_name(item(child(path, "tools"), index), named)
        for index, named in enumerate(scope.deny):
            self._endpoint_or_tool(item(child(path, "deny"), index), named)
        self.pins(child(path, "pins"), scope.pins or ())
        self._policy(child(path, "policy"), scope.policy)
        for index, named in enumerate(scope.policies or ()):
            self._policy(item(child(path, "policies"), index), named)
        if scope.default_endpoint is not None:
            self.endpoint_name(child(path, "default_endpoint"), scope.default_endpoint)

    def policy(self, path: str, policy: Policy) -> None:
        selection, turns, execution = child(path, "selection"), child(path, "turns"), child(path, "execution")
        self.endpoints(child(selection, "fallback_endpoints"), policy.selection.get("fallback_endpoints", ()))
        if policy.turns.get("summarizer") is not None:
            self.endpoint_name(child(turns, "summarizer"), policy.turns["summarizer"])
        for index, rule in enumerate(policy.execution.get("rules", ())):
            if "endpoint" in rule:
                self.endpoint_name(child(item(child(execution, "rules"), index), "endpoint"), rule["endpoint"])

    def expectation(self, path: str, expectation: Expectation) -> None:
        if expectation.scope not in self.known.scopes:
            self._unknown(child(path, "scope"), "scope", expectation.scope, self.known.scopes)
        self.endpoints(child(path, "offline"), expectation.offline)
        if expectation.endpoint is not None:
            self.endpoint_name(child(path, "endpoint"), expectation.endpoint)
        if expectation.search is not None:
            return
        place = child(path, "expect")
        if expectation.expect.get("recommendation") is not None:
            self.tool_name(child(place, "recommendation"), expectation.expect["recommendation"])
        for key in TOOL_LISTS:
            self._tools(child(place, key), expectation.expect.get(key, ()))
        for key in TOP_LISTS:
            self._tools(child(child(place, key), "tools"), expectation.expect.get(key, {}).get("tools", ()))

    def pins(self, path: str, pins: Iterable[str]) -> None:
        for index, pin in enumerate(pins):
            self._endpoint_or_tool(item(path, index), pin.removesuffix("__*"))

    def endpoints(self, path: str, names: Iterable[str]) -> None:
        for index, named in enumerate(names):
            self.endpoint_name(item(path, index), named)

    def endpoint_name(self, path: str, named: str) -> None:
        if named not in self.known.endpoints:
            self._unknown(path, "endpoint", named, self.known.endpoints)

    def tool_name(self, path: str, named: str) -> None:
        """A tool in either spelling. Tools of an MCP endpoint that was not asked yet cannot be checked: a warning."""
        parts = split_name(named)
        if parts is None or parts[0] not in self.known.endpoints:
            self.problems.add(path, "names no tool of this document", value=named, allowed="ENDPOINT__TOOL")
        elif self.known.spellings(parts[0]).wire(parts[1]) is None:
            endpoint = self.known.endpoints[parts[0]]
            if endpoint.kind == "mcp" and not endpoint.tools:
                self.problems.warn(path, f"the tools of {endpoint.name} are not known yet: {named[:200]} meets none")
            else:
                names = self.known.spellings(parts[0])
                some = [names.public(wire) for wire in sorted(names.fragments)[:20]]
                self.problems.add(path, f"{endpoint.name} has no such tool", value=named, allowed=some)

    def _tools(self, path: str, names: Iterable[str]) -> None:
        for index, named in enumerate(names):
            self.tool_name(item(path, index), named)

    def _endpoint_or_tool(self, path: str, named: str) -> None:
        if split_name(named) is None:
            self.endpoint_name(path, named)
        else:
            self.tool_name(path, named)

    def _policy(self, path: str, named: str) -> None:
        if named not in self.known.policies:
            self._unknown(path, "policy", named, self.known.policies)

    def _unknown(self, path: str, noun: str, named: str, known: Iterable[str]) -> None:
        self.problems.add(path, f"names no {noun} of this document", value=named, allowed=sorted(known)[:20])
