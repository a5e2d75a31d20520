"""What a view understands of a request: the terms that some tool in sight knows, what each is worth, and what it meets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from routing.engine.concepts import action_stems, classes
from routing.engine.evidence import Asked, meet
from routing.engine.matching import variants
from routing.engine.query import QueryTerm, Request
from routing.engine.scope import View

FEWEST_SAID = 2  # words that a hint needs which says just what is asked: one word decides nothing
UNKNOWN_WORTH = 0.5  # of a word that no tool knows, when coverage is counted
FOREIGN_WORTH = 0.5  # of that, where the request is in another language than catalogs mostly are
PROPER_WORTH = 0.2  # of such a word when it is written like a name


@dataclass(slots=True)
class Understood:
    """One request as one view understands it."""

    view: View
    request: Request
    total: int  # of content terms, values that no tool knows left out
    mass: float = 0.0  # what all of it is worth
    strange: bool = False  # no tool knows the word that says what to do
    named: dict[int, float] = field(default_factory=dict)  # term -> how far it is asked for
    asked: list[Asked] = field(default_factory=list)  # the others only ask for more than can be had

    def forbidden(self) -> frozenset[str]:
        """The words that the request forbids, and those that say the same."""
        negated = self.request.negated
        if not negated:
            return negated
        same = {other for term in negated for other in classes().get(term, ())}
        return negated | (same - {term.term for term in self.request.content})

    def asks_for(self, effect: str) -> bool:
        """Whether some word of the request, or what it stands for, asks to erase or to execute."""
        numbers = self.view.remember(("asks", effect), lambda: self._known(action_stems(effect)))
        return not self.named.keys().isdisjoint(numbers)

    def said_of(self) -> list[int]:
        return said_of(self.view, self.request)

    def _known(self, stems: Iterable[str]) -> list[int]:
        numbers = (self.view.term(one) for one in stems)
        return [number for number in numbers if number is not None]


def understand(view: View, request: Request) -> Understood:
    found = Understood(view, request, len(request.content))
    english, named = request.language == "english", found.named
    for term, known in zip(request.content, variants(view, request.content, request.language), strict=True):
        if not known:  # as rare as a word seen once
            found.mass += term.weight * view.rarest * _unknown_worth(term) * (1.0 if english else FOREIGN_WORTH)
            found.total -= _is_value(term)
            found.strange = found.strange or term.head and english
            continue
        meeting = meet(view, known, acts=term.head)
        worth = term.weight * meeting.rarity
        found.mass += worth
        for number, quality, _ in known:  # a word that is only half meant names a tool only by half
            if quality * term.meant > named.get(number, 0.0):
                named[number] = quality * term.meant
        found.asked.append(Asked(term, worth, meeting))
    return found


def said_of(view: View, request: Request) -> list[int]:
    """The tools of which an operator's hint says just what is asked: with or without the values, like an address."""
    by_hint = view.index.by_hint
    if not by_hint:
        return []
    words = frozenset(term.term for term in request.content if term.kind == "word")
    whole = frozenset(term.term for term in request.content)
    return [place for asked in {words, whole} if len(asked) >= FEWEST_SAID for place in by_hint.get(asked, ())]


def spoken(request: Request) -> list[tuple[str, float]]:
    """The words of a request with their weights, values left out: what an address means is not asked."""
    return [(term.text, term.weight) for term in request.content if term.kind == "word"]


def _unknown_worth(term: QueryTerm) -> float:
    """How much an unknown word asks for: a value nothing, a name in mid-sentence hardly anything."""
    if _is_value(term):
        return 0.0
    return PROPER_WORTH if term.proper else UNKNOWN_WORTH


def _is_value(term: QueryTerm) -> bool:
    """Addresses, paths and the like, and letters mixed with digits, where no tool speaks of them."""
    if term.kind == "literal":
        return True
    return not term.text.isalpha() and any(character.isdigit() for character in term.text)
