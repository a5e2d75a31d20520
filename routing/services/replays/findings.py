"""What a replay found: counts, the flips (a bounded number), and the flips that are alike put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from routing.engine import Catalog
from routing.engine.policy import AMBIGUOUS, NO_MATCH
from routing.engine.replay import FLIPPED, SAME, Outcome, Side, Tally, like
from routing.events import timestamp

MOST_FLIPS = 1000  # that are told one by one; all are counted
MOST_GROUPS = 200
MOST_EXAMPLES = 5

# What a change means to whoever asked, from what an answer counted as to what it would.
WON, LOST, CLASH, SETTLED, OTHER = "won", "lost", "clash", "settled", "other"
KINDS = (CLASH, LOST, OTHER, SETTLED, WON)


def kind_of(outcome: Outcome) -> str:
    """A match that is new, one that is lost, a new ambiguity, one that is settled, or another tool."""
    before, after = like(outcome.before), like(outcome.after)
    if outcome.change == FLIPPED or before == after:
        return OTHER
    if after == NO_MATCH:
        return LOST
    if before == NO_MATCH:
        return WON
    return CLASH if after == AMBIGUOUS else SETTLED


@dataclass(slots=True)
class _Group:
    """Flips from the same to the same."""

    kind: str
    before: Side
    after: Side
    count: int = 0
    scopes: Counter[str] = field(default_factory=Counter)
    because: Counter[str] = field(default_factory=Counter)
    decisions: list[str] = field(default_factory=list)
    gaps: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))  # the least and most of each side

    def add(self, outcome: Outcome) -> None:
        self.count += 1
        for known, side in zip(self.gaps, (outcome.before, outcome.after), strict=True):
            if side.gap is not None:
                known[:] = [min([*known[:1], side.gap]), max([*known[1:], side.gap])]
        self.scopes[outcome.recorded.scope] += 1
        self.because.update(outcome.because)
        if len(self.decisions) < MOST_EXAMPLES:
            self.decisions.append(outcome.recorded.id)

    def told(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "count": self.count,
            "before": _whole(self.before),
            "after": _whole(self.after),
            "scopes": [name for name, _ in self.scopes.most_common()],
            "because": [path for path, _ in self.because.most_common(4)],
            "decisions": self.decisions,
            "gaps": list(self.gaps),
        }


class Findings:
    def __init__(self, before: Catalog, after: Catalog) -> None:
        self._tally = Tally()
        self._flips: list[dict[str, Any]] = []
        self._groups: dict[Any, _Group] = {}
        self._kinds: Counter[str] = Counter()
        self._before, self._after = before, after

    def add(self, outcome: Outcome | None) -> None:
        self._tally.add(outcome)
        if outcome is None or outcome.change == SAME:
            return
        if len(self._flips) < MOST_FLIPS:
            self._flips.append(_flip(outcome))
        before, after = outcome.before, outcome.after
        kind = kind_of(outcome)
        self._kinds[kind] += 1
        key = (before.status, before.target, after.status, after.target, outcome.because)
        self._groups.setdefault(key, _Group(kind, before, after)).add(outcome)

    def told(self) -> dict[str, Any]:
        tally = self._tally
        return {
            "compared": tally.compared,
            "skipped": tally.skipped,
            "counts": tally.counts,
            "flips": self._flips,
            "flips_truncated": tally.compared - tally.counts[SAME] > len(self._flips),
            "kinds": {kind: self._kinds[kind] for kind in KINDS},
            "groups": self._grouped(),
            "groups_truncated": len(self._groups) > MOST_GROUPS,
        }

    def _grouped(self) -> list[dict[str, Any]]:
        ordered: Sequence[_Group] = sorted(self._groups.values(), key=lambda group: -group.count)
        return [group.told() | {"gone": self._is_gone(group)} for group in ordered[:MOST_GROUPS]]

    def _is_gone(self, group: _Group) -> bool:
        """Whether what was recommended is no more to be had in the candidate."""
        pair = self._after.pair(group.before.target) if group.before.target else None
        doc = self._after.tool(*pair) if pair else None
        return group.before.target is not None and (doc is None or not self._after.is_available(doc))


def _flip(outcome: Outcome) -> dict[str, Any]:
    recorded = outcome.recorded
    return {
        "decision_id": recorded.id,
        "at": None if recorded.at is None else timestamp(recorded.at),
        "scope": recorded.scope,
        "before": _told(outcome.before),
        "after": _told(outcome.after),
    }


def _told(side: Side) -> dict[str, Any]:
    return {"status": side.status, "target": side.target, "probability": side.probability}


def _whole(side: Side) -> dict[str, Any]:
    return _told(side) | {"gap": side.gap, "reasons": list(side.reasons), "runner": side.runner}
