"""Make recorded decisions again under two catalogs, and say which come out differently, and why.

Both sides are asked the same way, so that what differs comes of the documents alone: no encoder, the same judge, the text as
it was kept. A route among the scope's tools that the local provider decides is put to it again; any other is decided again
from what its provider answered then, and nobody is asked anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from routing.engine.batch import Question
from routing.engine.catalog import Catalog
from routing.engine.policy import AMBIGUOUS, CONFIDENT, NO_MATCH
from routing.engine.registry import Registry
from routing.engine.replay_ground import HANDED_BACK, SELECTED, Ground, Recorded, Route, Side
from routing.engine.replay_routes import asks_local_alone, decided_again, recorded_route

__all__ = [
    "BECAME",
    "COUNTS",
    "FLIPPED",
    "HANDED_BACK",
    "SAME",
    "SELECTED",
    "TO_BE_CONFIRMED",
    "Outcome",
    "Recorded",
    "Route",
    "Side",
    "Tally",
    "asks_local_alone",
    "change_of",
    "changed_entries",
    "decided_again",
    "like",
    "recorded_route",
    "replay",
]

SAME, FLIPPED = "same", "flipped"
BECAME = {CONFIDENT: "became_confident", AMBIGUOUS: "became_ambiguous", NO_MATCH: "became_no_match"}
COUNTS = (SAME, FLIPPED, *BECAME.values())
TO_BE_CONFIRMED = "planner_confirmation"
AT_ONCE = 192  # decisions that are looked at together
SECTIONS = ("endpoints", "capabilities", "policies", "scopes")  # whose entries a decision hangs on


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What becomes of one decision. `because` names changed entries that it hangs on, as a document's paths do."""

    recorded: Recorded
    change: str  # one of COUNTS
    before: Side
    after: Side
    because: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """Decisions so far. A decision is counted once; `compared` is the sum of the counts."""

    skipped: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))

    @property
    def compared(self) -> int:
        return sum(self.counts.values())

    def add(self, outcome: Outcome | None) -> None:
        if outcome is None:
            self.skipped += 1
        else:
            self.counts[outcome.change] += 1


def replay(
    recorded: Iterable[Recorded], before: Catalog, after: Catalog, *, route: Route | None = None
) -> Iterator[Outcome | None]:
    """One outcome for each decision, in order; None for one that cannot be made again. Equal questions are asked once.

    `route` puts a text to the local provider; without it all routes are decided again from recorded answers.
    """
    both, left = _Both(before, after, route), iter(recorded)
    while some := list(islice(left, AT_ONCE)):
        both.ask(some)
        yield from map(both.outcome, some)


