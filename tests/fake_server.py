"""A server on loopback that answers what a test wants, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, Any]


@dataclass
class FakeServer:
    reply: Callable[[str, str, Any], Reply]
    url: str = ""
    asked: list[tuple[str, str, Any, dict[str, str]]] = field(default_factory=list)
    delay_s: float = 0.0


@contextmanager
def serving(reply: Callable[[str, str, Any], Reply]) -> Iterator[FakeServer]:
    """`reply(method, path, body)` gives status and body: JSON, or bytes as they are."""
    fake = FakeServer(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            fake.asked.append((self.command, self.path, body, dict(self.headers)))
            time.sleep(fake.delay_s)
            status, answer = fake.reply(self.command, self.path, body)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
