"""Find things by what they are called: how well a name fits what was typed, and which of its letters were meant.

Better fits come first: the name itself, what begins with it, what has it at the beginning of a word, then anywhere,
then what has it in the words beside the name. Among equals the shorter name leads.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

LONGEST = 100
MOST_WORDS = 8


@dataclass(frozen=True, slots=True)
class Named:
    """Something with a name, folded for comparing once and for all."""

    name: str
    folded: str
    own: str  # the last part of a name of several (`fetch` of `web__fetch`)
    beside: str  # name and further words by which it may be found
    thing: Any

    @classmethod
    def of(cls, name: str, thing: Any = None, *beside: str) -> Named:
        folded = name.casefold()
        words = " ".join(text for text in beside if text).casefold()
        return cls(name, folded, folded.rpartition("__")[2], f"{folded} {words}" if words else folded, thing)


@dataclass(frozen=True, slots=True)
class Found:
    """A thing that fits, and how well; smaller is better."""

    rank: tuple[int, int, str]
    name: str
    thing: Any


class Query:
    """What was typed into the finder."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.replace("\0", "").split())[:LONGEST]
        self.whole = self.text.casefold()
        self.words = self.whole.split()[:MOST_WORDS]
        self._starts = [re.compile(rf"(?:^|[\W_]){re.escape(word)}") for word in self.words]
        longest_first = sorted(self.words, key=len, reverse=True)
        self._marks = re.compile("|".join(map(re.escape, longest_first)) or "(?!)", re.IGNORECASE)

    def best(self, things: Iterable[Named], most: int) -> list[Found]:
        """At most so many that hold every word, best first. Without a word: the first ones, as they come."""
        words = self.words
        if not words:
            return [Found((0, 0, ""), one.name, one.thing) for one, _ in zip(things, range(most), strict=False)]
        fitting = (one for one in things if all(word in one.beside for word in words))
        return heapq.nsmallest(most, map(self._found, fitting), key=lambda found: found.rank)

    def _found(self, one: Named) -> Found:
        return Found((self._tier(one), len(one.name), one.folded), one.name, one.thing)

    def _tier(self, one: Named) -> int:
        tests: tuple[Callable[[], bool], ...] = (
            lambda: one.folded == self.whole,
            lambda: one.own == self.whole,
            lambda: one.folded.startswith(self.whole),
            lambda: one.own.startswith(self.whole),
            lambda: all(start.search(one.folded) for start in self._starts),
            lambda: all(word in one.folded for word in self.words),
        )
        return next((place for place, holds in enumerate(tests) if holds()), len(tests))

    def spans(self, name: str) -> list[tuple[str, bool]]:
        """A name in pieces; those that were typed say True."""
        pieces, place = [], 0
        for match in self._marks.finditer(name):
            pieces += [(name[place : match.start()], False), (match.group(), True)]
            place = match.end()
        return [piece for piece in (*pieces, (name[place:], False)) if piece[0]]
