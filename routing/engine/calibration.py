"""What became of a workspace's recommendations corrects the judge's two probabilities.

A correction moves and stretches a probability on the scale of log odds, so it keeps their order. It is fitted with
shrinkage towards changing nothing: a few outcomes move it a little, and without any it is the identity. Everything here
is pure; which outcomes there are is asked elsewhere (`routing.services.calibration`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

PRIOR_STRENGTH = 2.0  # how firmly the shipped fit is believed: the inverse variance of what may be wrong with it
FARTHEST = 3.0  # a correction moves no log odds further than this
FLATTEST, STEEPEST = 0.25, 4.0
CLIP = 1e-4  # told probabilities are rounded; nothing is surer than this
NEAREST = 1e-9  # to 0 or 1 that a correction tells apart
SUCCESS, FAILURE = "success", "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """log odds → intercept + slope × log odds."""

    intercept: float = 0.0
    slope: float = 1.0

    def __call__(self, probability: float) -> float:
        if self.is_identity or not 0 < probability < 1:
            return probability
        near = min(max(probability, NEAREST), 1 - NEAREST)
        return 1 / (1 + math.exp(-(self.intercept + self.slope * math.log(near / (1 - near)))))

    @property
    def is_identity(self) -> bool:
        return self.intercept == 0 and self.slope == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The corrections of both heads. Version 0 is what ships: no correction."""

    match: Correction = field(default_factory=Correction)
    right: Correction = field(default_factory=Correction)
    version: int = 0

    def __call__(self, match: float, right: float) -> tuple[float, float]:
        """(some tool fits, the first is right), corrected; the second never above the first."""
        fits = self.match(match)
        return fits, min(self.right(right), fits)


SHIPPED = Calibration()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was told of a recommendation by the shipped fit, and whether the first tool turned out right.

    `other` says that another tool of the scope turned out right instead, so some tool did fit.
    """

    match: float
    right: float
    was_right: bool
    other: bool = False


def was_right(first: str, reported: Iterable[tuple[str, str]]) -> tuple[bool, bool] | None:
    """(the first tool was right, another one was) from the outcomes reported for one decision, each (tool, status).

    None where they do not tell: nothing of the first tool and no success of another, a partial or unknown outcome, or
    success beside failure for one tool.
    """
    statuses: dict[str, set[str]] = {}
    for tool, status in reported:
        statuses.setdefault(tool, set()).add(status)
    own = statuses.pop(first, set())
    other = any(told == {SUCCESS} for told in statuses.values())
    if own == {SUCCESS}:
        return True, False
    if own == {FAILURE} or not own and other:
        return False, other
    return None


def recalibrate(outcomes: Sequence[Outcome], *, strength: float = PRIOR_STRENGTH, version: int = 0) -> Calibration:
    """The corrections that these outcomes speak for, shrunk towards none: without outcomes, the identity."""
    if not outcomes:
        return Calibration(version=version)
    told = np.array([one.right for one in outcomes])
    fits = np.array([one.match for one in outcomes])
    were = np.array([one.was_right for one in outcomes], np.float64)
    right = _fit(told, were, strength)
    # A wrong first tool does not say whether another would have fitted: that stays as likely as both heads make it.
    corrected = np.array([right(one) for one in told.tolist()])
    left = np.clip((fits - corrected) / np.maximum(1 - corrected, CLIP), 0.0, 1.0)
    known = np.array([one.was_right or one.other for one in outcomes])
    return Calibration(match=_fit(fits, np.where(known, 1.0, left), strength), right=right, version=version)


def _fit(told: Array, labels: Array, strength: float) -> Correction:
    """Newton's method on the log loss with a ridge towards the identity. Labels may lie between 0 and 1."""
    odds = np.log(np.clip(told, CLIP, 1 - CLIP) / (1 - np.clip(told, CLIP, 1 - CLIP)))
    given = np.stack([np.ones_like(odds), odds], axis=1)
    start = np.array([0.0, 1.0])
    found = start.copy()
    for _ in range(60):
        chance = 1 / (1 + np.exp(-np.clip(given @ found, -30, 30)))
        slope = given.T @ (chance - labels) + strength * (found - start)
        curve = (given * (chance * (1 - chance))[:, None]).T @ given + strength * np.eye(2)
        step = np.linalg.solve(curve, slope)
        found = found - step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-9:
            break
    intercept = float(np.clip(found[0], -FARTHEST, FARTHEST))
    return Correction(intercept=round(intercept, 6), slope=round(float(np.clip(found[1], FLATTEST, STEEPEST)), 6))


def expected_error(told: Array, labels: Array, *, bins: int = 15) -> float:
    """Mean distance between what was told and the share that was right, over bins of equal size (ECE)."""
    parts = [part for part in np.array_split(np.argsort(told, kind="stable"), bins) if len(part)]
    return float(sum(len(one) / len(told) * abs(told[one].mean() - labels[one].mean()) for one in parts))
