"""What one hint is worth to a tool: the same request, asked of the same catalog without that hint.

The parts of a score saturate together and the rarity of words depends on all tools in sight, so what a hint brings is
not what its field shows in the sum. It is found by taking it away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from routing.engine.catalog import Catalog
from routing.engine.naming import EndpointNames
from routing.engine.parts import ToolDoc
from routing.engine.registry import Endpoint
from routing.engine.scoring import Candidate, Contribution, Ranking
from routing.engine.text import terms
from routing.engine.vocabulary import ENGLISH

OF_TOOL, OF_ENDPOINT = "tool_use_when", "use_when"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    field: str  # tool_use_when | use_when
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """A score parted in two: what the tool would have without the hint, and what the hint brings."""

    hint: Hint
    score: float
    shares: tuple[Contribution, ...]  # of the hint's words, before they are brought to `score` together
    rest: Candidate | None  # None where the tool would not be found at all
    ranking: Ranking


Ask = Callable[[Catalog], Ranking]


def brought_by_hint(catalog: Catalog, scope: str, ranking: Ranking, ask: Ask) -> Brought | None:
    """What the weightiest hint of the first candidate brings it; None where no hint has a word of the request.

    `ask` ranks the same request against another catalog.
    """
    if not ranking.candidates:
        return None
    first = ranking.candidates[0]
    found = _weightiest(ranking, first)
    if found is None:
        return None
    hint, shares = found
    other = ask(_without(catalog, scope, first.doc, hint))
    rest = next((one for one in other.candidates if _is_same(one.doc, first.doc)), None)
    if rest is None and other.count > len(other.candidates):
        return None  # too far behind to be seen
    score = first.score - (rest.score if rest else 0.0)
    return Brought(hint=hint, score=score, shares=shares, rest=rest, ranking=other) if score > 0 else None


def _is_same(one: ToolDoc, other: ToolDoc) -> bool:
    return (one.endpoint.name, one.wire) == (other.endpoint.name, other.wire)


def _weightiest(ranking: Ranking, candidate: Candidate) -> tuple[Hint, tuple[Contribution, ...]] | None:
    """The hint whose words won most, with what each of them won; of equals the first as they are listed."""
    parts, _ = ranking.contributions(candidate)
    ids = ranking.view.index.term_ids
    best: tuple[Hint, tuple[Contribution, ...]] | None = None
    most = 0.0
    for hint in _hints(candidate.doc):
        words = {ids.get(term) for word, term in terms(hint.text) if word not in ENGLISH}
        shares = tuple(one for one in parts if one.field == hint.field and one.known in words)
        won = sum(one.score for one in shares)
        if won > most:
            best, most = (hint, shares), won
    return best


def _hints(doc: ToolDoc) -> list[Hint]:
    return [
        *(Hint(field=OF_TOOL, text=text) for text in doc.hints),
        *(Hint(field=OF_ENDPOINT, text=text) for text in doc.endpoint.use_when),
    ]


def _without(catalog: Catalog, scope: str, doc: ToolDoc, hint: Hint) -> Catalog:
    """The endpoints that the scope sees, one of them without this hint; what is out of sight changes nothing anyway."""
    seen = {catalog.index.docs[place].endpoint.name for place in np.flatnonzero(catalog.view(scope).sees)}
    endpoints = tuple(
        _less(one, doc, hint) if one.name == doc.endpoint.name else one
        for one in catalog.registry.endpoints
        if one.name in seen
    )
    kept = replace(catalog.registry, endpoints=endpoints)
    return Catalog(kept, offline=catalog.offline & seen, previous=catalog)


def _less(endpoint: Endpoint, doc: ToolDoc, hint: Hint) -> Endpoint:
    if hint.field == OF_ENDPOINT:
        return replace(endpoint, use_when=tuple(text for text in endpoint.use_when if text != hint.text))
    names = EndpointNames(endpoint.name, [tool.name for tool in endpoint.tools])
    kept = {
        key: tuple(text for text in texts if text != hint.text) if names.wire_of_key(key) == doc.wire else texts
        for key, texts in endpoint.tool_use_when.items()
    }
    return replace(endpoint, tool_use_when=kept)
