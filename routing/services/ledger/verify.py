"""Prove the chain, or name the first number at which it cannot be shown to hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError
from django.db.models import OuterRef, QuerySet, Subquery

from routing.errors import InvalidRequest
from routing.events import CHAINED, GENESIS, chain_hash, timestamp
from routing.models import Event, Workspace

CHUNK = 2000
HIGHEST = 2**63 - 1
# What reading or hashing a row raises whose stored values are none of ours: JSON, times or texts that cannot be read.
UNREADABLE = (ValueError, TypeError, AttributeError, OverflowError)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How far the chain goes, by the three that say so: its rows, its head and the workspace."""

    newest: int
    newest_hash: str | None
    head: int | None
    head_hash: str | None
    witness: int

    @property
    def last(self) -> int:
        return max(self.newest, self.head or 0, self.witness)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Rows that follow each other: where they lie, what each says, and how far they go."""

    workspace: str
    noun: str  # of a row, in messages
    rows: QuerySet[Any]
    said: Callable[[Any], dict[str, Any]]
    hashed: tuple[str, ...]
    ends: Ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A row that is there, and whose values cannot be read."""

    seq: int


def verify(workspace: Workspace, start: int | None = None, end: int | None = None) -> Verification:
    """Walk the chain of events from `start` (default 1) to `end` (default its newest row) and recompute every hash.

    A range that starts later trusts the row before it. Rows missing at the end are found by the chain's head and by what
    the workspace noted of its length. Raises InvalidRequest for a range that the chain does not have.
    """
    chain = Chain(
        workspace=workspace.name,
        noun="event",
        rows=Event.objects.filter(workspace=workspace),
        said=lambda row: _said(workspace, row),
        hashed=CHAINED,
        ends=_ends(workspace),
    )
    return prove(chain, start, end)


def prove(chain: Chain, start: int | None = None, end: int | None = None) -> Verification:
    """As `verify`, of any chain."""
    ends = chain.ends
    _check_range(chain, start, end)
    first, last = start or 1, ends.last if end is None else end
    bad, reason, checked = _walk(chain, first, last)
    if bad is None and end is None:
        bad, reason = _against_witnesses(ends)
    return Verification(workspace=chain.workspace, start=first, end=last, checked=checked, first_bad=bad, reason=reason)


def _ends(workspace: Workspace) -> Ends:
    # One statement: a writer that appends meanwhile must not look like somebody who cut the chain.
    newest = Event.objects.filter(workspace=OuterRef("pk"), seq__lte=HIGHEST).order_by("-seq")
    row = Workspace.objects.filter(pk=workspace.pk).values_list(
        Subquery(newest.values("seq")[:1]),
        Subquery(newest.values("hash")[:1]),
        "chain_head__seq",
        "chain_head__hash",
        "ledger_seq",
    )
    seq, hash_, head, head_hash, witness = row.get()
    return Ends(
        newest=seq or 0,
        newest_hash=hash_,
        head=head if isinstance(head, int) else None,
        head_hash=head_hash,
        witness=witness if isinstance(witness, int) else 0,
    )


def _check_range(chain: Chain, start: int | None, end: int | None) -> None:
    if start is not None and end is not None and start > end:
        raise InvalidRequest(f"The range is empty: it begins at {start} and ends at {end}.")
    beyond, last = max(start or 0, end or 0), chain.ends.last
    if beyond > last:
        length = f"the chain ends at {chain.noun} {last}" if last else f"the chain has no {chain.noun} yet"
        raise InvalidRequest(f"There is no {chain.noun} {beyond}: {length}.")


def _walk(chain: Chain, first: int, last: int) -> tuple[int | None, str | None, int]:
    before, expected, checked = _hash_before(chain, first), first, 0
    for row in _rows(chain, first, last):
        if row.seq != expected:
            return expected, "gap", checked
        checked += 1
        if isinstance(row, Unreadable):
            return row.seq, "hash", checked
        reason = _fault(chain, row, before)
        if reason is not None:
            return row.seq, "order" if _swapped(chain, row, before) else reason, checked
        before, expected = row.hash, expected + 1
    return (expected, "gap", checked) if expected <= last else (None, None, checked)


def _fault(chain: Chain, row: Any, before: str | None) -> str | None:
    if before is not None and row.prev_hash != before:
        return "prev_hash"
    try:
        return None if chain_hash(row.prev_hash, chain.said(row), chain.hashed) == row.hash else "hash"
    except UNREADABLE:
        return "hash"


def _swapped(chain: Chain, row: Any, before: str | None) -> bool:
    """Whether the row that belongs here lies later in the chain: rows changed places rather than content."""
    return before is not None and chain.rows.filter(prev_hash=before, seq__gt=row.seq).exists()


def _against_witnesses(ends: Ends) -> tuple[int | None, str | None]:
    """What rows that hold among themselves lack: a head that knows the newest of them, and a workspace that does."""
    if not ends.newest:
        return None, None
    if ends.head is None:
        return ends.newest + 1, "gap"
    vouched = min(ends.head, ends.witness)
    if vouched < ends.newest:
        return vouched + 1, "gap"
    return (None, None) if ends.head_hash == ends.newest_hash else (ends.newest, "hash")


def _hash_before(chain: Chain, first: int) -> str | None:
    if first <= 1:
        return GENESIS
    return chain.rows.filter(seq=first - 1).values_list("hash", flat=True).first()


def _rows(chain: Chain, first: int, last: int) -> Iterator[Any]:
    while first <= last:
        rows = _chunk(chain, first, last)
        yield from rows
        if len(rows) < CHUNK:
            return
        first = rows[-1].seq + 1


def _chunk(chain: Chain, first: int, last: int) -> list[Any]:
    found = chain.rows.filter(seq__gte=first, seq__lte=last).order_by("seq")
    try:
        return list(found[:CHUNK])
    except (*UNREADABLE, DatabaseError):
        # One of them cannot be read. A database that is away fails here again, and is not taken for a changed row.
        return [_one(chain, seq) for seq in list(found.values_list("seq", flat=True)[:CHUNK])]


def _one(chain: Chain, seq: int) -> Any:
    try:
        return chain.rows.get(seq=seq)
    except (*UNREADABLE, DatabaseError):
        return Unreadable(seq=seq)


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
