"""How a canary ends: stopped, when its audience is answered from what is live again, or promoted by a publication."""

from __future__ import annotations

import logging

from django.db import transaction
from django.utils import timezone

from routing import bus, generation
from routing.choices import CanaryState, RevisionState
from routing.errors import CanaryRunning, NotFound, Superseded
from routing.models import Actor, CanaryRow, Revision, Workspace
from routing.services import audit, waiting
from routing.services.canaries import counting

logger = logging.getLogger(__name__)


def running_in(workspace: Workspace) -> CanaryRow | None:
    """The canary that runs, of which a workspace has one at most."""
    rows = CanaryRow.objects.select_related("revision").defer("revision__manifest")
    return rows.filter(workspace=workspace, state=CanaryState.RUNNING).first()


@transaction.atomic
def stop_revision(workspace: Workspace, number: int, *, reason: str = "", by: Actor) -> CanaryRow:
    """Stop the canary of a revision. Raises NotFound when it has none, and Superseded when that has ended."""
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    rows = CanaryRow.objects.select_related("revision").filter(workspace=workspace, revision__number=number)
    row = rows.first()
    if row is None:
        raise NotFound(f"Revision {number} was not published to some first.")
    if not stop(row, reason.strip() or "Stopped by hand.", by=by):
        raise Superseded(f"The canary of revision {number} has ended: it was {row.state}.")
    return row


@transaction.atomic
def stop(row: CanaryRow, why: str, *, measure: str = "", by: Actor) -> bool:
    """Answer its audience from what is live again; False when it has ended meanwhile. The draft keeps its changes."""
    if not _end(row, CanaryState.STOPPED, why, measure, by):
        return False
    Revision.objects.filter(pk=row.revision_id, state=RevisionState.CANARY).update(state=RevisionState.SUPERSEDED)
    waiting.give_up(row.workspace, f"The canary of revision {row.revision.number} was stopped.", by=by)
    target = f"revision {row.revision.number}"
    told = {"state": "stopped", "why": why, "figures": row.figures} | ({"bound": measure} if measure else {})
    audit.record(
        row.workspace_id, "canary.stopped", target, by=by, before={"state": "running"}, after=told, message=why
    )
    changed(row)
    logger.info("canary of revision %s of %s stopped: %s", row.revision.number, row.workspace_id, why)
    return True


def _end(row: CanaryRow, state: CanaryState, why: str, measure: str, by: Actor) -> bool:
    now = timezone.now()
    figures = counting.told(counting.groups_of(row))
    ended = CanaryRow.objects.filter(pk=row.pk, state=CanaryState.RUNNING).update(
        state=state, ended_at=now, ended_by=str(by), reason=why, measure=measure, figures=figures
    )
    row.refresh_from_db(fields=["state", "ended_at", "ended_by", "reason", "measure", "figures"])
    return bool(ended)


def changed(row: CanaryRow) -> None:
    """Every process learns of it as of a publication, and open pages do after the commit."""
    generation.bump()
    told = {"event": "revision.published", "workspace": str(row.workspace_id), "revision": row.revision.number}
    transaction.on_commit(lambda: bus.tell([told]), robust=True)


def was_stopped(revision: Revision) -> bool:
    return CanaryRow.objects.filter(revision=revision, state=CanaryState.STOPPED).exists()


# --- beside a publication ---------------------------------------------------------------------------------------------
def refuse_beside(workspace: Workspace, revision: Revision, *, emergency: bool) -> None:
    """Raises CanaryRunning for a publication that would cut a canary short: any but its own, an emergency, and one of
    what was live before, for nobody shall wait with going back.
    """
    row = running_in(workspace)
    if row is None or row.revision_id == revision.pk or emergency or goes_back(workspace, revision.digest):
        return
    raise CanaryRunning(
        f"A canary of revision {row.revision.number} runs. Promote it to everybody or stop it, then publish this. An emergency, "
        "or a revision that was live before, may be published at once and stops it.",
        [{"path": "canary", "message": "runs", "value": row.revision.number}],
    )


def goes_back(workspace: Workspace, digest: str) -> bool:
    """Whether a document was live before."""
    return Revision.objects.filter(workspace=workspace, digest=digest, published_at__isnull=False).exists()


@transaction.atomic
def give_way(revision: Revision, *, by: Actor) -> None:
    """A revision went live: its own canary is promoted by that, and any other is stopped."""
    row = running_in(revision.workspace)
    if row is None:
        return
    if row.revision_id != revision.pk:
        stop(row, f"Revision {revision.number} was published to everybody.", by=by)
    elif _end(row, CanaryState.PROMOTED, "", "", by):
        target = f"revision {revision.number}"
        after = {"state": "promoted", "figures": row.figures}
        audit.record(row.workspace_id, "canary.promoted", target, by=by, before={"state": "running"}, after=after)
