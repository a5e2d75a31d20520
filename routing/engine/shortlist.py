"""The likeliest tools for a state, where there are more than a provider takes at once: the resolver's ranker, without a judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from routing.engine.catalog import Catalog
from routing.engine.compaction import CompactState
from routing.engine.meaning import vectors_of
from routing.engine.models import HarnessState, ToolDescriptor
from routing.engine.policies import effective
from routing.engine.query import read_request
from routing.engine.registry import Endpoint, Registry, Tool
from routing.engine.scoring import Ranking, rank_view

MAX_QUERY_BYTES = 2048
_NOWHERE = "·"  # the endpoint of tools that a caller brings: a name without words, so that it matches nothing


def shortlist(catalog: Catalog, names: Iterable[str], state: HarnessState | CompactState, limit: int) -> list[str]:
    """So many of the names, the best for the state among the catalog's own (of `catalog_of`), in the order given.

    Where the ranker finds fewer that have anything to do with the state, the first of the others fill the list.
    """
    tier = effective("default", ()).resolver["tier"]
    candidates = ranked(catalog, "default", state, limit=catalog.view("default").size, tier=tier).candidates
    given = list(names)
    best = {name: place for place, name in enumerate(candidate.doc.wire for candidate in candidates)}
    chosen = set(sorted(given, key=lambda name: best.get(name, len(best)))[:limit])
    return [name for name in given if name in chosen]


def ranked(catalog: Catalog, scope: str, state: HarnessState | CompactState, *, limit: int, tier: str) -> Ranking:
    request = read_request(query_of(state))
    return rank_view(catalog.view(scope), request, limit=max(limit, 1), vectors=vectors_of(tier))


def query_of(state: HarnessState | CompactState) -> str:
    """What a state asks for, as one text: the goal, and what was seen last, within the resolver's bound."""
    text = "\n".join(part for part in (state.goal, state.observation) if part)
    return text.encode(errors="replace")[:MAX_QUERY_BYTES].decode(errors="ignore")


def catalog_of(tools: Sequence[ToolDescriptor]) -> Catalog:
    """A catalog of nothing but these tools."""
    declared = tuple(
        Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.schema,
            category=tool.category,
            risk=str(tool.risk),
            effect=tool.effect,
        )
        for tool in tools
    )
    return Catalog(Registry(endpoints=(Endpoint(name=_NOWHERE, kind="declared", tools=declared),)))
