"""Which tools a request meets, and by which of its words.

What a word meets does not depend on the request: each tool that holds it, or something that it may stand for, once, by the
posting that says it most nearly. A view remembers that of each word. A request adds up what its words meet, over the whole
index at once, and a score can be taken apart again to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.engine.index import Index
from routing.engine.matching import Variant
from routing.engine.parts import FIELDS, SHARED, SHARED_ACTION, Ints
from routing.engine.query import QueryTerm
from routing.engine.ranges import Places, laid_out
from routing.engine.scope import View

Array = npt.NDArray[np.float64]
_NO_TOOLS, _NO_SHARES = np.zeros(0, np.int32), np.zeros((3, 0))


@dataclass(frozen=True, slots=True)
class Meeting:
    """What one word meets: an entry for each tool, in their order."""

    variants: Sequence[Variant]
    rarity: float  # its own, else that of the best stand-in
    tools: Ints
    rows: Ints  # the posting that says it most nearly
    shares: (
        Array  # three rows: what that posting wins of the word's worth, how much of it it covers, what all win together
    )

    def __len__(self) -> int:
        return len(self.tools)


def meet(view: View, variants: tuple[Variant, ...], *, acts: bool) -> Meeting:
    """What a word meets that may stand for these, nearest first; `acts`: it says what to do, which an endpoint's word
    says for its tools by half."""
    return view.meeting((acts, variants), lambda: _meet(view, variants, acts))


def _meet(view: View, variants: tuple[Variant, ...], acts: bool) -> Meeting:
    index = view.index
    numbers = np.array([one.term for one in variants], np.intp)
    starts, ends = index.starts.take(numbers), index.starts.take(numbers + 1)
    rows = np.concatenate([np.arange(*one, dtype=np.int32) for one in zip(starts, ends, strict=True)])
    tools = laid_out(index.tools, starts.tolist(), ends.tolist())
    kinds = np.arange(len(variants)).repeat(ends - starts)
    quality = np.array([one.quality for one in variants])
    won: Array = quality.take(kinds) * (index.action_support if acts else index.support).take(rows)
    rough = won
    if len(variants) > 1:
        chosen = _best(tools, won)
        rough = np.asarray(np.bincount(tools, weights=won), np.float64).take(tools.take(chosen))
        tools, rows, kinds, won = tools.take(chosen), rows.take(chosen), kinds.take(chosen), won.take(chosen)
    covers = quality.take(kinds)
    if acts:
        covers[np.logical_not(index.own.take(rows))] *= SHARED_ACTION  # what its endpoint says to do counts by half
    rarity = view.idf[numbers[0]] if variants[0].quality == 1.0 else view.idf.take(numbers).max()
    return Meeting(variants, float(rarity), tools, rows, np.array([won, covers, rough]))


def _best(tools: Ints, won: Array) -> Places:
    """Of each tool the entry that wins most; of equals the first, which is the nearest."""
    most = np.zeros(int(tools.max()) + 1)
    np.maximum.at(most, tools, won)
    best = (won == most.take(tools)).nonzero()[0][::-1]
    places = np.full(len(most), -1, np.intp)
    places[tools.take(best)] = best  # what is written last stays
    return places[places >= 0]


class Asked(NamedTuple):
    """A term of a request that some tool in sight knows, what it is worth, and what it meets."""

    term: QueryTerm
    worth: float
    meeting: Meeting


class Evidence:
    """All that the words of a request meet, laid end to end, word by word."""

    __slots__ = ("_asked", "_ends", "_index", "covers", "rough_shares", "tools", "won")

    def __init__(self, index: Index, asked: Sequence[Asked]) -> None:
        self._index, self._asked = index, asked
        met = [entry.meeting for entry in asked]
        lengths = np.array([len(one.tools) for one in met], np.intp)
        self._ends = lengths.cumsum()
        self.tools: Ints = np.concatenate([_NO_TOOLS, *(one.tools for one in met)])
        shares = np.concatenate([_NO_SHARES, *(one.shares for one in met)], axis=1)
        shares *= np.array([entry.worth for entry in asked]).repeat(lengths)
        self.won, self.covers, self.rough_shares = shares

    def total(self, shares: Array) -> Array:
        """What the entries bring each tool of the index."""
        return np.asarray(np.bincount(self.tools, weights=shares, minlength=len(self._index.docs)), np.float64)

    def rough(self) -> Array:
        """What each tool of the index would win if every posting counted: never too little."""
        return self.total(self.rough_shares)

    def cells(self, rows: Places, width: int) -> Places:
        """Where each entry stands in a table of so many tools across, of which each term fills its row."""
        return self.tools + (rows * width).repeat(np.diff(self._ends, prepend=0))

    def term_of(self, entries: Places) -> Places:
        """The number of the term that each of these entries is of."""
        return np.asarray(self._ends.searchsorted(entries, "right"), np.intp)

    def entries(self, places: Places) -> Places:
        """Terms down, these tools across: the entry of each, -1 where there is none."""
        among = np.zeros(len(self._index.docs), np.bool_)
        among[places] = True
        kept = among.take(self.tools).nonzero()[0]
        order = places.argsort()
        columns = order.take(places.take(order).searchsorted(self.tools.take(kept)))
        found = np.full((len(self._asked), len(places)), -1, np.intp)
        found[self._ends.searchsorted(kept, "right"), columns] = kept
        return found

    def variants(self, place: int) -> list[Variant | None]:
        """By what each term meets this tool; None where it does not."""
        found = self.entries(np.array([place]))[:, 0].tolist()
        begins = [0, *self._ends.tolist()]
        return [
            None if entry < 0 else _variant(self._index, known, int(known.rows[entry - begin]))
            for entry, begin, known in zip(found, begins, (one.meeting for one in self._asked), strict=False)
        ]

    def by_field(self, places: Places) -> Array:
        """What each term won of each of these tools, shared out over the fields by their weight: terms, tools, fields."""
        entries = self.entries(places)
        some = (entries >= 0).nonzero()
        weights = np.zeros((*entries.shape, len(FIELDS)))
        if len(some[0]):
            rows = np.concatenate([entry.meeting.rows for entry in self._asked])
            weights[some] = self._index.weights(rows.take(entries[some]))
        heads = [place for place, entry in enumerate(self._asked) if entry.term.head]
        if heads:
            weights[heads, :, SHARED] *= SHARED_ACTION
        total = np.maximum(weights.sum(axis=2, keepdims=True), 1e-12)
        shares: Array = weights / total
        shares[some] *= self.won.take(entries[some])[:, None]
        return shares


def _variant(index: Index, meeting: Meeting, row: int) -> Variant:
    """The one whose posting this is."""
    term = index.term_of(row)
    return next(one for one in meeting.variants if one.term == term)
