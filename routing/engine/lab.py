"""What another threshold would have done to answers of which it is known whether they were right.

Everything is counted from judged answers: how many would have been confident from a probability on (coverage), and how many of
those were right (precision), with the interval that so few of them leave open. Where there are too few to say anything, nothing
is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

FEWEST = 30  # judged answers below which no curve is drawn and nothing is proposed
FEWEST_IN_BIN = 10
MOST_BINS = 10
STEPS = 100  # thresholds between 0 and 1 that are tried
Z = 1.96  # of intervals that hold 95 times in 100


class Judged(NamedTuple):
    """An answer whose first tool turned out right or wrong. `held`: no threshold makes it confident, a tie say."""

    probability: float
    right: bool
    effect: str = ""
    held: bool = False


class Interval(NamedTuple):
    low: float
    high: float


def wilson(part: int, whole: int, z: float = Z) -> Interval:
    """Where a share lies that was counted so, 95 times in 100; everything is possible while nothing was counted."""
    if whole <= 0:
        return Interval(0.0, 1.0)
    share, square = part / whole, z * z
    middle = (share + square / (2 * whole)) / (1 + square / whole)
    reach = z / (1 + square / whole) * math.sqrt(share * (1 - share) / whole + square / (4 * whole * whole))
    return Interval(max(0.0, middle - reach), min(1.0, middle + reach))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one threshold would have done: of `total` answers `acted` confident, `right` of them right."""

    threshold: float
    acted: int
    right: int
    total: int

    @property
    def wrong(self) -> int:
        return self.acted - self.right

    @property
    def asked(self) -> int:
        """Those that somebody would have had to decide."""
        return self.total - self.acted

    @property
    def coverage(self) -> float:
        return self.acted / self.total if self.total else 0.0

    @property
    def precision(self) -> float | None:
        return self.right / self.acted if self.acted else None

    @property
    def interval(self) -> Interval:
        return wilson(self.right, self.acted)

    def cost(self, *, wrong: float, ask: float) -> float:
        """Of one answer in the mean: what a wrong confident answer costs, and what asking costs."""
        return (self.wrong * wrong + self.asked * ask) / self.total if self.total else 0.0


def at(judged: Sequence[Judged], threshold: float) -> Point:
    acted = [one for one in judged if one.probability >= threshold and not one.held]
    return Point(threshold=threshold, acted=len(acted), right=sum(one.right for one in acted), total=len(judged))


def curve(judged: Sequence[Judged]) -> tuple[Point, ...]:
    """A point for each hundredth from 0 to 1; none where there are too few answers."""
    if len(judged) < FEWEST:
        return ()
    free = sorted((one for one in judged if not one.held), key=lambda one: one.probability)
    told = np.array([one.probability for one in free])
    behind = np.concatenate([np.cumsum([one.right for one in free][::-1])[::-1], [0]]) if free else np.zeros(1, np.intp)
    thresholds = np.arange(STEPS + 1) / STEPS
    first = told.searchsorted(thresholds, "left")
    return tuple(
        Point(threshold=float(one), acted=len(free) - int(place), right=int(behind[place]), total=len(judged))
        for one, place in zip(thresholds, first, strict=True)
    )


def cheapest(points: Sequence[Point], *, wrong: float, ask: float) -> Point | None:
    """The threshold of least cost; of equals the highest, since it risks least."""
    return min(points, key=lambda one: (one.cost(wrong=wrong, ask=ask), -one.threshold), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Answers of nearly the same probability: what was told of them, and how many were right."""

    told: float
    right: int
    count: int

    @property
    def share(self) -> float:
        return self.right / self.count

    @property
    def interval(self) -> Interval:
        return wilson(self.right, self.count)


def reliability(judged: Sequence[Judged]) -> tuple[Bin, ...]:
    """Bins of equal size, from the least to the most probable; none where there are too few answers."""
    if len(judged) < FEWEST:
        return ()
    ordered = sorted(judged, key=lambda one: one.probability)
    number = min(MOST_BINS, len(ordered) // FEWEST_IN_BIN)
    edges = [round(place * len(ordered) / number) for place in range(number + 1)]
    return tuple(
        Bin(
            told=sum(one.probability for one in part) / len(part),
            right=sum(one.right for one in part),
            count=len(part),
        )
        for part in (ordered[start:end] for start, end in zip(edges, edges[1:], strict=False))
    )
