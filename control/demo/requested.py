"""The demo catalog, asked for in the browser: a worker loads it, and the page that asked tells how far it is."""

from __future__ import annotations

import logging
import uuid
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from control.demo import loading
from control.demo.documents import default_document
from control.models import DemoLoad
from routing import bus
from routing.choices import DecisionState, RevisionState
from routing.dispatch import Dispatch
from routing.errors import RoutingError, Superseded
from routing.models import Actor, Workspace
from routing.services import audit

logger = logging.getLogger(__name__)
GIVEN_UP_S = 120  # a load that is older has no worker any more
WORKER = "decide"  # whose queue it waits in
OPEN = (DecisionState.QUEUED, DecisionState.RUNNING)
NO_WORKER = "No worker can be reached right now, so nothing was loaded. See that the workers run, then try again."

workers = Dispatch("demo load")


@transaction.atomic
def request(workspace: Workspace, *, by: Actor) -> DemoLoad:
    """Have a worker load the demo catalog. One that is under way already is answered instead of a second.

    Raises Superseded for a workspace that is not empty.
    """
    found = Workspace.objects.select_for_update().get(pk=workspace.pk)
    if not loading.is_empty(found):
        raise Superseded("This workspace is not empty; the demo catalog is loaded into an empty one only.")
    last = newest(workspace)
    if last is not None and is_open(last):
        return last
    row = DemoLoad.objects.create(workspace=workspace, said="Waiting for a worker", actor_kind=by.kind, actor=by.name)
    audit.record(workspace.pk, "demo.requested", "demo catalog", by=by)
    transaction.on_commit(lambda: _enqueue(row.pk))
    return row


def newest(workspace: Workspace) -> DemoLoad | None:
    return DemoLoad.objects.filter(workspace=workspace).order_by("-id").first()


def is_open(row: DemoLoad) -> bool:
    return row.state in OPEN and not is_lost(row)


def is_lost(row: DemoLoad) -> bool:
    """Whether it should have ended long ago: its worker is gone."""
    return row.state in OPEN and row.created_at < timezone.now() - timedelta(seconds=GIVEN_UP_S)


def is_worker_away() -> bool:
    """Whether nobody would take it up at this moment."""
    try:
        return not bus.hearts((WORKER,))[WORKER]
    except bus.BusAway:
        return True


def _enqueue(pk: uuid.UUID) -> None:
    if not workers.send(str(pk)):
        _finish(pk, DecisionState.FAILED, NO_WORKER)


def run(pk: uuid.UUID) -> None:
    """Load what was asked for. Safe to call twice: the second finds it taken; and too late, when it was given up."""
    fresh = timezone.now() - timedelta(seconds=GIVEN_UP_S)
    waiting = DemoLoad.objects.filter(pk=pk, state=DecisionState.QUEUED, created_at__gte=fresh)
    if not waiting.update(state=DecisionState.RUNNING, said="Reading 71 servers"):
        return
    row = DemoLoad.objects.select_related("workspace").get(pk=pk)
    by = Actor(kind=row.actor_kind, name=row.actor)
    try:
        document = default_document()
        tools = sum(len(one["tools"]) for one in document["endpoints"])
        _tell(pk, f"Checking and publishing {len(document['endpoints'])} servers with {tools} tools")
        revision = loading.fill(row.workspace, document, by=by)
    except RoutingError as error:
        _finish(pk, DecisionState.FAILED, error.message)
    except Exception:
        logger.exception("demo load %s failed", pk)
        _finish(pk, DecisionState.FAILED, "It failed here; the log of the worker says why. Nothing was changed.")
    else:
        word = "is live" if revision.state == RevisionState.LIVE else "waits for approval"
        _finish(pk, DecisionState.FINISHED, f"The demo catalog is loaded; revision {revision.number} {word}.")


def _tell(pk: uuid.UUID, said: str) -> None:
    DemoLoad.objects.filter(pk=pk, state=DecisionState.RUNNING).update(said=said)


def _finish(pk: uuid.UUID, state: str, said: str) -> None:
    DemoLoad.objects.filter(pk=pk, state__in=OPEN).update(state=state, said=said[:400], finished_at=timezone.now())
