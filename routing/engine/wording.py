"""How closely a tool's own wording follows a request: its words in a row, function words and all.

Rarity says which words matter; it says nothing of how they stand together. "How do I" and "how much is", "to do list" and
"list what to do" differ in their little words and in their order. A text is cut into its stems and its pairs of neighbouring
stems; two texts are alike by the cosine of what they share, each gram weighed by its rarity in the scope (Salton's tf-idf
with logarithmic frequencies). Every hint is a text of its own, and what several texts of a tool say adds up like the sides
of a right angle, so no text gains by being long and no tool by repeating itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, pairwise
from zlib import crc32

import numpy as np
import numpy.typing as npt

from routing.engine.ranges import Places, laid_out

Grams = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int32]
Doubles = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float32]

BREAK = ""  # stands between words that are no neighbours
MOST_GRAMS = 256  # of one text
BUCKETS = 1 << 18  # in which the rarity of grams is counted
TEXTS_AT_ONCE = 1 << 11
MOST_TIMES = 15  # that a gram counts as said
# What a gram says by how often it is said: each further time less.
SAID = np.concatenate([[0], 1 + np.log(np.arange(1, MOST_TIMES + 1))]).astype(np.float32)
GRAM = 0x0FFFFFFF  # of a number the bits that tell grams apart; above them stands how often one is said
_GRAM, _TIMES = np.uint32(GRAM), np.uint32(GRAM.bit_length())
SLOTS = 1 << 12  # among which the grams of a request are found again
_BUCKET, _SLOT = np.uint32(BUCKETS - 1), np.uint32(SLOTS - 1)
_TRUE = np.ones(1, np.bool_)
_NO_GRAM = 0xFFFFFFFF  # a number that no gram has
PAIR = 0x9E3779B1  # odd, so that "a b" and "b a" are two grams


@lru_cache(maxsize=1 << 16)
def _number(stem: str) -> int:
    return crc32(stem.encode(errors="surrogatepass"))


def grams(stems: Sequence[str]) -> dict[int, int]:
    """The stems and pairs of neighbouring stems of a text as numbers, and how often each is said."""
    numbers = list(map(_number, stems))  # that of a break is zero
    found = Counter([number & GRAM for number in numbers if number])
    found.update([(one * PAIR ^ other) & GRAM for one, other in pairwise(numbers) if one and other])
    return found if len(found) <= MOST_GRAMS else dict(islice(found.items(), MOST_GRAMS))


@dataclass(slots=True)
class Wordings:
    """The grams of texts laid end to end, and to which owner each text belongs."""

    grams: Grams  # and how often each is said
    starts: Numbers  # of each text, and where the last ends
    owners: Numbers  # of each text: the tool, in order

    @classmethod
    def of(cls, texts: Sequence[Sequence[Sequence[str]]]) -> Wordings:
        """Of each owner its texts, each a row of stems."""
        cut = [grams(text) for one in texts for text in one]
        starts = _offsets([len(found) for found in cut])
        said = np.fromiter(chain.from_iterable(cut), np.uint32, starts[-1])
        times = np.fromiter(chain.from_iterable(map(dict.values, cut)), np.uint32, starts[-1])
        return cls(
            grams=said | np.minimum(times, np.uint32(MOST_TIMES)) << _TIMES,
            starts=starts,
            owners=np.repeat(np.arange(len(texts), dtype=np.int32), [len(one) for one in texts]),
        )

    @classmethod
    def joined(cls, parts: Sequence[Wordings], sizes: Sequence[int]) -> Wordings:
        """The texts of several parts in a row; `sizes` says how many owners each part has."""
        if not parts:
            return cls.of([])
        rows = _offsets([len(part.grams) for part in parts])
        joined = cls(
            grams=np.zeros(rows[-1], np.uint32),
            starts=np.concatenate([*(part.starts[:-1] + first for part, first in zip(parts, rows, strict=False)), rows[-1:]]),
            owners=np.concatenate([part.owners + first for part, first in zip(parts, _offsets(sizes), strict=False)]),
        )  # fmt: skip
        for part, first in zip(parts, rows.tolist(), strict=False):  # the same, kept once
            piece = joined.grams[first : first + len(part.grams)]
            piece[:] = part.grams
            part.grams = piece
        return joined

    def rarity(self, seen: npt.NDArray[np.bool_]) -> Weights:
        """How rare the grams of each bucket are among the texts that are seen."""
        frequency = np.zeros(BUCKETS, np.intp)
        for some, held, sizes in self._blocks():
            buckets = held & _BUCKET
            np.add.at(frequency, buckets if seen[some].all() else buckets[seen[some].repeat(sizes)], 1)
        texts, most = np.count_nonzero(seen), int(frequency.max())
        rarity = np.log((texts + 1) / np.arange(1, most + 2), dtype=np.float32) + np.float32(1)
        return np.asarray(rarity.take(frequency))

    def lengths(self, rarity: Weights) -> Weights:
        """The length of each text as a vector, that of an empty one being 1."""
        found = np.ones(len(self.owners), np.float32)
        for some, held, sizes in self._blocks():
            squares = np.square(SAID.take(held >> _TIMES) * rarity.take(held & _BUCKET))
            said = sizes.nonzero()[0]  # an empty text would take the first gram of its neighbour
            if len(said):
                found[some][said] = np.sqrt(np.add.reduceat(squares, (sizes.cumsum() - sizes).take(said)))
        return found

    def _blocks(self) -> Iterator[tuple[slice, Grams, Numbers]]:
        """Some texts, their grams and how many each has: what is made of all at once takes much room."""
        for first in range(0, len(self.owners), TEXTS_AT_ONCE):
            ends = self.starts[first : first + TEXTS_AT_ONCE + 1]
            yield slice(first, first + TEXTS_AT_ONCE), self.grams[ends[0] : ends[-1]], np.diff(ends)


def _offsets(sizes: Sequence[int]) -> Numbers:
    """Where each of these begins when they are laid end to end, and where the last ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


