"""From a term of a request to the terms of the catalog that it may stand for, nearest first.

The word itself; two words that others write as one, or the other way round; words of the same class; and, only where the
catalog knows none of these, words that it begins or that differ in one letter. Only words that some tool in sight holds
are found, so a scope's vocabulary is its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from routing.engine.concepts import classes, spoken_words
from routing.engine.kindred import kindred
from routing.engine.lexicon import SHORTEST_GUESS
from routing.engine.query import QueryTerm
from routing.engine.scope import View
from routing.engine.text import is_unspaced, spanish_stem, stem
from routing.engine.tongues import LANGUAGES, foreign_stem, meanings

EXACT = 1.0
SPLIT = 0.9
HALF = 0.55  # each of two words that together are one
SYNONYM = 0.6
SYNONYM_BESIDE_EXACT = 0.4  # the catalog uses the asked word itself, elsewhere
PREFIX = 0.55
TYPO = 0.5
TRANSLATED = 0.8
KIN = 0.6  # of a word that means the same; one that means nearly the same counts for less
KIN_BESIDE_EXACT = 0.4
MOST_SYNONYMS = 16
MOST_GUESSES = 24  # unknown words of one request that are guessed at


class Variant(NamedTuple):
    term: int
    quality: float
    match: str  # stem | split | synonym | prefix | typo


Variants = tuple[Variant, ...]


def variants(view: View, terms: Sequence[QueryTerm], language: str) -> list[Variants]:
    """For each term of a request, each catalog term it may stand for, once and at its best."""
    guesses = MOST_GUESSES
    by_text = {term.text: term for term in terms}
    pairs = [(by_text[term.follows], term) for term in terms if term.follows in by_text]
    together = _written_together(view, pairs)
    fixed = _fixed_pairs(view, pairs)
    found: list[Variants] = []
    for term in terms:
        if term.term in fixed or term.term in together:
            options = _beside_others(view, term, language, together.get(term.term, ()), term.term in fixed)
        else:
            options = _alone(view, term, language)
        if not options and term.kind == "word" and guesses:
            guesses -= 1
            options = _guessed(view, term.text, language)
        found.append(options)
    return found


def _alone(view: View, term: QueryTerm, language: str) -> Variants:
    """What a term may stand for whatever stands beside it: found out once for each view."""
    return view.remember(
        (term.term, term.text, term.kind, language), lambda: _beside_others(view, term, language, (), False)
    )


def _beside_others(view: View, term: QueryTerm, language: str, together: Sequence[Variant], fixed: bool) -> Variants:
    options = [*_itself(view, term), *together]
    if not fixed:
        options.extend(_stand_ins(view, term, language, beside=bool(options)))
    return _best(options)


def _stand_ins(view: View, term: QueryTerm, language: str, *, beside: bool) -> Iterator[Variant]:
    yield from _synonyms(view, term.term, language, SYNONYM_BESIDE_EXACT if beside else SYNONYM)
    if term.kind == "word":
        yield from _translated(view, term.text, language)
        yield from _kin(view, term.term, KIN_BESIDE_EXACT if beside else KIN)


def _guessed(view: View, word: str, language: str) -> Variants:
    return view.remember(("guessed", word, language), lambda: _best(list(_guesses(view, word, language))))


def _translated(view: View, word: str, language: str) -> Iterator[Variant]:
    """The English words that a word of another language stands for, and what may stand for those."""
    if language not in LANGUAGES:
        return
    for english in meanings(language).get(foreign_stem(language, word), ()):
        if (number := view.term(english)) is not None:
            yield Variant(number, TRANSLATED, "synonym")
        yield from _synonyms(view, english, "english", SYNONYM * TRANSLATED)


def _kin(view: View, term: str, quality: float) -> Iterator[Variant]:
    """Words that mean nearly the same, the less the farther."""
    for other, near in kindred().of(term):
        if (number := view.term(other)) is not None:
            yield Variant(number, quality * near, "synonym")


def _best(options: Sequence[Variant]) -> Variants:
    if len(options) < 2:
        return tuple(options)
    best: dict[int, Variant] = {}
    for one in options:
        if one.term not in best or one.quality > best[one.term].quality:
            best[one.term] = one
    return tuple(sorted(best.values(), key=lambda one: -one.quality))


def _itself(view: View, term: QueryTerm) -> Iterator[Variant]:
    number = view.term(term.term)
    if number is not None:
        yield Variant(number, EXACT, "stem")
    if not term.text.isalpha() and any(character.isdigit() for character in term.text):  # base64 meets base_64 and base
        letters = max("".join(c if c.isalpha() else " " for c in term.text).split(), key=len, default="")
        if len(letters) > 2 and (number := view.term(stem(letters))) is not None:
            yield Variant(number, SPLIT if letters != term.term else EXACT, "split")


def _fixed_pairs(view: View, pairs: Sequence[tuple[QueryTerm, QueryTerm]]) -> set[str]:
    """Words that with their neighbour name one thing in this scope ("pull request"): neither stands for anything else."""
    known = view.index.name_pairs
    found = [(before.term, term.term) for before, term in pairs]
    return {word for pair in found if pair in known and view.sees[known[pair]].any() for word in pair}


def _written_together(view: View, pairs: Sequence[tuple[QueryTerm, QueryTerm]]) -> dict[str, list[Variant]]:
    """`web page` also asks for `webpage`: both words then stand for the whole."""
    found: dict[str, list[Variant]] = {}
    for before, term in pairs:
        whole = before.text + term.text
        if not whole.isalpha():
            continue
        number = view.term(stem(whole))
        number = view.term(whole) if number is None else number
        if number is not None:
            for one in (before, term):
                found.setdefault(one.term, []).append(Variant(number, HALF, "split"))
    return found


def _synonyms(view: View, term: str, language: str, quality: float, match: str = "synonym") -> Iterator[Variant]:
    known = classes()
    others = known.get(term) or (known.get(spanish_stem(term), ()) if language in ("spanish", "english") else ())
    numbers = (view.term(other) for other in others)
    for number in [number for number in numbers if number is not None][:MOST_SYNONYMS]:
        yield Variant(number, quality, match)


def _guesses(view: View, word: str, language: str) -> Iterator[Variant]:
    if (
        not word.isascii()
        or not word.isalpha()
        or is_unspaced(word)
        or stem(word) in classes()
        or stem(word) in kindred()
    ):
        return  # a word that others may stand for is spelled right
    whole = list(_split_in_two(view, word))
    if whole:
        yield from whole
        return
    near = list(_mistyped(view, word))
    yield from near
    if not near:
        yield from _shortened(view, word)
    for spoken in spoken_words().get(word[0], ()):
        if len(spoken) >= SHORTEST_GUESS and one_edit_apart(word, spoken):
            if (number := view.term(stem(spoken))) is not None:
                yield Variant(number, TYPO, "typo")
            yield from _synonyms(view, stem(spoken), language, SYNONYM * TYPO, "typo")


def _split_in_two(view: View, word: str) -> Iterator[Variant]:
    """`sendemail` stands for both of its halves, where both are known."""
    for cut in range(3, len(word) - 2):
        first, second = view.term(stem(word[:cut])), view.term(stem(word[cut:]))
        if first is not None and second is not None:
            yield Variant(first, SPLIT, "split")
            yield Variant(second, SPLIT, "split")
            return


def _mistyped(view: View, word: str) -> Iterator[Variant]:
    if len(word) < SHORTEST_GUESS:
        return
    half = (len(word) - 2) // 2  # one edit leaves either the beginning or the end alone, which is quickly seen
    begins, ends = word[:half], word[-half:]
    for length in (len(word), len(word) + 1, len(word) - 1):
        for other in view.index.spelled_like.get((word[0], length), ()):
            if (
                (other.startswith(begins) or other.endswith(ends))
                and one_edit_apart(word, other)
                and (number := view.holds(other)) is not None
            ):
                yield Variant(number, TYPO, "typo")


def _shortened(view: View, word: str) -> Iterator[Variant]:
    """Words that this one begins, and long words that begin this one."""
    if len(word) < SHORTEST_GUESS:
        return
    ordered = view.index.spelled_in_order
    place = bisect_left(ordered, word)
    while place < len(ordered) and ordered[place].startswith(word):
        if (number := view.holds(ordered[place])) is not None:
            yield Variant(number, PREFIX, "prefix")
        place += 1
    for cut in range(max(SHORTEST_GUESS, len(word) - 4), len(word)):
        if word[:cut] in view.index.spelled and (number := view.holds(word[:cut])) is not None:
            yield Variant(number, PREFIX * 0.8, "prefix")


def one_edit_apart(one: str, other: str) -> bool:
    """One letter changed, missing, too many, or two neighbours swapped."""
    if abs(len(one) - len(other)) > 1:
        return False
    half = (len(one) - 2) // 2  # one edit leaves either the beginning or the end alone
    if one[:half] != other[:half] and one[-half:] != other[-half:]:
        return False
    place = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[place:], other[place:]
    if len(one) == len(other):
        return a[1:] == b[1:] or a[:2] == b[1::-1] and a[2:] == b[2:]
    return a[1:] == b if len(a) > len(b) else a == b[1:]
