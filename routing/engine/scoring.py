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
from routing.engine.index import FIELD_NAMES, GUARDED, SHARED, SHARED_ACTION, ToolDoc
from routing.engine.matching import Variant, variants
from routing.engine.query import QueryTerm, Request
from routing.engine.scope import View

Array = npt.NDArray[np.float64]

COVERAGE_SHARE = 0.65  # of a score hangs on how much of the request is covered
NAME_SHARE = 0.45  # what a wholly named tool gains over its score
HINT_SHARE = 0.5  # what a tool gains of whose hints one is wholly said by the request
PHRASE_SHARE = 0.35  # what a tool gains whose very name is the request
NEGATED_SHARE = 0.7  # what a tool loses whose name does what is forbidden
UNASKED_SHARE = 0.12  # what an erasing or executing tool loses where nobody asked to erase or execute
UNKNOWN_WORTH = 0.5  # of a word that no tool knows, when coverage is counted
FOREIGN_WORTH = 0.5  # of that, where the request is in another language than catalogs mostly are
PROPER_WORTH = 0.2  # of such a word when it is written like a name
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
    coverage: float  # of the request's worth
    name_coverage: float  # of the tool's own name
    matched: tuple[QueryTerm, ...]
    density: float  # how strongly its fields support what they cover
    exact_name: bool
    head_missed: bool
    forbidden: bool = False  # its name does what the request forbids


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one term of the request met, tool by tool."""

    term: QueryTerm
    variants: dict[int, Variant]
    won: Array  # score
    met: Array  # 0..1, how nearly the word itself
    spots: npt.NDArray[np.intp]  # the posting that won, or -1


@dataclass(slots=True)
class Ranking:
    """Candidates in order, and what it takes to explain them."""

    request: Request
    view: View
    candidates: tuple[Candidate, ...]
    count: int  # of all that matched and can be had
    total: int  # of content terms, values that no tool knows left out
    strange: bool  # no tool knows the word that says what to do
    _scorer: Scorer = field(repr=False)

    def contributions(self, candidate: Candidate) -> tuple[list[Contribution], list[Adjustment]]:
        return self._scorer.contributions(candidate)

    def fields(self, candidates: Sequence[Candidate]) -> list[dict[str, float]]:
        """What each field brought to each candidate's score, before adjustments."""
        found = self._scorer.by_field([candidate.place for candidate in candidates])
        return [
            {name: round(score, DIGITS) for name, score in zip(FIELD_NAMES, row, strict=True) if score}
            for row in found.tolist()
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineup:
    """Who can be had, and who would stand where if all that is permitted could be had."""

    present: Ranking
    whole: Ranking | None = None  # None when nothing of the scope is off or away

    @property
    def absent(self) -> tuple[Candidate, ...]:
        return () if self.whole is None else tuple(one for one in self.whole.candidates if not self._can_be_had(one))

    @property
    def absent_best(self) -> Candidate | None:
        """The tool that is off or away and would have come first, ahead of all that can be had."""
        first = self.whole.candidates[0] if self.whole and self.whole.candidates else None
        if self.whole is None or first is None or self._can_be_had(first):
            return None
        rival = next((one for one in self.whole.candidates if self._can_be_had(one)), None)
        return first if rival is None or rival.score < first.score else None

    def entries(self, most: int) -> list[tuple[Candidate, Ranking, bool]]:
        """(candidate, the ranking that it is from, whether it can be had), best first."""
        found = [(one, self.present, True) for one in self.present.candidates]
        if self.whole is not None:
            found.extend((one, self.whole, False) for one in self.absent)
        return sorted(found, key=lambda entry: -entry[0].score)[:most]

    def _can_be_had(self, candidate: Candidate) -> bool:
        return bool(self.present.view.sees[candidate.place])


def rank_view(view: View, request: Request, *, limit: int, guard: bool = True) -> Ranking:
    """The best `limit` tools of a view. `guard`: what erases or executes steps back where nobody asks for it."""
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
        self.matches = np.zeros(size, np.intp)
        self.named = np.zeros(len(view.index.term_ids))
        self.evidence: list[Evidence] = []
        self.mass = 0.0
        self.total = len(self.terms)
        self.strange = False
        self.english = request.language == "english"
        asked = variants(view, self.terms, request.language)
        for term, found in zip(self.terms, asked, strict=True):
            self._add(term, found)
        self.forbidden = self._forbidden() if request.negated else frozenset[str]()
        self._adjust()

    def _add(self, term: QueryTerm, found: list[Variant]) -> None:
        worth = self._worth(term, found)
        if not found:
            self.mass += worth * _unknown_worth(term) * (1.0 if self.english else FOREIGN_WORTH)
            self.total -= _is_value(term)
            self.strange = self.strange or term.head and self.english
            return
        self.mass += worth
        for one in found:  # a word that is only half meant names a tool only by half
            self.named[one.term] = max(self.named[one.term], one.quality * term.meant)
        evidence = self._evidence(term, worth, found)
        self.base += evidence.won
        self.covered += evidence.met * worth
        self.matches += evidence.spots >= 0
        self.evidence.append(evidence)

    def _evidence(self, term: QueryTerm, worth: float, found: list[Variant]) -> Evidence:
        """For each tool the posting that wins most; what to do is said by a tool, its endpoint's word counts by half."""
        index = self.view.index
        slices = [index.rows[index.postings(one.term)] for one in found]
        rows = np.concatenate(slices)
        met: Array = np.repeat([one.quality for one in found], [len(part) for part in slices])
        support: Array = index.action_support if term.head else index.support
        won = met * worth * support[rows]
        if term.head:
            met = met * np.where(index.own[rows], 1.0, SHARED_ACTION)
        order = np.argsort(won, kind="stable")  # the strongest comes last, and what is written last stays
        rows, tools = rows[order], index.tools[rows[order]]
        size = len(self.base)
        evidence = Evidence(
            term=term, variants={one.term: one for one in found},
            won=np.zeros(size), met=np.zeros(size), spots=np.full(size, -1, np.intp),
        )  # fmt: skip
        evidence.won[tools], evidence.met[tools], evidence.spots[tools] = won[order], met[order], rows
        return evidence

    def _worth(self, term: QueryTerm, found: list[Variant]) -> float:
        """A term's rarity in the scope: its own, else that of the best stand-in, else that of a word seen once."""
        own = next((one for one in found if one.quality == 1.0), None)
        if own is not None:
            return term.weight * float(self.view.idf[own.term])
        rarity = max((float(self.view.idf[one.term]) for one in found), default=self.view.rarest)
        return term.weight * rarity

    def _adjust(self) -> None:
        """What the terms won together becomes a score: coverage, names, hints, and what is forbidden or unasked."""
        index = self.view.index
        self.coverage = np.minimum(self.covered / self.mass, 1.0) if self.mass else np.zeros(len(self.base))
        self.name_coverage = self._asked_share(index.name_postings, self.view.name_mass)
        self.adjustments: dict[str, Array] = {
            "coverage": self.base * COVERAGE_SHARE * (self.coverage - 1),
            "name_coverage": self.base * NAME_SHARE * self.name_coverage**2,
        }
        if len(index.hint_docs):
            self.adjustments["hint_coverage"] = self.base * HINT_SHARE * self._closest_hint() ** 2
        if self.request.phrase in index.by_phrase:
            self._share("exact_name", index.by_phrase[self.request.phrase], PHRASE_SHARE)
        if self.forbidden:
            places = [
                int(place) for place in np.flatnonzero(self.matches) if self.forbidden & index.docs[place].name_terms
            ]
            self._share("negated_action", places, -NEGATED_SHARE)
        for effect in GUARDED if self.guard else ():
            if not self._asks_for(effect):
                self._share("effect_guard", index.guarded[effect], -UNASKED_SHARE)
        self.score = np.round(self.base + sum(self.adjustments.values()), DIGITS)
        self.matches[self.score <= 0] = 0

    def _asked_share(self, postings: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]], mass: Array) -> Array:
        """Of each name or hint: the share of its words, by their rarity, that the request asks for."""
        owners, terms = postings
        asked = np.bincount(owners, weights=self.view.idf[terms] * self.named[terms], minlength=len(mass))
        return np.asarray(np.minimum(asked / mass, 1.0))

    def _closest_hint(self) -> Array:
        """Of each tool: how far the hint that comes closest is said by the request."""
        index = self.view.index
        closest = np.zeros(len(self.base))
        np.maximum.at(closest, index.hint_docs, self._asked_share(index.hint_postings, self.view.hint_mass))
        return closest

    def _share(self, code: str, places: Sequence[int] | npt.NDArray[np.intp], share: float) -> None:
        if len(places):
            change = self.adjustments.setdefault(code, np.zeros(len(self.base)))
            change[places] = self.base[places] * share

    def _forbidden(self) -> frozenset[str]:
        """The words that the request forbids, and those that say the same."""
        negated = self.request.negated
        same = {other for term in negated for other in classes().get(term, ())}
        return negated | (same - {term.term for term in self.terms})

    def _asks_for(self, effect: str) -> bool:
        """Whether some word of the request, or what it stands for, asks to erase or to execute."""
        numbers = (self.view.term(action) for action in action_stems(effect))
        return any(number is not None and self.named[number] > 0 for number in numbers)

    def ranking(self, limit: int) -> Ranking:
        view = self.view
        hit = (self.matches > 0) & view.sees
        return Ranking(
            request=self.request,
            view=view,
            candidates=tuple(self._candidate(place) for place in self._best(hit, limit)),
            count=int(hit.sum()),
            total=self.total,
            strange=self.strange,
            _scorer=self,
        )

    def _best(self, mask: npt.NDArray[np.bool_], limit: int) -> npt.NDArray[np.intp]:
        """By score; on a tie what does less comes first, then by name."""
        places = np.flatnonzero(mask)
        if len(places) > 4 * limit > 0:  # sort only those that can be among the best
            bar = np.partition(self.score[places], -limit)[-limit]
            places = places[self.score[places] >= bar]
        index = self.view.index
        harm = index.harm[places] * self.guard
        order = np.lexsort((index.by_name[places], harm, -self.score[places]))
        return places[order][:limit]

    def _candidate(self, place: int) -> Candidate:
        index = self.view.index
        doc = index.docs[place]
        matched = tuple(one.term for one in self.evidence if one.spots[place] >= 0)
        return Candidate(
            doc=doc,
            place=int(place),
            score=float(self.score[place]),
            coverage=float(self.coverage[place]),
            name_coverage=float(self.name_coverage[place]),
            matched=matched,
            density=min(float(self.base[place] / max(self.covered[place], 1e-9)), 1.0),
            exact_name=doc.phrase == self.request.phrase,
            head_missed=any(one.term.head and one.spots[place] < 0 for one in self.evidence),
            forbidden=bool(self.forbidden & doc.name_terms),
        )

    def contributions(self, candidate: Candidate) -> tuple[list[Contribution], list[Adjustment]]:
        """What each term won in each field, and what changed the sum; all together the score."""
        parts = [part for one in self.evidence for part in self._shares(one, candidate.place)]
        changes = [
            Adjustment(code=code, score=float(change[candidate.place]))
            for code, change in self.adjustments.items()
            if change[candidate.place]
        ]
        return parts, changes

    def _shares(self, evidence: Evidence, place: int) -> Iterator[Contribution]:
        spot = int(evidence.spots[place])
        if spot < 0:
            return
        term, match = evidence.term, evidence.variants[int(self.view.index.terms[spot])].match
        for name, score in zip(FIELD_NAMES, self._split(evidence, [place])[0].tolist(), strict=True):
            if score:
                yield Contribution(term=term.term, text=term.text, field=name, match=match, score=score)

    def by_field(self, places: Sequence[int]) -> Array:
        """One row for each place, one column for each field."""
        found = np.zeros((len(places), len(FIELD_NAMES)))
        for evidence in self.evidence:
            found += self._split(evidence, places)
        return found

    def _split(self, evidence: Evidence, places: Sequence[int]) -> Array:
        """What one term won at these places, shared out over the fields by their weight."""
        index, spots = self.view.index, evidence.spots[places]
        weights = index.weights[spots].astype(np.float64)
        if evidence.term.head:
            weights[:, SHARED] *= SHARED_ACTION
        shares: Array = evidence.won[places][:, None] * weights / weights.sum(axis=1, keepdims=True)
        shares[spots < 0] = 0.0
        return shares


def _unknown_worth(term: QueryTerm) -> float:
    """How much an unknown word asks for: a value nothing, a name in mid-sentence hardly anything."""
    if _is_value(term):
        return 0.0
    return PROPER_WORTH if term.proper else UNKNOWN_WORTH


def _is_value(term: QueryTerm) -> bool:
    """Addresses, paths and the like, and letters mixed with digits, where no tool speaks of them."""
    return term.kind == "literal" or any(character.isdigit() for character in term.text)
