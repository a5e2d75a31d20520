"""Take events in. Nothing is answered before it is kept: on the bus, or in the database's waiting room."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from routing import bus
from routing.errors import Unavailable
from routing.events import REPORTED_DATA, allowed, content_digest, timestamp
from routing.models import Event, PendingEvent, Receipt
from routing.services.ledger.head import locked_head
from routing.services.ledger.insert import insert

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a harness says happened: one invocation or outcome."""

    id: str
    kind: str
    target: str
    at: datetime | None = None
    decision_id: str | None = None
    session_id: str | None = None
    invocation_id: str | None = None
    status: str | None = None
    reason_codes: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        """What counts when a repeat is told from a conflict; a time that was left out is no part of it."""
        return {
            "kind": self.kind,
            "target": self.target,
            "at": timestamp(self.at) if self.at else None,
            "decision_id": self.decision_id,
            "session_id": self.session_id,
            "invocation_id": self.invocation_id,
            "status": self.status,
            "reason_codes": list(self.reason_codes),
            "data": allowed(self.data, REPORTED_DATA),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    accepted: int
    duplicates: int
    conflicts: tuple[int, ...]  # places in the list that was sent


def accept(workspace_id: Any, scope: str, harness: str, reports: Sequence[Report]) -> Acceptance:
    """Keep what harnesses report, once per id. Raises Unavailable when the database is away: then nothing was kept."""
    try:
        with transaction.atomic():
            locked_head(workspace_id)
            known = _known(workspace_id, [report.id for report in reports])
            return _keep_new(workspace_id, scope, harness, reports, known)
    except DatabaseError:
        logger.warning("reports of %s could not be kept", harness)
        raise Unavailable("The events could not be kept; nothing was accepted. Send them again.") from None


def _known(workspace_id: Any, ids: Sequence[str]) -> dict[str, str]:
    """Digest of each of these ids that is taken already; an id that this installation gave itself has none and meets none."""
    found: dict[str, str] = {}
    for start in range(0, len(ids), 400):
        part = ids[start : start + 400]
        written = Event.objects.filter(workspace_id=workspace_id, event_id__in=part).values_list("event_id", flat=True)
        found |= dict.fromkeys(written, "")
        receipts = Receipt.objects.filter(workspace_id=workspace_id, event_id__in=part)
        found |= dict(receipts.values_list("event_id", "digest"))
    return found


def _keep_new(
    workspace_id: Any, scope: str, harness: str, reports: Sequence[Report], known: dict[str, str]
) -> Acceptance:
    rows: list[PendingEvent] = []
    receipts: list[Receipt] = []
    conflicts: list[int] = []
    duplicates = 0
    for place, report in enumerate(reports):
        content = report.content()
        digest = content_digest(content)
        if report.id not in known:
            known[report.id] = digest
            at = content["at"] or timestamp(timezone.now())
            body = {**content, "id": report.id, "scope": scope, "harness": harness, "at": at}
            rows.append(PendingEvent(workspace_id=workspace_id, event_id=report.id, body=body))
            receipts.append(Receipt(workspace_id=workspace_id, event_id=report.id, digest=digest))
        elif known[report.id] == digest:
            duplicates += 1
        else:
            conflicts.append(place)
    PendingEvent.objects.bulk_create(rows, batch_size=200)
    Receipt.objects.bulk_create(receipts, batch_size=200)
    if rows:
        transaction.on_commit(lambda: call_writer(workspace_id), robust=True)
        transaction.on_commit(lambda: _forget_failed_advice(workspace_id, scope, reports), robust=True)
    return Acceptance(accepted=len(rows), duplicates=duplicates, conflicts=tuple(conflicts))


_FAILED = {("transport_outcome", "error"), ("transport_outcome", "timeout"), ("domain_outcome", "failure")}


def _forget_failed_advice(workspace_id: Any, scope: str, reports: Sequence[Report]) -> None:
    """Advice that failed is not repeated: the next question is decided anew."""
    failed = {
        report.decision_id for report in reports if report.decision_id and (report.kind, report.status) in _FAILED
    }
    with contextlib.suppress(bus.BusAway):  # then nothing was remembered either
        bus.drop_advice(workspace_id, scope, sorted(failed))


def record(workspace_id: Any, body: Mapping[str, Any]) -> None:
    """Hand over the event of an answer that is about to be given: to the bus, or to the database when that is away.

    Raises Unavailable when neither takes it.
    """
    try:
        must_call = bus.push_event(workspace_id, body)
    except bus.BusAway:
        _keep_instead(workspace_id, body)
    else:
        if must_call:
            _enqueue_writer(workspace_id)


async def record_on_loop(handover: bus.Handover, workspace_id: Any, body: Mapping[str, Any]) -> None:
    """`record` for an event loop, with the same promise: when this returns, the bus or the database has the event."""
    try:
        must_call = await handover.push(workspace_id, body)
    except bus.BusAway:
        await sync_to_async(_keep_apart, thread_sensitive=False)(workspace_id, body)
    else:
        if must_call:  # the event is kept; nobody need wait until the writer hears of it
            asyncio.get_running_loop().run_in_executor(None, _enqueue_writer, workspace_id)


def _keep_apart(workspace_id: Any, body: Mapping[str, Any]) -> None:
    """`_keep_instead` in a thread that no request of Django's opens or closes connections for."""
    try:
        _keep_instead(workspace_id, body)
    finally:
        connection.close()


def _keep_instead(workspace_id: Any, body: Mapping[str, Any]) -> None:
    try:
        with transaction.atomic():
            keep(workspace_id, body)
    except DatabaseError:
        raise Unavailable("The decision could not be recorded, so it is not given.") from None


def keep(workspace_id: Any, *bodies: Mapping[str, Any]) -> None:
    """Put events into the waiting room within the caller's transaction."""
    rows = [{"workspace_id": workspace_id, "event_id": body["id"], "body": body} for body in bodies]
    insert(PendingEvent, rows, skip_known=True)
    transaction.on_commit(lambda: call_writer(workspace_id), robust=True)


def call_writer(workspace_id: Any) -> None:
    """Wake the writer unless somebody just did. When nobody can, the sweep finds what waits."""
    try:
        if bus.nudge(workspace_id):
            _enqueue_writer(workspace_id)
    except bus.BusAway:
        logger.info("bus away: the ledger's sweep will find what waits")


_send: Callable[[str], None] | None = None


def on_wake(send: Callable[[str], None]) -> None:
    """Tell the ledger how its writer is woken (routing.tasks does, so that services need not know Celery)."""
    global _send
    _send = send


def _enqueue_writer(workspace_id: Any) -> None:
    if _send is None:
        return
    try:
        _send(str(workspace_id))
    except Exception as error:  # any transport error: the sweep wakes the writer instead
        logger.warning("the ledger's writer could not be called: %s", type(error).__name__)
