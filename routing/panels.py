"""The dashboard's figures, read from the minutes that the ledger's writer counts; never from the raw ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from routing.latency import percentile
from routing.models import Minute, Workspace

FACTS = ("recommended", "invoked", "returned", "not_returned", "achieved", "not_achieved")
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
class Point:
    at: datetime
    seconds: float  # how much of the point's stretch has passed
    counts: Mapping[str, int]
    latency: Mapping[str, int]

    @property
    def p50(self) -> float | None:
        return percentile(self.latency, 0.5)

    @property
    def p95(self) -> float | None:
        return percentile(self.latency, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one look at the dashboard needs, all of the same rows so that every number adds up."""

    window: Window
    counts: Mapping[str, int]
    facts: Mapping[str, int]
    latency: Mapping[str, int]
    points: tuple[Point, ...]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def a_second(self) -> float:
        return self.total / (60 * self.window.minutes)

    @property
    def p50(self) -> float | None:
        return percentile(self.latency, 0.5)

    @property
    def p95(self) -> float | None:
        return percentile(self.latency, 0.95)


def figures(workspace: Workspace, window: Window, *, scope: str | None = None) -> Figures:
    rows = list(_minutes(workspace, window, scope))
    counts: Counter[str] = Counter()
    facts: Counter[str] = Counter(dict.fromkeys(FACTS, 0))
    for row in rows:
        counts[row.status] += row.count
        facts.update({name: getattr(row, name) for name in FACTS})
    facts["decisions"] = sum(counts.values())
    return Figures(
        window=window,
        counts={status: number for status, number in counts.items() if number},
        facts=facts,
        latency=_added(rows),
        points=tuple(_points(rows, window)),
    )


def _minutes(workspace: Workspace, window: Window, scope: str | None) -> Iterable[Minute]:
    rows = Minute.objects.filter(workspace=workspace, at__gte=window.start, at__lte=window.end)
    return rows if scope is None else rows.filter(scope=scope)


def _points(rows: Iterable[Minute], window: Window) -> Iterable[Point]:
    places: dict[int, list[Minute]] = {}
    for row in rows:
        places.setdefault(int((row.at - window.start).total_seconds() // (60 * window.step)), []).append(row)
    for place in range(-(-window.minutes // window.step)):
        at = window.start + timedelta(minutes=place * window.step)
        passed = min(60.0 * window.step, max(1.0, (window.end - at).total_seconds()))
        own = places.get(place, [])
        counts: Counter[str] = Counter()
        for row in own:
            counts[row.status] += row.count
        yield Point(at=at, seconds=passed, counts=counts, latency=_added(own))


def _added(rows: Iterable[Minute]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row.latency)
    return dict(total)
