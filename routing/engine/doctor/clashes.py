"""Hints that do not bring the tool that they are about: each is asked as it stands, where another tool may come close.

Which are asked is found by their words; that two clash is said only where the resolver's own ranking shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from routing.engine.doctor.findings import HIGH, HINT_CLASH, HINT_OUTDONE, MEDIUM, Finding, Suggestion
from routing.engine.doctor.sight import Asked, Places, Sight
from routing.engine.parts import ToolDoc
from routing.engine.scope import View
from routing.engine.scoring import Candidate
from routing.engine.text import terms
from routing.engine.vocabulary import ENGLISH

# Of what a tool wins with its own hint's words another has to win from them, before both are asked. It could not come near
# with less: the tool whose hint is said to the letter gains more than names and hints together bring another one.
SHORTLISTED = 0.75
TELLING = 2  # of a hint's words, the rarest: who holds none of them wins too little from the rest


def hint_clashes(sight: Sight) -> Iterator[Finding]:
    """Of hints on single tools, and of hints on endpoints against the tools of others; each pair once."""
    met: set[frozenset[str]] = set()
    others = _Others(sight)
    for scope, view in sight.widest:
        for one in (*_of_tools(sight, scope, view, others), *_of_endpoints(sight, scope, view, others)):
            pair = frozenset((one.code, one.tool or one.name, *one.others))
            if pair not in met:
                met.add(pair)
                yield one


class _Others:
    """Of each hint the other tools that hold one of its rarest words and were not yet in sight where it was looked at: a scope
    in which none of them is shows nothing that another one has not shown."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._left: dict[tuple[int, str], Places] = {}

    def is_new(self, view: View, first: int, last: int, hint: str, words: Iterable[str]) -> bool:
        """Whether this scope is the first to show a hint of the tools from `first` until `last`, or shows it beside others."""
        key, sees = (first, hint), view.sees
        left = self._left.get(key)
        others = self._holders(first, last, words) if left is None else left
        shown = sees[others]
        self._left[key] = others[~shown]
        return left is None or bool(shown.any())

    def _holders(self, first: int, last: int, words: Iterable[str]) -> Places:
        known = self._sight.index.term_ids
        held = sorted((self._sight.holders(known[word]) for word in sorted(words) if word in known), key=len)
        found = np.unique(np.concatenate([np.zeros(0, np.intp), *held[:TELLING]]))
        return found[(found < first) | (found >= last)]


# --- hints on single tools --------------------------------------------------------------------------------------------
def _of_tools(sight: Sight, scope: str, view: View, others: _Others) -> Iterator[Finding]:
    for place in np.unique(sight.index.hinted[view.sees[sight.index.hinted]]).tolist():
        doc = sight.docs[place]
        for hint, words in zip(doc.hints, doc.hint_terms, strict=True):
            if not others.is_new(view, place, place + 1, hint, words):
                continue
            if _has_rivals(sight, view, place, words) and (asked := sight.ask(scope, hint)) is not None:
                yield from _tool_clash(sight, scope, place, hint, asked)


def _has_rivals(sight: Sight, view: View, place: int, words: frozenset[str]) -> bool:
    """Whether some other tool in sight wins nearly as much from a hint's words as the tool that it is on."""
    known = [number for word in sorted(words) if (number := view.term(word)) is not None]
    if not known:
        return False
    known.sort(key=lambda number: -view.idf[number])
    rivals = np.unique(np.concatenate([sight.holders(number) for number in known[:TELLING]]))
    rivals = rivals[view.sees[rivals] & (rivals != place)]
    if not len(rivals):
        return False
    won = _won(sight, view, known, np.append(rivals, place))
    return bool(won[:-1].max() >= SHORTLISTED * won[-1])


def _won(sight: Sight, view: View, known: Sequence[int], tools: Places) -> np.ndarray:
    held = sight.support(np.repeat(known, len(tools)), np.tile(tools, len(known))).reshape(len(known), -1)
    return np.asarray(view.idf[known] @ held)


