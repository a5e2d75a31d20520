"""The provider that always exists: the resolver's ranker over the tools at hand. No network, no model.

Its confidence is the resolver's calibrated probability that the first-ranked tool is right; the fallback label gets the
chance that none of them fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from routing.engine.calibration import SHIPPED
from routing.engine.catalog import Catalog
from routing.engine.meaning import vectors_of
from routing.engine.models import FALLBACK, ChoiceDecision, HarnessState, ToolDescriptor
from routing.engine.policies import effective
from routing.engine.policy import NO_MATCH, Thresholds, Verdict, judge, shares
from routing.engine.query import read_request
from routing.engine.registry import Endpoint, Registry, Tool
from routing.engine.scoring import Lineup, Ranking, rank_view

MAX_QUERY_BYTES = 2048
_NOWHERE = "·"  # the endpoint of tools that a caller brings: a name without words, so that it matches nothing


class LocalProvider:
    """With a catalog and a scope, tools are known by their public names there; without, by what the caller says of them."""

    def __init__(self, catalog: Catalog | None = None, *, scope: str | None = None) -> None:
        self._catalog = catalog
        self._scope = scope

    def choose(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> ChoiceDecision:
        """The likeliest tool, or the fallback label when nothing fits well enough."""
        if self._catalog is not None and self._scope is not None:
            policy = self._catalog.policy(self._catalog.scope(self._scope).policy)
            ranking = _rank(self._catalog, self._scope, state, len(tools), policy.resolver["tier"])
        else:
            policy = effective("default", ())
            ranking = _rank(_declared(tools), "default", state, len(tools), policy.resolver["tier"])
        calibration = self._catalog.calibration if self._catalog is not None else SHIPPED
        verdict = judge(Lineup(present=ranking), Thresholds.of(policy.resolver), calibration)
        named = [
            candidate.doc.public if self._scope is not None else candidate.doc.wire for candidate in ranking.candidates
        ]
        return _choice(verdict, named, shares(ranking, verdict), tools)


def query_of(state: HarnessState) -> str:
    """What a state asks for, as one text: the goal, and what was seen last, within the resolver's bound."""
    text = "\n".join(part for part in (state.goal, state.observation) if part)
    return text.encode(errors="replace")[:MAX_QUERY_BYTES].decode(errors="ignore")


def _rank(catalog: Catalog, scope: str, state: HarnessState, limit: int, tier: str) -> Ranking:
    request = read_request(query_of(state))
    return rank_view(catalog.view(scope), request, limit=max(limit, 1), vectors=vectors_of(tier))


def _declared(tools: Sequence[ToolDescriptor]) -> Catalog:
    """A catalog of nothing but these tools."""
    declared = tuple(
        Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.schema,
            category=tool.category,
            risk=tool.risk.value,
            effect=tool.effect,
        )
        for tool in tools
    )
    return Catalog(Registry(endpoints=(Endpoint(name=_NOWHERE, kind="declared", tools=declared),)))


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
