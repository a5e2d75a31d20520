"""Reading what an MCP server offers, over streamable HTTP: who it is, and its tools, page by page. Nothing is called.

Bounded in pages, tools, bytes and time, whatever the server does; what it says is taken as data and never repeated in an
error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from routing.providers.transport import CallFailed, Reply, Server, refuse

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # the newest is asked for
ASKED = "2025-06-18"
MOST_PAGES = 200
MOST_TOOLS = 5_000
MOST_BYTES = 16 * 2**20  # of all answers together
PATIENCE_S = 60.0  # for all of it
_STEP_S = 20.0  # for one answer
_LEAST_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a server says about itself when it is met; `name` and `version` are its own words, cut short."""

    protocol: str
    name: str
    version: str
    has_tools: bool


@dataclass(slots=True)
class McpReader:
    """One conversation with one server. `headers` may hold a secret, as `secret` says; `is_unwanted` ends it early.

    Every method raises CallFailed.
    """

    server: Server
    headers: Mapping[str, str] = field(default_factory=dict)
    secret: bool = False
    patience_s: float = PATIENCE_S
    is_unwanted: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.monotonic
    _deadline: float = 0.0
    _read: int = 0
    _session: str = ""
    _protocol: str = ""
    _number: int = 0

    def greet(self) -> Greeting:
        """Initialize: agree on a version of the protocol and take the session's id where there is one."""
        self._deadline = self.clock() + self.patience_s
        wanted = {"protocolVersion": ASKED, "capabilities": {}, "clientInfo": {"name": "switchyard", "version": "1"}}
        result = self._ask("initialize", wanted)
        protocol = result.get("protocolVersion")
        if protocol not in VERSIONS:
            raise CallFailed("it speaks a version of MCP that is not known here", "protocol")
        self._protocol = protocol
        self._tell("notifications/initialized")
        about = result.get("serverInfo")
        about = about if isinstance(about, Mapping) else {}
        able = result.get("capabilities")
        return Greeting(
            protocol=protocol,
            name=str(about.get("name", ""))[:100],
            version=str(about.get("version", ""))[:40],
            has_tools=isinstance(able, Mapping) and "tools" in able,
        )

    def tools(self, progress: Callable[[int, int], None] = lambda pages, tools: None) -> list[Any]:
        """All tools as the server lists them; `progress` hears the pages and tools so far."""
        found: list[Any] = []
        seen: set[str] = set()
        cursor: str | None = None
        for page in range(1, MOST_PAGES + 1):
            result = self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
            listed = result.get("tools")
            if not isinstance(listed, list):
                raise CallFailed("its list of tools is none", "protocol")
            found += listed
            if len(found) > MOST_TOOLS:
                raise CallFailed(f"it lists more than {MOST_TOOLS:,} tools", "size")
            progress(page, len(found))
            cursor = result.get("nextCursor")
            if cursor is None or cursor == "":
                return found
            if not isinstance(cursor, str) or cursor in seen:
                raise CallFailed("its pages of tools lead back to each other", "protocol")
            seen.add(cursor)
        raise CallFailed(f"it lists its tools on more than {MOST_PAGES} pages", "size")

    def leave(self) -> None:
        """End the session where there is one; a server that minds is left alone."""
        if not self._session:
            return
        try:
            with self._asking("DELETE", None):
                pass
        except CallFailed:
            pass

    # --- messages -----------------------------------------------------------------------------------------------------
    def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        with self._asking("POST", message) as reply:
            self._check(reply)
            self._session = self._session or reply.headers.get("mcp-session-id", "")[:512]
            answer = self._answer(reply, self._number)
        if isinstance(answer.get("error"), Mapping):
            raise CallFailed(f"it answers {method} with an error", "protocol")
        result = answer.get("result")
        if not isinstance(result, Mapping):
            raise CallFailed("what it answers is not MCP", "protocol")
        return result

    def _tell(self, method: str) -> None:
        with self._asking("POST", {"jsonrpc": "2.0", "method": method}) as reply:
            if reply.status not in (200, 202, 204):
                self._check(reply)

    def _asking(self, verb: str, message: Mapping[str, Any] | None) -> Any:
        left = self._deadline - self.clock()
        if left <= 0:
            raise CallFailed("it did not answer in time", "timeout")
        if self.is_unwanted():
            raise CallFailed("it was stopped", "cancelled")
        return self.server.asking(
            verb,
            None,
            message,
            headers={**self.headers, "Accept": "application/json, text/event-stream", **self._own()},
            secret=self.secret,
            timeout_s=max(_LEAST_S, min(left, _STEP_S)),
            most=MOST_BYTES - self._read,
            is_unwanted=self.is_unwanted,
        )

    def _own(self) -> dict[str, str]:
        own = {"MCP-Protocol-Version": self._protocol} if self._protocol else {}
        return own | ({"Mcp-Session-Id": self._session} if self._session else {})

    def _check(self, reply: Reply) -> None:
        if reply.status in (400, 404, 405, 406, 415):
            ended = self._session and reply.status == 404
            said = "it has ended the session" if ended else f"no MCP server answers there (status {reply.status})"
            raise CallFailed(said, "protocol")
        refuse(reply)

    def _answer(self, reply: Reply, number: int) -> Mapping[str, Any]:
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            messages: Iterator[Any] = self._streamed(reply)
        elif kind == "application/json":
            messages = iter([self._json(b"".join(self._counted(reply)))])
        else:
            raise CallFailed("what it answers is not MCP", "protocol")
        for message in messages:
            for one in message if isinstance(message, list) else [message]:
                if isinstance(one, Mapping) and one.get("id") == number and ("result" in one or "error" in one):
                    return one
        raise CallFailed("it ended its answer before it had answered", "protocol")

    def _counted(self, reply: Reply) -> Iterator[bytes]:
        for piece in reply.pieces:
            self._read += len(piece)
            yield piece

    def _streamed(self, reply: Reply) -> Iterator[Any]:
        """The messages of a stream of events; what is a comment or has no data is passed over."""
        data: list[bytes] = []
        for line in _lines(self._counted(reply)):
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield self._json(b"\n".join(data))
                data = []
        if data:
            yield self._json(b"\n".join(data))

    @staticmethod
    def _json(text: bytes) -> Any:
        try:
            return orjson.loads(text)
        except ValueError:
            raise CallFailed("what it answers is not MCP", "protocol") from None


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Lines without their ends, which may be LF or CRLF."""
    rest: list[bytes] = []
    for piece in pieces:
        first, *others = piece.split(b"\n")
        rest.append(first)
        for other in others:
            yield b"".join(rest).removesuffix(b"\r")
            rest = [other]
    yield b"".join(rest).removesuffix(b"\r")
