"""The provider that always exists: the resolver's ranking, without a network. Its confidence is the calibrated probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from routing.engine import Catalog, Ranked, load_registry, rank
from routing.engine.registry import Endpoint, Registry, Tool
from routing.engine.router import FALLBACK, ChoiceDecision, HarnessState, ToolDescriptor

_BROUGHT = "tools"


class LocalProvider:
    """Ranks tools that a caller brought along, or candidates that were ranked in their scope already."""

    def __init__(self, ranked: Sequence[Ranked] | None = None) -> None:
        self._ranked = ranked

    def choose(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> ChoiceDecision:
        """The likeliest tool, or the fallback label when no word of the goal speaks for any."""
        chances = self._in_scope(tools) if self._ranked is not None else _of_brought(state, tools)
        if not any(chances.values()):
            return ChoiceDecision(choice=FALLBACK, probabilities={**chances, FALLBACK: 1.0}, confidence=0.0)
        best = max(chances, key=lambda name: chances[name])
        return ChoiceDecision(choice=best, probabilities=_with_fallback(chances), confidence=chances[best])

    def _in_scope(self, tools: Sequence[ToolDescriptor]) -> dict[str, float]:
        known = {candidate.public: candidate.probability for candidate in self._ranked or ()}
        return {tool.name: known.get(tool.name, 0.0) for tool in tools}


def query_of(state: HarnessState) -> str:
    """What the resolver is asked: the goal, and what was seen last where the goal leaves room for it."""
    return " ".join(filter(None, (state.goal, state.observation)))[:2000]


def _of_brought(state: HarnessState, tools: Sequence[ToolDescriptor]) -> dict[str, float]:
    """Chances of tools that stand in no registry: they are ranked among themselves, by their own words."""
    ranked = rank(_catalog_of(tools), query_of(state), limit=len(tools))
    chances = {candidate.wire: candidate.probability for candidate in ranked}
    return {tool.name: chances.get(tool.name, 0.0) for tool in tools}


def _catalog_of(tools: Sequence[ToolDescriptor]) -> Catalog:
    declared = tuple(Tool(name=tool.name, description=tool.description, category=tool.category, risk=str(tool.risk)) for tool in tools)
    return load_registry(Registry(endpoints=(Endpoint(name=_BROUGHT, kind="declared", tools=declared),)))


def _with_fallback(chances: Mapping[str, float]) -> dict[str, float]:
    """All labels, the rest of the certainty going to the fallback label."""
    return {**chances, FALLBACK: max(0.0, 1.0 - sum(chances.values()))}
