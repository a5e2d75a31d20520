"""Decisions and events as the API gives them: filters, keyset pages, and the two shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from routing.choices import DecisionType
from routing.errors import InvalidRequest, NotFound
from routing.events import timestamp
from routing.models import Decision, Event

Record = dict[str, Any]


def decisions(
    workspace_id: Any, scope: str | None, filters: Mapping[str, Any], after: str | None, limit: int
) -> tuple[list[Record], str | None]:
    """A page of decisions, newest first, and the mark of the next page. `scope` None reads all scopes."""
    rows = _filtered(Decision.objects.in_scope(workspace_id, scope), filters, "created_at")
    if after is not None:
        rows = rows.filter(pk__lt=_uuid(after))
    found = list(rows.order_by("-id")[: limit + 1])
    return [decision_record(row) for row in found[:limit]], str(found[limit - 1].pk) if len(found) > limit else None


def events(
    workspace_id: Any, scope: str | None, filters: Mapping[str, Any], after: str | None, limit: int
) -> tuple[list[Record], str | None]:
    """A page of the ledger, newest first."""
    rows = Event.objects.filter(workspace_id=workspace_id).select_related("workspace")
    rows = _filtered(rows if scope is None else rows.filter(scope=scope), filters, "at")
    if after is not None:
        rows = rows.filter(seq__lt=_number(after))
    found = list(rows.order_by("-seq")[: limit + 1])
    return [event_record(row) for row in found[:limit]], str(found[limit - 1].seq) if len(found) > limit else None


def decision(workspace_id: Any, scope: str | None, decision_id: UUID) -> Record:
    """One decision in full, with its events in order; NotFound outside workspace and scope."""
    row = Decision.objects.in_scope(workspace_id, scope).filter(pk=decision_id).first()
    if row is None:
        raise NotFound()
    own = Event.objects.filter(workspace_id=workspace_id, decision_id=str(decision_id), scope=row.scope).select_related(
        "workspace"
    )
    return decision_record(row) | {
        "thresholds": row.thresholds,
        "candidates": row.candidates,
        "execution": row.execution,
        "answer": row.answer if row.type in (DecisionType.ROUTE, DecisionType.SEARCH) else None,
        "events": [event_record(event) for event in own.order_by("seq")],
    }


def decision_record(row: Decision) -> Record:
    return {
        "id": str(row.pk),
        "type": row.type,
        "state": row.state,
        "at": timestamp(row.created_at),
        "scope": row.scope,
        "harness": row.harness,
        "session_id": row.session_id,
        "policy": row.policy,
        "revision": row.revision,
        "catalog_revision": row.catalog_revision,
        "target": row.target,
        "status": row.status,
        "reason_codes": row.reason_codes,
        "confidence": _confidence(row),
        "probability": row.probability,
        "source": row.source,
        "fallback_reason": row.fallback_reason,
        "latency_ms": row.latency_ms,
        "achieved": {"invoked": row.invoked, "transport": row.transport, "domain": row.domain},
    }


def event_record(row: Event) -> Record:
    return {
        "id": row.event_id,
        "seq": row.seq,
        "at": timestamp(row.at),
        "recorded_at": timestamp(row.recorded_at),
        "kind": row.kind,
        "workspace": row.workspace.name,
        "scope": row.scope,
        "harness": row.harness,
        "decision_id": row.decision_id,
        "session_id": row.session_id,
        "invocation_id": row.invocation_id,
        "revision": row.revision,
        "target": row.target,
        "status": row.status,
        "reason_codes": row.reason_codes,
        "data": row.data,
        "prev_hash": row.prev_hash,
        "hash": row.hash,
    }


def _confidence(row: Decision) -> str | float | None:
    """A number for a route or a search, a word for everything that is resolved."""
    if row.confidence is None or row.type not in (DecisionType.ROUTE, DecisionType.SEARCH):
        return row.confidence
    return float(row.confidence)


def _filtered(rows: QuerySet[Any], filters: Mapping[str, Any], moment: str) -> QuerySet[Any]:
    plain = dict(filters)
    conditions: dict[str, Any] = {}
    if (code := plain.pop("reason_code", None)) is not None:
        conditions["reason_codes__has_word"] = code
    if (since := plain.pop("since", None)) is not None:
        conditions[f"{moment}__gte"] = since
    if (until := plain.pop("until", None)) is not None:
        conditions[f"{moment}__lt"] = until
    return rows.filter(**conditions, **plain)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise _bad_mark() from None


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise _bad_mark()
    return int(text)


def _bad_mark() -> InvalidRequest:
    return InvalidRequest(
        "after: is no mark of a page", [{"path": "after", "message": "must be the `next` of an earlier answer"}]
    )
