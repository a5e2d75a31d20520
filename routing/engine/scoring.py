"""Rank the tools of a view for a request.

Each term of the request is worth its rarity in the scope. A tool takes the share of it that its fields support: weighted
frequencies are summed over the fields and saturate (BM25F), so no field and no repetition can take more than the whole
term. Two adjustments follow, both shares of what was won: how much of the request is covered, and how much of the tool's
own name was asked for. Everything is kept apart, so that a score can be explained to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from routing.engine.encoder import Encoder
from routing.engine.evidence import Array, Evidence
from routing.engine.index import foremost, nth_largest
from routing.engine.meaning import DEEP, LEXICAL, STATIC, Vectors, WordVectors
from routing.engine.parts import FIELD_NAMES, GUARDED, ToolDoc
from routing.engine.query import QueryTerm, Request
from routing.engine.ranges import Places
from routing.engine.scope import View
from routing.engine.understanding import spoken, understand

COVERAGE_SHARE = 0.75  # of a score hangs on how much of the request is covered
NAME_SHARE = 0.4  # what a wholly named tool gains over its score
PHRASE_SHARE = 0.35  # what a tool gains whose very name is the request
SAID_SHARE = 0.75  # of the best tool's score goes to the tool of which an operator's hint says just what is asked
WORDING_SHARE = 0.5  # of the request's worth goes to the tool whose wording is just that of the request
FOLLOWED = 24  # tools whose wording is held against the request
NEGATED_SHARE = 0.7  # what a tool loses whose name does what is forbidden
UNASKED_SHARE = 0.12  # what an erasing or executing tool loses where nobody asked to erase or execute
MEANING_SHARE = 1.5  # of the worth of the rarest word goes to the tool whose text points exactly the same way
DEEP_SHARE = 4.5  # the same where a sentence encoder read both
UNLIKE = 0.0  # texts that point no nearer the same way than this have nothing to do with each other
CONSIDERED = 192  # tools that are held against the request word by word
STRONG = 0.5  # of a request's worth: where the words win as much of it, none but their tools are looked at
KINDRED = 32  # tools that may come in by meaning alone
VECTOR = "vector"
MEANING = "(meaning)"
DIGITS = 4
SMALLEST = 10.0**-DIGITS  # score that is told from none


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    term: str
    text: str
    field: str
    match: str
    score: float
    known: int | None = None  # the catalog's term that it stands for; None for what is no word


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    code: str
    score: float


class Candidate(NamedTuple):
    """A tool with its score and the plain facts that the judge looks at. Shares are 0..1."""

    doc: ToolDoc
    place: int
    score: float
    coverage: float  # of the request's worth
    name_coverage: float  # of the tool's own name
    matched: tuple[QueryTerm, ...]
    density: float  # how strongly its fields support what they cover
    likeness: float  # how near its text comes to the request in meaning, -1..1; 0 without vectors
    meant: float  # the part of the score that this brought
    wording: float  # how closely its own wording follows the request
    exact_name: bool
    head_missed: bool
    forbidden: bool = False  # its name does what the request forbids


class Explains(Protocol):
    """Whoever made a ranking, or makes it again."""

    def contributions(self, candidate: Candidate) -> tuple[list[Contribution], list[Adjustment]]: ...
    def fields(self, candidates: Sequence[Candidate]) -> list[dict[str, float]]: ...


@dataclass(slots=True)
class Ranking:
    """Candidates in order, and what it takes to explain them."""

    request: Request
    view: View
    candidates: tuple[Candidate, ...]
    count: int  # of all that the words or the meaning found and that can be had
    total: int  # of content terms, values that no tool knows left out
    strange: bool  # no tool knows the word that says what to do
    tier: str  # lexical | static | deep: what had a say in it
    _scorer: Explains = field(repr=False)

    def contributions(self, candidate: Candidate) -> tuple[list[Contribution], list[Adjustment]]:
        return self._scorer.contributions(candidate)

    def fields(self, candidates: Sequence[Candidate]) -> list[dict[str, float]]:
        """What each field brought to each candidate's score, before adjustments."""
        return self._scorer.fields(candidates)


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


