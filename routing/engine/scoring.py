"""Rank the tools of a view for a request.

Each term of the request is worth its rarity in the scope. A tool takes the share of it that its fields support: weighted
frequencies are summed over the fields and saturate (BM25F), so no field and no repetition can take more than the whole
term. Two adjustments follow, both shares of what was won: how much of the request is covered, and how much of the tool's
own name was asked for. Everything is kept apart, so that a score can be explained to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from routing.engine.concepts import action_stems, classes
from routing.engine.index import FIELD_NAMES, NAME, ToolDoc
from routing.engine.matching import Variant, variants
from routing.engine.query import QueryTerm, Request
from routing.engine.scope import View

Array = npt.NDArray[np.float64]

SATURATION = 1.2  # weighted frequency at which a term has half of its worth
COVERAGE_SHARE = 0.5  # of a score hangs on how much of the request is covered
NAME_SHARE = 0.6  # what a wholly named tool gains over its score
PHRASE_SHARE = 0.35  # what a tool gains whose very name is the request
NEGATED_SHARE = 0.7  # what a tool loses whose name does what is forbidden
UNASKED_SHARE = 0.12  # what an erasing or executing tool loses where nobody asked to erase or execute
UNKNOWN_WORTH = 0.5  # of a word that no tool knows, when coverage is counted
PROPER_WORTH = 0.2  # of such a word when it is written like a name
GUARDED = ("erase", "execute")
DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    term: str
    text: str
    field: str
    match: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    code: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A tool with its score and the plain facts that the judge looks at. Shares are 0..1."""

    doc: ToolDoc
    place: int
    score: float
    available: bool
    coverage: float  # of the request's worth
    name_coverage: float  # of the tool's own name
    matched: tuple[QueryTerm, ...]
    density: float  # how strongly its fields support what they cover
    exact_name: bool
    head_missed: bool
    forbidden: bool = False  # its name does what the request forbids


@dataclass(slots=True)
class Ranking:
    """Candidates in order; those that are away are kept apart from those that can be had."""

    request: Request
    view: View
    candidates: tuple[Candidate, ...]
    absent: tuple[Candidate, ...]  # permitted but off or away
    count: int  # of all that matched and can be had
    total: int  # of content terms
    known: int  # of those that some tool in sight knows
    _scorer: Scorer = field(repr=False)

    def contributions(self, candidate: Candidate) -> tuple[list[Contribution], list[Adjustment]]:
        return self._scorer.contributions(candidate)

    def fields(self, candidate: Candidate) -> dict[str, float]:
        """What each field brought to a candidate's score, before adjustments."""
        found: dict[str, float] = {}
        for part in self._scorer.contributions(candidate)[0]:
            found[part.field] = found.get(part.field, 0.0) + part.score
        return {name: round(found[name], DIGITS) for name in FIELD_NAMES if name in found}


def rank_view(view: View, request: Request, *, limit: int, guard: bool = True) -> Ranking:
    """The best `limit` of the view, and as many of what is away. `guard`: erasing and executing tools step back unasked."""
    return Scorer(view, request, guard=guard).ranking(limit)


