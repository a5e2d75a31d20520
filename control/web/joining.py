"""Two lists that grew out of one, brought together element by element, where neither side touched what the other did.

Of the list that both read only a mark of each element is known, as `marks` writes them behind the mark of the whole.
A table is the list of its pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from routing.services import entries

MOST = 400  # elements; of a longer list one side is chosen as a whole
WIDTH = 8


def marks(value: Any) -> str:
    """A point and a mark of each element; nothing for what is no list, or too long a one."""
    listed = _listed(value)
    return "" if listed is None or len(listed) > MOST else "." + "".join(map(_mark, listed))


def join(read: str, theirs: Any, mine: Any) -> Any:
    """What both sides say together, of the type that they have; None where a person has to choose.

    `read` ends with the marks of what both began with. Where both took the same element away and put something in its
    place, where both put the rest into another order, and where something would be there twice, they do not agree.
    """
    base = _read(read)
    sides = [_listed(theirs), _listed(mine)]
    if base is None or type(theirs) is not type(mine) or None in sides:
        return None
    joined = _joined(base, *(_Side(base, side or ()) for side in sides))
    return dict(joined) if joined is not None and isinstance(mine, Mapping) else joined


class _Side:
    """One side: its elements by their marks, and what it did to what it began with."""

    def __init__(self, base: Sequence[str], listed: Sequence[Any]) -> None:
        self.marks = [_mark(one) for one in listed]
        self.elements = dict(zip(self.marks, listed, strict=True))
        self.names = Counter(map(_name, listed))
        self.gone = set(base) - set(self.marks)
        self.fresh = set(self.marks) - set(base)

    def order(self, known: set[str]) -> list[str]:
        return [one for one in self.marks if one in known]

    def is_simple(self) -> bool:
        return len(self.elements) == len(self.marks) <= MOST


def _joined(base: Sequence[str], theirs: _Side, mine: _Side) -> list[Any] | None:
    if not (theirs.is_simple() and mine.is_simple() and len(set(base)) == len(base)):
        return None
    if theirs.gone & mine.gone and (theirs.fresh - mine.fresh or mine.fresh - theirs.fresh):
        return None
    kept = set(base) - theirs.gone - mine.gone
    orders = [[one for one in base if one in kept], theirs.order(kept), mine.order(kept)]
    if orders[0] != orders[1] != orders[2] != orders[0]:
        return None
    lead, other = (theirs, mine) if orders[2] == orders[0] else (mine, theirs)
    found = [one for one in lead.marks if one not in other.gone]
    for place, one in enumerate(other.marks):
        if one in other.fresh and one not in found:
            found.insert(_after(found, other, place), one)
    joined = [(theirs.elements | mine.elements)[one] for one in found]
    most = theirs.names | mine.names
    return joined if all(number <= most[name] for name, number in Counter(map(_name, joined)).items()) else None


def _after(found: Sequence[str], side: _Side, place: int) -> int:
    """Behind what stands before it on its own side; what was put at the end stays there."""
    if set(side.marks[place:]) <= side.fresh:
        return len(found)
    before = next((one for one in reversed(side.marks[:place]) if one in found), None)
    return 0 if before is None else found.index(before) + 1


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, Mapping):
        return [list(pair) for pair in value.items()]
    return list(value) if isinstance(value, list | tuple) else None


def _mark(element: Any) -> str:
    return entries.version({"element": element})[:WIDTH]


def _name(element: Any) -> str:
    """What tells an element from others of its list: its name, where it has one."""
    if isinstance(element, Mapping):
        element = element.get("name", element)
    elif isinstance(element, list):
        element = element[0] if element else ""
    return str(element)


def _read(text: str) -> list[str] | None:
    _, point, found = text.partition(".")
    if not point or len(found) % WIDTH or len(found) > MOST * WIDTH:
        return None
    return [found[at : at + WIDTH] for at in range(0, len(found), WIDTH)]
