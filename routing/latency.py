"""Latencies as counts in buckets: small to keep, additive, and good enough for a percentile."""

from __future__ import annotations

import bisect
from collections.abc import Mapping

# Upper bounds of the buckets, in milliseconds; each about 1.5 times the one before.
BOUNDS_MS = (
    *(0.1, 0.15, 0.25, 0.4, 0.6, 0.9, 1.35, 2, 3, 4.5, 7, 10, 15, 25, 40, 60, 90, 135, 200, 300, 450, 700),
    *(1000, 1500, 2500, 4000, 6000, 9000, 15000, 30000),
)


def bucket_of(latency_ms: float) -> str:
    """Name of the bucket that a latency falls into: the place of its upper bound."""
    return str(min(bisect.bisect_left(BOUNDS_MS, latency_ms), len(BOUNDS_MS) - 1))


class Latencies:
    """The figures of whatever counts its answers in buckets of latency."""

    __slots__ = ()
    latency: Mapping[str, int]

    @property
    def p50(self) -> float | None:
        return percentile(self.latency, 0.5)

    @property
    def p95(self) -> float | None:
        return percentile(self.latency, 0.95)


def percentile(buckets: Mapping[str, int], share: float) -> float | None:
    """The latency below which `share` (0..1) of the counted answers stayed, interpolated within its bucket."""
    total = sum(buckets.values())
    if not total:
        return None
    wanted, seen = share * total, 0
    for place in sorted(int(name) for name in buckets):
        number = buckets[str(place)]
        if seen + number >= wanted:
            low = BOUNDS_MS[place - 1] if place else 0.0
            return low + (BOUNDS_MS[place] - low) * (wanted - seen) / number
        seen += number
    return float(BOUNDS_MS[-1])
