"""Public tool names: `<endpoint>__<fragment>`, and the way back from any spelling to the exact pair.

The fragment is the wire name less a leading `<endpoint>_` or `<endpoint>-`, unless that would meet another tool. Names of
endpoints hold no double underscore and do not end in an underscore, so the first `__` always separates the two parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

SEPARATOR = "__"


def public_fragments(endpoint: str, wire_names: Iterable[str]) -> dict[str, str]:
    """Wire name -> public fragment. No two fragments are equal, and none equals the wire name of another tool."""
    wires = sorted(set(wire_names))
    taken = set(wires)
    fragments: dict[str, str] = {}
    for wire in wires:
        short = _stripped(endpoint, wire)
        if short in taken:
            short = wire
        taken.add(short)
        fragments[wire] = short
    return fragments


def public_name(endpoint: str, fragment: str) -> str:
    return f"{endpoint}{SEPARATOR}{fragment}"


def split_name(name: str) -> tuple[str, str] | None:
    """The endpoint's part and the tool's part of a full name; None when either is missing."""
    endpoint, separator, tool = name.partition(SEPARATOR)
    return (endpoint, tool) if separator and endpoint and tool else None


class EndpointNames:
    """The spellings of one endpoint's tools."""

    __slots__ = ("_wire_of", "endpoint", "fragments")

    def __init__(self, endpoint: str, wire_names: Iterable[str]) -> None:
        self.endpoint = endpoint
        self.fragments = public_fragments(endpoint, wire_names)
        self._wire_of = {fragment: wire for wire, fragment in self.fragments.items()}

    def wire(self, spelling: str) -> str | None:
        """The wire name for a part after `__`: as published, as made public, or with a prefix that was never there."""
        if spelling in self.fragments:
            return spelling
        if spelling in self._wire_of:
            return self._wire_of[spelling]
        short = _stripped(self.endpoint, spelling)
        # `hitspec__hitspec_fetch` was once the public name of a tool that is published as plain `fetch`.
        return short if short in self.fragments else None

    def wire_of_key(self, key: str) -> str | None:
        """The wire name for a key of `tool_use_when`: with or without the endpoint's part."""
        found = self.wire(key)
        if found is None and (parts := split_name(key)) and parts[0] == self.endpoint:
            found = self.wire(parts[1])
        return found

    def public(self, wire: str) -> str:
        return public_name(self.endpoint, self.fragments[wire])


class ToolNames:
    """Every spelling of every tool of some endpoints, leading to the one exact pair and the one public name.

    `of_endpoint` gives the spellings of the endpoint of a name, None for one that is not there.
    """

    __slots__ = ("_of_endpoint",)

    def __init__(self, of_endpoint: Callable[[str], EndpointNames | None]) -> None:
        self._of_endpoint = of_endpoint

    def pair(self, name: str) -> tuple[str, str] | None:
        parts = split_name(name)
        if parts is None or (names := self._of_endpoint(parts[0])) is None:
            return None
        wire = names.wire(parts[1])
        return None if wire is None else (parts[0], wire)

    def public(self, name: str, endpoint: str | None = None) -> str:
        """The public name of a tool in any spelling, the plain wire name too where its endpoint is given; what names no
        tool stays as it is."""
        pair = self.pair(name) or (None if endpoint is None else self.pair(public_name(endpoint, name)))
        names = None if pair is None else self._of_endpoint(pair[0])
        return name if pair is None or names is None else names.public(pair[1])


def canonicalise(name: str, endpoints: Mapping[str, Iterable[str]]) -> tuple[str, str] | None:
    """Either spelling of a full name -> the exact (endpoint, wire name); None when there is no such tool."""
    parts = split_name(name)
    if parts is None or parts[0] not in endpoints:
        return None
    wire = EndpointNames(parts[0], endpoints[parts[0]]).wire(parts[1])
    return None if wire is None else (parts[0], wire)


def _stripped(endpoint: str, wire: str) -> str:
    for prefix in (f"{endpoint}_", f"{endpoint}-"):
        if wire.startswith(prefix) and len(wire) > len(prefix):
            return wire[len(prefix) :]
    return wire