class Scorer:
    """One request against one view: arrays over all tools, and the way back from a score to its reasons."""

    def __init__(self, view: View, request: Request, *, guard: bool) -> None:
        self.view = view
        self.request = request
        self.guard = guard
        self.terms = request.content
        size = len(view.index.docs)
        self.base = np.zeros(size)
        self.covered = np.zeros(size)
        self.strength = np.zeros(size)
        self.matches = np.zeros(size, np.intp)
        self.named = np.zeros(len(view.index.term_ids))
        self.variants: list[tuple[QueryTerm, float, list[Variant]]] = []
        self.mass = 0.0
        self.known = 0
        asked = variants(view, self.terms, request.language)
        for term, found in zip(self.terms, asked, strict=True):
            self._add(term, found)
        self._adjust()

    def _add(self, term: QueryTerm, found: list[Variant]) -> None:
        worth = self._worth(term, found)
        self.variants.append((term, worth, found))
        if not found:
            if term.kind == "word":
                self.mass += worth * (PROPER_WORTH if term.proper else UNKNOWN_WORTH)
            return
        self.known += 1
        self.mass += worth
        index = self.view.index
        if len(found) == 1:  # the common case, without temporaries over all tools
            one = found[0]
            spot = index.postings(one.term)
            tools, support = index.tools[spot], saturated(index.total[spot])
            self.base[tools] += one.quality * worth * support
            self.covered[tools] += one.quality * worth
            self.strength[tools] += one.quality * worth * support
            self.matches[tools] += 1
            self.named[one.term] = max(self.named[one.term], one.quality)
            return
        best, quality = np.zeros(len(self.base)), np.zeros(len(self.base))
        for one in found:
            spot = index.postings(one.term)
            tools = index.tools[spot]
            best[tools] = np.maximum(best[tools], self._won(one, worth, spot))
            quality[tools] = np.maximum(quality[tools], one.quality)
            self.named[one.term] = max(self.named[one.term], one.quality)
        self.base += best
        self.strength += best
        self.covered += quality * worth
        self.matches += quality > 0

    def _worth(self, term: QueryTerm, found: list[Variant]) -> float:
        """A term's rarity in the scope: its own, else that of the best stand-in, else that of a word seen once."""
        own = next((one for one in found if one.quality == 1.0), None)
        if own is not None:
            return term.weight * float(self.view.idf[own.term])
        rarity = max((float(self.view.idf[one.term]) for one in found), default=self.view.rarest)
        return term.weight * rarity

    def _won(self, one: Variant, worth: float, spot: slice) -> Array:
        return one.quality * worth * saturated(self.view.index.total[spot])

    def _adjust(self) -> None:
        index, view = self.view.index, self.view
        docs, terms = index.name_postings
        named = np.bincount(docs, weights=view.idf[terms] * self.named[terms], minlength=len(index.docs))
        self.name_coverage = np.minimum(named / view.name_mass, 1.0)
        self.coverage = np.minimum(self.covered / self.mass, 1.0) if self.mass else np.zeros(len(self.base))
        self.adjustments: dict[str, Array] = {
            "coverage": self.base * COVERAGE_SHARE * (self.coverage - 1),
            "name_coverage": self.base * NAME_SHARE * self.name_coverage**2,
        }
        hit = np.flatnonzero(self.matches)
        if self.request.phrase:
            self._share("exact_name", [p for p in hit if index.docs[p].phrase == self.request.phrase], PHRASE_SHARE)
        forbidden = self._forbidden()
        if forbidden:
            self._share("negated_action", [p for p in hit if forbidden & index.docs[p].name_terms], -NEGATED_SHARE)
        if self.guard:
            self._share("effect_guard", [p for p in hit if self._unasked(index.docs[p])], -UNASKED_SHARE)
        self.score = np.round(self.base + sum(self.adjustments.values()), DIGITS)
        self.matches[self.score <= 0] = 0

    def _share(self, code: str, places: Sequence[int], share: float) -> None:
        if places:
            change = np.zeros(len(self.base))
            change[places] = self.base[places] * share
            self.adjustments[code] = change

    def _forbidden(self) -> frozenset[str]:
        """The words that the request forbids, and those that say the same."""
        negated = self.request.negated
        same = {other for term in negated for other in classes().get(term, ())}
        return negated | (same - {term.term for term in self.terms})

    def _unasked(self, doc: ToolDoc) -> bool:
        if not is_guarded(doc):
            return False
        asked = action_stems(doc.traits.effect)
        return not any(term.term in asked or asked & set(classes().get(term.term, ())) & doc.name_terms for term in self.terms)

    def ranking(self, limit: int) -> Ranking:
        view = self.view
        hit = (self.matches > 0) & view.available
        away = (self.matches > 0) & view.permitted & ~view.available
        return Ranking(
            request=self.request,
            view=view,
            candidates=tuple(self._candidate(place) for place in self._best(hit, limit)),
            absent=tuple(self._candidate(place) for place in self._best(away, limit)),
            count=int(hit.sum()),
            total=len(self.terms),
            known=self.known,
            _scorer=self,
        )

    def _best(self, mask: npt.NDArray[np.bool_], limit: int) -> npt.NDArray[np.intp]:
        """By score; on a tie what erases or executes comes last, then by name."""
        places = np.flatnonzero(mask)
        if len(places) > 4 * limit > 0:  # sort only those that can be among the best
            bar = np.partition(self.score[places], -limit)[-limit]
            places = places[self.score[places] >= bar]
        index = self.view.index
        harm = [self.guard and is_guarded(index.docs[place]) for place in places]
        order = np.lexsort((index.by_name[places], harm, -self.score[places]))
        return places[order][:limit]

    def _candidate(self, place: int) -> Candidate:
        index = self.view.index
        doc = index.docs[place]
        matched = tuple(term for term, _, found in self.variants if any(self._posting(one, place) is not None for one in found))
        forbidden = self._forbidden()
        return Candidate(
            doc=doc,
            place=int(place),
            score=float(self.score[place]),
            available=bool(self.view.available[place]),
            coverage=float(self.coverage[place]),
            name_coverage=float(self.name_coverage[place]),
            matched=matched,
            density=float(self.strength[place] / max(self.covered[place], 1e-9)),
            exact_name=doc.phrase == self.request.phrase,
            head_missed=any(term.head and found and term not in matched for term, _, found in self.variants),
            forbidden=bool(forbidden & doc.name_terms),
        )

    def _posting(self, one: Variant, place: int) -> int | None:
        spot = self.view.index.postings(one.term)
        tools = self.view.index.tools[spot]
        found = int(np.searchsorted(tools, place))
        return spot.start + found if found < len(tools) and tools[found] == place else None

    def contributions(self, candidate: Candidate) -> tuple[list[Contribution], list[Adjustment]]:
        """What each term won in each field, and what changed the sum; all together the score."""
        parts = [part for term, worth, found in self.variants for part in self._shares(candidate, term, worth, found)]
        changes = [
            Adjustment(code=code, score=float(change[candidate.place])) for code, change in self.adjustments.items() if change[candidate.place]
        ]
        return parts, changes

    def _shares(self, candidate: Candidate, term: QueryTerm, worth: float, found: list[Variant]) -> Iterator[Contribution]:
        index = self.view.index
        spots = [(one, spot) for one in found if (spot := self._posting(one, candidate.place)) is not None]
        if not spots:
            return
        won = [(float(self._won(one, worth, slice(spot, spot + 1))[0]), one, spot) for one, spot in spots]
        score, one, spot = max(won, key=lambda entry: entry[0])
        weights, total = index.weights[spot], float(index.total[spot])
        for place in np.flatnonzero(weights):
            share = score * float(weights[place]) / total
            yield Contribution(term=term.term, text=term.text, field=FIELD_NAMES[place], match=one.match, score=share)


def saturated(weight: Array) -> Array:
    return np.asarray(weight / (weight + SATURATION))


def is_guarded(doc: ToolDoc) -> bool:
    """Erases, or is known to execute: an effect that was merely not found out ("execute" by default) is no reproach."""
    effect = doc.traits.effect
    known = doc.traits.provenance.get("effect") != "inferred" or doc.traits.category == "execute"
    return effect == "erase" or effect == "execute" and known


def in_name(ranking: Ranking, candidate: Candidate) -> bool:
    return any(part.field == FIELD_NAMES[NAME] for part in ranking.contributions(candidate)[0])
