"""Words that mean nearly the same, as a sentence encoder sees them: a general thesaurus, by stems.

It ships with the package (`data/kindred.npz`, made by bench/build_vectors.py), is read once, when it is first needed, and
never changes. Other than the classes of `concepts`, which people wrote, it knows how near each pair is.
"""

from __future__ import annotations

import io
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt


class Kindred:
    """Immutable: for each stem the stems that may stand for it, nearest first."""

    __slots__ = ("_kin", "_nearness", "_numbers", "_starts", "_stems")

    def __init__(
        self, stems: list[str], counts: npt.NDArray[np.uint8], kin: npt.NDArray[np.uint16], near: npt.NDArray[np.uint8]
    ) -> None:
        self._stems = stems
        self._numbers = {stem: number for number, stem in enumerate(stems)}
        self._starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self._kin = kin
        self._nearness = near

    def of(self, stem: str) -> list[tuple[str, float]]:
        """(other stem, how near 0..1); nothing for words that are not listed."""
        number = self._numbers.get(stem)
        if number is None:
            return []
        own = slice(int(self._starts[number]), int(self._starts[number + 1]))
        pairs = zip(self._kin[own].tolist(), self._nearness[own].tolist(), strict=True)
        return [(self._stems[other], near / 255) for other, near in pairs]

    def __contains__(self, stem: object) -> bool:
        return stem in self._numbers


@cache
def kindred() -> Kindred:
    """The thesaurus that comes with the package; an empty one in an installation that leaves it out."""
    source = files("routing.engine").joinpath("data", "kindred.npz")
    if not source.is_file():
        return Kindred([], np.zeros(0, np.uint8), np.zeros(0, np.uint16), np.zeros(0, np.uint8))
    with np.load(io.BytesIO(source.read_bytes()), allow_pickle=False) as kept:
        return Kindred(kept["stems"].tobytes().decode().split("\n"), kept["counts"], kept["kin"], kept["nearness"])
