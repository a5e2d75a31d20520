"""A decision service on a real socket: for tests of what asks one. It counts connections, and it can misbehave.

`script` says how each request is answered, in their order; the last entry holds for all that follow. An entry is the name of
a mode, a mapping (the body of an answer), or bytes (whatever they are):

    ok               the first label, with a distribution
    fallback         the label that says that nothing fits
    rounding         all labels alike, rounded to two decimals
    no_confidence, no_probabilities, wrong_type, unknown_label, list, truncated, huge
    status:503       that status; status:429:2 with Retry-After: 2; redirect
    echo:490         status 401 whose body says the key after so many characters
    slow, drip       the answer comes late, or byte by byte; `slow_s` says how late
    hang, reset      no answer at all; late_reset resets after `slow_s`
    html             a page of another kind, as gateways answer; as_text is a good answer under a wrong content type
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

FALLBACK = "__fallback__"
MODEL = "typesafe/jev-1.13-20260917"
USAGE = {"input_tokens": 241, "output_tokens": 18, "cost": 0.0000108}


@dataclass
class Request:
    path: str
    headers: dict[str, str]  # names in small letters
    body: dict[str, Any]
    raw: bytes
    port: int = 0  # from which it was asked

    @property
    def labels(self) -> list[str]:
        return list(self.body["questions"]["route"]["criteria"])

    @property
    def key(self) -> str:
        return self.headers["authorization"].removeprefix("Bearer ")


@dataclass
class FakeDecisions:
    script: list[str | bytes | Mapping[str, Any]] = field(default_factory=lambda: ["ok"])
    slow_s: float = 0.3
    latency_s: float = 0.0  # of every answer
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    connections: int = 0  # accepted so far
    open: int = 0
    most_open: int = 0

    def answer(self, mode: str, request: Request) -> Any:
        labels = request.labels
        first, rest = labels[0], labels[1:]
        share = round(0.1 / len(rest), 2)
        route: dict[str, Any] = {
            "type": "choice",
            "choice": first,
            "probabilities": {first: 0.9, **dict.fromkeys(rest, share)},
            "confidence": 0.87,
        }
        match mode:
            case "fallback":
                route |= {"choice": FALLBACK, "probabilities": {FALLBACK: 0.9}}
            case "rounding":
                route |= {"probabilities": dict.fromkeys(labels, round(1 / len(labels), 2)), "confidence": 0.0}
            case "no_confidence":
                del route["confidence"]
            case "no_probabilities":
                del route["probabilities"]
            case "wrong_type":
                route = {"type": "noul", "noul": 0.7}
            case "unknown_label":
                route["choice"] = "nobody-offered-this"
            case "list":
                return [route]
        answered = {"answers": {"route": route}, "model": MODEL, "id": f"gen-{len(self.requests)}"}
        return answered | {"provider": "TypeSafe", "usage": USAGE}

    async def reply(self, request: Request, writer: asyncio.StreamWriter) -> None:
        mode = self.script[min(len(self.requests), len(self.script)) - 1]
        name, *more = mode.split(":") if isinstance(mode, str) else ("",)
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        match name:
            case "status":
                pause = {"Retry-After": more[1]} if len(more) > 1 else {}
                error = {"error": {"message": "not now", "code": int(more[0])}}
                writer.write(_response(int(more[0]), json.dumps(error).encode(), **pause))
            case "redirect":
                writer.write(_response(307, b"", Location=f"{self.url}/elsewhere"))
            case "echo":
                writer.write(_response(401, b"x" * int(more[0]) + f"{request.key} is no key".encode()))
            case "truncated":
                writer.write(_response(200, json.dumps(self.answer("ok", request)).encode()[:-9]))
            case "huge":
                writer.write(_response(200, b" " * 2**22))
            case "hang":
                await asyncio.sleep(60)
            case "reset" | "late_reset":
                if name == "late_reset":
                    await asyncio.sleep(self.slow_s)
                _reset(writer)
            case "html":
                writer.write(_response(200, b"<html><title>502</title></html>", Content_Type="text/html"))
            case "as_text":
                body = json.dumps(self.answer("ok", request)).encode()
                writer.write(_response(200, body, Content_Type="text/plain"))
            case "drip":
                for byte in _response(200, json.dumps(self.answer("ok", request)).encode()):
                    writer.write(bytes([byte]))
                    await asyncio.sleep(0.02)
            case _:
                if name == "slow":
                    await asyncio.sleep(self.slow_s)
                body = mode if isinstance(mode, bytes) else None
                told = mode if isinstance(mode, Mapping) else self.answer(name, request)
                writer.write(_response(200, body if body is not None else json.dumps(told).encode()))
        with contextlib.suppress(ConnectionError):
            await writer.drain()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            while (request := await _read(reader)) is not None:
                if complaint := _complaint(request):
                    writer.write(_response(400, json.dumps({"error": {"message": complaint, "code": 400}}).encode()))
                    continue
                request.port = writer.get_extra_info("peername")[1]
                self.requests.append(request)
                await self.reply(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # whoever asked has gone, or the server ends
        finally:
            self.open -= 1
            writer.close()


def _complaint(request: Request) -> str | None:
    """What the real service would refuse."""
    if not request.headers.get("authorization", "").startswith("Bearer "):
        return "no key"
    if request.headers.get("content-type") != "application/json":
        return "no JSON"
    if not {"model", "state", "questions"} <= set(request.body):
        return "a part is missing"
    question = request.body["questions"].get("route", {})
    return None if set(question) == {"type", "instructions", "criteria"} else "malformed question"


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value.encode("latin-1").decode(errors="replace") for name, value in pairs}
    raw = await reader.readexactly(int(headers["content-length"]))
    return Request(path=head[0].split()[1], headers=headers, body=json.loads(raw), raw=raw)


def _response(status: int, body: bytes, **headers: str) -> bytes:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    told = {"Content-Type": "application/json", "Content-Length": str(len(body)), **named}
    lines = [f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in told.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _reset(writer: asyncio.StreamWriter) -> None:
    told = writer.get_extra_info("socket")
    told.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextmanager
def decisions_server(*script: str | bytes | Mapping[str, Any], **settings: Any) -> Iterator[FakeDecisions]:
    """A running server on a port of this machine, in a thread of its own."""
    told = FakeDecisions(**settings)
    if script:
        told.script = list(script)
    ready = threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        stop = asyncio.Event()
        running.append((asyncio.get_running_loop(), stop))
        server = await asyncio.start_server(told.serve, "127.0.0.1", 0, backlog=256)
        told.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        await stop.wait()
        server.close()  # connections that are open end with the loop

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield told
    finally:
        ((loop, stop),) = running
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
