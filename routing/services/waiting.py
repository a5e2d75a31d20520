"""What becomes of a publication that waits for its time when what it is about changes."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from routing.choices import AuditResult, ScheduleState
from routing.models import Actor, Schedule, Workspace
from routing.services import audit


@transaction.atomic
def give_up(workspace: Workspace, why: str, *, by: Actor) -> None:
    """Void the schedule that waits, if one does: what it would publish is no longer what was agreed on."""
    schedule = (
        Schedule.objects.select_related("revision").filter(workspace=workspace, state=ScheduleState.WAITING).first()
    )
    if schedule is not None and end(schedule, ScheduleState.VOID, why):
        target = f"revision {schedule.revision.number}"
        audit.record(workspace.pk, "schedule.void", target, by=by, after=facts(schedule) | {"why": why})


def end(schedule: Schedule, state: ScheduleState, why: str = "") -> bool:
    """Close a waiting schedule; False when somebody else has closed it meanwhile."""
    waiting = Schedule.objects.filter(pk=schedule.pk, state=ScheduleState.WAITING)
    return bool(waiting.update(state=state, reason=why, ended_at=timezone.now()))


def facts(schedule: Schedule) -> dict[str, str]:
    return {"at": schedule.at.isoformat(), "set_by": schedule.actor}


def fail(schedule: Schedule, why: str, *, by: Actor) -> bool:
    """Record that it came to its time and could not be published. False when it no longer waited."""
    failed = end(schedule, ScheduleState.FAILED, why)
    if failed:
        audit.record(
            schedule.workspace_id,
            "schedule.failed",
            f"revision {schedule.revision.number}",
            by=by,
            after=facts(schedule) | {"why": why},
            result=AuditResult.REFUSED,
        )
    return failed
