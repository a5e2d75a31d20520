"""Requests as the server hands them to the short way of resolve and route."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from control.api import express
from control.asgi import django_application

JSON = ("content-type", "application/json")


@dataclass(frozen=True)
class Heard:
    status: int
    headers: dict[str, str]
    body: Any
    took_the_short_way: bool


async def ask(
    key: str, body: Any, *headers: tuple[str, str], straight: bool = False, path: str = "/api/v1/resolve"
) -> Heard:
    """One request as the server hands it over, its body in two parts; `straight` goes past the short way."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    parts = [
        {"type": "http.request", "body": content[:7], "more_body": True},
        {"type": "http.request", "body": content[7:], "more_body": False},
    ]
    sent: list[Any] = []
    passed: list[bool] = []

    async def receive() -> Any:
        return parts.pop(0) if parts else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    async def otherwise(*arguments: Any) -> None:
        passed.append(True)
        await django_application(*arguments)

    given = [*([("authorization", f"Bearer {key}")] if key else []), *(headers or [JSON])]
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("testserver", 80),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in [("host", "testserver"), *given]],
    }
    if straight:
        await otherwise(scope, receive, send)
    else:
        assert express.takes(scope)
        await express.serve(scope, receive, send, otherwise=otherwise)
    return Heard(
        status=sent[0]["status"],
        headers={name.decode().lower(): value.decode() for name, value in sent[0]["headers"]},
        body=json.loads(b"".join(message.get("body", b"") for message in sent[1:])),
        took_the_short_way=not passed,
    )


def heard(*arguments: Any, **options: Any) -> Heard:
    async def once() -> Heard:
        try:
            return await ask(*arguments, **options)
        finally:
            await express.stop()

    return asyncio.run(once())
