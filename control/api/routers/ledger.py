"""Report what happened; read decisions and events of one's own scope."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import ValidationError

from control.api.answers import answer
from control.api.auth import needs
from control.api.errors import detail_of
from control.api.pagination import mark, only_known, read_mark
from control.api.schemas import out
from control.api.schemas.ledger import DecisionFilters, EventFilters, EventIn, EventsIn
from control.keys import Harness
from routing import records
from routing.errors import NotFound
from routing.services import ledger

router = Router(tags=["ledger"])
_DATA = ("duration_ms", "attempt", "result_bytes", "tokens_in", "tokens_out", "cost")
_NOT_FILTERS = {"limit", "after"}


@router.post(
    "/events",
    auth=needs("report"),
    summary="Report invocations and outcomes",
    operation_id="report_events",
    response={200: out.EventsAcceptedOut, **out.ERRORS},
)
async def report(request: HttpRequest, data: EventsIn) -> HttpResponse:
    harness: Harness = request.auth  # type: ignore[attr-defined]
    good, rejected = _read(data.events)
    kept = await sync_to_async(ledger.accept)(
        harness.workspace_id, harness.scope, harness.name, [item for _, item in good]
    )
    for place in kept.conflicts:
        index, item = good[place]
        rejected.append(_rejection(index, item.id, "idempotency_conflict", "this id was used for another event", []))
    return answer(
        {
            "accepted": kept.accepted,
            "duplicates": kept.duplicates,
            "rejected": sorted(rejected, key=lambda r: r["index"]),
        }
    )


def _read(events: list[dict[str, Any]]) -> tuple[list[tuple[int, ledger.Report]], list[dict[str, Any]]]:
    """The events that can be kept, with their places, and the others with what is wrong."""
    good, rejected = [], []
    for index, raw in enumerate(events):
        try:
            good.append((index, _report(EventIn.model_validate(raw))))
        except ValidationError as error:
            details = [detail_of({**item, "loc": ("body", "events", *item["loc"])}) for item in error.errors()]
            rejected.append(_rejection(index, raw.get("id"), "invalid_request", details[0]["message"], details))
    return good, rejected


def _report(event: EventIn) -> ledger.Report:
    return ledger.Report(
        id=event.id,
        kind=event.kind,
        target=event.target,
        at=event.at,
        decision_id=event.decision_id,
        session_id=event.session_id,
        invocation_id=event.invocation_id,
        status=event.status,
        reason_codes=tuple(event.reason_codes),
        data={name: getattr(event, name) for name in _DATA},
    )


def _rejection(index: int, event_id: Any, code: str, message: str, details: list[dict[str, Any]]) -> dict[str, Any]:
    shown = event_id[:64] if isinstance(event_id, str) else None
    return {"index": index, "id": shown, "error": {"code": code, "message": message, "details": details}}


@router.get(
    "/events",
    auth=needs("read"),
    summary="The ledger, newest first",
    operation_id="list_events",
    response={200: out.EventPageOut, **out.ERRORS},
)
async def events(request: HttpRequest, data: Query[EventFilters]) -> HttpResponse:
    harness: Harness = request.auth  # type: ignore[attr-defined]
    only_known(request, EventFilters)
    filters = data.model_dump(exclude_none=True, exclude=_NOT_FILTERS)
    rows, following = await sync_to_async(records.events)(
        harness.workspace_id, harness.scope, filters, read_mark(data.after), data.limit
    )
    return answer({"items": rows, "next": mark(following) if following else None})


@router.get(
    "/decisions",
    auth=needs("read"),
    summary="Decisions, newest first",
    operation_id="list_decisions",
    response={200: out.DecisionPageOut, **out.ERRORS},
)
async def decisions(request: HttpRequest, data: Query[DecisionFilters]) -> HttpResponse:
    harness: Harness = request.auth  # type: ignore[attr-defined]
    only_known(request, DecisionFilters)
    filters = data.model_dump(exclude_none=True, exclude=_NOT_FILTERS)
    rows, following = await sync_to_async(records.decisions)(
        harness.workspace_id, harness.scope, filters, read_mark(data.after), data.limit
    )
    return answer({"items": rows, "next": mark(following) if following else None})


@router.get(
    "/decisions/{decision_id}",
    auth=needs("read"),
    summary="One decision with its events",
    operation_id="get_decision",
    response={200: out.DecisionDetailOut, **out.ERRORS},
)
async def decision(request: HttpRequest, decision_id: str) -> HttpResponse:
    harness: Harness = request.auth  # type: ignore[attr-defined]
    try:
        key = UUID(decision_id)
    except ValueError:
        raise NotFound() from None
    return answer(await sync_to_async(records.decision)(harness.workspace_id, harness.scope, key))
