"""How often a canary is stopped that should not be, and how soon one that should: simulated decisions, judged every twenty.

python bench/canaries.py [--canaries 300] [--most 6000]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from routing.engine.canary import MEASURES, Count, Group, judge

BOUND, MINIMUM, EVERY = 0.05, 100, 20
SETTINGS = ((0.05, 1), (0.05, 4), (0.2, 1), (0.01, 4))  # share of the others, and how many times as many they are


def stopped_at(rng: random.Random, share: float, times: int, rise: float, most: int) -> int | None:
    """After how many decisions of its own a canary is stopped; None when it never is."""
    canary = live = 0
    for seen in range(EVERY, most + 1, EVERY):
        canary += sum(rng.random() < share + rise for _ in range(EVERY))
        live += sum(rng.random() < share for _ in range(EVERY * times))
        groups = [Group(counts={"no_match": Count(*one)}) for one in ((canary, seen), (live, seen * times))]
        if judge(*groups, dict.fromkeys(MEASURES, BOUND), minimum=MINIMUM).broken:
            return seen
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--canaries", type=int, default=300)
    parser.add_argument("--most", type=int, default=6000)
    asked = parser.parse_args()
    rng = random.Random(1)
    for share, times in SETTINGS:
        for rise in (0.0, BOUND, BOUND + 0.15):
            found = [stopped_at(rng, share, times, rise, asked.most) for _ in range(asked.canaries)]
            seen = sorted(one for one in found if one is not None)
            median = f", half of them within {statistics.median(seen):.0f}" if seen else ""
            print(
                f"{share:.0%} of {times} times as many, rise {rise:.2f}: {len(seen) / len(found):.1%} stopped{median}"
            )


if __name__ == "__main__":
    main()
