"""How far off the judge's probabilities are on a catalog that it was not fitted on, before and after its outcomes are known.

    python bench/calibration.py --data DIR [--sets metatool,bfcl,…] [--labels 50,200,500] [--draws 20] [--strength N]

The heads are fitted on the other sets. Then outcomes of some questions of the left-out set are told, drawn at random, and
the rest is measured: the expected calibration error (ECE) of `probability` over 15 bins of equal size, mean of all draws.
`floor` is what perfectly calibrated probabilities would show on so few questions, by chance alone. Sets are as for
bench/fit_judge.py; each question is asked of the whole catalog and of one without a fifth of its tools.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from fit_judge import Array, Row, chances, error, fit, read_set

from routing.engine.calibration import PRIOR_STRENGTH, Outcome, recalibrate

FEWEST_MEASURED = 150  # questions that have to be left


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--sets", default="metatool,bfcl,mcp_servers,clinc_oos")
    asked.add_argument("--split", default="dev")
    asked.add_argument("--tier", default="static")
    asked.add_argument("--labels", default="50,200,500")
    asked.add_argument("--draws", type=int, default=20)
    asked.add_argument("--strength", type=float, default=PRIOR_STRENGTH)
    given = asked.parse_args()
    counts = [0, *map(int, given.labels.split(","))]
    names = given.sets.split(",")
    rows = {name: read_set(given.data / name, given.split, given.tier) for name in names}
    found = {}
    for name in names:
        others = [one for other, one in rows.items() if other != name]
        match, right = told(others, rows[name], given.tier)
        found[name] = {count: after(rows[name], match, right, count, given.draws, given.strength) for count in counts}
        print(name, len(rows[name]), json.dumps(found[name]), flush=True)
    for count in counts:
        kept = [one[count] for one in found.values() if one[count] is not None]
        mean = {key: round(float(np.mean([one[key] for one in kept])), 3) for key in kept[0]}
        print("mean", count, f"of {len(kept)} sets", json.dumps(mean))


def told(others: Sequence[Sequence[Row]], rows: Sequence[Row], tier: str) -> tuple[Array, Array]:
    """`match_probability` and `probability` of these questions by heads that were fitted on the other sets."""
    match, likely = chances(fit(others, tier), rows, tier)
    return match, match * likely


def after(
    rows: Sequence[Row], match: Array, right: Array, count: int, draws: int, strength: float
) -> dict[str, float] | None:
    """The figures of the questions whose outcomes stay unknown; None where too few would stay."""
    if len(rows) - count < FEWEST_MEASURED:
        return None
    labels = np.array([row.right for row in rows], np.float64)
    fits = np.array([row.kind == "in" for row in rows], np.float64)
    figures = []
    for draw in range(draws if count else 1):
        chance = np.random.default_rng(draw)
        order = chance.permutation(len(rows))
        known, rest = order[:count], order[count:]
        made = recalibrate(
            [Outcome(match=float(match[at]), right=float(right[at]), was_right=bool(labels[at])) for at in known],
            strength=strength,
        )
        corrected = np.array([made(float(match[at]), float(right[at])) for at in rest])
        level = np.mean([error(corrected[:, 1], chance.random(len(rest)) < corrected[:, 1]) for _ in range(5)])
        figures.append(
            {
                "ece": error(corrected[:, 1], labels[rest]),
                "floor": float(level),
                "match_ece": error(corrected[:, 0], fits[rest]),
                "log_loss": loss(corrected[:, 1], labels[rest]),
            }
        )
    return {key: round(float(np.mean([one[key] for one in figures])), 3) for key in figures[0]}


def loss(chances: Array, labels: Array) -> float:
    clipped = np.clip(chances, 1e-4, 1 - 1e-4)
    return float(-np.mean(labels * np.log(clipped) + (1 - labels) * np.log(1 - clipped)))


if __name__ == "__main__":
    main()
