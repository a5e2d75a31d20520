"""The parts of a catalog's endpoints, joined into the one index of which every scope is a view.

Only the rarity of words depends on company, and that is counted per scope (see `scope.View`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from routing.engine.meaning import ROUNDING, Rounded, Vectors, WordVectors
from routing.engine.parts import (
    FIELDS,
    GUARDED,
    SHARED,
    SHARED_ACTION,
    Bytes,
    Doubles,
    Floats,
    Halves,
    Ints,
    Part,
    Postings,
    ToolDoc,
)
from routing.engine.query import read_request
from routing.engine.ranges import Places, cells
from routing.engine.text import stem
from routing.engine.wording import Wordings

ROUGH_AXES = 64
# Tools that are compared at once: so few that the linear algebra below numpy starts no threads, since waiting for them
# costs more than they bring, and far more on a machine that has other work.
BLOCK = 128
FEW = 512
HALVINGS = 4  # of a quarter of the greatest number, while the nth is looked for among the greater ones
WEIGHED_AT_ONCE = 1 << 14
SATURATION = 0.8  # weighted frequency at which a term has half of its worth


class Index:
    """All parts as one set of postings: for each term, which tools hold it and how strongly, field by field."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self.docs = tuple(doc for part in parts for doc in part.docs)
        self.first_doc = dict(zip((part.endpoint.name for part in parts), _offsets(parts), strict=True))
        self.endpoint_of = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part.docs) for part in parts])
        postings = [part.postings for part in parts]
        self.term_ids, terms_ = _numbered(postings)
        order = np.argsort(terms_, kind="stable")  # the tools of each term are in order already
        self.starts = np.searchsorted(terms_[order], np.arange(len(self.term_ids) + 1))
        sizes = _joined([one.sizes for one in postings], np.int32)
        self.tools = np.arange(len(self.docs), dtype=np.int32).repeat(sizes)[order]
        self._fields = _joined([one.fields for one in postings], np.uint8)
        self._weights = _joined([one.weights for one in postings], np.float16)
        _share(postings, self._fields, self._weights)
        held = _joined([one.held for one in postings], np.uint8)
        self._held = held[order]  # of each posting: how many fields and weights it has, and where they begin
        self._first = (held.cumsum(dtype=np.int32) - held)[order]
        self._weigh()
        self.guarded = {
            effect: _joined([part.guarded[place] for part in parts], np.bool_) for place, effect in enumerate(GUARDED)
        }
        self.harm = _joined([part.harm for part in parts], np.int8)
        self._pointing: Rounded | None = None
        self._roughly: Floats | None = None
        self.by_phrase: dict[str, list[int]] = {}
        for place, doc in enumerate(self.docs):
            self.by_phrase.setdefault(doc.phrase, []).append(place)
        self.by_name = np.zeros(len(self.docs), np.intp)
        self.by_name[sorted(range(len(self.docs)), key=lambda place: self.docs[place].public)] = np.arange(
            len(self.docs)
        )

    def _weigh(self) -> None:
        """Of each posting: its share of a term's worth, the same where that says what to do, and whether a field of the tool
        itself says it. Some at a time, since what is made on the way is much larger."""
        size = len(self.tools)
        self.support, self.action_support = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self.own = np.zeros(size, np.bool_)
        for first in range(0, size, WEIGHED_AT_ONCE):
            some = slice(first, first + WEIGHED_AT_ONCE)
            owner, weights, shared = self._weighed(some)
            most = len(self.own[some])
            total = np.asarray(np.bincount(owner, weights=weights, minlength=most), np.float64)
            less = np.bincount(owner[shared], weights=weights[shared], minlength=most)
            self.support[some] = saturated(total)
            self.action_support[some] = saturated(total - (1 - SHARED_ACTION) * less)
            self.own[some] = np.bincount(owner[~shared & (weights > 0)], minlength=most) > 0

    def _weighed(self, some: slice) -> tuple[Places, Doubles, npt.NDArray[np.bool_]]:
        """Of these postings, counted through, each field's weight, and whether it is one that the endpoint shares."""
        owner, held = cells(self._first[some], self._first[some] + self._held[some])
        return owner, self._weights.take(held).astype(np.float64), self._fields.take(held) >= SHARED.start

    def weights(self, postings: npt.NDArray[np.intp]) -> Doubles:
        """Of these postings the weight in each field."""
        first = self._first.take(postings)
        owner, held = cells(first, first + self._held.take(postings))
        found = np.zeros((len(postings), len(FIELDS)))
        found[owner, self._fields.take(held)] = self._weights.take(held)
        return found

    def tool(self, endpoint: str, wire: str) -> ToolDoc | None:
        """The tool of just these names; those of an endpoint stand in the order of theirs."""
        if (first := self.first_doc.get(endpoint)) is None:
            return None
        place = bisect_left(self.docs, (endpoint, wire), first, key=lambda doc: (doc.endpoint.name, doc.wire))
        found = self.docs[place] if place < len(self.docs) else None
        return found if found and (found.endpoint.name, found.wire) == (endpoint, wire) else None

    def term_of(self, posting: int) -> int:
        return int(self.starts.searchsorted(posting, "right")) - 1

    @cached_property
    def texts(self) -> Wordings:
        return Wordings.joined([part.texts for part in self.parts], [len(part.docs) for part in self.parts])

    @cached_property
    def names(self) -> Ints:
        """The words of every tool's name, the joined spelling left out: a column for each tool, in the order of their
        letters, so that sums are always alike. Below them stands a number that no word has."""
        ids = self.term_ids
        found = np.full(
            (max((len(doc.name_terms) for doc in self.docs), default=0), len(self.docs)), len(ids), np.int32
        )
        for place, doc in enumerate(self.docs):
            numbers = sorted([ids[term] for term in doc.name_terms if term in ids])
            found[: len(numbers), place] = numbers
        return found

    @cached_property
    def name_pairs(self) -> dict[tuple[str, str], list[int]]:
        """Two words that stand together in names -> the tools so named: there they are one thing."""
        found: dict[tuple[str, str], list[int]] = {}
        for place, doc in enumerate(self.docs):
            stems = [stem(word) for word in doc.name_words]
            for pair in zip(stems, stems[1:], strict=False):
                found.setdefault(pair, []).append(place)
        return found

    @cached_property
    def by_hint(self) -> dict[frozenset[str], list[int]]:
        """The words of a hint on a single tool -> the tools of which an operator says just that."""
        found: dict[frozenset[str], list[int]] = {}
        for place, doc in enumerate(self.docs):
            for hint, known in zip(doc.hints, doc.hint_terms, strict=True):
                # A value in a hint, an address say, stands for its kind, as it does in a request.
                said = frozenset(term.term for term in read_request(hint).content) if "/" in hint else known
                found.setdefault(said, []).append(place)
        return found

    @cached_property
    def hinted(self) -> Ints:
        """Of each hint the tool that it is about."""
        return np.repeat(np.arange(len(self.docs), dtype=np.int32), [len(doc.hint_terms) for doc in self.docs])

    def likeness(self, vectors: WordVectors, pointing: Vectors, places: npt.NDArray[np.intp]) -> Doubles:
        """How nearly these tools' texts point where a request does. Whole numbers: exact in whatever order they are added."""
        asked = np.rint(pointing * ROUNDING)
        near = self.directions(vectors).take(places, axis=0).astype(np.float32) @ asked
        return np.asarray(near / np.float64(ROUNDING * ROUNDING), np.float64)

    def nearest(
        self, vectors: WordVectors, pointing: Vectors, sees: npt.NDArray[np.bool_], most: int
    ) -> npt.NDArray[np.intp]:
        """The tools in sight whose texts point most nearly the same way, by the first axes, which say most."""
        asked = np.rint(pointing[:ROUGH_AXES] * ROUNDING)
        near = (self._rough_directions(vectors) @ asked).ravel()[: len(self.docs)]
        near[~sees] = 0.0
        return np.flatnonzero(near >= max(nth_largest(near, most), 1))[: 2 * most]

    def directions(self, vectors: WordVectors) -> Rounded:
        """Where the text of each tool points."""
        if self._pointing is None:
            found = np.zeros((len(self.docs), vectors.size), np.int8)
            for part, first in zip(self.parts, _offsets(self.parts), strict=True):
                piece = found[first : first + len(part.docs)]
                piece[:] = part.directions(vectors)
                part.share_directions(piece)
            self._pointing = found
        return self._pointing

    def _rough_directions(self, vectors: WordVectors) -> Floats:
        if self._roughly is None:
            whole = self.directions(vectors)
            self._roughly = np.zeros((-(-len(whole) // BLOCK), BLOCK, ROUGH_AXES), np.float32)
            self._roughly.reshape(-1, ROUGH_AXES)[: len(whole)] = whole[:, :ROUGH_AXES]
        return self._roughly

    @cached_property
    def spelled(self) -> dict[str, tuple[int, list[int]]]:
        """Written word -> its term and the tools that hold it; needed for mistyped and shortened words only."""
        found: dict[str, tuple[int, list[int]]] = {}
        for part in self.parts:
            first = self.first_doc[part.endpoint.name]
            for word, term, tools in part.spelled.entries():
                number = self.term_ids[part.postings.vocabulary[term]]
                found.setdefault(word, (number, []))[1].extend(first + tool for tool in tools)
        return found

    @cached_property
    def spelled_in_order(self) -> list[str]:
        return sorted(self.spelled)

    @cached_property
    def spelled_like(self) -> dict[tuple[str, int], list[str]]:
        """Written words by first letter and length: where a mistyped word looks for its neighbours."""
        found: dict[tuple[str, int], list[str]] = {}
        for word in self.spelled_in_order:
            if word.isascii() and word.isalpha():
                found.setdefault((word[0], len(word)), []).append(word)
        return found


def saturated(weight: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The share of a term's worth that a weighted frequency takes: it rises fast and never reaches the whole."""
    return np.asarray(weight / (weight + SATURATION))


def nth_largest(values: npt.NDArray[np.floating], nth: int) -> Any:
    """The nth largest of these numbers, none of them below zero but for such as nobody wants; zero when there are fewer."""
    if len(values) < nth:
        return values.dtype.type(0)
    high = values.take(foremost(values, nth)) if len(values) > FEW else values
    return np.partition(high, len(high) - nth)[len(high) - nth]


def foremost(values: npt.NDArray[np.floating], nth: int) -> npt.NDArray[np.intp]:
    """The places of the `nth` largest of these numbers, and of some more: finding the nth of all takes long where they are many."""
    bar = values.max(initial=0.0) / 4  # mostly enough, and few
    for _ in range(HALVINGS):
        high = (values > bar).nonzero()[0]
        if len(high) >= nth:
            return np.asarray(high, np.intp)
        bar /= 2
    return np.arange(len(values))


def _offsets(parts: Sequence[Part]) -> list[int]:
    offsets, total = [], 0
    for part in parts:
        offsets.append(total)
        total += len(part.docs)
    return offsets


def _numbered(postings: Sequence[Postings]) -> tuple[dict[str, int], Ints]:
    """The terms that are held, numbered, and the number of each posting's term, those of all parts laid end to end."""
    vocabularies = {id(one.vocabulary): one.vocabulary for one in postings}
    held = {key: np.zeros(len(texts), np.bool_) for key, texts in vocabularies.items()}
    for one in postings:
        held[id(one.vocabulary)][one.terms] = True
    terms = {key: [vocabularies[key][place] for place in some.nonzero()[0].tolist()] for key, some in held.items()}
    # In the order of their letters, so that their order says nothing of what else exists.
    ids = {term: number for number, term in enumerate(sorted(set().union(*terms.values())))}
    numbers = {key: np.zeros(len(some), np.int32) for key, some in held.items()}
    for key, some in held.items():
        numbers[key][some] = [ids[term] for term in terms[key]]
    return ids, _joined([numbers[id(one.vocabulary)].take(one.terms) for one in postings], np.int32)


def _share(postings: Sequence[Postings], fields: Bytes, weights: Halves) -> None:
    """Let parts keep what they hold as a piece of these, which are kept anyway."""
    first = 0
    for one in postings:
        piece = slice(first, first := first + len(one.fields))
        one.fields, one.weights = fields[piece], weights[piece]


def _joined(arrays: list[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, kind)
