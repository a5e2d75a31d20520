"""What the two groups of a canary got: counted from the decisions, each by the revision that really answered it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count as CountOf
from django.db.models import Q, QuerySet

from routing import listings
from routing.choices import DecisionState, DecisionType
from routing.engine.canary import MEASURES, Count, Group, Judgement, judge
from routing.models import CanaryRow, Decision

MOST = 20_000  # newest decisions of a group that are counted
BEFORE = timedelta(days=7)  # that two groups of scopes are compared over, before the canary began

_RESOLVED = Q(type__in=(DecisionType.RESOLVE, DecisionType.ADVICE))
_ROUTED = Q(type__in=(DecisionType.ROUTE, DecisionType.SEARCH))
_OF: Mapping[str, tuple[Q, Q]] = {  # what a measure counts, and among what
    "no_match": (_RESOLVED & Q(status="no_match"), _RESOLVED & Q(status__isnull=False)),
    "fallback": (_ROUTED & Q(status="fallback"), _ROUTED & Q(status__isnull=False)),
    "failure": (listings.OUTCOMES["failed"], listings.OUTCOMES["reported"]),
}


def groups_of(row: CanaryRow) -> tuple[Group, Group]:
    """Those whom the canary answered, and those whom the live revision did meanwhile."""
    rows = _made(row.workspace_id, row.started_at, row.ended_at)
    return (
        _counted(rows.filter(revision=row.revision.number)),
        _counted(rows.filter(revision=row.live_number)),
    )


def groups_before(workspace_id: Any, scopes: list[str], start: datetime) -> tuple[Group, Group]:
    """The same of chosen scopes and of all others, in the days before."""
    rows = _made(workspace_id, start - BEFORE, start)
    return _counted(rows.filter(scope__in=scopes)), _counted(rows.exclude(scope__in=scopes))


def _made(workspace_id: Any, since: datetime, until: datetime | None) -> QuerySet[Decision]:
    rows = Decision.objects.filter(workspace_id=workspace_id, state=DecisionState.FINISHED)
    return listings.DecisionFilter(since=since, until=until).apply(rows)


def _counted(rows: QuerySet[Decision]) -> Group:
    newest = rows.order_by("-id").values("type", "status", "domain", "transport")[:MOST]
    asked = {
        f"{name}_{place}": CountOf("type", filter=which) for name in MEASURES for place, which in enumerate(_OF[name])
    }
    found = newest.aggregate(decisions=CountOf("type"), **asked)
    return Group(
        decisions=found["decisions"], counts={name: Count(found[f"{name}_0"], found[f"{name}_1"]) for name in MEASURES}
    )


def judged(row: CanaryRow, groups: tuple[Group, Group]) -> Judgement:
    """What the canary's bounds say to these counts."""
    before = None if row.before is None else (group_from(row.before["canary"]), group_from(row.before["live"]))
    return judge(*groups, row.bounds, minimum=row.minimum, before=before)


def told(groups: tuple[Group, Group]) -> dict[str, Any]:
    """Both groups as they are kept."""
    return {
        side: {"decisions": group.decisions, **{name: list(group.of(name)) for name in MEASURES}}
        for side, group in zip(("canary", "live"), groups, strict=True)
    }


def group_from(kept: Mapping[str, Any]) -> Group:
    return Group(decisions=kept["decisions"], counts={name: Count(*kept[name]) for name in MEASURES})


def kept_groups(row: CanaryRow) -> tuple[Group, Group]:
    """The groups as they were when the canary ended; as they are while it runs."""
    if row.is_running or row.figures is None:
        return groups_of(row)
    return group_from(row.figures["canary"]), group_from(row.figures["live"])
