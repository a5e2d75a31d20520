"""Words of hints that tell no tool from another, because so many tools hold them."""

from __future__ import annotations

from collections.abc import Iterator

from routing.engine.doctor.findings import (
    HINT_SAYS_NOTHING,
    LOW,
    MEDIUM,
    WORD_FOR_EVERYTHING,
    Finding,
    Suggestion,
    named,
)
from routing.engine.doctor.sight import Sight
from routing.engine.registry import Endpoint
from routing.engine.scope import View
from routing.engine.text import terms
from routing.engine.vocabulary import ENGLISH

NO_WEIGHT = 0.2  # of the weight that a word of one tool alone has


def empty_words(sight: Sight) -> Iterator[Finding]:
    """Held against the widest scope: the words of narrower ones are rarer there, not here."""
    if not sight.widest:
        return
    scope, view = sight.widest[0]
    hints = [one for part in sight.index.parts for one in _hints(sight, part.endpoint)]
    carried: dict[str, list[tuple[str, str, Suggestion]]] = {}
    for path, hint, suggestion in hints:
        said = {term: word for word, term in terms(hint) if word not in ENGLISH}
        empty = [word for term, word in said.items() if _is_empty(view, term)]
        if len(empty) == len(said):
            yield _nothing(path, hint, tuple(empty), suggestion)
            continue
        for word in empty:
            carried.setdefault(word, []).append((path, hint, suggestion))
    for word, places in carried.items():
        yield _everywhere(sight, scope, view, word, places)


def _hints(sight: Sight, endpoint: Endpoint) -> Iterator[tuple[str, str, Suggestion]]:
    """(path, hint, where it is edited) of each hint on an endpoint or a tool of it."""
    base = sight.path(endpoint.name)
    names = sight.catalog.index.parts[sight.part_of[endpoint.name]].names
    words = "Use words that only this one would be asked for with."
    for number, hint in enumerate(endpoint.use_when):
        yield (
            f"{base}.use_when[{number}]",
            hint,
            Suggestion(words=words, section="endpoints", name=endpoint.name, part="use_when"),
        )
    for key, texts in endpoint.tool_use_when.items():
        if (wire := names.wire_of_key(key)) is not None:
            where = Suggestion(
                words=words, section="endpoints", name=endpoint.name, part="tool_use_when", tool=names.public(wire)
            )
            yield from ((f"{base}.tool_use_when.{key}[{number}]", hint, where) for number, hint in enumerate(texts))


def _is_empty(view: View, term: str) -> bool:
    number = view.term(term)
    return number is not None and bool(view.idf[number] <= NO_WEIGHT * view.rarest)


def _nothing(path: str, hint: str, words: tuple[str, ...], suggestion: Suggestion) -> Finding:
    subject = suggestion.tool or suggestion.name
    why = f"{named(words)} stand in too many tools" if words else "it has no word that says what to do"
    return Finding(
        code=HINT_SAYS_NOTHING,
        severity=MEDIUM,
        path=path,
        message=f"The hint “{hint}” on {subject} tells nothing apart: {why}.",
        section="endpoints",
        name=suggestion.name,
        tool=suggestion.tool,
        words=words,
        suggestion=suggestion,
        about=(subject, hint),
    )


def _everywhere(sight: Sight, scope: str, view: View, word: str, places: list[tuple[str, str, Suggestion]]) -> Finding:
    path, _, suggestion = places[0]
    number = view.term(dict(terms(word))[word])
    holders = int(view.sees[sight.holders(number)].sum()) if number is not None else 0
    subjects = tuple(dict.fromkeys(one.tool or one.name for _, _, one in places))
    many = "hint" if len(places) == 1 else "hints"
    return Finding(
        code=WORD_FOR_EVERYTHING,
        severity=LOW,
        path=path,
        message=f"“{word}” speaks for everything: {holders:,} of {view.size:,} tools in scope {scope} hold it, so in "
        f"{len(places):,} {many} ({named(subjects)}) it has next to no weight.",
        section="endpoints",
        name=suggestion.name,
        tool=suggestion.tool,
        others=subjects[1:21],
        words=(word,),
        suggestion=suggestion,
        about=(word, *sorted(hint for _, hint, _ in places)),
    )
