"""By how much the first would have to lead for its answer to turn: the judge is asked again with other leads."""

from __future__ import annotations

from dataclasses import replace

from routing.engine.calibration import SHIPPED, Calibration
from routing.engine.policy import CONFIDENT, Thresholds, judge
from routing.engine.scoring import Lineup

STEPS = 14  # halvings of the range in which the lead is looked for: far below what a score is rounded to


def turning_gap(lineup: Lineup, thresholds: Thresholds, calibration: Calibration = SHIPPED) -> float | None:
    """The smallest lead over the second with which the first is recommended with confidence, all else as it is.

    None where no lead would do, where any does, and where there is no second.
    """
    ranking = lineup.present
    if len(ranking.candidates) < 2 or not ranking.candidates[1].score:
        return None
    first, second, *others = ranking.candidates

    def is_confident(gap: float) -> bool:
        ahead = first._replace(score=second.score + gap)
        present = replace(ranking, candidates=(ahead, second, *others))
        return judge(replace(lineup, present=present), thresholds, calibration).status == CONFIDENT

    low, high = 0.0, max(first.score, 3 * second.score)
    if is_confident(low) or not is_confident(high):
        return None
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_confident(middle) else (middle, high)
    return high
