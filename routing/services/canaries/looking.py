"""Look after canaries that run: count, judge, and end those that broke a bound or whose time is over."""

from __future__ import annotations

import logging

from django.db import DatabaseError, transaction
from django.utils import timezone

from routing.choices import CanaryEnd, CanaryState
from routing.engine.canary import Judgement, Reading
from routing.errors import RoutingError, Superseded
from routing.models import Actor, CanaryRow
from routing.models.actor import SYSTEM
from routing.services import revisions, schedules
from routing.services.canaries import counting, ending

logger = logging.getLogger(__name__)
WORDS = {"no_match": "resolves without a match", "fallback": "fallbacks", "failure": "failures"}


def look_after_all() -> int:
    """Look at every canary that runs; returns how many ended. May run twice: a canary ends once."""
    rows = CanaryRow.objects.filter(state=CanaryState.RUNNING).select_related("revision", "workspace")
    return sum(_look(row) for row in rows.defer("revision__manifest"))


def _look(row: CanaryRow) -> bool:
    groups = counting.groups_of(row)
    judgement = counting.judged(row, groups)
    if (broken := judgement.broken) is not None:
        return ending.stop(row, why(broken), measure=broken.measure, by=SYSTEM)
    figures = counting.told(groups)
    if figures != row.figures:
        CanaryRow.objects.filter(pk=row.pk, state=CanaryState.RUNNING).update(figures=figures)
    return row.until is not None and row.until <= timezone.now() and _time_over(row, judgement)


def why(reading: Reading) -> str:
    """A broken bound in a sentence."""
    return (
        f"The share of {WORDS[reading.measure]} is {points(reading.rise or 0)} percentage points above that of the others, surely "
        f"more than {points(reading.least or 0)}; {points(reading.bound)} are allowed."
    )


def points(share: float) -> str:
    return f"{share * 100:.1f}".removesuffix(".0")


def _time_over(row: CanaryRow, judgement: Judgement) -> bool:
    if row.at_end != CanaryEnd.PROMOTE:
        return ending.stop(row, "Its time was over, and nobody had promoted it.", by=SYSTEM)
    if not judgement.is_judged:
        return ending.stop(row, "Its time was over, and too little was counted to judge it.", by=SYSTEM)
    try:
        _promote(row)
    except DatabaseError:
        raise  # nothing is decided; the next round tries again
    except RoutingError as error:
        return ending.stop(row, f"Its time was over, and it could not be promoted: {error.message}", by=SYSTEM)
    except Exception as error:
        logger.exception("the promotion of a canary of %s broke", row.workspace_id)
        return ending.stop(row, f"Its promotion broke ({type(error).__name__}); the worker's log has more.", by=SYSTEM)
    return True


@transaction.atomic
def _promote(row: CanaryRow) -> None:
    """As the person who said so when it was started, who must still be allowed to."""
    by = Actor(kind=row.actor_kind, name=row.actor, acts_as=row.acts_as)
    if not schedules.may_still_publish(row.workspace_id, by.person):
        raise Superseded(f"{by.name}, who started it, may no longer publish here.")
    revisions.publish_revision(row.workspace, row.revision.number, message="", override=row.override, by=by)
