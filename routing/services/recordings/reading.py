"""Open recordings: for a person, which the audit log is told, and for a replay, which shows no text. Erase them in time."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from routing import snapshot
from routing.errors import NotFound
from routing.models import Actor, Decision, Recording, Workspace
from routing.sealing import Unsealable, unseal
from routing.services import audit
from routing.services.recordings import keeping

BATCH = 500


@transaction.atomic
def read(workspace: Workspace, decision_id: Any, *, by: Actor) -> str:
    """The recorded text of a decision. Every reading is told to the audit log, without the text.

    Raises NotFound where none is kept: none was recorded, its time is over, or it was sealed with a key that is gone.
    """
    row = Recording.objects.filter(workspace=workspace, decision_id=decision_id, until__gt=timezone.now()).first()
    text = opened(row).get("query") if row else None
    if row is None or text is None:
        raise NotFound("No text of this decision is kept.")
    after = {"until": row.until.isoformat(timespec="seconds")}
    audit.record(workspace.pk, "query.read", f"decision {decision_id}", by=by, after=after)
    return str(text)


def opened(row: Recording) -> dict[str, Any]:
    """What was sealed; empty where the key to it is gone."""
    try:
        found = unseal(row.sealed)
    except Unsealable:
        return {}
    return found if isinstance(found, dict) else {}


def of(decision: Decision) -> Recording | None:
    """The recording of a decision, if its time is not over."""
    return Recording.objects.filter(decision=decision, until__gt=timezone.now()).first()


def has_text(recording: Recording | None) -> bool:
    """Whether words of the request are in it: of a route they are only where the local provider decided alone."""
    return recording is not None and "query" in opened(recording)


def erase(workspace_id: Any) -> int:
    """Erase all recordings of a workspace."""
    return Recording.objects.filter(workspace_id=workspace_id).delete()[0]


def purge() -> None:
    """Erase what was kept for long enough, and what came late into a workspace where nothing is recorded any more."""
    for live in snapshot.every().values():
        if not keeping.records(live):
            erase(live.workspace_id)
    while True:  # some at a time, so that no writer waits for long
        old = list(Recording.objects.filter(until__lte=timezone.now()).values_list("pk", flat=True)[:BATCH])
        Recording.objects.filter(pk__in=old).delete()
        if len(old) < BATCH:
            return