class _Both:
    """The two catalogs, what was asked of them already, and what differs between them."""

    def __init__(self, before: Catalog, after: Catalog, route: Route | None) -> None:
        self.before, self.after = Ground(before, route), Ground(after, route)
        self.changed = changed_entries(before.registry, after.registry)
        self._sees_the_same: dict[str, bool] = {}
        self._asked: dict[tuple[str, str, str | None], tuple[Side, Side]] = {}
        self._put: dict[tuple[str, str, str], tuple[Side, Side]] = {}

    def ask(self, some: Sequence[Recorded]) -> None:
        """Find both answers to those of these questions that are new, all of a scope at once."""
        wanted: dict[tuple[str, str | None], dict[str, Recorded]] = {}
        for one in some:
            if one.route is not None or one.text is None or one.scope not in self.before.catalog.scopes:
                continue
            if (one.scope, one.text, one.tier) not in self._asked:
                wanted.setdefault((one.scope, one.tier), {}).setdefault(one.text, one)
        for (scope, tier), new in wanted.items():
            for text, sides in zip(new, self._answered(scope, tier, list(new.values())), strict=True):
                self._asked[scope, text, tier] = sides

    def outcome(self, one: Recorded) -> Outcome | None:
        """What becomes of a decision whose question was asked."""
        if one.scope not in self.before.catalog.scopes:
            return None
        is_resolve = one.route is None and one.text is not None
        sides = self._asked[one.scope, one.text or "", one.tier] if is_resolve else self._routed(one)
        if sides is None:
            return None
        before, after = sides
        change = change_of(before, after)
        because = () if change == SAME else self._because(one, before, after)
        return Outcome(recorded=one, change=change, before=before, after=after, because=because)

    def _answered(self, scope: str, tier: str | None, new: Sequence[Recorded]) -> Sequence[tuple[Side, Side]]:
        here, there = self.before, self.after
        is_there = scope in there.catalog.scopes
        same = is_there and self._sees_same(scope)
        if same and here.rules(scope) == there.rules(scope):
            return [(side, side) for side in self._told(scope, tier, new, {})]
        questions = {text: Question(text) for text in (one.text or "" for one in new)}
        if not is_there:
            gone = Side(NO_MATCH, None, 0.0, reasons=("scope_gone",))
            return [(side, gone) for side in self._told(scope, tier, new, questions)]
        if same and here.lens(scope, tier) == there.lens(scope, tier):
            # The same ranking, judged by other rules.
            lineups = here.lined_up(scope, list(questions.values()), tier)
            told = [one.told or here.judged(scope, lineup) for one, lineup in zip(new, lineups, strict=True)]
            return [(side, there.judged(scope, lineup)) for side, lineup in zip(told, lineups, strict=True)]
        after = there.asked(scope, list(questions.values()), tier)
        return list(zip(self._told(scope, tier, new, questions), after, strict=True))

    def _told(
        self, scope: str, tier: str | None, new: Sequence[Recorded], questions: Mapping[str, Question]
    ) -> list[Side]:
        """The answers of the catalog before: those that are known to hold, and the others as it gives them."""
        unknown = [one.text or "" for one in new if one.told is None]
        asked = [questions.get(text) or Question(text) for text in unknown]
        found = iter(self.before.asked(scope, asked, tier))
        return [one.told or next(found) for one in new]

    def _sees_same(self, scope: str) -> bool:
        if scope not in self._sees_the_same:
            self._sees_the_same[scope] = self.before.sight(scope) == self.after.sight(scope)
        return self._sees_the_same[scope]

    def _routed(self, one: Recorded) -> tuple[Side, Side] | None:
        if one.route is None:
            return None
        if self.before.can_put(one) and self.after.can_put(one):
            return self._put_again(one)
        before, after = self.before.routed(one, one.route), self.after.routed(one, one.route)
        return None if before is None or after is None else (before, after)

    def _put_again(self, one: Recorded) -> tuple[Side, Side]:
        key = (one.scope, one.policy, one.text or "")
        if key not in self._put:
            before = self.before.put(one)
            same = self._sees_same(one.scope) and self.before.rules_of(one) == self.after.rules_of(one)
            self._put[key] = before, before if same else self.after.put(one)
        return self._put[key]

    def _because(self, one: Recorded, before: Side, after: Side) -> tuple[str, ...]:
        scopes = [catalog.scopes.get(one.scope) for catalog in (self.before.catalog, self.after.catalog)]
        policies = [one.policy] if one.route is not None else [scope.policy for scope in scopes if scope]
        touched = [("scopes", one.scope), *(("policies", name) for name in policies)]
        for ground, side in ((self.before, before), (self.after, after)):
            for public in filter(None, (side.target, side.runner)):
                touched += ground.behind(public)
        return tuple(
            dict.fromkeys(f"{section}[{name}]" for section, name in touched if (section, name) in self.changed)
        )


def change_of(before: Side, after: Side) -> str:
    """Which of COUNTS. What a route hands back to be confirmed counts like an ambiguous answer, anything else like none."""
    if before.status != after.status:
        return BECAME[like(after)]
    return SAME if before.target == after.target else FLIPPED


def like(side: Side) -> str:
    """The status of a resolve that an answer is counted as."""
    if side.status == SELECTED:
        return CONFIDENT
    if side.status == HANDED_BACK:
        return AMBIGUOUS if TO_BE_CONFIRMED in side.reasons else NO_MATCH
    return side.status


def changed_entries(before: Registry, after: Registry) -> frozenset[tuple[str, str]]:
    """(section, name) of every entry that one registry has and the other has not, or otherwise."""
    found: set[tuple[str, str]] = set()
    for section in SECTIONS:
        here = {one.name: one for one in getattr(before, section)}
        there = {one.name: one for one in getattr(after, section)}
        found |= {(section, name) for name in here.keys() | there.keys() if here.get(name) != there.get(name)}
    return frozenset(found)
