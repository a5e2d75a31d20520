"""One of the two catalogs of a replay, and what it takes to ask it again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from routing.engine.batch import Compass, Question, Ranker
from routing.engine.catalog import Catalog
from routing.engine.config import RoutingConfig
from routing.engine.meaning import WordVectors, vectors_of
from routing.engine.models import RouteDecision
from routing.engine.policy import NO_MATCH, Thresholds, judge
from routing.engine.recommend import JUDGED_CANDIDATES, PROBABILITY_DIGITS
from routing.engine.replay_routes import as_it_is, asks_local_alone, decided_again
from routing.engine.scoring import Lineup

SELECTED, HANDED_BACK = "selected", "fallback"
Route = Callable[
    [Catalog, str, str, str], RouteDecision
]  # catalog, scope, policy, text: what the local provider decides


class Side(NamedTuple):
    """One answer: as the ledger would keep it, and what explains it. Probabilities are rounded as answers have them."""

    status: str
    target: str | None
    probability: float | None
    gap: float | None = None
    reasons: tuple[str, ...] = ()
    runner: str | None = None  # the next tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A decision as it was recorded: the text of a resolve, or what a provider answered to a route, with its text where that was the
    local one. `told` is the answer to a text where that is known to hold for the catalog before."""

    id: str
    at: datetime | None = None
    scope: str
    policy: str
    text: str | None = None
    tier: str | None = None  # that was asked for
    route: Mapping[str, Any] | None = None
    told: Side | None = None


class Ground:
    """One catalog, and what it takes to ask it again and again."""

    def __init__(self, catalog: Catalog, route: Route | None = None) -> None:
        self.catalog = catalog
        self._route = route
        self._rules: dict[str, tuple[bool, Thresholds, str]] = {}
        self._configs: dict[str, RoutingConfig] = {}
        self._compasses: dict[WordVectors, Compass] = {}
        self._rankers: dict[tuple[str, bool, bool, WordVectors | None], Ranker] = {}

    def asked(self, scope: str, questions: Sequence[Question], tier: str | None) -> list[Side]:
        return [self.judged(scope, lineup) for lineup in self.lined_up(scope, questions, tier)]

    def lined_up(self, scope: str, questions: Sequence[Question], tier: str | None) -> list[Lineup]:
        """What there is to judge of each question."""
        guard, vectors = self.lens(scope, tier)
        present = self._ranker(scope, guard, vectors, whole=False).rank(questions)
        if self.catalog.whole_view(scope) is None:
            return [Lineup(present=one) for one in present]
        whole = self._ranker(scope, guard, vectors, whole=True).rank(questions)
        return [Lineup(present=one, whole=other) for one, other in zip(present, whole, strict=True)]

    def _ranker(self, scope: str, guard: bool, vectors: WordVectors | None, *, whole: bool) -> Ranker:
        key = (scope, whole, guard, vectors)
        if key not in self._rankers:
            view = (self.catalog.whole_view(scope) if whole else None) or self.catalog.view(scope)
            compass = None
            if vectors is not None:
                compass = self._compasses.setdefault(vectors, Compass(view.index, vectors))
            self._rankers[key] = Ranker(view, limit=JUDGED_CANDIDATES, guard=guard, compass=compass)
        return self._rankers[key]

    def judged(self, scope: str, lineup: Lineup) -> Side:
        """What the rules of a scope make of a ranking."""
        _, thresholds, _ = self._ruled(scope)
        verdict = judge(lineup, thresholds, self.catalog.calibration)
        nothing = verdict.status == NO_MATCH
        first, second = [*(one.doc.public for one in lineup.present.candidates[:2]), None, None][:2]
        return Side(
            verdict.status,
            None if nothing else first,
            round(verdict.probability, PROBABILITY_DIGITS),
            None if nothing else verdict.gap,
            verdict.reasons,
            None if nothing else second,
        )

    def lens(self, scope: str, tier: str | None) -> tuple[bool, WordVectors | None]:
        """What else a ranking depends on beside the tools in sight."""
        guard, _, usual = self._ruled(scope)
        return guard, vectors_of(tier or usual)

    def _ruled(self, scope: str) -> tuple[bool, Thresholds, str]:
        if scope not in self._rules:
            rules = self.catalog.policy(self.catalog.scope(scope).policy).resolver
            self._rules[scope] = bool(rules["erasing_never_first_on_tie"]), Thresholds.of(rules), str(rules["tier"])
        return self._rules[scope]

    def sight(self, scope: str) -> tuple[Any, ...]:
        """Equal where a scope sees the same: parts of a catalog that stayed the same are the very same."""
        views = (self.catalog.view(scope), self.catalog.whole_view(scope))
        return tuple(None if view is None else frozenset(_identities(view.sees, self.catalog)) for view in views)

    def rules(self, scope: str) -> tuple[Any, ...]:
        """Equal where a ranking is judged alike."""
        return (self._ruled(scope), self.catalog.calibration)

    def routed(self, one: Recorded, route: Mapping[str, Any]) -> Side | None:
        """What the decision table says now to what was answered then; None where it would take an answer that nobody gave."""
        if one.scope not in self.catalog.scopes:
            return Side(HANDED_BACK, None, None, reasons=("scope_gone",))
        decision = decided_again(route, self._config(one), lambda name: as_it_is(name, route, self.catalog, one.scope))
        return None if decision is None else _side(decision)

    def can_put(self, one: Recorded) -> bool:
        """Whether a route can be put to the local provider again, because nobody else would decide it here."""
        if self._route is None or one.text is None or one.scope not in self.catalog.scopes:
            return False
        return asks_local_alone(self.catalog, self.catalog.policy(self._policy(one)))

    def put(self, one: Recorded) -> Side:
        """What the local provider decides of a route that `can_put`."""
        assert self._route is not None and one.text is not None
        return _side(self._route(self.catalog, one.scope, self._policy(one), one.text))

    def rules_of(self, one: Recorded) -> tuple[Any, ...]:
        """Equal where a route among the same tools is decided alike."""
        policy = self.catalog.policy(self._policy(one))
        return (*self.rules(one.scope), self.lens(one.scope, None), policy.router)

    def _policy(self, one: Recorded) -> str:
        known = {policy.name for policy in self.catalog.registry.policies}
        return one.policy if one.policy in known else self.catalog.scope(one.scope).policy

    def _config(self, one: Recorded) -> RoutingConfig:
        name = self._policy(one)
        if name not in self._configs:
            self._configs[name] = RoutingConfig.from_policy(self.catalog.policy(name).router)
        return self._configs[name]

    def behind(self, public: str) -> list[tuple[str, str]]:
        """The entries that a tool hangs on: its endpoint, and the capabilities that it carries."""
        pair = self.catalog.pair(public)
        doc = self.catalog.tool(*pair) if pair else None
        if doc is None:
            return [("endpoints", public.partition("__")[0])]
        carried = (capability.name for capability in doc.endpoint.capabilities)
        return [("endpoints", doc.endpoint.name), *(("capabilities", name) for name in carried)]


def _identities(sees: Any, catalog: Catalog) -> Iterator[int]:
    return (id(doc) for doc, seen in zip(catalog.index.docs, sees, strict=True) if seen)


def _side(decision: RouteDecision) -> Side:
    return Side(
        HANDED_BACK if decision.fallback else SELECTED,
        decision.tool,
        _rounded(decision.top_probability),
        _rounded(decision.margin),
        tuple(filter(None, [decision.fallback_reason])),
        decision.proposed_tool,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, PROBABILITY_DIGITS)
