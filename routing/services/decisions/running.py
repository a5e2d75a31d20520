"""Run a queued decision: claim it, decide, and record result and event in one transaction that erases the request's text.

A claim has an end: when its worker dies the sweep queues the decision again, and only the claim that is still valid may
finish it. So a decision is made once, whichever process dies.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import DatabaseError, transaction
from django.utils import timezone

from routing import bus
from routing.choices import DecisionState, DecisionType
from routing.events import timestamp
from routing.models import Decision
from routing.sealing import Unsealable, unseal
from routing.services import ledger
from routing.services.decisions.resolve_worker import decide_resolve
from routing.services.decisions.result import Result
from routing.services.decisions.route import decide_route

logger = logging.getLogger(__name__)
CLAIM_LASTS = timedelta(seconds=20)
DECIDERS: Mapping[str, Callable[[Decision, Mapping[str, Any]], Result]] = {
    DecisionType.ROUTE: decide_route,
    DecisionType.RESOLVE: decide_resolve,
}


def run(decision_id: UUID) -> None:
    """Decide, unless somebody else holds or has made this decision."""
    row = claim(decision_id)
    if row is None:
        return
    try:
        content = unseal(row.content or b"")
        result = DECIDERS[row.type](row, content)
    except Unsealable:
        fail(row, "the request can no longer be read: its encryption key is gone")
    except DatabaseError:
        raise  # the claim ends by itself and the sweep queues the decision again
    except Exception as error:
        # The message of an unforeseen error may quote what was asked, so only its kind and place are logged.
        logger.error("decision %s failed: %s at %s", row.pk, type(error).__name__, _place(error))
        fail(row, f"the decision could not be made ({type(error).__name__})")
    else:
        finish(row, result)


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown place"


def claim(decision_id: UUID) -> Decision | None:
    """Take a queued decision for this worker, for a while; None when it is not there to be taken."""
    mark = uuid4()
    taken = Decision.objects.filter(pk=decision_id, state=DecisionState.QUEUED).update(
        state=DecisionState.RUNNING, claim=mark, claimed_until=timezone.now() + CLAIM_LASTS
    )
    return Decision.objects.get(pk=decision_id) if taken else None


@transaction.atomic
def finish(row: Decision, result: Result) -> bool:
    """Record a result and its event, and erase the request's text; false when the claim was lost meanwhile."""
    now = timezone.now()
    written = Decision.objects.filter(pk=row.pk, state=DecisionState.RUNNING, claim=row.claim).update(
        state=result.state, finished_at=now, content=None, claim=None, claimed_until=None, **result.columns
    )
    if not written:
        logger.info("decision %s was taken over by another worker", row.pk)
        return False
    if result.event is not None:
        ledger.keep(row.workspace_id, result.event)
    transaction.on_commit(lambda: announce_final(row), robust=True)
    return True


def fail(row: Decision, reason: str) -> bool:
    """End a decision that cannot be made; its text is erased like that of any other."""
    return finish(row, Result(state=DecisionState.FAILED, columns={"error": reason[:200]}, event=None))


def announce_final(row: Decision) -> None:
    message = {
        "event": "decision.finished",
        "workspace": str(row.workspace_id),
        "decision_id": str(row.pk),
        "scope": row.scope,
        "harness": row.harness,
        "at": timestamp(timezone.now()),
        "kind": "decision.finished",
    }
    bus.tell([message])
