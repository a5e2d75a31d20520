"""A server that speaks `/v1/embeddings`, real over HTTP: for tests of what asks it. It counts, and it can misbehave."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SLOW_S = 1.0


class Embeddings:
    """`mode`: well, away, status, redirect, garbage, short, nan, slow, drip, huge."""

    def __init__(self, encode: Callable[[str], list[float]]) -> None:
        self.encode = encode
        self.mode = "well"
        self.texts: list[str] = []
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.url = ""

    def answer(self, texts: list[str]) -> bytes:
        rows = [
            {"object": "embedding", "index": place, "embedding": self.encode(text)} for place, text in enumerate(texts)
        ]
        if self.mode == "short":
            rows = rows[1:]
        if self.mode == "nan":
            rows[0]["embedding"] = [0.0] * 3
        body = json.dumps({"object": "list", "data": rows[::-1], "model": "fake"})
        return b"<html>" if self.mode == "garbage" else body.encode()


@contextmanager
def embeddings_server(encode: Callable[[str], list[float]]) -> Iterator[Embeddings]:
    told = Embeddings(encode)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if told.mode == "away":  # connections that are kept open end with the server
                self.close_connection = True
                return
            told.requests.append((self.path, dict(self.headers), body))
            told.texts.extend(body["input"])
            if told.mode == "slow":
                time.sleep(SLOW_S)
            content = told.answer(body["input"])
            self.send_response({"status": 503, "redirect": 307}.get(told.mode, 200))
            if told.mode == "redirect":
                self.send_header("Location", f"{told.url}/elsewhere")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(2**31 if told.mode == "huge" else len(content)))
            self.end_headers()
            self._write(content)

        def _write(self, content: bytes) -> None:
            try:
                if told.mode == "huge":
                    for _ in range(200):
                        self.wfile.write(b" " * 2**20)
                elif told.mode == "drip":
                    for place in range(len(content)):
                        self.wfile.write(content[place : place + 1])
                        self.wfile.flush()
                        time.sleep(0.05)
                else:
                    self.wfile.write(content)
            except OSError:
                self.close_connection = True  # whoever asked has gone

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        told.mode = "away"
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
