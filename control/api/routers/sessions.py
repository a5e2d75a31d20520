"""Sessions: steps, fallbacks and loops of a piece of work, counted for every process alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router

from control.api.answers import answer
from control.api.auth import caller, needs
from control.api.schemas import out
from control.api.schemas.sessions import ExecutionIn, ResetIn, SessionIn
from routing.services import sessions
from routing.services.decisions import Caller
from routing.services.sessions import Session

router = Router(tags=["sessions"])


@router.post(
    "/sessions",
    auth=needs("decide"),
    summary="Begin a session",
    operation_id="open_session",
    response={201: out.SessionOut, **out.ERRORS},
)
async def open_session(request: HttpRequest, data: SessionIn) -> HttpResponse:
    return await _told(201, sessions.open_session, caller(request), policy=data.policy, ttl_s=data.ttl_s)


@router.get(
    "/sessions/{session_id}",
    auth=needs("decide"),
    summary="A session as it stands",
    operation_id="get_session",
    response={200: out.SessionOut, **out.ERRORS},
)
async def get_session(request: HttpRequest, session_id: str) -> HttpResponse:
    return await _told(200, sessions.find, caller(request), session_id)


@router.post(
    "/sessions/{session_id}/executions",
    auth=needs("decide"),
    summary="Tell a session what was run, and hear whether that closes a loop",
    operation_id="record_execution",
    response={200: out.RecordedOut, **out.ERRORS},
)
async def record_execution(request: HttpRequest, session_id: str, data: ExecutionIn) -> HttpResponse:
    return answer(await sync_to_async(_recorded)(caller(request), session_id, data))


@router.post(
    "/sessions/{session_id}/reset",
    auth=needs("decide"),
    summary="Close a session's circuit, or forget its steps and executions too",
    operation_id="reset_session",
    response={200: out.SessionOut, **out.ERRORS},
)
async def reset_session(request: HttpRequest, session_id: str, data: ResetIn) -> HttpResponse:
    return await _told(200, sessions.reset, caller(request), session_id, data.what)


async def _told(status: int, service: Callable[..., Session], *args: Any, **kwargs: Any) -> HttpResponse:
    def told() -> dict[str, Any]:
        return sessions.describe(service(*args, **kwargs))

    return answer(await sync_to_async(told)(), status)


def _recorded(who: Caller, session_id: str, data: ExecutionIn) -> dict[str, Any]:
    session, loop = sessions.record_execution(
        who, session_id, tool=data.tool, arguments=data.arguments, result_class=data.result_class
    )
    return {
        "loop": loop is not None,
        "kind": loop.kind if loop else None,
        "period": loop.period if loop else None,
        "session": sessions.describe(session),
    }
