"""What the runs of letters in texts say, each read once for all the texts that are compiled together.

A catalog repeats its words: ten thousand tools speak of some ten thousand different ones. So a text is kept as the numbers of
its runs, and what these say is looked up for all texts of an endpoint at once. Terms and words are numbered as they come.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from routing.engine.ranges import Places, cells
from routing.engine.text import run_stems, run_terms
from routing.engine.vocabulary import ENGLISH

SHORTEST_GUESS = 5  # letters of a word that a mistyped or shortened one may be led to
NO_WORD = -1

Ints = npt.NDArray[np.int32]
Said = Sequence[tuple[str, str]]  # words, each with its term
T = TypeVar("T")


class _Remembered(dict[str, T]):
    """What was found out of a run is not found out again."""

    def __init__(self, find_out: Callable[[str], T]) -> None:
        self._find_out = find_out

    def __missing__(self, run: str) -> T:
        found = self[run] = self._find_out(run)
        return found


class _Numbered(dict[str, int]):
    """Gives each text that it is asked for the next number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self.texts)
        self.texts.append(text)
        return number


class Lexicon:
    """Grows with every run that is read: for one thread, and for one compilation. Its terms and words outlive it, since what
    was compiled speaks of them by number."""

    __slots__ = ("_ends", "_said_terms", "_said_words", "_terms", "_words", "content", "names", "spellings", "stems")

    def __init__(self) -> None:
        self._terms, self._words = _Numbered(), _Numbered()
        self._said_terms, self._said_words, self._ends = array("i"), array("i"), array("i", [0])
        self.content = _Remembered(lambda run: self._number(_content(run)))
        self.names = _Remembered(lambda run: self._number(run_terms(run)))  # in a name every word counts
        self.spellings = _Remembered(lambda run: [word for word, _ in run_terms(run)])
        self.stems = _Remembered(run_stems)

    def _number(self, said: Said) -> int:
        self._said_terms.extend([self._terms[term] for _, term in said])
        self._said_words.extend([self._words[word] if len(word) >= SHORTEST_GUESS else NO_WORD for word, _ in said])
        self._ends.append(len(self._said_terms))
        return len(self._ends) - 2

    def say(self, runs: Ints) -> tuple[Places, Ints, Ints]:
        """All that these runs say, laid end to end: the place of the run that says it, the term, and the word, `NO_WORD`
        where that is too short to be guessed at."""
        # Looked at where they stand, since they are long and this is asked of each endpoint.
        ends, terms, words = map(np.asarray, (self._ends, self._said_terms, self._said_words))
        owners, found = cells(ends.take(runs), ends.take(runs + 1))
        return owners, terms.take(found), words.take(found)

    @property
    def terms(self) -> Sequence[str]:
        """All terms by their numbers; more may come."""
        return self._terms.texts

    @property
    def words(self) -> Sequence[str]:
        return self._words.texts


def _content(run: str) -> Said:
    """What a run of letters says, function words left out."""
    said = run_terms(run)
    content = [one for one in said if one[0] not in ENGLISH]
    return content if len(content) < len(said) else said
