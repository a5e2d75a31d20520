"""Find things by what they are called: how well a name fits what was typed, and which of its letters were meant.

Better fits come first: the name itself, what begins with it, what has it at the beginning of a word, then anywhere,
then what has it in the words beside the name. Among equals the shorter name leads.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable
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
        self.words = list(dict.fromkeys(self.whole.split()))[:MOST_WORDS]
        self._starts = [re.compile(rf"(?:^|[\W_]){re.escape(word)}") for word in self.words]
        longest_first = sorted(self.words, key=len, reverse=True)
        self._marks = re.compile("|".join(map(re.escape, longest_first)) or "(?!)", re.IGNORECASE)

    def best(self, things: Iterable[Named], most: int) -> list[Found]:
        """At most so many that hold every word, best first. Without a word: the first ones, as they come."""
        words = self.words
        if not words:
            return [Found((0, 0, ""), one.name, one.thing) for one, _ in zip(things, range(most), strict=False)]
        if len(words) == 1:
            fitting = [one for one in things if words[0] in one.beside]
        else:
            fitting = [one for one in things if all(word in one.beside for word in words)]
        return [Found(self._rank(one), one.name, one.thing) for one in heapq.nsmallest(most, fitting, key=self._rank)]

    def _rank(self, one: Named) -> tuple[int, int, str]:
        return self._tier(one), len(one.name), one.folded

    def _tier(self, one: Named) -> int:
        """Asked of every name that fits, which may be ten thousand: plain comparisons, the cheap ones first."""
        whole, name, own = self.whole, one.folded, one.own
        if whole in (name, own):
            return 0 if name == whole else 1
        if name.startswith(whole):
            return 2
        if own.startswith(whole):
            return 3
        for start in self._starts:
            if not start.search(name):
                return 5 if all(word in name for word in self.words) else 6
        return 4

    def spans(self, name: str) -> list[tuple[str, bool]]:
        """A name in pieces; those that were typed say True."""
        pieces, place = [], 0
        for match in self._marks.finditer(name):
            pieces += [(name[place : match.start()], False), (match.group(), True)]
            place = match.end()
        return [piece for piece in (*pieces, (name[place:], False)) if piece[0]]
