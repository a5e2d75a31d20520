"""Tools that no request finds, and tools that say the same as others.

A tool whose rarest words no other tool holds as strongly is found by them. The others are asked for by their own words:
each hint, name and title, name and description.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from routing.engine.doctor.findings import (
    ALIKE,
    HIGH,
    LOW,
    MEDIUM,
    TOOL_IN_NO_SCOPE,
    TOOL_NEVER_FIRST,
    TOOL_NEVER_LISTED,
    Finding,
    Suggestion,
    named,
)
from routing.engine.doctor.sight import Asked, Places, Sight
from routing.engine.parts import WORDING_LIMIT, ToolDoc
from routing.engine.policy import CLOSE_MARGIN
from routing.engine.scope import View

RAREST = 3  # of a tool's own words, by what it wins with each
AS_STRONG = 0.8  # of a tool's support for a word another one needs
NEARLY = 0.9  # cosine of what two tools say, from which on they say nearly the same
COMPARED = 4  # tools that one is held against
MOST_PAIRED = 40  # tools of a group that says the same
_NONE = np.zeros(0, np.intp)


def reach(sight: Sight) -> Iterator[Finding]:
    yield from _out_of_sight(sight)
    told: set[frozenset[int]] = set()  # pairs that say the same
    twins, rivals = _Twins(sight), _Rivals(sight)
    for scope, view in sight.widest:
        for group in twins.newly_in(view):
            if _is_new(group, told):
                yield _same(sight, group, scope, exactly=True)
        copies = twins.copies_in(view)
        for place, others in rivals.newly_in(view).items():
            if place not in copies:
                yield from _outshone(sight, scope, view, place, others, told)


def _outshone(
    sight: Sight, scope: str, view: View, place: int, others: Sequence[int], told: set[frozenset[int]]
) -> Iterator[Finding]:
    """What may be said of a tool whose rarest words others hold as well."""
    group = _near(sight, scope, view, place, others)
    if group and _is_new(group, told):
        yield _same(sight, group, scope, exactly=False)
    lost = _unreached(sight, place)
    if lost is not None and frozenset((place, lost.winner)) not in told:
        yield lost.finding


def _is_new(group: Sequence[int], told: set[frozenset[int]]) -> bool:
    """Whether some two of these were not told of yet; they are from now on."""
    pairs = {frozenset(pair) for pair in combinations(group[:MOST_PAIRED], 2)}
    is_new = not pairs <= told
    told |= pairs
    return is_new


# --- no scope sees it -------------------------------------------------------------------------------------------------
def _out_of_sight(sight: Sight) -> Iterator[Finding]:
    """Tools that are switched on and that no scope permits; an endpoint of which none is permitted is told as one."""
    for part in sight.index.parts:
        first = sight.index.first_doc[part.endpoint.name]
        lost = [
            doc
            for place, doc in enumerate(part.docs, first)
            if sight.catalog.is_available(doc) and not sight.in_sight[place]
        ]
        if lost and len(lost) == sum(map(sight.catalog.is_available, part.docs)):
            yield _unseen(part.endpoint.name, sight.path(part.endpoint.name), "", MEDIUM)
        else:
            yield from (_unseen(doc.endpoint.name, sight.tool_path(doc), doc.public, LOW) for doc in lost)


def _unseen(endpoint: str, path: str, tool: str, severity: str) -> Finding:
    what = tool or f"any tool of {endpoint}"
    return Finding(
        code=TOOL_IN_NO_SCOPE,
        severity=severity,
        path=path,
        message=f"No scope reaches {what}, so no harness is ever given it.",
        section="endpoints",
        name=endpoint,
        tool=tool,
        suggestion=Suggestion(
            words=f"Let a scope reach {tool or endpoint}, or switch it off.", section="scopes", name=""
        ),
        about=(endpoint, tool),
    )


# --- who may be in the way --------------------------------------------------------------------------------------------
class _Rivals:
    """Tools and those that hold their rarest own words as strongly and yet say something else: each pair in the first scope in
    which it meets. How rare a word is, is counted among all tools that some scope sees."""

    def __init__(self, sight: Sight) -> None:
        self._owners, self._others = (
            _rivals(sight, View(sight.index, sight.in_sight)) if sight.scopes else (_NONE, _NONE)
        )

    def newly_in(self, view: View) -> dict[int, list[int]]:
        meet = view.sees[self._owners] & view.sees[self._others]
        found: dict[int, list[int]] = {}
        for owner, other in zip(self._owners[meet].tolist(), self._others[meet].tolist(), strict=True):
            found.setdefault(owner, []).append(other)
        self._owners, self._others = self._owners[~meet], self._others[~meet]
        return found


def _rivals(sight: Sight, view: View) -> tuple[Places, Places]:
    index, terms = sight.index, sight.terms
    mine = np.flatnonzero(index.own & view.sees[index.tools])
    tools, worth = index.tools[mine].astype(np.intp), (view.idf[terms] * index.support)[mine]
    order = np.lexsort((terms[mine], -worth, tools))
    tools, mine = tools[order], mine[order]
    begins = np.flatnonzero(np.diff(tools, prepend=-1) > 0)
    ends = np.append(begins[1:], len(tools))
    owners, others = _holding(sight, view, terms[mine[begins]], tools[begins])
    for rank in range(RAREST):
        at = np.minimum(begins + rank, ends - 1)
        term = np.zeros(len(sight.docs), np.intp)
        own = np.zeros(len(sight.docs))
        term[tools[begins]], own[tools[begins]] = terms[mine[at]], index.support[mine[at]]
        kept = sight.support(term[owners], others) >= AS_STRONG * own[owners]
        owners, others = owners[kept], others[kept]
    kinds = np.unique([doc.twin for doc in sight.docs], return_inverse=True)[1]
    differ = kinds[owners] != kinds[others]
    return owners[differ], others[differ]


def _holding(sight: Sight, view: View, terms: Places, owners: Places) -> tuple[Places, Places]:
    """Each owner beside every other tool in sight that holds the term beside it."""
    starts = sight.index.starts
    lengths = starts[terms + 1] - starts[terms]
    repeated = owners.repeat(lengths)
    cells = np.arange(len(repeated)) + (starts[terms] - (lengths.cumsum() - lengths)).repeat(lengths)
    others = sight.index.tools[cells].astype(np.intp)
    kept = view.sees[others] & (others != repeated)
    return repeated[kept], others[kept]


# --- they say the same ------------------------------------------------------------------------------------------------
class _Twins:
    """Tools that nothing but their endpoint tells apart, group by group; each pair in the first scope in which it meets."""

    def __init__(self, sight: Sight) -> None:
        found: dict[bytes, list[int]] = {}
        for place, doc in enumerate(sight.docs):
            found.setdefault(doc.twin, []).append(place)
        self._groups = [np.array(group) for group in found.values() if len(group) > 1]
        self._members = np.concatenate([_NONE, *self._groups])
        self._of = np.arange(len(self._groups)).repeat([len(group) for group in self._groups])
        pairs = [
            (number, *pair)
            for number, group in enumerate(self._groups)
            for pair in combinations(group[:MOST_PAIRED].tolist(), 2)
        ]
        self._pairs = np.array(pairs, np.intp).reshape(-1, 3)

    def newly_in(self, view: View) -> Iterator[list[int]]:
        meet = view.sees[self._pairs[:, 1]] & view.sees[self._pairs[:, 2]]
        new = np.unique(self._pairs[meet, 0]).tolist()
        self._pairs = self._pairs[~meet]
        return ([place for place in self._groups[number].tolist() if view.sees[place]] for number in new)

    def copies_in(self, view: View) -> set[int]:
        """Of each group all that are in sight but the first."""
        seen = view.sees[self._members]
        members, of = self._members[seen], self._of[seen]
        return set(members[np.diff(of, prepend=-1) == 0].tolist())


def _near(sight: Sight, scope: str, view: View, place: int, others: Sequence[int]) -> list[int]:
    """A tool and those that say nearly the same, where its own words leave it to chance which of them comes first."""
    alike = _likest(sight, view, place, others)
    asked = sight.ask(scope, _described(sight.docs[place])) if alike else None
    if asked is None or not asked.ranking.candidates:
        return []
    bar = asked.ranking.candidates[0].score * (1 - CLOSE_MARGIN)
    close = {one.place for one in asked.ranking.candidates if one.score > bar}
    found = [other for other in alike if other in close]
    return [place, *found] if found and place in close else []


def _likest(sight: Sight, view: View, place: int, others: Sequence[int]) -> list[int]:
    near = [other for other in others[: 8 * COMPARED] if _cosine(sight, view, place, other) >= NEARLY]
    return near[:COMPARED]


def _cosine(sight: Sight, view: View, one: int, other: int) -> float:
    (terms, weights), (others, theirs) = sight.said(view, one), sight.said(view, other)
    _, mine, his = np.intersect1d(terms, others, assume_unique=True, return_indices=True)
    length = float((weights**2).sum() * (theirs**2).sum())
    return float(weights[mine] @ theirs[his]) / length**0.5 if length else 0.0


def _same(sight: Sight, group: Sequence[int], scope: str, *, exactly: bool) -> Finding:
    docs = [sight.docs[place] for place in group]
    doc, others = docs[0], tuple(one.public for one in docs[1:])
    how = (
        "say the very same" if exactly else "say nearly the same, and the words of the first bring them close together"
    )
    return Finding(
        code=ALIKE,
        severity=MEDIUM,
        path=sight.tool_path(doc),
        message=f"{named([doc.public, *others])} {how}: asked for one in scope {scope}, the answer is ambiguous.",
        section="endpoints",
        name=doc.endpoint.name,
        tool=doc.public,
        others=others,
        scope=scope,
        query=_described(doc),
        suggestion=Suggestion(
            words="Give each a hint of its own, or switch off all but one.",
            section="endpoints",
            name=doc.endpoint.name,
            part="tool_use_when",
            tool=doc.public,
        ),
        about=tuple(sorted([one.public, one.twin.hex()] for one in docs)),
    )


# --- nothing brings it ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class _Unreached:
    finding: Finding
    winner: int


def _unreached(sight: Sight, place: int) -> _Unreached | None:
    """Nothing when some own text brings a tool first in a scope, or when there was no time to ask."""
    best: Asked | None = None
    for scope in sight.seeing(place):
        for text in _own_texts(sight.docs[place]):
            asked = sight.ask(scope, text)
            if asked is None or asked.puts_first(place):
                return None
            if best is None or asked.shows(place) and not best.shows(place):
                best = asked
    if best is None or not best.ranking.candidates:
        return None
    return _lost(sight, place, next(sight.seeing(place)), best)


def _lost(sight: Sight, place: int, scope: str, asked: Asked) -> _Unreached:
    doc, winner, shown = sight.docs[place], asked.ranking.candidates[0], asked.shows(place)
    what = "puts it first" if shown else "lists it"
    return _Unreached(
        winner=winner.place,
        finding=Finding(
            code=TOOL_NEVER_FIRST if shown else TOOL_NEVER_LISTED,
            severity=MEDIUM if shown else HIGH,
            path=sight.tool_path(doc),
            message=f"No scope {what} for anything that {doc.public} says of itself: {winner.doc.public} comes ahead.",
            section="endpoints",
            name=doc.endpoint.name,
            tool=doc.public,
            others=(winner.doc.public,),
            scope=scope,
            query=_described(doc),
            suggestion=Suggestion(
                words=f"Write a hint that says when {doc.public} is the right tool.",
                section="endpoints",
                name=doc.endpoint.name,
                part="tool_use_when",
                tool=doc.public,
            ),
            about=(doc.public, doc.digest.hex()),
        ),
    )


def _own_texts(doc: ToolDoc) -> Iterable[str]:
    """Each hint, and what it says of itself, together and one by one."""
    name, description = " ".join(doc.name_words), doc.tool.description[:WORDING_LIMIT]
    texts = (*doc.hints, _described(doc), f"{name} {doc.title}", description, doc.title, name, doc.phrase)
    return dict.fromkeys(text for one in texts if (text := one.strip()))


def _described(doc: ToolDoc) -> str:
    return " ".join([*doc.name_words, doc.title, doc.tool.description[:WORDING_LIMIT]]).strip()
