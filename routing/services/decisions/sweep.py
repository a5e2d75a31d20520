"""The sweep: queue again what was lost on the way, give up what nobody could decide within an hour, wake the ledger's writer."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from routing import bus
from routing.choices import DecisionState
from routing.models import Decision, PendingEvent, Workspace
from routing.services import ledger
from routing.services.decisions.queue import Request, enqueue
from routing.services.decisions.running import announce_final

logger = logging.getLogger(__name__)
FIRST_RETRY_S = 4
LONGEST_RETRY_S = 60
TEXT_LASTS = timedelta(hours=1)
BATCH = 500


def sweep() -> None:
    give_up_old()
    release_dead_claims()
    queue_again()
    write_waiting()


def give_up_old() -> None:
    """No text of a request is kept for longer than an hour: what nobody decided by then has failed."""
    old = Decision.objects.waiting().filter(created_at__lt=timezone.now() - TEXT_LASTS)
    for row in old[:BATCH]:
        ended = (
            Decision.objects.filter(pk=row.pk)
            .waiting()
            .update(
                state=DecisionState.FAILED,
                content=None,
                claim=None,
                claimed_until=None,
                finished_at=timezone.now(),
                error="no worker decided this within an hour",
            )
        )
        if ended:
            announce_final(row)


def release_dead_claims() -> None:
    """A claim that ended belongs to a worker that died or hangs; the decision goes back to the queue."""
    dead = Decision.objects.filter(state=DecisionState.RUNNING, claimed_until__lt=timezone.now())
    count = dead.update(
        state=DecisionState.QUEUED,
        claim=None,
        claimed_until=None,
        enqueued_at=timezone.now() - timedelta(hours=1),
        attempts=0,
    )
    if count:
        logger.warning("%d decisions of a dead worker were queued again", count)


def queue_again() -> None:
    """Send ids again whose message may be lost, less and less often: a message too many does no harm."""
    now = timezone.now()
    for row in Decision.objects.filter(
        state=DecisionState.QUEUED, enqueued_at__lt=now - timedelta(seconds=FIRST_RETRY_S)
    )[:BATCH]:
        wait = min(FIRST_RETRY_S * 2**row.attempts, LONGEST_RETRY_S)
        if row.enqueued_at is not None and row.enqueued_at < now - timedelta(seconds=wait):
            Decision.objects.filter(pk=row.pk, state=DecisionState.QUEUED).update(
                enqueued_at=now, attempts=F("attempts") + 1
            )
            enqueue([Request(row=row)])


def write_waiting() -> None:
    """Append what waits in the database or on the bus and whose writer was not woken. Runs where the writer runs."""
    waiting = set(PendingEvent.objects.order_by().values_list("workspace_id", flat=True).distinct())
    for workspace_id in Workspace.objects.values_list("pk", flat=True):
        if workspace_id in waiting or _on_bus(workspace_id):
            ledger.write(workspace_id)


def _on_bus(workspace_id: object) -> bool:
    try:
        return bool(bus.read_events(workspace_id, 1))
    except bus.BusAway:
        return False
