"""The dashboard's figures, read from the minutes that the ledger's writer counts; never from the raw ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Sum

from routing.latency import Latencies
from routing.models import Minute, Workspace

FACTS = ("recommended", "invoked", "returned", "not_returned", "achieved", "not_achieved", "agreed", "differed")
MOST_POINTS = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of whole minutes that ends now, and how many of them make one point of a chart."""

    minutes: int
    end: datetime

    @property
    def start(self) -> datetime:
        return self.end.replace(second=0, microsecond=0) - timedelta(minutes=self.minutes - 1)

    @property
    def step(self) -> int:
        return max(1, -(-self.minutes // MOST_POINTS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point(Latencies):
    at: datetime
    seconds: float  # how much of the point's stretch has passed
    counts: Mapping[str, int]
    latency: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures(Latencies):
    """What one look at the dashboard needs, all of the same rows so that every number adds up."""

    window: Window
    counts: Mapping[str, int]
    facts: Mapping[str, int]
    latency: Mapping[str, int]
    points: tuple[Point, ...]
    sources: Mapping[str, int]  # who answered
    fallbacks: Mapping[str, int]  # why the choice was handed back
    turns: Mapping[str, int]  # loops and circuits of sessions
    cost: float  # of providers' answers, where it is told

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def a_second(self) -> float:
        return self.total / (60 * self.window.minutes)


class _Row(NamedTuple):
    """What is read of a minute one by one: tens of thousands make a day, too many to be made models of."""

    at: datetime
    status: str
    decisions: int
    latency: Mapping[str, int]
    sources: Mapping[str, int]
    fallbacks: Mapping[str, int]
    turns: Mapping[str, int]


def figures(workspace: Workspace, window: Window, *, scope: str | None = None) -> Figures:
    minutes = Minute.objects.filter(workspace=workspace, at__gte=window.start, at__lte=window.end).order_by()
    if scope is not None:
        minutes = minutes.filter(scope=scope)
    columns = ("at", "status", "count", "latency", "sources", "fallbacks", "turns")
    rows = [_Row._make(row) for row in minutes.values_list(*columns)]
    points = tuple(_points(rows, window))
    counts = _added(point.counts for point in points)
    sums = minutes.aggregate(**{name: Sum(name) for name in (*FACTS, "cost")})
    return Figures(
        window=window,
        counts={status: number for status, number in counts.items() if number},
        facts={name: sums[name] or 0 for name in FACTS} | {"decisions": sum(counts.values())},
        latency=_added(point.latency for point in points),
        points=points,
        sources=_added(row.sources for row in rows if row.sources),
        fallbacks=_added(row.fallbacks for row in rows if row.fallbacks),
        turns=_added(row.turns for row in rows if row.turns),
        cost=sums["cost"] or 0.0,
    )


def _points(rows: Iterable[_Row], window: Window) -> Iterable[Point]:
    start, step = window.start, timedelta(minutes=window.step)
    places: dict[int, list[_Row]] = {}
    for row in rows:
        places.setdefault((row.at - start) // step, []).append(row)
    for place in range(-(-window.minutes // window.step)):
        at = start + place * step
        passed = min(60.0 * window.step, max(1.0, (window.end - at).total_seconds()))
        own = places.get(place, [])
        counts: Counter[str] = Counter()
        for row in own:
            counts[row.status] += row.decisions
        yield Point(at=at, seconds=passed, counts=counts, latency=_added(row.latency for row in own))


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in counts:
        for name, number in one.items():
            total[name] = total.get(name, 0) + number
    return total
