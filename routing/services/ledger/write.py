"""Append to the chain: one writer per workspace at a time, in batches, each in one transaction.

Events wait in two places: the bus (recommendations of answers given in the web process) and the database (all others).
Whoever holds the chain's head takes from both, skips what is in the chain already, and removes what it took after the
commit; so a writer that dies anywhere loses nothing and writes nothing twice.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from routing import bus
from routing.choices import EventKind
from routing.events import CHAINED, GENESIS, chain_hash, timestamp
from routing.models import ChainHead, Decision, Event, PendingEvent, Workspace
from routing.services.ledger import counters
from routing.services.ledger.head import locked_head
from routing.services.ledger.insert import insert
from routing.services.recordings import keeping
from routing.services.shadow_policies import judging

logger = logging.getLogger(__name__)
BATCH = 400
Body = Mapping[str, Any]


def write(workspace_id: Any) -> int:
    """Append everything that waits; returns how many rows were written."""
    workspace = Workspace.objects.filter(pk=workspace_id).values_list("name", flat=True).first()
    if workspace is None:
        return 0
    with contextlib.suppress(bus.BusAway):
        bus.clear_nudge(workspace_id)
    written = 0
    while True:
        taken, new = _write_batch(workspace_id, workspace)
        written += new
        if taken < BATCH:  # whoever came later has called the writer again
            return written


def _write_batch(workspace_id: Any, workspace: str) -> tuple[int, int]:
    """One batch: how many events were taken, and how many of them were new."""
    with transaction.atomic():
        head = locked_head(workspace_id)
        waiting = list(PendingEvent.objects.filter(workspace_id=workspace_id)[:BATCH])
        marks, streamed = _from_bus(workspace_id, BATCH - len(waiting))
        bodies = _unwritten(workspace_id, [*(row.body for row in waiting), *streamed])
        rows = _append(head, workspace, bodies)
        _decide(workspace_id, bodies)
        keeping.keep(workspace_id, bodies)
        judging.judge(workspace_id, bodies)
        counters.count(workspace_id, rows)
        _count_outcomes(workspace_id, rows)
        PendingEvent.objects.filter(pk__in=[row.pk for row in waiting]).delete()
    _drop(workspace_id, marks)
    _announce(workspace_id, rows)
    return len(waiting) + len(marks), len(rows)


def _from_bus(workspace_id: Any, room: int) -> tuple[list[bytes], list[dict[str, Any]]]:
    try:
        found = bus.read_events(workspace_id, room) if room > 0 else []
    except bus.BusAway:
        return [], []
    return [mark for mark, _ in found], [body for _, body in found]


def _drop(workspace_id: Any, marks: Sequence[bytes]) -> None:
    try:
        bus.drop_events(workspace_id, marks)
    except bus.BusAway:
        logger.info("bus away: events that are written already will be skipped when it is back")


def _unwritten(workspace_id: Any, bodies: Sequence[Body]) -> list[Body]:
    written = set(
        Event.objects.filter(workspace_id=workspace_id, event_id__in=[b["id"] for b in bodies]).values_list(
            "event_id", flat=True
        )
    )
    return list({body["id"]: body for body in bodies if body["id"] not in written}.values())


def _append(head: ChainHead, workspace: str, bodies: Sequence[Body]) -> list[Event]:
    now = timezone.now()
    rows: list[dict[str, Any]] = []
    for body in bodies:
        row = _row(head, workspace, body, now)
        rows.append(row)
        head.seq, head.hash = row["seq"], row["hash"]
    if rows:
        insert(Event, rows)
        head.save(update_fields=["seq", "hash"])
        Workspace.objects.filter(pk=head.workspace_id, ledger_seq__lt=head.seq).update(ledger_seq=head.seq)
    return [Event(**row) for row in rows]


def _row(head: ChainHead, workspace: str, body: Body, now: datetime) -> dict[str, Any]:
    """The columns of the next row of the chain."""
    said = {
        "workspace": workspace,
        "seq": head.seq + 1,
        "id": body["id"],
        "at": body["at"],
        "recorded_at": timestamp(now),
        "kind": body["kind"],
        "scope": body["scope"],
        "harness": body["harness"],
        "decision_id": body.get("decision_id"),
        "session_id": body.get("session_id"),
        "invocation_id": body.get("invocation_id"),
        "revision": body.get("revision"),
        "target": body.get("target"),
        "status": body.get("status"),
        "reason_codes": body.get("reason_codes") or [],
        "data": body.get("data") or {},
    }
    return {
        "workspace_id": head.workspace_id,
        "event_id": said["id"],
        "at": datetime.fromisoformat(body["at"]),
        "recorded_at": now,
        "prev_hash": head.hash or GENESIS,
        "hash": chain_hash(head.hash or GENESIS, said),
        **{name: said[name] for name in _COLUMNS},
    }


# What a row says under a column of the same name; the others are spelled differently in the database.
_COLUMNS = tuple(name for name in CHAINED if name not in ("workspace", "id", "at", "recorded_at"))


def _decide(workspace_id: Any, bodies: Sequence[Body]) -> None:
    """Make the rows of decisions that were answered in the web process; they arrive with their event."""
    made = []
    for row in (body["decision"] for body in bodies if body.get("decision")):
        at = datetime.fromisoformat(row["created_at"])
        made.append({**row, "workspace_id": workspace_id, "created_at": at, "finished_at": at})
    insert(Decision, made, skip_known=True)


def _count_outcomes(workspace_id: Any, rows: Sequence[Event]) -> None:
    """How many outcomes came since the judge was calibrated last, so that nobody has to search the ledger for them."""
    if new := sum(row.kind == EventKind.DOMAIN_OUTCOME and row.decision_id is not None for row in rows):
        Workspace.objects.filter(pk=workspace_id).update(outcomes_new=F("outcomes_new") + new)


def _announce(workspace_id: Any, rows: Sequence[Event]) -> None:
    messages = [
        {
            "event": row.kind,
            "workspace": str(workspace_id),
            "id": row.event_id,
            "seq": row.seq,
            "at": timestamp(row.at),
            "kind": row.kind,
            "scope": row.scope,
            "decision_id": row.decision_id,
            "harness": row.harness,
            "target": row.target,
            "status": row.status,
        }
        for row in rows
    ]
    bus.tell(messages)
