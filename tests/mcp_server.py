"""An MCP server on loopback that speaks streamable HTTP as the protocol has it: sessions, versions, pages, JSON or events."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class McpServer:
    tools: list[dict[str, Any]]
    page: int = 2
    streams: bool = False
    secret: str = ""  # a bearer token that it asks for
    protocol: str = ""  # what it insists on instead of what is asked
    loops: bool = False  # its last page leads to the first
    delay_s: float = 0.0
    url: str = ""
    sessions: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    waits: threading.Event = field(default_factory=threading.Event)  # set when it is asked for tools

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] == "initialize":
            return {
                "protocolVersion": self.protocol or message["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": False}},
                "serverInfo": {"name": "a test", "version": "1.0"},
            }
        first = int(message.get("params", {}).get("cursor", "0"))
        following = first + self.page
        more = following < len(self.tools)
        next_cursor = {"nextCursor": str(following if more else 0)} if more or self.loops else {}
        return {"tools": self.tools[first:following], **next_cursor}


@contextmanager
def serving(tools: list[dict[str, Any]], **about: Any) -> Iterator[McpServer]:
    mcp = McpServer(tools, **about)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            mcp.asked.append(message["method"])
            mcp.headers.append({key.lower(): value for key, value in self.headers.items()})
            if mcp.secret and self.headers.get("Authorization") != f"Bearer {mcp.secret}":
                return self._send(401, b"")
            if "text/event-stream" not in self.headers.get("Accept", ""):
                return self._send(406, b"")
            if message["method"] == "initialize":
                session = f"session-{len(mcp.sessions) + 1}"
                mcp.sessions.add(session)
                return self._reply(message, {"Mcp-Session-Id": session})
            if self.headers.get("Mcp-Session-Id") not in mcp.sessions:
                return self._send(404, b"")
            if not self.headers.get("MCP-Protocol-Version"):
                return self._send(400, b"")
            if "id" not in message:
                return self._send(202, b"")
            mcp.waits.set()
            time.sleep(mcp.delay_s)
            return self._reply(message, {})

        def do_DELETE(self) -> None:
            mcp.sessions.discard(self.headers.get("Mcp-Session-Id", ""))
            self._send(204, b"")

        def _reply(self, message: dict[str, Any], headers: dict[str, str]) -> None:
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": mcp.answer(message)})
            if not mcp.streams:
                return self._send(200, body.encode(), {**headers, "Content-Type": "application/json; charset=utf-8"})
            note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}})
            stream = f": hello\r\nevent: message\r\ndata: {note}\r\n\r\nid: 2\nevent: message\ndata: {body}\n\n"
            return self._send(200, stream.encode(), {**headers, "Content-Type": "text/event-stream"})

        def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    mcp.url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    try:
        yield mcp
    finally:
        server.shutdown()
        server.server_close()
