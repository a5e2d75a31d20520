"""The names of a configuration in our spelling, wherever they are used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from routing.engine.naming import EndpointNames, public_name


def as_text(name: object) -> object:
    """A name that a file writes as a bare number is the text of that number, as the key is that it names."""
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


class Names:
    """Old server names and their new ones; `tools` holds the wire names of the servers whose tools are known."""

    def __init__(self, servers: Mapping[str, str], tools: Mapping[str, Iterable[str]]) -> None:
        self._servers = servers
        self._spellings = {server: EndpointNames(server, wires) for server, wires in tools.items()}

    def server(self, old: str) -> str:
        return self._servers.get(old, old)

    def tool(self, old: str) -> str:
        """A tool's full name. The longest server name that fits is meant: `a_` and `a___b` exist there."""
        server = max((name for name in self._servers if old.startswith(f"{name}__")), key=len, default=None)
        if server is None or self._servers[server] == server:
            return old
        part = old[len(server) + 2 :]
        wire = self._spellings[server].wire(part) if server in self._spellings else None
        return public_name(self._servers[server], wire or part)

    def pin(self, old: str) -> str:
        if old in self._servers:
            return self.server(old)
        everything = old.removesuffix("__*")
        return f"{self.server(everything)}__*" if everything != old else self.tool(old)

    def hint_key(self, server: str, key: str) -> str:
        """A key of `tool_use_when` of a renamed server: the wire name where it is known."""
        if server not in self._spellings:
            return key
        return self._spellings[server].wire_of_key(key.strip()) or key
