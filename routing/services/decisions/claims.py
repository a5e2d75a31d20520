"""Claims: which worker has a decision, and until when. One that is not held ends by itself, and the sweep queues again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID, uuid4

from django.utils import timezone

from routing.choices import DecisionState
from routing.models import Decision
from routing.services.decisions.statements import update_returning

LASTS_S = 20.0
SPARE_S = 10.0  # for everything beside the providers that are waited for


def claim(decision_id: UUID) -> Decision | None:
    """Take a queued decision for this worker, for a while; None when it is not there to be taken."""
    return next(iter(claim_all([decision_id])), None)


def claim_all(decision_ids: Sequence[UUID]) -> list[Decision]:
    """Take those of these decisions that are queued; their rows have what is needed to make and to finish them."""
    taken = {
        "state": DecisionState.RUNNING.value,
        "claim": uuid4(),
        "claimed_until": timezone.now() + timedelta(seconds=LASTS_S),
    }
    # Taken and read in one statement: every decision of a worker begins with it.
    return update_returning(_NEEDED, taken, decision_ids, state=DecisionState.QUEUED.value)


_NEEDED = (
    "id",
    "workspace_id",
    "type",
    "state",
    "created_at",
    "scope",
    "harness",
    "session_id",
    "policy",
    "content",
    "claim",
)


def hold_while_waiting(row: Decision, seconds: float) -> None:
    """Keep a claim while others are waited for, at most for so long."""
    if seconds + SPARE_S > LASTS_S:
        until = timezone.now() + timedelta(seconds=seconds + SPARE_S)
        Decision.objects.filter(pk=row.pk, claim=row.claim).update(claimed_until=until)


def hold(row: Decision) -> bool:
    """Keep a claim for as long again from now on; false when it was lost."""
    return bool(
        Decision.objects.filter(pk=row.pk, state=DecisionState.RUNNING, claim=row.claim).update(
            claimed_until=timezone.now() + timedelta(seconds=LASTS_S)
        )
    )
