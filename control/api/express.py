"""POST /resolve and POST /route on the shortest way, from the server to the service.

Harnesses ask these more often than everything else together, and Django's handler costs more than the judgement: it gives
every request a thread, which opens the database anew, and sends it through middleware that has nothing to say to a machine.
What is usual (a known key with its right, a body in shape, a scope that may ask this) is answered here, on the event loop.
All else, every refusal and every fault included, goes the ordinary way (`control.api.routers.recommendations`), which sees
the request as it was sent: so one place alone knows what is wrong and how it is told. Only a route that was handed to the
database is never handed over twice: from there on its end, whatever it is, is told from here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from django.http import HttpResponse
from pydantic import ValidationError
from uuid_utils.compat import uuid7

from control.api.answers import awaited, outcome
from control.api.auth import caller_of, harness_by
from control.api.errors import problem_of
from control.api.parsing import BODY_LIMIT
from control.api.schemas.recommendations import ResolveIn, RouteIn
from control.middleware import SECURITY_HEADERS, id_for
from routing.bus import Handover
from routing.errors import RoutingError, Unavailable
from routing.generation import is_kept_fresh
from routing.services import decisions
from routing.services.decisions import Caller

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]

RIGHT = "decide"
_JSON = (b"application/json", b"application/json; charset=utf-8", b"")
_HEADERS = [
    (b"content-type", b"application/json"),
    *((name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()),
]
logger = logging.getLogger(__name__)
_handover = Handover()
_desk = decisions.Desk()


def takes(scope: Mapping[str, Any]) -> bool:
    return bool(scope["path"] in _WAYS and scope["type"] == "http" and scope["method"] == "POST")


async def serve(scope: Mapping[str, Any], receive: Receive, send: Send, *, otherwise: Application) -> None:
    """Answer a request that `takes` it; what is not usual about it is left to the application `otherwise`."""
    request = _Request(receive)
    headers = dict(scope["headers"])
    request_id = id_for(headers.get(b"x-request-id", b"").decode("latin-1"))
    reply = await _reply(headers, scope, request, request_id)
    if reply is None:
        await otherwise(scope, request.again, send)
        return
    length = (b"content-length", str(len(reply.body)).encode())
    sent = [*_HEADERS, *reply.headers, (b"x-request-id", request_id.encode()), length]
    await send({"type": "http.response.start", "status": reply.status, "headers": sent})
    await send({"type": "http.response.body", "body": reply.body})


async def stop() -> None:
    """Let go of bus and database, at the end of the process."""
    await _handover.close()
    await _desk.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    body: bytes
    status: int = 200
    headers: Sequence[tuple[bytes, bytes]] = ()


async def _reply(
    headers: Mapping[bytes, bytes], scope: Mapping[str, Any], request: _Request, request_id: str
) -> _Reply | None:
    """None for what is not usual."""
    # A header that was sent twice is for Django to make sense of.
    if len(headers) != len(scope["headers"]) or headers.get(b"content-type", b"").lower() not in _JSON:
        return None
    if not is_kept_fresh():
        return None
    address = (scope.get("client") or ("",))[0]
    harness = harness_by(headers.get(b"authorization", b"").decode("latin-1"), address)
    if harness is None or RIGHT not in harness.rights:
        return None
    body = await request.body()
    if body is None:
        return None
    try:
        return await _WAYS[scope["path"]](caller_of(harness), orjson.loads(body), request_id)
    except (orjson.JSONDecodeError, ValidationError, RoutingError):
        return None
    except Exception as error:
        # Its message may quote what was asked. The ordinary way will meet it again, and tells of it.
        logger.warning("a %s goes the ordinary way after %s", scope["path"], type(error).__name__)
        return None


async def _resolve(caller: Caller, body: Any, _: str) -> _Reply | None:
    asked = ResolveIn.model_validate(body)
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
    return _Reply(body=orjson.dumps(answer))


async def _route(caller: Caller, body: Any, request_id: str) -> _Reply:
    asked = RouteIn.model_validate(body)
    decision_id = str(uuid7())
    draft = partial(decisions.draft_route, decision_id, caller, asked.asked())
    # A session is asked on the bus, which may keep whoever asks waiting.
    drafted = draft() if asked.session_id is None else await asyncio.to_thread(draft)
    try:
        row = await awaited(decision_id, lambda: _desk.keep(drafted), lambda: _desk.look(decision_id), asked.wait_ms)
    except Unavailable as refused:
        return _as_reply(problem_of(request_id, refused.code, refused.message))
    except Exception as error:
        if drafted.row._state.adding:
            raise
        # It is kept, and the ordinary way would keep it once more. What became of it cannot be seen now.
        logger.warning("a route is promised after %s", type(error).__name__)
        row = drafted.row
    return _as_reply(outcome(row, request_id))


_WAYS: Mapping[str, Callable[[Caller, Any, str], Awaitable[_Reply | None]]] = {
    "/api/v1/resolve": _resolve,
    "/api/v1/route": _route,
}


def _as_reply(response: HttpResponse) -> _Reply:
    more = [(name.lower().encode(), value.encode()) for name, value in response.items() if name != "Content-Type"]
    return _Reply(body=response.content, status=response.status_code, headers=more)


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
