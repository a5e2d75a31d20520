"""Answers as JSON, and waiting for those that a worker makes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from asgiref.sync import sync_to_async
from django.http import HttpResponse

from control.hub import hub
from routing.models import Decision

# A message on the bus may be lost, so a waiting answer also looks at its row this often.
LOOK_AGAIN_S = 0.5


def answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(orjson.dumps(body), status=status, content_type="application/json", headers=headers)


def promise(row: Decision, poll: str) -> HttpResponse:
    """202: the work is kept and will be done; `poll` tells where its answer will be."""
    body = {"decision_id": str(row.pk), "state": row.state, "poll": poll}
    return answer(body, 202, {"Location": poll})


async def await_decision(decision_id: str, accept: Callable[[], Decision], wait_ms: int) -> Decision:
    """Hand work over with `accept`, then wait until the decision is final or the time is over; returns its row."""
    deadline = time.monotonic() + wait_ms / 1000
    with hub.expect(decision_id) as finished:
        row = await sync_to_async(accept)()
        while not row.is_final and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(finished.wait(), min(left, LOOK_AGAIN_S))
            row = await sync_to_async(Decision.objects.get)(pk=decision_id)
    return row
