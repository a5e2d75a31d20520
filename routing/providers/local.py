"""The provider that always exists: the resolver's ranker over the tools at hand. No network, no model.

Its confidence is the resolver's calibrated probability that the first-ranked tool is right; the fallback label gets the
chance that none of them fits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from routing.engine.calibration import SHIPPED
from routing.engine.catalog import Catalog
from routing.engine.models import FALLBACK, ChoiceDecision, HarnessState, ToolDescriptor
from routing.engine.policies import effective
from routing.engine.policy import NO_MATCH, Thresholds, Verdict, judge, shares
from routing.engine.scoring import Lineup, Ranking
from routing.engine.shortlist import catalog_of, query_of, ranked
from routing.engine.toolset import ToolSet


class LocalProvider:
    """With a catalog and a scope, tools are known by their public names there; without, by what the caller says of them."""

    def __init__(self, catalog: Catalog | None = None, *, scope: str | None = None) -> None:
        self._catalog = catalog
        self._scope = scope

    def choose(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> ChoiceDecision:
        """The likeliest tool, or the fallback label when nothing fits well enough."""
        if self._catalog is not None and self._scope is not None:
            policy = self._catalog.policy(self._catalog.scope(self._scope).policy)
            ranking = recent_ranking(self._catalog, self._scope, state, limit=len(tools), tier=policy.resolver["tier"])
        else:
            policy = effective("default", ())
            catalog = tools.catalog if isinstance(tools, ToolSet) else catalog_of(tools)
            ranking = ranked(catalog, "default", state, limit=len(tools), tier=policy.resolver["tier"])
        calibration = self._catalog.calibration if self._catalog is not None else SHIPPED
        verdict = judge(Lineup(present=ranking), Thresholds.of(policy.resolver), calibration)
        named = [
            candidate.doc.public if self._scope is not None else candidate.doc.wire for candidate in ranking.candidates
        ]
        return _choice(verdict, named, shares(ranking, verdict), tools)


def _choice(
    verdict: Verdict, ranked: Sequence[str], chances: Iterable[float], tools: Sequence[ToolDescriptor]
) -> ChoiceDecision:
    found = dict(zip(ranked, chances, strict=True))
    probabilities = {tool.name: found.get(tool.name, 0.0) for tool in tools}
    probabilities[FALLBACK] = 1 - verdict.match_probability
    first = next((name for name in ranked if name in probabilities), None)
    if first is None:
        return ChoiceDecision(choice=FALLBACK, probabilities=probabilities, confidence=0.0)
    choice = FALLBACK if verdict.status == NO_MATCH else first
    return ChoiceDecision(choice=choice, probabilities=probabilities, confidence=probabilities[first])


# Whoever offers a catalog's tools asks for the ranking that the choice among them needs a moment later.
_recent: deque[tuple[Catalog, str, str, str, int, Ranking]] = deque(maxlen=16)


def recent_ranking(catalog: Catalog, scope: str, state: HarnessState, *, limit: int, tier: str) -> Ranking:
    """A scope's ranking for a state, at least the best `limit` of it; one that was just made is taken again."""
    query = query_of(state)
    for made_of, made_for, told, made_by, most, ranking in tuple(_recent):
        covers = most == limit or (most > limit and len(ranking.candidates) <= limit)
        if made_of is catalog and covers and (made_for, told, made_by) == (scope, query, tier):
            return ranking
    ranking = ranked(catalog, scope, state, limit=limit, tier=tier)
    _recent.append((catalog, scope, query, tier, limit, ranking))
    return ranking
