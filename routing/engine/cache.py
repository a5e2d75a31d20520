"""Decisions kept for equal requests: the least recently used go first, and some are kept only for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace

from routing.engine.models import RouteDecision

CACHE = "cache"


class DecisionCache:
    """At most `size` decisions; 0 keeps none. `clock` counts seconds."""

    def __init__(self, size: int, clock: Callable[[], float]) -> None:
        self._size = size
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[RouteDecision, float | None]] = OrderedDict()

    def get(self, key: Hashable) -> RouteDecision | None:
        """The decision kept under this key, its source being the cache."""
        found = self._kept.get(key)
        if found is None:
            return None
        decision, until = found
        if until is not None and self._clock() >= until:
            del self._kept[key]
            return None
        if decision.source != CACHE:
            # Only now: most decisions are never asked for again.
            decision = replace(decision, source=CACHE)
            self._kept[key] = (decision, until)
        self._kept.move_to_end(key)
        return decision

    def put(self, key: Hashable, decision: RouteDecision, *, seconds: float | None = None) -> None:
        """Keep a decision, for so many seconds where they are given."""
        if not self._size or (seconds is not None and seconds <= 0):
            return
        self._kept[key] = (decision, None if seconds is None else self._clock() + seconds)
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)
