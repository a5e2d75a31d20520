"""What a workspace's decisions and calls came to since they began, for monitoring: counts that only grow.

Decisions are added up from the minutes that the ledger's writer counts. Minutes of earlier days change only by what is reported
late, so their sum is kept in memory and made anew once a day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count

from routing.models import ChainHead, Decision, Minute, PendingEvent, Workspace

FACTS = ("recommended", "invoked", "returned", "not_returned", "achieved", "not_achieved", "agreed", "differed")
_SETTLED = timedelta(days=2)


@dataclass(slots=True, kw_only=True)
class Totals:
    """Counters of one workspace: keys of `decisions` are (scope, type, status), of `latency` (type, bucket)."""

    decisions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    facts: Counter[tuple[str, str]] = field(default_factory=Counter)  # (type, fact)
    sources: Counter[tuple[str, str]] = field(default_factory=Counter)  # (type, who answered)
    fallbacks: Counter[tuple[str, str]] = field(default_factory=Counter)  # (type, why the choice was handed back)
    latency: Counter[tuple[str, str]] = field(default_factory=Counter)
    cost: float = 0.0

    def add(self, rows: Iterable[Minute]) -> Totals:
        for row in rows:
            self.decisions[row.scope, row.type, row.status] += row.count
            for fact in FACTS:
                self.facts[row.type, fact] += getattr(row, fact)
            for counted, told in (
                (self.sources, row.sources),
                (self.fallbacks, row.fallbacks),
                (self.latency, row.latency),
            ):
                for name, number in told.items():
                    counted[row.type, name] += number
            self.cost += row.cost
        return self

    def copy(self) -> Totals:
        return Totals(
            decisions=self.decisions.copy(),
            facts=self.facts.copy(),
            sources=self.sources.copy(),
            fallbacks=self.fallbacks.copy(),
            latency=self.latency.copy(),
            cost=self.cost,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What is on its way: undecided requests by (type, state), events that are not in the chain yet, and its last number."""

    decisions: Mapping[tuple[str, str], int]
    events: int
    chained: int


_settled: dict[Any, tuple[datetime, Totals]] = {}  # workspace id -> (up to when, the sum)


def totals(workspace: Workspace, now: datetime) -> Totals:
    minutes = Minute.objects.filter(workspace=workspace).order_by()
    until = (now - _SETTLED).replace(hour=0, minute=0, second=0, microsecond=0)
    known = _settled.get(workspace.pk)
    if known is None or known[0] != until:
        known = _settled[workspace.pk] = (until, Totals().add(minutes.filter(at__lt=until).iterator()))
    return known[1].copy().add(minutes.filter(at__gte=until).iterator())


def waiting(workspace: Workspace) -> Waiting:
    rows = Decision.objects.filter(workspace=workspace).waiting().order_by()
    counted = rows.values_list("type", "state").annotate(number=Count("pk"))
    head = ChainHead.objects.filter(workspace=workspace).first()
    return Waiting(
        decisions={(type_, state): number for type_, state, number in counted},
        events=PendingEvent.objects.filter(workspace=workspace).count(),
        chained=head.seq if head else 0,
    )


def forget() -> None:
    """Drop what is kept in memory (tests change databases under it)."""
    _settled.clear()