def _tool_clash(sight: Sight, scope: str, place: int, hint: str, asked: Asked) -> Iterator[Finding]:
    doc, own = sight.docs[place], asked.of(place)
    rivals = asked.close_to(own) if own else list(asked.ranking.candidates[:1])
    rival = next((one for one in rivals if one.doc.twin != doc.twin), None)
    if rival is None:  # what says the very same is told as such
        return
    words = asked.hinted_words(rival)
    theirs = _closest(rival.doc, words)
    suggestion = Suggestion(
        words=f"Say in this hint what sets {doc.public} apart from {rival.doc.public}.",
        section="endpoints",
        name=doc.endpoint.name,
        part="tool_use_when",
        tool=doc.public,
    )
    yield Finding(
        code=HINT_CLASH if theirs else HINT_OUTDONE,
        severity=HIGH if theirs else MEDIUM,
        path=sight.hint_path(doc, hint),
        message=_told(f"The hint “{hint}” on {doc.public}", own, rival, theirs, scope),
        section="endpoints",
        name=doc.endpoint.name,
        tool=doc.public,
        others=(rival.doc.public,),
        words=words if theirs else tuple(term.text for term in rival.matched),
        suggestion=suggestion,
        scope=scope,
        query=hint,
        about=tuple(sorted([[doc.public, hint], [rival.doc.public, theirs]])),
    )


# --- hints on endpoints -----------------------------------------------------------------------------------------------
def _of_endpoints(sight: Sight, scope: str, view: View, others: _Others) -> Iterator[Finding]:
    for part in sight.index.parts:
        first = sight.index.first_doc[part.endpoint.name]
        last = first + len(part.docs)
        if part.endpoint.use_when and view.sees[first:last].any():
            for number, hint in enumerate(part.endpoint.use_when):
                words = {term for word, term in terms(hint) if word not in ENGLISH}
                if others.is_new(view, first, last, hint, words) and (asked := sight.ask(scope, hint)) is not None:
                    yield from _endpoint_clash(sight, scope, part.endpoint.name, number, hint, asked)


def _endpoint_clash(sight: Sight, scope: str, endpoint: str, number: int, hint: str, asked: Asked) -> Iterator[Finding]:
    """A hint on an endpoint is for any of its tools: it clashes when the best of them is not ahead of those of others."""
    ranked = asked.ranking.candidates
    own = next((one for one in ranked if one.doc.endpoint.name == endpoint), None)
    rivals = [one for one in (asked.close_to(own) if own else ranked[:1]) if one.doc.endpoint.name != endpoint]
    twins = {one.doc.twin for one in ranked if one.doc.endpoint.name == endpoint}
    rival = next((one for one in rivals if one.doc.twin not in twins), None)
    if rival is None:
        return
    words = asked.hinted_words(rival)
    theirs = _closest(rival.doc, words)
    yield Finding(
        code=HINT_CLASH if theirs else HINT_OUTDONE,
        severity=HIGH if theirs else MEDIUM,
        path=f"{sight.path(endpoint)}.use_when[{number}]",
        message=_told(f"The hint “{hint}” on {endpoint}", own, rival, theirs, scope),
        section="endpoints",
        name=endpoint,
        others=(rival.doc.public,),
        words=words if theirs else tuple(term.text for term in rival.matched),
        suggestion=Suggestion(
            words=f"Say in this hint what sets {endpoint} apart from {rival.doc.endpoint.name}.",
            section="endpoints",
            name=endpoint,
            part="use_when",
        ),
        scope=scope,
        query=hint,
        about=tuple(sorted([[endpoint, hint], [rival.doc.public, theirs]])),
    )


def _closest(doc: ToolDoc, words: Sequence[str]) -> str:
    """The hint on a tool, or on its endpoint, that holds most of these words; empty when none does."""
    wanted = {stem for word in words for _, stem in terms(word)}

    def shared(hint: str) -> int:
        return len({stem for word, stem in terms(hint) if word not in ENGLISH} & wanted)

    hints = [*doc.hints, *doc.endpoint.use_when]
    best = max(hints, key=shared, default="")
    return best if words and best else ""


def _told(subject: str, own: Candidate | None, rival: Candidate, theirs: str, scope: str) -> str:
    """What the resolver answers to a hint's own text, in a sentence."""
    because = f"its hint “{theirs}”" if theirs else "what it says of itself"
    where = f" Asked in scope {scope}."
    if own is None:
        return f"{subject} brings {rival.doc.public} instead, by {because}.{where}"
    lead = own.score - rival.score
    if lead < 0:
        return f"{subject} brings {rival.doc.public} first, by {because}.{where}"
    if lead == 0:
        return f"{subject} ties with {rival.doc.public}, which answers by {because}.{where}"
    return f"{subject} is only {lead / own.score:.1%} ahead of {rival.doc.public}, which answers by {because}.{where}"
