"""Whether a revision that answers some does worse than the one that answers all others: values in, a verdict out.

Three shares are held against each other: of resolves without a match, of routes handed back, and of reported outcomes that were
failures. A bound is broken when the rise lies above it even at the careful end of what the counts leave open. The counts are
looked at again and again, and every look is a chance to be wrong; so each doubling of the counts has its own, smaller part of
the doubt. A rise that is only at its bound is then found to be above it in about one canary of twenty (docs/canary.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

from routing.engine.lab import Interval, Z, wilson

MEASURES = ("no_match", "fallback", "failure")
DOUBT = 0.02  # of the first looks at all counts; looks between two doublings add to it
WAITING, WITHIN, BEYOND = "waiting", "within", "beyond"


class Count(NamedTuple):
    """`part` of `whole` things were what a measure counts."""

    part: int
    whole: int

    @property
    def share(self) -> float:
        return self.part / self.whole if self.whole else 0.0

    @property
    def interval(self) -> Interval:
        return wilson(self.part, self.whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What was counted of those that one revision answered."""

    decisions: int = 0
    counts: Mapping[str, Count]  # by measure

    def of(self, measure: str) -> Count:
        return self.counts.get(measure, Count(0, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One measure in both groups. `rise` and the rest are in shares, 0.05 for five percentage points.

    `least` is how much the rise surely is; above `bound` it is `beyond`. `before` is by how much the groups differed already
    when both were answered by one revision; it is taken off, and None where nothing is known of that.
    """

    measure: str
    canary: Count
    live: Count
    bound: float
    standing: str
    rise: float | None = None
    interval: Interval | None = None
    least: float | None = None
    before: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What every measure says, in the order of MEASURES."""

    readings: tuple[Reading, ...]

    @property
    def broken(self) -> Reading | None:
        """The first bound that is broken."""
        return next((one for one in self.readings if one.standing == BEYOND), None)

    @property
    def is_judged(self) -> bool:
        """Whether there was enough to judge anything by."""
        return any(one.standing != WAITING for one in self.readings)


def judge(
    canary: Group,
    live: Group,
    bounds: Mapping[str, float],
    *,
    minimum: int,
    before: tuple[Group, Group] | None = None,
) -> Judgement:
    """Hold two groups against each other. `minimum` is how much of a measure must be counted in both before it is judged;
    `before` has both groups under one revision, canary first, where they are not alike by chance.
    """
    return Judgement(
        readings=tuple(
            _reading(
                measure,
                canary.of(measure),
                live.of(measure),
                bounds[measure],
                max(1, minimum),
                tuple(group.of(measure) for group in before) if before else (),
            )
            for measure in MEASURES
        )
    )


def _reading(
    measure: str, canary: Count, live: Count, bound: float, minimum: int, before: tuple[Count, ...]
) -> Reading:
    fewest = min(canary.whole, live.whole)
    if fewest < minimum:
        return Reading(measure=measure, canary=canary, live=live, bound=bound, standing=WAITING)
    terms, was = [(1, canary), (-1, live)], None
    if before and min(count.whole for count in before) >= minimum:
        terms += [(-1, before[0]), (1, before[1])]
        was = before[0].share - before[1].share
    least = _limits(terms, _z(_doublings(fewest, minimum))).low
    return Reading(
        measure=measure,
        canary=canary,
        live=live,
        bound=bound,
        standing=BEYOND if least > bound else WITHIN,
        rise=sum(sign * count.share for sign, count in terms),
        interval=_limits(terms, Z),
        least=least,
        before=was,
    )


def _limits(terms: Sequence[tuple[int, Count]], z: float) -> Interval:
    """Where a sum of shares lies, from Wilson's limits of each (Newcombe 1998; Zou and Donner 2008 for more than two)."""
    middle = below = above = 0.0
    for sign, count in terms:
        share, limits = count.share, wilson(count.part, count.whole, z)
        down, up = share - limits.low, limits.high - share
        middle += sign * share
        below += (down if sign > 0 else up) ** 2
        above += (up if sign > 0 else down) ** 2
    return Interval(middle - math.sqrt(below), middle + math.sqrt(above))


def _doublings(fewest: int, minimum: int) -> int:
    return (fewest // minimum).bit_length() - 1


@cache
def _z(doublings: int) -> float:
    """How many standard errors a rise must lie above its bound: 1/2, 1/6, 1/12 … of the doubt, which add up to all of it."""
    return NormalDist().inv_cdf(1 - DOUBT / ((doublings + 1) * (doublings + 2)))
