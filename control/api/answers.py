"""Answers as JSON, and waiting for those that a worker makes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import orjson
from asgiref.sync import sync_to_async
from django.http import HttpResponse

from control.api.errors import problem_of
from control.hub import hub
from routing.choices import DecisionState
from routing.models import Decision, Replay

Row = TypeVar("Row", Decision, Replay)

# A message on the bus may be lost, so a waiting answer also looks at its row this often.
LOOK_AGAIN_S = 0.5


def answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(orjson.dumps(body), status=status, content_type="application/json", headers=headers)


def promise(row: Decision | Replay, poll: str, **more: str) -> HttpResponse:
    """202: the work is kept and will be done; `poll` tells where its answer will be. A replay is no decision."""
    decision_id = str(row.pk) if isinstance(row, Decision) else None
    body = {"decision_id": decision_id, **more, "state": row.state, "poll": poll}
    return answer(body, 202, {"Location": poll})


async def await_decision(decision_id: str, accept: Callable[[], Decision], wait_ms: int) -> Decision:
    """Hand work over with `accept`, then wait until the decision is final or the time is over; returns its row."""
    return await await_final(Decision, decision_id, accept, wait_ms)


async def await_final(model: type[Row], pk: str, accept: Callable[[], Row], wait_ms: int) -> Row:
    """The same for whatever a worker makes and the bus announces as final."""
    look = sync_to_async(model._default_manager.get)
    return await awaited(pk, sync_to_async(accept), lambda: look(pk=pk), wait_ms)


async def awaited(
    pk: str, accept: Callable[[], Awaitable[Row]], look: Callable[[], Awaitable[Row]], wait_ms: int
) -> Row:
    """Accept work, then look at it whenever there may be news of it, until it is final or the time is over."""
    deadline = time.monotonic() + wait_ms / 1000
    with hub.expect(pk) as finished:
        row = await accept()
        while not row.is_final and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(finished.wait(), min(left, LOOK_AGAIN_S))
            row = await look()
    return row


def outcome(row: Decision, request_id: str) -> HttpResponse:
    """What is answered for a decision of a worker: its answer, why there is none, or where it will be."""
    if row.state == DecisionState.FINISHED:
        return answer(row.answer)
    if not row.is_final:
        return promise(row, f"/api/v1/decisions/{row.pk}")
    details = [{"path": "decision_id", "message": row.error or "failed", "value": str(row.pk)}]
    words = "No provider answered, and this policy leaves nothing to the planner." if row.error_code else _NOT_MADE
    return problem_of(request_id, row.error_code or "unavailable", words, details)


_NOT_MADE = "The decision was kept but could not be made."
