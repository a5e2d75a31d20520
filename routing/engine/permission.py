"""What a harness may see: permission on exact (endpoint, wire name) pairs.

A tool is permitted when the list of endpoints and the list of tools both permit it and `deny` does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from routing.engine.naming import ToolNames
from routing.engine.registry import Scope

GROUP = "group:"
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """A scope with its groups opened and its names made exact. None permits all."""

    endpoints: frozenset[str] | None
    tools: frozenset[Pair] | None
    denied_endpoints: frozenset[str]
    denied_tools: frozenset[Pair]

    def permit(self, endpoint: str, wire: str) -> bool:
        pair = (endpoint, wire)
        if endpoint in self.denied_endpoints or pair in self.denied_tools:
            return False
        return (self.endpoints is None or endpoint in self.endpoints) and (self.tools is None or pair in self.tools)

    def permit_some(self, endpoint: str) -> bool:
        """Whether a tool of this endpoint may be permitted, as far as the endpoint's name alone tells."""
        if endpoint in self.denied_endpoints or (self.endpoints is not None and endpoint not in self.endpoints):
            return False
        return self.tools is None or any(pair[0] == endpoint for pair in self.tools)


def rules(scope: Scope, groups: Mapping[str, tuple[str, ...]], names: ToolNames) -> Rules:
    denied_tools, denied_endpoints = set(), set()
    for name in scope.deny:
        pair = names.pair(name)
        if pair is None:
            denied_endpoints.add(name)
        else:
            denied_tools.add(pair)
    return Rules(
        endpoints=None if scope.endpoints is None else frozenset(_opened(scope.endpoints, groups)),
        tools=None if scope.tools is None else frozenset(pair for name in scope.tools if (pair := names.pair(name))),
        denied_endpoints=frozenset(denied_endpoints),
        denied_tools=frozenset(denied_tools),
    )


def _opened(entries: Iterable[str], groups: Mapping[str, tuple[str, ...]]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        found.extend(groups.get(entry.removeprefix(GROUP), ()) if entry.startswith(GROUP) else (entry,))
    return found
