"""What words mean, roughly: a table of static vectors, and the direction in which a text points.

The table holds one small vector for each wordpiece, weighed by how little commonplace the piece is; a word is the sum of
its pieces, a text the sum of its words. It ships with the package (`data/vectors.npz`, made by bench/build_vectors.py),
is read once, when it is first needed, and never changes. Two texts that share no word may still point the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Rounded = npt.NDArray[np.int8]

AUTO, LEXICAL, STATIC, DEEP = "auto", "lexical", "static", "deep"  # tiers; the second is without vectors
ROUNDING = 127
LONGEST_PIECE = 20
WHOLE_PIECE = 3  # letters of half a word that may still mean something
KEPT_WORDS = 1 << 15


class WordVectors:
    """Immutable but for what it remembers of words it has seen; safe to share between threads."""

    __slots__ = ("__dict__", "_ids", "_scales", "_seen", "_table")

    def __init__(self, pieces: Sequence[str], table: Rounded, scales: Vectors) -> None:
        self._ids = dict(zip(pieces, range(len(pieces)), strict=True))
        self._table = table
        self._scales = scales
        self._seen: dict[str, tuple[int, ...]] = {}

    @property
    def size(self) -> int:
        return int(self._table.shape[1])

    @cached_property
    def nothing(self) -> Vectors:
        return np.zeros(self.size, np.float32)

    def pieces(self, word: str) -> tuple[int, ...]:
        """The places of a folded word's pieces, longest first from the left; empty for what the table cannot spell."""
        known = self._seen.get(word)
        if known is None:
            if len(self._seen) >= KEPT_WORDS:
                self._seen = {}
            known = self._seen[word] = tuple(self._spell(word))
        return known

    def reads(self, words: Iterable[tuple[str, float]]) -> bool:
        """Whether the table knows at least half of these weighed words as a whole or in two halves, not in scraps.

        A language that it does not know can be spelled all the same, and all that is spelled so seems alike.
        """
        known = balance = 0.0
        for word, weight in words:
            spelled = len(self.pieces(word))
            known += weight if spelled else 0.0
            balance += weight if spelled == 1 or spelled == 2 and len(word) >= 2 * WHOLE_PIECE else -weight
        return known > 0 and balance >= 0

    def _spell(self, word: str) -> list[int]:
        if (whole := self._ids.get(word)) is not None:
            return [whole]
        found: list[int] = []
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + LONGEST_PIECE), start, -1):
                piece = self._ids.get(word[start:end] if start == 0 else f"##{word[start:end]}")
                if piece is not None:
                    break
            else:
                return []
            found.append(piece)
            start = end
        return found

    def direction(self, words: Iterable[tuple[str, float]]) -> Vectors:
        """The unit vector of weighed words; nothing at all when no word is known."""
        places: list[int] = []
        weights: list[float] = []
        for word, weight in words:
            spelled = self.pieces(word)
            places.extend(spelled)
            weights.extend([weight] * len(spelled))
        if not places:
            return self.nothing
        total = (self._scales[places] * np.array(weights, np.float32)) @ self._table[places].astype(np.float32)
        length = float(np.sqrt(total @ total))
        return np.asarray(total / length, np.float32) if length else self.nothing

    def directions(self, texts: Sequence[Iterable[str]]) -> Rounded:
        """One row for each text: its unit vector, rounded to eight bits."""
        places = [[piece for word in text for piece in self.pieces(word)] for text in texts]
        found = np.zeros((len(texts), self.size), np.float32)
        counts = np.array([len(one) for one in places], np.intp)
        some = np.flatnonzero(counts)
        if len(some):
            flat = np.fromiter((piece for one in places for piece in one), np.intp, int(counts.sum()))
            spelled = self._table[flat].astype(np.float32) * self._scales[flat][:, None]
            starts = np.concatenate([[0], np.cumsum(counts[some])[:-1]])
            found[some] = np.add.reduceat(spelled, starts, axis=0)
        lengths = np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
        return np.asarray(np.rint(found / lengths * ROUNDING), np.int8)


@cache
def shipped_vectors() -> WordVectors | None:
    """The table that comes with the package; None in an installation that leaves it out."""
    source = files("routing.engine").joinpath("data", "vectors.npz")
    if not source.is_file():
        return None
    with source.open("rb") as file, np.load(file, allow_pickle=False) as kept:
        pieces = kept["pieces"].tobytes().decode().split("\n")
        return WordVectors(pieces, kept["vectors"], kept["scales"])


def vectors_of(tier: str) -> WordVectors | None:
    """What a tier works with. Asking for more than there is gets what there is."""
    return None if tier == LEXICAL else shipped_vectors()
