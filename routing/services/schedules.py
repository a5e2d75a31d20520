"""Publications at a time: set one, cancel it, and publish what is due, once, checking everything anew then."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.utils import timezone

from routing.choices import RevisionState, ScheduleState
from routing.errors import InvalidRequest, NeedsApproval, NotFound, RoutingError, StaleDraft, Superseded
from routing.models import Actor, Revision, Schedule, Workspace
from routing.reviewing import standing
from routing.services import audit, checks, registry, revisions, waiting

logger = logging.getLogger(__name__)
FURTHEST = timedelta(days=366)
_may: list[Callable[[Any, str], bool]] = []


def ask(may: Callable[[Any, str], bool]) -> None:
    """Who may publish is for the doors to say: `may(workspace id, person)` is asked when the time has come."""
    _may[:] = [may]


def may_still_publish(workspace_id: Any, person: str) -> bool:
    """Whether whoever set something up for later may publish when the time has come."""
    return all(may(workspace_id, person) for may in _may)


@transaction.atomic
def plan(workspace: Workspace, at: datetime, *, message: str, seen: str | None = None, by: Actor) -> Schedule:
    """Propose the draft, where it is not proposed, and set it to go live at `at`. A schedule that waits gives way to it.

    Raises InvalidRequest for a time that is past or more than a year ahead, StaleDraft when `seen` is no longer the
    draft's digest, NeedsApproval when approvals are missing, ExpectationsFailed when it is known not to do what it expects
    of itself, and Superseded when the draft is what is live. All of it is asked again when the time has come.
    """
    if not timezone.now() < at <= timezone.now() + FURTHEST:
        raise InvalidRequest("at: must be in the future, within a year", [{"path": "at", "message": "must be ahead"}])
    registry.lock(workspace)
    if seen is not None and seen != registry.draft_digest(workspace):
        raise StaleDraft("The draft changed since it was read; nothing was scheduled.")
    revision = registry.propose_draft(workspace, message=message, by=by)
    if revision.state == RevisionState.LIVE:
        raise Superseded("The draft is equal to the live revision.")
    _enough(workspace, revision)
    checked = checks.known(workspace.pk, revision.digest)
    if checked is not None and checked.outcome.broken:
        raise checks.refusal(revision.number, checked.outcome.broken)
    waiting.give_up(workspace, "It was set for another time.", by=by)
    schedule = Schedule.objects.create(
        workspace=workspace, revision=revision, at=at, message=message, actor_kind=by.kind, actor=by.name
    )
    told = {"at": at.isoformat(), "digest": revision.digest}
    audit.record(workspace.pk, "schedule.made", f"revision {revision.number}", by=by, after=told, message=message)
    return schedule


def _enough(workspace: Workspace, revision: Revision) -> None:
    found = standing(revision, Workspace.objects.get(pk=workspace.pk))
    if found.missing:
        raise NeedsApproval(
            f"Revision {revision.number} has {len(found.given)} of the {found.needed} approvals that this workspace asks for."
        )


@transaction.atomic
def cancel(workspace: Workspace, schedule_id: UUID, *, by: Actor) -> Schedule:
    """Take a waiting schedule back; the proposal stays. Raises NotFound, and Superseded for one that waits no more."""
    schedule = Schedule.objects.select_related("revision").filter(workspace=workspace, pk=schedule_id).first()
    if schedule is None:
        raise NotFound("There is no such schedule here.")
    if not waiting.end(schedule, ScheduleState.CANCELLED):
        raise Superseded("This schedule waits no more.")
    target = f"revision {schedule.revision.number}"
    audit.record(workspace.pk, "schedule.cancelled", target, by=by, before=waiting.facts(schedule))
    return schedule


def waiting_for(workspace: Workspace) -> Schedule | None:
    """What goes live by itself, if anything does."""
    rows = Schedule.objects.select_related("revision").defer("revision__manifest")
    return rows.filter(workspace=workspace, state=ScheduleState.WAITING).first()


# --- when the time has come -------------------------------------------------------------------------------------------
def run_due() -> int:
    """Publish what is due; returns how many were. May run in several processes at once, and again after any of them died:
    the schedule is closed in the transaction that publishes, so it happens once or is seen again.
    """
    due = Schedule.objects.select_related("revision", "workspace").filter(
        state=ScheduleState.WAITING, at__lte=timezone.now()
    )
    return sum(_run(schedule) for schedule in due.order_by("at")[:50])


def _run(schedule: Schedule) -> bool:
    by = Actor(kind=schedule.actor_kind, name=schedule.actor)
    try:
        return _go_live(schedule, by)
    except DatabaseError:
        raise  # nothing is decided; the next round tries again
    except RoutingError as error:
        why = error.message
    except Exception as error:
        logger.exception("a scheduled publication of %s broke", schedule.workspace_id)
        why = f"It broke ({type(error).__name__}); the log of the worker has more."
    _fail(schedule, why, by)
    return False


@transaction.atomic
def _go_live(schedule: Schedule, by: Actor) -> bool:
    registry.lock(schedule.workspace)
    if not waiting.end(schedule, ScheduleState.DONE):
        return False
    if not may_still_publish(schedule.workspace_id, by.person):
        raise Superseded(f"{by.name}, who scheduled it, may no longer publish here.")
    revisions.publish_revision(schedule.workspace, schedule.revision.number, message=schedule.message, by=by)
    return True


@transaction.atomic
def _fail(schedule: Schedule, why: str, by: Actor) -> None:
    if waiting.fail(schedule, why, by=by):
        logger.warning(
            "revision %s of %s was not published at its time: %s", schedule.revision.number, schedule.workspace_id, why
        )
