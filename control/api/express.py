"""POST /resolve on the shortest way, from the server to the service.

Harnesses ask this more often than everything else together, and Django's handler costs more than the judgement: it gives
every request a thread and sends it through middleware that has nothing to say to a machine. What is usual (a known key
with its right, a body in shape, a scope that is decided in this process) is answered here, on the event loop. All else,
every refusal and every fault included, goes the ordinary way (`control.api.routers.recommendations`), which sees the
request as it was sent: so one place alone knows what is wrong and how it is told.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from control.api.auth import caller_of, harness_by
from control.api.parsing import BODY_LIMIT
from control.api.schemas.recommendations import ResolveIn
from control.middleware import SECURITY_HEADERS, id_for
from routing.bus import Handover
from routing.errors import RoutingError
from routing.generation import is_kept_fresh
from routing.services import decisions

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]

PATH = "/api/v1/resolve"
RIGHT = "decide"
_JSON = (b"application/json", b"application/json; charset=utf-8", b"")
_HEADERS = [
    (b"content-type", b"application/json"),
    *((name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()),
]
logger = logging.getLogger(__name__)
_handover = Handover()


def takes(scope: Mapping[str, Any]) -> bool:
    return bool(scope["path"] == PATH and scope["type"] == "http" and scope["method"] == "POST")


async def serve(scope: Mapping[str, Any], receive: Receive, send: Send, *, otherwise: Application) -> None:
    """Answer a request that `takes` it; what is not usual about it is left to the application `otherwise`."""
    request = _Request(receive)
    content = await _content(dict(scope["headers"]), scope, request)
    if content is None:
        await otherwise(scope, request.again, send)
        return
    body, request_id = content
    headers = [*_HEADERS, (b"x-request-id", request_id), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def stop() -> None:
    """Let go of the bus, at the end of the process."""
    await _handover.close()


async def _content(
    headers: Mapping[bytes, bytes], scope: Mapping[str, Any], request: _Request
) -> tuple[bytes, bytes] | None:
    """The body of the answer and the request's id; None for what is not usual."""
    # A header that was sent twice is for Django to make sense of.
    if len(headers) != len(scope["headers"]) or headers.get(b"content-type", b"").lower() not in _JSON:
        return None
    if not is_kept_fresh():
        return None
    address = (scope.get("client") or ("",))[0]
    harness = harness_by(headers.get(b"authorization", b"").decode("latin-1"), address)
    if harness is None or RIGHT not in harness.rights:
        return None
    asked = _asked(await request.body())
    if asked is None:
        return None
    try:
        caller = caller_of(harness)
        if not decisions.needs_no_worker(caller):
            return None
        answer = await decisions.resolve_on_loop(
            _handover,
            caller,
            asked.text(),
            max_hits=asked.max_hits,
            explain=asked.explain,
            tier=asked.tier,
            session_id=asked.session_id,
        )
    except RoutingError:
        return None
    except Exception as error:
        # Its message may quote what was asked. The ordinary way will meet it again, and tells of it.
        logger.warning("a resolve goes the ordinary way after %s", type(error).__name__)
        return None
    return orjson.dumps(answer), id_for(headers.get(b"x-request-id", b"").decode("latin-1")).encode()


def _asked(body: bytes | None) -> ResolveIn | None:
    if body is None:
        return None
    try:
        return ResolveIn.model_validate(orjson.loads(body))
    except (orjson.JSONDecodeError, ValidationError):
        return None


class _Request:
    """What the server hands over of a request, kept so that somebody else can be given it from the beginning."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._seen: list[Message] = []

    async def body(self) -> bytes | None:
        """The whole body; None when it is too large or its sender is gone."""
        size = 0
        while True:
            message = await self._receive()
            self._seen.append(message)
            size += len(message.get("body", b""))
            if message["type"] != "http.request" or size > BODY_LIMIT:
                return None
            if not message.get("more_body", False):
                return b"".join(seen.get("body", b"") for seen in self._seen)

    async def again(self) -> Message:
        """The server's `receive`, from the first message on."""
        return self._seen.pop(0) if self._seen else await self._receive()
