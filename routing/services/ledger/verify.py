"""Prove the chain, or name the first number at which it cannot be shown to hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from routing.events import GENESIS, chain_hash, timestamp
from routing.models import ChainHead, Event, Workspace

CHUNK = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    workspace: str
    start: int
    end: int
    checked: int
    first_bad: int | None = None
    reason: str | None = None  # hash | prev_hash | gap | order

    @property
    def ok(self) -> bool:
        return self.first_bad is None

    def as_dict(self) -> dict[str, Any]:
        return {
            "workspace": self.workspace,
            "from": self.start,
            "to": self.end,
            "checked": self.checked,
            "ok": self.ok,
            "first_bad": self.first_bad,
            "reason": self.reason,
        }


def verify(workspace: Workspace, start: int | None = None, end: int | None = None) -> Verification:
    """Walk the chain from `start` (default 1) to `end` (default its newest row) and recompute every hash.

    A range that starts later trusts the row before it. Rows missing at the end are found by the chain's head.
    """
    head = ChainHead.objects.filter(workspace=workspace).first()
    newest = Event.objects.filter(workspace=workspace).order_by("-seq").values_list("seq", flat=True).first() or 0
    first, last = start or 1, end if end is not None else max(newest, head.seq if head else 0)
    bad, reason, checked = _walk(workspace, first, last)
    if bad is None and end is None and head is not None:
        bad, reason = _against_head(workspace, head, newest)
    return Verification(workspace=workspace.name, start=first, end=last, checked=checked, first_bad=bad, reason=reason)


def _walk(workspace: Workspace, first: int, last: int) -> tuple[int | None, str | None, int]:
    before, expected, checked = _hash_before(workspace, first), first, 0
    for row in _rows(workspace, first, last):
        if row.seq != expected:
            return expected, "gap", checked
        checked += 1
        reason = _fault(workspace, row, before)
        if reason is not None:
            return row.seq, "order" if _swapped(workspace, row, before) else reason, checked
        before, expected = row.hash, expected + 1
    return (expected, "gap", checked) if expected <= last else (None, None, checked)


def _fault(workspace: Workspace, row: Event, before: str | None) -> str | None:
    if before is not None and row.prev_hash != before:
        return "prev_hash"
    return None if chain_hash(row.prev_hash, _said(workspace, row)) == row.hash else "hash"


def _swapped(workspace: Workspace, row: Event, before: str | None) -> bool:
    """Whether the row that belongs here lies later in the chain: rows changed places rather than content."""
    return before is not None and Event.objects.filter(workspace=workspace, prev_hash=before, seq__gt=row.seq).exists()


def _against_head(workspace: Workspace, head: ChainHead, newest: int) -> tuple[int | None, str | None]:
    if head.seq > newest:
        return newest + 1, "gap"
    row = Event.objects.filter(workspace=workspace, seq=newest).first()
    return (newest, "hash") if row is not None and (head.seq < newest or head.hash != row.hash) else (None, None)


def _hash_before(workspace: Workspace, first: int) -> str | None:
    if first <= 1:
        return GENESIS
    return Event.objects.filter(workspace=workspace, seq=first - 1).values_list("hash", flat=True).first()


def _rows(workspace: Workspace, first: int, last: int) -> Iterator[Event]:
    while first <= last:
        rows = list(Event.objects.filter(workspace=workspace, seq__gte=first, seq__lte=last).order_by("seq")[:CHUNK])
        yield from rows
        if len(rows) < CHUNK:
            return
        first = rows[-1].seq + 1


def _said(workspace: Workspace, row: Event) -> dict[str, Any]:
    return {
        "workspace": workspace.name,
        "seq": row.seq,
        "id": row.event_id,
        "at": timestamp(row.at),
        "recorded_at": timestamp(row.recorded_at),
        "kind": row.kind,
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
    }
