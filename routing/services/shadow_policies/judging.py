"""Judge decisions again by the shadow policies that score them: in the ledger's writer, after they were answered.

It is done inside the writer's transaction, so that each is counted once, and in a savepoint of its own: what goes wrong here
costs the comparison and never a row of the ledger.
"""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from routing import snapshot
from routing.engine.shadow_policy import BROKEN, SAME, Comparison, Unjudged, Values, compare
from routing.models import ShadowDifference, ShadowPolicy
from routing.services.shadow_policies.taking import BODY

logger = logging.getLogger(__name__)
MOST_KEPT = 5_000  # differences of one shadow policy; the newest
Body = Mapping[str, Any]


def judge(workspace_id: Any, bodies: Sequence[Body]) -> None:
    """Judge what came along with events, within the caller's transaction. Never raises."""
    carried: dict[str, list[Body]] = defaultdict(list)
    for body in bodies:
        if told := body.get(BODY):
            carried[told["id"]].append(told)
    if not carried:
        return
    try:
        with transaction.atomic():
            running = ShadowPolicy.objects.select_for_update().filter(workspace_id=workspace_id, ended_at=None)
            for row in running.filter(pk__in=list(carried)):
                _judge(row, carried[str(row.pk)])
    except Exception as error:
        logger.error("%d decisions were not judged again: %s", sum(map(len, carried.values())), type(error).__name__)


def _judge(row: ShadowPolicy, carried: Sequence[Body]) -> None:
    names = snapshot.live(row.workspace_id).catalog.names
    base, values = Values.of(row.base, names), Values.of(row.values, names)
    different = []
    for told in carried:
        found = _compared(told, base, values)
        if isinstance(found, str):
            row.unjudged[found] = row.unjudged.get(found, 0) + 1
            continue
        counts = row.counts.setdefault(told["scope"], {})
        counts[found.kind] = counts.get(found.kind, 0) + 1
        if found.kind != SAME:
            different.append(_difference(row, told, found))
    row.listed += len(different)
    row.save(update_fields=["counts", "unjudged", "listed"])
    ShadowDifference.objects.bulk_create(different, ignore_conflicts=True)
    if different and row.listed > MOST_KEPT:
        _forget_oldest(row)


def _compared(told: Body, base: Values, values: Values) -> Comparison | str:
    """The two answers, or why there are none to compare."""
    try:
        return compare(told["grounds"], base, values)
    except Unjudged as problem:
        return problem.why
    except Exception as error:
        logger.error("decision %s could not be judged again: %s", told["decision_id"], type(error).__name__)
        return BROKEN


def _difference(row: ShadowPolicy, told: Body, found: Comparison) -> ShadowDifference:
    return ShadowDifference(
        shadow=row,
        decision_id=uuid.UUID(told["decision_id"]),
        at=datetime.fromisoformat(told["at"]),
        scope=told["scope"],
        kind=found.kind,
        live=found.live.told(),
        other=found.shadow.told(),
    )


def _forget_oldest(row: ShadowPolicy) -> None:
    last = row.differences.values_list("pk", flat=True)[MOST_KEPT - 1 : MOST_KEPT]
    for oldest in last:
        row.differences.filter(pk__lt=oldest).delete()