class Wording:
    """The texts of the tools that one view sees, weighed by how rare each gram is among them."""

    __slots__ = ("_first", "_lengths", "_rarity", "_single", "_texts")

    def __init__(self, texts: Wordings, sees: npt.NDArray[np.bool_]) -> None:
        self._texts = texts
        self._rarity = texts.rarity(sees.take(texts.owners))
        self._lengths = texts.lengths(self._rarity)
        self._single = len(texts.owners) == len(sees)  # no tool has hints, and so each has one text
        self._first = np.searchsorted(texts.owners, np.arange(len(sees) + 1))  # of each tool's texts

    def likeness(self, stems: Sequence[str], places: Places) -> Doubles:
        """Of each of these tools, 0..1: how closely its texts follow these words."""
        said = grams(stems)
        if not said or not len(places):
            return np.zeros(len(places))
        asked = np.fromiter(said, np.uint32, len(said))
        texts, owners, held, sizes = self._held(places)
        # Where no gram of the request is found, the first stands, which is another one.
        slots = np.zeros(SLOTS, np.int16)
        slots[asked & _SLOT] = np.arange(len(asked))
        slot = slots.take(held & _SLOT)
        met = (asked.take(slot) == held & _GRAM).nonzero()[0]
        weights = self._weights(asked, said).take(slot.take(met))
        return self._alike(met, held, weights, np.arange(len(texts)).repeat(sizes), texts, owners, len(places))

    def likenesses(self, said: Sequence[Mapping[int, int]], places: Places, askers: Places) -> Doubles:
        """The same of many requests, given by their grams: beside each tool the number of the one that it is held against,
        in ascending order."""
        asked = np.fromiter(chain(*said, (_NO_GRAM,)), np.uint32)
        if len(asked) == 1 or not len(places):
            return np.zeros(len(places))
        texts, owners, held, sizes = self._held(places)
        counts = np.array([len(one) for one in said])
        # The same slots for each request; where none of its grams is found, the last stands, which nobody says.
        slots = np.full(len(said) * SLOTS, len(asked) - 1, np.int32)
        slots[np.arange(len(said)).repeat(counts) * SLOTS + (asked[:-1] & _SLOT)] = np.arange(len(asked) - 1)
        slot = slots.take((askers.take(owners) * SLOTS).repeat(sizes) + (held & _SLOT))
        met = (asked.take(slot) == held & _GRAM).nonzero()[0]
        split = np.split(asked[:-1], counts.cumsum()[:-1])
        weights = np.concatenate([self._weights(*one) for one in zip(split, said, strict=True) if one[1]])
        weights = weights.take(slot.take(met))
        return self._alike(met, held, weights, np.arange(len(texts)).repeat(sizes), texts, owners, len(places))

    def _held(self, places: Places) -> tuple[Places, Places, Grams, Numbers]:
        """The texts of these tools, whose each is, their grams laid end to end, and how many each has."""
        texts, owners = self._of(places)
        starts, ends = self._texts.starts.take(texts), self._texts.starts.take(texts + 1)
        return texts, owners, laid_out(self._texts.grams, starts.tolist(), ends.tolist()), ends - starts

    def _alike(
        self,
        met: Places,
        held: Grams,
        weights: Weights,
        text: Places,
        texts: Places,
        owners: Places,
        size: int,
    ) -> Doubles:
        """What the grams that were met, of these weights for their requests, make of so many tools; `text`: whose each gram is."""
        if not len(met):
            return np.zeros(size)
        text = text.take(met)
        begins = np.concatenate([_TRUE, text[1:] != text[:-1]]).nonzero()[0]  # where another text begins
        text = text.take(begins)
        shared = SAID.take(held.take(met) >> _TIMES) * weights
        cosines = np.add.reduceat(shared, begins) / self._lengths.take(texts.take(text))
        # The texts of a tool add up like the sides of a right angle.
        squares = np.bincount(owners.take(text), weights=cosines.astype(np.float64) ** 2, minlength=size)
        return np.asarray(np.minimum(np.sqrt(squares), 1.0))

    def _of(self, places: Places) -> tuple[Places, Places]:
        """The texts of these tools, and whose each is, counted through."""
        if self._single:
            return places, np.arange(len(places))
        first = self._first.take(places)
        counts = self._first.take(places + 1) - first
        owners = np.arange(len(places)).repeat(counts)
        return np.arange(len(owners)) + (first - (counts.cumsum() - counts)).take(owners), owners

    def _weights(self, asked: Grams, said: Mapping[int, int]) -> Weights:
        """What each gram of a request says, by its rarity on both sides of the cosine."""
        rarity = self._rarity.take(asked & _BUCKET)
        weights = SAID.take(np.fromiter(said.values(), np.intp, len(said)), mode="clip") * rarity
        weights *= rarity / math.sqrt(float(weights @ weights))
        return np.asarray(weights)