def rank_view(
    view: View,
    request: Request,
    *,
    limit: int,
    guard: bool = True,
    vectors: WordVectors | None = None,
    encoder: Encoder | None = None,
) -> Ranking:
    """The best `limit` tools of a view. `guard`: what erases or executes steps back where nobody asks for it.

    With `vectors`, how near a tool's text comes to the request in meaning adds to its score; with `encoder`, that counts
    in their place.
    """
    return Scorer(view, request, guard=guard, vectors=vectors, encoder=encoder, limit=limit).ranking(limit)


class Scorer:
    """One request against one view: arrays over the tools that can come out ahead, and the way back to their reasons."""

    def __init__(
        self,
        view: View,
        request: Request,
        *,
        guard: bool,
        vectors: WordVectors | None = None,
        encoder: Encoder | None = None,
        limit: int = 0,
    ) -> None:
        self.view = view
        self.request = request
        self.guard = guard
        self.understood = understood = understand(view, request)
        self.asked, self.named, self.mass = understood.asked, understood.named, understood.mass
        self._line_up(vectors, encoder, max(limit, CONSIDERED))
        self.forbidden = understood.forbidden()
        self._adjust()

    def _line_up(self, vectors: WordVectors | None, encoder: Encoder | None, most: int) -> None:
        """Choose the tools that can come out ahead, and hold the request against each."""
        index, sees = self.view.index, self.view.sees
        self.evidence = Evidence(index, self.asked)
        rough = self.evidence.rough()
        rough[self.view.unseen] = 0.0
        self.likeness: Array | None = None
        places = self._foremost(rough, most)
        said = spoken(self.request) if vectors is not None else []
        self.tier = LEXICAL
        if encoder is not None and self.request.content:
            self.tier = DEEP
            places = np.union1d(places, encoder.nearest(sees, KINDRED))
            self.likeness = encoder.likeness(places)
        elif vectors is not None and vectors.reads(said):
            self.tier = STATIC
            pointing = vectors.direction(said)
            if rough.max(initial=0.0) < STRONG * self.mass:
                places = self._with_kindred(places, pointing, vectors)
            self.likeness = index.likeness(vectors, pointing, places)
        self.places = places
        self.columns: dict[int, int] = {}  # of the candidates: place -> column
        self.base: Array = self.evidence.total(self.evidence.won).take(places)
        self.covered: Array = self.evidence.total(self.evidence.covers).take(places)

    def _foremost(self, rough: Array, most: int) -> Places:
        """The tools that win most in the rough; of equals, the first by name, so that nothing else decides."""
        self.count = int(np.count_nonzero(rough))
        if self.count <= most:
            return rough.nonzero()[0]
        places = foremost(rough, most)
        won = rough.take(places)
        bar = nth_largest(won, most)
        ahead, level = places[won > bar], places[won == bar]
        if len(level) > 1:
            level = level[np.argsort(self.view.index.by_name[level], kind="stable")]
        return np.sort(np.concatenate([ahead, level[: most - len(ahead)]]))

    def _with_kindred(self, places: Places, pointing: Vectors, vectors: WordVectors) -> Places:
        """Those whose text means the same without sharing a word, beside those that the words found."""
        index = self.view.index
        nearest = index.nearest(vectors, pointing, self.view.sees, KINDRED)
        if not len(nearest):
            return places
        among = np.zeros(len(index.docs), np.bool_)
        among[places] = among[nearest] = True
        return np.flatnonzero(among)

    def _adjust(self) -> None:
        """What the terms won together becomes a score: coverage, names, hints, and what is forbidden or unasked."""
        index, places = self.view.index, self.places
        self.coverage = np.minimum(self.covered / self.mass, 1.0) if self.mass else np.zeros(len(places))
        self.name_coverage = np.minimum(self._named() / self.view.name_mass.take(places), 1.0)
        self.adjustments: dict[str, Array] = {
            "coverage": self.base * COVERAGE_SHARE * (self.coverage - 1),
            "name_coverage": self.base * NAME_SHARE * self.name_coverage**2,
        }
        self.meant = np.zeros(len(places))
        if self.likeness is not None:
            share = DEEP_SHARE if self.tier == DEEP else MEANING_SHARE
            self.meant = share * self.view.rarest * np.maximum(self.likeness - UNLIKE, 0.0)
        if wanted := self.understood.said_of():
            self.adjustments["exact_hint"] = (
                SAID_SHARE * (self.base + self.meant).max(initial=0.0) * np.isin(places, wanted)
            )
        if self.request.phrase in index.by_phrase:
            same = np.isin(places, index.by_phrase[self.request.phrase])
            self.adjustments["exact_name"] = self.base * PHRASE_SHARE * same
        changed: Array = sum(self.adjustments.values(), start=np.zeros(len(places)))
        gained = self._follow_wording(self.base + self.meant + changed)
        if self.guard:
            keep_tie((self.base + changed).round(DIGITS), self.meant, gained, index.harm.take(places))
        self.adjustments["wording"] = gained
        changed += gained
        own = self.base + self.meant + gained
        for code, change in self._losses(own):
            self.adjustments[code] = change
            changed += change
        self.score = ((self.base + changed).round(DIGITS) + self.meant).round(DIGITS)
        self.count += int(np.count_nonzero(self.score > 0) - np.count_nonzero(self.covered))

    def _losses(self, own: Array) -> Iterator[tuple[str, Array]]:
        """What tools lose of their own for doing what is forbidden, or erasing and executing unasked."""
        index, places = self.view.index, self.places
        if self.forbidden:
            bad = [not self.forbidden.isdisjoint(index.docs[place].name_terms) for place in places]
            yield "negated_action", own * -NEGATED_SHARE * np.array(bad, np.float64)
        unasked = [index.guarded[effect] for effect in GUARDED if self.guard and not self.understood.asks_for(effect)]
        if unasked:
            guarded = unasked[0].take(places)
            for one in unasked[1:]:
                guarded |= one.take(places)
            yield "effect_guard", own * -UNASKED_SHARE * guarded

    def _follow_wording(self, said: Array) -> Array:
        """What the tools ahead gain whose own wording follows the request, word by word and pair by pair."""
        ahead = np.argpartition(said, -FOLLOWED)[-FOLLOWED:] if len(said) > FOLLOWED else np.arange(len(said))
        self.wording = np.zeros(len(said))
        self.wording[ahead] = self.view.wording.likeness(self.request.wording, self.places.take(ahead))
        return np.asarray(WORDING_SHARE * self.mass * self.wording)

    def _named(self) -> Array:
        """What the words of each tool's name that the request asks for are worth, by their rarity."""
        worth = np.zeros(len(self.view.idf) + 1)
        numbers = np.fromiter(self.named, np.intp, len(self.named))
        worth[numbers] = self.view.idf.take(numbers) * np.fromiter(self.named.values(), np.float64, len(numbers))
        names = self.view.index.names.take(self.places, axis=1)
        return np.asarray(worth.take(names).sum(axis=0))

    def ranking(self, limit: int) -> Ranking:
        columns = self._best(limit)
        self.columns = dict(zip(self.places.take(columns).tolist(), columns.tolist(), strict=True))
        return Ranking(
            request=self.request,
            view=self.view,
            candidates=self._candidates(columns),
            count=self.count,
            total=self.understood.total,
            strange=self.understood.strange,
            tier=self.tier,
            _scorer=self,
        )

    def _best(self, limit: int) -> Places:
        """By score; on a tie what does less comes first, then by name."""
        bar = max(nth_largest(self.score, limit), SMALLEST)
        columns = (self.score >= bar).nonzero()[0]
        index, places = self.view.index, self.places.take(columns)
        harm = index.harm.take(places) * self.guard
        order = np.lexsort((index.by_name.take(places), harm, -self.score.take(columns)))
        return np.asarray(columns.take(order[:limit]), np.intp)

    def _candidates(self, columns: Places) -> tuple[Candidate, ...]:
        """Column by column: making them one by one takes longer than ranking a small catalog."""
        nothing = np.zeros(len(self.score))
        shares = np.array(
            [
                self.score,
                self.coverage,
                self.name_coverage,
                np.minimum(self.base / np.maximum(self.covered, 1e-9), 1.0),
                nothing if self.likeness is None else self.likeness,
                self.meant,
                self.wording,
            ]
        ).take(columns, axis=1)
        score, coverage, name_coverage, density, likeness, meant, wording = shares.tolist()
        places = self.places.take(columns)
        docs = [self.view.index.docs[place] for place in places.tolist()]
        met = (self.evidence.entries(places) >= 0).T.tolist()
        terms = [entry.term for entry in self.asked]
        heads = [term.head for term in terms]
        facts = (
            docs,
            places.tolist(),
            score,
            coverage,
            name_coverage,
            [tuple(compress(terms, knows)) for knows in met],
            density,
            likeness,
            meant,
            wording,
            [doc.phrase == self.request.phrase for doc in docs],
            [not all(compress(knows, heads)) for knows in met] if any(heads) else [False] * len(docs),
            [not self.forbidden.isdisjoint(doc.name_terms) for doc in docs],
        )
        return tuple(map(Candidate._make, zip(*facts, strict=True)))

    def contributions(self, candidate: Candidate) -> tuple[list[Contribution], list[Adjustment]]:
        """What each term won in each field, and what changed the sum; all together the score."""
        column = self.columns[candidate.place]
        parts = list(self._shares(candidate.place))
        if candidate.meant:
            parts.append(Contribution(term=MEANING, text="", field=VECTOR, match=VECTOR, score=candidate.meant))
        changes = [
            Adjustment(code=code, score=float(change[column]))
            for code, change in self.adjustments.items()
            if change[column]
        ]
        return parts, changes

    def _shares(self, place: int) -> Iterator[Contribution]:
        split = self.evidence.by_field(np.array([place]))[:, 0].tolist()
        for entry, known, scores in zip(self.asked, self.evidence.variants(place), split, strict=True):
            for name, score in zip(FIELD_NAMES, scores, strict=True):
                if score and known:
                    yield Contribution(
                        term=entry.term.term,
                        text=entry.term.text,
                        field=name,
                        match=known.match,
                        score=score,
                        known=known.term,
                    )

    def fields(self, candidates: Sequence[Candidate]) -> list[dict[str, float]]:
        """What each field brought to each candidate, before adjustments."""
        places = np.array([candidate.place for candidate in candidates], np.intp)
        split = self.evidence.by_field(places).sum(axis=0).tolist()
        found = [
            {name: round(score, DIGITS) for name, score in zip(FIELD_NAMES, row, strict=True) if score} for row in split
        ]
        for told, candidate in zip(found, candidates, strict=True):
            if candidate.meant:
                told[VECTOR] = round(candidate.meant, DIGITS)
        return found


def keep_tie(said: Array, meant: Array, gained: Array, harm: npt.NDArray[np.int8]) -> None:
    """Where the words leave a tie at the top, neither meaning nor wording puts a tool ahead of one that does less."""
    if not len(said):
        return
    most = said[(said + meant + gained).argmax()]
    level = (said == most).nonzero()[0]
    if most <= 0 or len(level) < 2:
        return
    harm = harm.take(level)
    mild, harmful = level[harm == harm.min()], level[harm > harm.min()]
    best = mild[np.argmax(meant[mild] + gained[mild])]
    for extra in (meant, gained):
        extra[harmful] = np.minimum(extra[harmful], extra[best])
