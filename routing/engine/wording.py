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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
import numpy.typing as npt

from routing.engine.ranges import Places, spread

Grams = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

BREAK = ""  # stands between words that are no neighbours
MOST_GRAMS = 256  # of one text
BUCKETS = 1 << 18  # in which the rarity of grams is counted
SLOTS = 1 << 12  # among which the grams of a request are found again
PAIR = np.uint32(0x9E3779B1)  # odd, so that "a b" and "b a" are two grams


@lru_cache(maxsize=1 << 16)
def _gram(stem: str) -> int:
    return crc32(stem.encode(errors="surrogatepass"))


def grams(stems: Sequence[str]) -> tuple[Grams, Floats]:
    """The stems and pairs of stems of a text, each once as a number, with the logarithm of how often it is said."""
    numbers = [_gram(one) if one else 0 for one in stems]
    counts = Counter(number for number in numbers if number)
    counts.update(
        (first * int(PAIR) ^ second) & 0xFFFFFFFF
        for first, second in zip(numbers, numbers[1:], strict=False)
        if first and second
    )
    kept = list(counts.items())[:MOST_GRAMS]
    said = np.fromiter((number for number, _ in kept), np.uint32, len(kept))
    return said, np.fromiter((1 + math.log(count) for _, count in kept), np.float32, len(kept))


@dataclass(frozen=True, slots=True)
class Wordings:
    """The grams of texts laid end to end, and to which owner each text belongs."""

    grams: Grams
    said: Floats
    starts: Places  # of each text, and where the last ends
    owners: Places  # of each text: the tool, in order

    @classmethod
    def of(cls, texts: Sequence[Sequence[Sequence[str]]]) -> Wordings:
        """Of each owner its texts, each a row of stems."""
        cut = [grams(text) for one in texts for text in one]
        owners = np.repeat(np.arange(len(texts)), [len(one) for one in texts]).astype(np.intp)
        starts = np.concatenate([[0], np.cumsum([len(found) for found, _ in cut])]).astype(np.intp)
        none = (np.zeros(0, np.uint32), np.zeros(0, np.float32))
        said = np.concatenate([one for _, one in cut] or [none[1]])
        return cls(np.concatenate([one for one, _ in cut] or [none[0]]), said, starts, owners)

    @classmethod
    def joined(cls, parts: Sequence[Wordings], sizes: Sequence[int]) -> Wordings:
        """The texts of several parts in a row; `sizes` says how many owners each part has."""
        firsts = np.concatenate([[0], np.cumsum(sizes)])[:-1] if len(sizes) else np.zeros(0, np.intp)
        ends = np.concatenate([[0], np.cumsum([len(part.grams) for part in parts])])
        return cls(
            np.concatenate([part.grams for part in parts] or [np.zeros(0, np.uint32)]),
            np.concatenate([part.said for part in parts] or [np.zeros(0, np.float32)]),
            np.concatenate([*(part.starts[:-1] + first for part, first in zip(parts, ends, strict=False)), ends[-1:]]).astype(np.intp),
            np.concatenate([part.owners + first for part, first in zip(parts, firsts, strict=True)] or [firsts]).astype(np.intp),
        )  # fmt: skip


class Wording:
    """The texts of the tools that one view sees, weighed by how rare each gram is among them."""

    __slots__ = ("_grams", "_rarity", "_starts", "_text", "_weights")

    def __init__(self, texts: Wordings, sees: npt.NDArray[np.bool_]) -> None:
        self._grams = texts.grams
        sizes = np.diff(texts.starts)
        seen = sees[texts.owners]
        self._text = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        buckets = texts.grams & np.uint32(BUCKETS - 1)
        frequency = np.bincount(buckets[seen[self._text]], minlength=BUCKETS)
        self._rarity = np.log((np.count_nonzero(seen) + 1) / (frequency + 1)).astype(np.float32) + np.float32(1)
        weights = texts.said * self._rarity[buckets]
        squares = np.bincount(self._text, weights=np.square(weights, dtype=np.float64), minlength=len(sizes))
        self._weights = weights / np.sqrt(np.maximum(squares, 1e-9)).astype(np.float32)[self._text]
        firsts = np.searchsorted(texts.owners, np.arange(len(sees) + 1))  # of each tool's texts
        self._starts = texts.starts[firsts]

    def likeness(self, stems: Sequence[str], places: Places) -> Doubles:
        """Of each of these tools, 0..1: how closely its texts follow these words."""
        asked, said = grams(stems)
        found = np.zeros(len(places))
        if not len(asked) or not len(places):
            return found
        weights = said * self._rarity[asked & np.uint32(BUCKETS - 1)]
        weights /= math.sqrt(float(weights @ weights))
        slots = np.full(SLOTS, -1, np.int16)
        slots[asked & np.uint32(SLOTS - 1)] = np.arange(len(asked))
        starts = self._starts[places]
        rows, owner = spread(starts, self._starts[places + 1] - starts)
        held = self._grams[rows]
        slot = slots[held & np.uint32(SLOTS - 1)]
        met = np.flatnonzero((slot >= 0) & (asked[slot] == held))
        if not len(met):
            return found
        rows = rows[met]
        shared = self._weights[rows] * weights[slot[met]]
        begins = np.concatenate([[0], np.flatnonzero(np.diff(self._text[rows])) + 1])  # where another text begins
        cosines = np.add.reduceat(shared.astype(np.float64), begins)
        squares = np.bincount(owner[met[begins]], weights=cosines**2, minlength=len(places))
        return np.asarray(np.minimum(np.sqrt(squares), 1.0))
