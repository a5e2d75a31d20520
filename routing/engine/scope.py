"""The view of the index that a scope's permission leaves: which tools it holds, and how rare each word is among them.

A view counts the rarity of words among its own tools alone, so that nothing outside a scope can change an answer inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sized
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from routing.engine.index import Index
from routing.engine.wording import Wording

Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
T = TypeVar("T")
S = TypeVar("S", bound=Sized)

# Tools that are imagined beside those in sight: among three tools a word of one of them is no commonplace.
IMAGINED = 30.0
MOST_REMEMBERED = 1 << 14
MOST_MET = 1 << 19  # entries of meetings that a view remembers, 32 bytes each


class View:
    """A sight of the index: which tools it holds, and how rare each word is among them.

    A tool outside counts nowhere: not in an answer, not in the rarity of a word, not in the words that are known.
    """

    __slots__ = (
        "_meetings",
        "_met",
        "_remembered",
        "_wording",
        "idf",
        "index",
        "known",
        "name_mass",
        "rarest",
        "sees",
        "size",
        "unseen",
    )

    def __init__(self, index: Index, sees: Mask) -> None:
        self.index = index
        self.sees = sees
        self.unseen = np.flatnonzero(~sees)
        self.size = len(sees) - len(self.unseen)
        self._remembered: dict[Hashable, Any] = {}
        self._meetings: dict[Hashable, Any] = {}
        self._met = 0
        frequency = self._frequency()
        self.known = frequency > 0
        self.idf = self._rarity(frequency)
        self.rarest = float(np.log1p((self.size + IMAGINED) / 1.5))
        self.name_mass = np.maximum(np.append(self.idf, 0.0).take(index.names).sum(axis=0), 1e-9)
        self._wording: Wording | None = None

    @property
    def wording(self) -> Wording:
        """Made when it is first needed; two threads that make it at once make the same."""
        if self._wording is None:
            self._wording = Wording(self.index.texts, self.sees)
        return self._wording

    def remember(self, key: Hashable, find_out: Callable[[], T]) -> T:
        """What was found out once about this view, which never changes. Only so much is kept."""
        known: T | None = self._remembered.get(key)
        if known is None:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            known = self._remembered[key] = find_out()
        return known

    def meeting(self, key: Hashable, find_out: Callable[[], S]) -> S:
        """The same for what a word meets, which may be long: so many entries in all are kept."""
        known: S | None = self._meetings.get(key)
        if known is None:
            known = find_out()
            if self._met + len(known) > MOST_MET:
                self._meetings, self._met = {}, 0
            self._meetings[key] = known
            self._met += len(known)
        return known

    def _frequency(self) -> npt.NDArray[np.float64]:
        """Of each term: the tools in sight that say it themselves, and the endpoints that say it for theirs."""
        index = self.index
        sizes = np.bincount(index.endpoint_of[self.sees], minlength=len(index.parts))
        shares = 1 / np.maximum(sizes, 1)
        counted = shares.take(index.endpoint_of.take(index.tools))
        counted[index.own] = 1.0
        counted *= self.sees.take(index.tools)
        terms = np.arange(len(index.term_ids)).repeat(np.diff(index.starts))
        return np.bincount(terms, weights=counted, minlength=len(index.term_ids)).astype(np.float64)

    def _rarity(self, frequency: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        near_one = np.where(self.known, np.maximum(frequency, 1), 1)  # a word unseen here is as rare as one seen once
        return np.log1p((self.size + IMAGINED - near_one + 0.5) / (near_one + 0.5))

    def term(self, term: str) -> int | None:
        """The number of a term that some tool in sight holds."""
        number = self.index.term_ids.get(term)
        return number if number is not None and self.known[number] else None

    def holds(self, word: str) -> int | None:
        """The term of a written word, when a tool in sight has it written so."""
        term, tools = self.index.spelled[word]
        return term if self.sees[tools].any() else None
