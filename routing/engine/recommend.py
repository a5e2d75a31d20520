"""The one front door: a request and a catalog in, an answer of the resolve contract out.

Reading, ranking and judging happen elsewhere (`query`, `scoring`, `policy`); this module asks them in order and says
what they found in the shape that harnesses know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from routing.engine import summary
from routing.engine.catalog import Catalog
from routing.engine.counterfactual import brought_by_hint
from routing.engine.encoder import Encoder
from routing.engine.explain import explanation
from routing.engine.meaning import AUTO, DEEP, WordVectors, vectors_of
from routing.engine.parts import ToolDoc
from routing.engine.policy import NO_MATCH, Thresholds, Verdict, judge, shares
from routing.engine.query import Request, read_request
from routing.engine.scope import View
from routing.engine.scoring import CONSIDERED, Candidate, Lineup, Ranking, rank_view

CONTRACT_VERSION = 1
MAX_QUERY_BYTES = 2048
DEFAULT_HITS, MOST_HITS = 5, 10
DEFAULT_SEARCH_HITS, MOST_SEARCH_HITS = 20, 100
JUDGED_CANDIDATES = MOST_HITS + 1
KEPT_CANDIDATES = 10
EXPLAINED_CANDIDATES = 20
PROBABILITY_DIGITS = 4

HINTS = {
    "ambiguous": "Several tools may be meant, so run none of them yet: compare the alternatives, search, or ask, and describe the one you choose.",
    "describe": "This tool has more inputs than are listed here: describe it before you fill in its arguments.",
    "ready": "Fill in the argument template and call the tool by server and tool, or by its combined name.",
    "no_match": "No tool in scope fits this request. Say it in other words, search the tools, or add a use_when hint to the tool that should have been found.",
    "generic": "This text asks for nothing that a tool could do. Say what should happen, and to what.",
}


class Ranked(NamedTuple):
    """One candidate as services keep it: names and numbers, never words of the request."""

    endpoint: str
    wire: str
    public: str
    score: float
    fields: dict[str, float]
    probability: float
    available: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    answer: dict[str, Any]
    candidates: tuple[Ranked, ...] = ()
    thresholds: Mapping[str, float] | None = None  # None when nothing was decided
    shipped: tuple[float, float] | None = (
        None  # both probabilities before they were corrected; None where they were not
    )
    # What it rests on, for whoever judges it again at once; and the answer on which the encoder was asked.
    judged: tuple[Lineup, Verdict] | None = field(default=None, repr=False, compare=False)
    before: Resolution | None = field(default=None, repr=False, compare=False)


def resolve(
    catalog: Catalog,
    query: str,
    *,
    scope: str = "default",
    max_hits: int = DEFAULT_HITS,
    explain: bool = False,
    tier: str = "auto",
    encoder: Encoder | None = None,
    policy: str | None = None,
) -> dict[str, Any]:
    """The answer to "which tool for this?". An unknown scope or policy raises KeyError; a query over 2,048 bytes is refused."""
    return _decide(
        catalog, query, scope=scope, max_hits=max_hits, explain=explain, tier=tier, encoder=encoder, policy=policy
    )[0]


def resolve_detailed(
    catalog: Catalog,
    query: str,
    *,
    scope: str = "default",
    max_hits: int | None = None,
    explain: bool = False,
    tier: str = "auto",
    encoder: Encoder | None = None,
    policy: str | None = None,
    weigh_hints: bool = True,
) -> Resolution:
    """The answer with what a ledger keeps of it.

    Without `max_hits` the policy says how many alternatives. `tier` is a wish; the answer says what was used. `encoder`
    knows how near the tools come to this very query (`encoder.TextVectors.asked`): with it the answer is of the deep tier
    where that is asked for, or where it would be ambiguous without and the tier is left open. With `weigh_hints` off, `explain`
    does not say what the first one's weightiest hint brings it, for which the scope is compiled without that hint.
    """
    answer, grounds = _decide(
        catalog,
        query,
        scope=scope,
        max_hits=max_hits,
        explain=explain,
        tier=tier,
        encoder=encoder,
        policy=policy,
        weigh_hints=weigh_hints,
    )
    if grounds is None:
        return Resolution(answer=answer)
    lineup, verdict, thresholds = grounds
    return Resolution(
        answer=answer,
        candidates=tuple(_ranked(lineup, verdict, KEPT_CANDIDATES)),
        thresholds=thresholds.told(),
        shipped=_uncorrected(lineup, thresholds) if catalog.calibration.version else None,
        judged=(lineup, verdict),
    )


def _decide(
    catalog: Catalog,
    query: str,
    *,
    scope: str,
    max_hits: int | None,
    explain: bool,
    tier: str,
    encoder: Encoder | None,
    policy: str | None,
    weigh_hints: bool = True,
) -> tuple[dict[str, Any], tuple[Lineup, Verdict, Thresholds] | None]:
    """The answer and what it rests on: nothing for a query over the cap."""
    found = catalog.scope(scope)
    if is_too_long(query):
        return too_long(), None
    rules = catalog.policy(policy or found.policy).resolver
    thresholds = Thresholds.of(rules)
    limit = _bounded(int(rules["max_hits"]) if max_hits is None else max_hits, DEFAULT_HITS, MOST_HITS)
    guard = bool(rules["erasing_never_first_on_tie"])
    most, request = EXPLAINED_CANDIDATES if explain else JUDGED_CANDIDATES, read_request(query)

    def judged(encoder: Encoder | None) -> tuple[Lineup, Verdict]:
        lineup = line_up(catalog, scope, request, guard=guard, most=most, vectors=vectors_of(tier), encoder=encoder)
        return lineup, judge(lineup, thresholds, catalog.calibration)

    lineup, verdict = judged(encoder if tier == DEEP else None)
    if encoder is not None and tier == AUTO and verdict.ambiguous:
        lineup, verdict = judged(encoder)
    answer = _answer(catalog.revision(scope), query, lineup.present, verdict, limit)
    if explain:

        def ask(other: Catalog) -> Ranking:
            request = lineup.present.request
            return rank_view(
                other.view(scope),
                request,
                limit=CONSIDERED,
                guard=guard,
                vectors=vectors_of(tier),
                encoder=encoder.within(other.index.docs) if encoder and lineup.present.tier == DEEP else None,
            )

        answer["explanation"] = explanation(
            lineup,
            verdict,
            thresholds,
            most=EXPLAINED_CANDIDATES,
            brought=brought_by_hint(catalog, scope, lineup.present, ask) if weigh_hints else None,
            calibration=catalog.calibration,
        )
        if catalog.calibration.version:
            answer["explanation"]["calibration"] = catalog.calibration.version
    return answer, (lineup, verdict, thresholds)


def _uncorrected(lineup: Lineup, thresholds: Thresholds) -> tuple[float, float]:
    verdict = judge(lineup, thresholds)
    return verdict.match_probability, verdict.probability


def rank(catalog: Catalog, query: str, *, scope: str = "default", limit: int = 24) -> list[Ranked]:
    """The best candidates of a scope, without a judgement that anyone must follow."""
    rules = catalog.policy(catalog.scope(scope).policy).resolver
    vectors = vectors_of(rules["tier"])
    lineup = Lineup(present=rank_view(catalog.view(scope), read_request(query), limit=limit, vectors=vectors))
    verdict = judge(lineup, Thresholds.of(rules), catalog.calibration)
    return _ranked(lineup, verdict, limit)


def search_tools(
    catalog: Catalog, query: str, *, scope: str = "default", max_hits: int = DEFAULT_SEARCH_HITS
) -> dict[str, Any]:
    """Browse a scope: what matches, best first; a query without content words lists everything by name."""
    catalog.scope(scope)
    if is_too_long(query):
        return too_long()
    limit = _bounded(max_hits, DEFAULT_SEARCH_HITS, MOST_SEARCH_HITS)
    request = read_request(query)
    if request.content:
        ranking = _found(catalog, scope, request, limit)
        count = ranking.count
        shown = [_alternative(ranking.view, one) for one in ranking.candidates]
    else:
        tools = catalog.tools(scope)
        count = len(tools)
        shown = [summary.alternative(summary.card(doc)) for doc in tools[:limit]]
    matches, byte_limited = summary.within_bytes(shown)
    return {
        "contract_version": CONTRACT_VERSION,
        "catalog_revision": catalog.revision(scope),
        "query": query,
        "count": count,
        "returned": len(matches),
        "truncated": len(matches) < count,
        "byte_limited": byte_limited,
        "matches": matches,
    }


def _found(catalog: Catalog, scope: str, request: Request, limit: int) -> Ranking:
    """The ranking that `resolve` would judge; where nothing fits, only what shares a word with the request."""
    view, rules = catalog.view(scope), catalog.policy(catalog.scope(scope).policy).resolver
    ranking = rank_view(view, request, limit=limit, vectors=vectors_of(rules["tier"]))
    fits = judge(Lineup(present=ranking), Thresholds.of(rules), catalog.calibration).status != NO_MATCH
    return ranking if fits else rank_view(view, request, limit=limit)


def describe_tool(catalog: Catalog, name: str, *, scope: str = "default") -> dict[str, Any] | None:
    """Everything a harness may know about one tool, by either spelling; None when the scope does not hold it."""
    catalog.scope(scope)
    doc = find_tool(catalog, name, scope=scope)
    if doc is None:
        return None
    return {
        "contract_version": CONTRACT_VERSION,
        "catalog_revision": catalog.revision(scope),
        "server": doc.endpoint.name,
        "tool": doc.fragment,
        "downstream": doc.wire,
        "namespaced": doc.public,
        "title": doc.title,
        "description": doc.tool.description,
        "server_description": doc.endpoint.description,
        "tags": list(doc.endpoint.tags),
        "use_when": list(doc.endpoint.use_when),
        "tool_use_when": list(doc.hints),
        "input_schema": doc.tool.input_schema,
        "output_schema": doc.tool.output_schema,
        "annotations": doc.tool.annotations,
        "category": doc.traits.category,
        "risk": doc.traits.risk,
        "effect": doc.traits.effect,
        "provenance": dict(doc.traits.provenance),
        "pinned": catalog.is_pinned(scope, doc),
        "available": catalog.is_available(doc),
    }


def find_tool(catalog: Catalog, name: str, *, scope: str = "default") -> ToolDoc | None:
    """The tool of a scope that a name in either spelling means, available or not."""
    pair = catalog.pair(name)
    return catalog.tool(*pair) if pair is not None and catalog.permits(scope, *pair) else None


def is_too_long(query: str) -> bool:
    return len(query.encode(errors="surrogatepass")) > MAX_QUERY_BYTES


def too_long() -> dict[str, Any]:
    """The answer to a query over the cap. It never repeats the query."""
    return {"error": f"query exceeds {MAX_QUERY_BYTES} bytes", "max_query_bytes": MAX_QUERY_BYTES}


def _answer(revision: str, query: str, ranking: Ranking, verdict: Verdict, limit: int) -> dict[str, Any]:
    nothing = verdict.status == NO_MATCH
    first = None if nothing else ranking.candidates[0]
    others = () if nothing else ranking.candidates[1 : limit + 1]
    alternatives, cut = summary.within_bytes(_alternative(ranking.view, one) for one in others)
    answer: dict[str, Any] = {
        "contract_version": CONTRACT_VERSION,
        "catalog_revision": revision,
        "status": verdict.status,
        "confidence": verdict.confidence,
        "reason_codes": list(verdict.reasons),
    }
    if first is not None:
        answer |= {"matched_fraction": verdict.matched_fraction, "score_gap": verdict.gap}
    answer |= {
        "query": query,
        "recommendation": None if first is None else _recommendation(ranking.view, first),
        "ambiguous": verdict.ambiguous,
        "alternatives": alternatives,
    }
    if first is not None:
        answer["alternatives_truncated"] = cut or ranking.count - 1 > len(alternatives)
    return answer | {
        "hint": _hint(verdict, answer),
        "probability": round(verdict.probability, PROBABILITY_DIGITS),
        "match_probability": round(verdict.match_probability, PROBABILITY_DIGITS),
        "tier": ranking.tier,
    }


def _alternative(view: View, candidate: Candidate) -> dict[str, Any]:
    return summary.alternative(_card(view, candidate), score=candidate.score, matched=_texts(candidate))


def _card(view: View, candidate: Candidate) -> summary.Card:
    return view.remember(("card", candidate.place), lambda: summary.card(candidate.doc))


def _recommendation(view: View, candidate: Candidate) -> dict[str, Any]:
    doc = candidate.doc
    told = summary.match(_card(view, candidate), score=candidate.score, matched=_texts(candidate))
    given = view.remember(("arguments", candidate.place), lambda: summary.arguments(doc.tool.input_schema))
    del told["tags"]
    return told | {
        "required_fields": list(given.required),
        "argument_template": dict(given.template),
        "argument_template_truncated": given.truncated,
        "category": doc.traits.category,
        "risk": doc.traits.risk,
        "effect": doc.traits.effect,
    }


def _hint(verdict: Verdict, answer: Mapping[str, Any]) -> str:
    if verdict.status == NO_MATCH:
        generic = {"query_too_generic", "not_a_request", "negated_action"} & set(verdict.reasons)
        return HINTS["generic" if generic else "no_match"]
    if verdict.ambiguous:
        return HINTS["ambiguous"]
    return HINTS["describe" if answer["recommendation"]["argument_template_truncated"] else "ready"]


def line_up(
    catalog: Catalog,
    scope: str,
    request: Request,
    *,
    guard: bool,
    most: int = JUDGED_CANDIDATES,
    vectors: WordVectors | None,
    encoder: Encoder | None = None,
) -> Lineup:
    """What there is to judge: the tools that can be had, and beside them all that are permitted where some are away."""

    def ranked(view: View) -> Ranking:
        return rank_view(view, request, limit=most, guard=guard, vectors=vectors, encoder=encoder)

    whole = catalog.whole_view(scope)
    return Lineup(present=ranked(catalog.view(scope)), whole=None if whole is None else ranked(whole))


def _ranked(lineup: Lineup, verdict: Verdict, most: int) -> list[Ranked]:
    """The candidates, those that are off or away among them, best first."""
    chances = dict(zip((one.place for one in lineup.present.candidates), shares(lineup.present, verdict), strict=True))
    entries = lineup.entries(most)
    fields = _fields(lineup, [(one, source) for one, source, _ in entries])
    return [
        Ranked(
            endpoint=one.doc.endpoint.name,
            wire=one.doc.wire,
            public=one.doc.public,
            score=one.score,
            fields=fields[one.doc.public],
            probability=round(chances[one.place], PROBABILITY_DIGITS) if available else 0.0,
            available=available,
        )
        for one, _, available in entries
    ]


def _fields(lineup: Lineup, entries: list[tuple[Candidate, Ranking]]) -> dict[str, dict[str, float]]:
    """Public name -> what each field brought."""
    found: dict[str, dict[str, float]] = {}
    for ranking in (lineup.present, lineup.whole):
        if ranking is not None:
            kept = [one for one, source in entries if source is ranking]
            found |= zip((one.doc.public for one in kept), ranking.fields(kept), strict=True)
    return found


def _texts(candidate: Candidate) -> list[str]:
    return [term.text for term in candidate.matched]


def _bounded(wanted: int, default: int, most: int) -> int:
    return default if wanted <= 0 else min(wanted, most)
