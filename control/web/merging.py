"""What two people wrote into the same entry, brought together field by field.

Of what was read only a mark of each field is kept in the form: a keyed digest, which nobody can make up and which tells
nothing of the value. That is enough to see which side changed a field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from control.web import joining
from routing.services import entries

Document = dict[str, Any]
Mark = Callable[[str, Any], str]
LONGEST = 65_536
TRIES = 3  # of a write, when others write at the same time


@dataclass(slots=True, kw_only=True)
class Merged:
    """Of one attempt to save: what of mine is written, what only they changed, and where a person has to choose."""

    changes: Document = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)  # lists of which each side changed other elements
    conflicts: list[str] = field(default_factory=list)


def merge(
    base: Mapping[str, str],
    theirs: Mapping[str, Any],
    mine: Mapping[str, Any],
    mark: Mark,
    *,
    entered: Collection[str] = (),
    meant_for: Mapping[str, str] | None = None,
    lists: Collection[str] = (),
) -> Merged:
    """Three ways: `base` has the mark of each field as it was read, `theirs` is the draft, `mine` what was sent.

    A field that `mine` does not have was not touched. Fields in `entered` are never shown filled in, so that whatever is
    sent of them was written. `meant_for` names the field that another one was written for: who enters a credential means
    it for the URL that they read. Of those in `lists`, nothing is an empty list.
    """
    merged = Merged()
    for name, value in theirs.items():
        moved = base.get(name) != mark(name, value)
        touched = name in mine and (name in entered or base.get(name) != mark(name, mine[name]))
        agree = name in mine and mine[name] == value
        if touched and moved and not agree:
            _both(merged, name, base.get(name, ""), value, mine[name], entered=name in entered, is_list=name in lists)
        elif touched and (not agree or name in entered):
            merged.changes[name] = mine[name]
        elif moved and not agree:
            merged.kept.append(name)
    for name, meant in (meant_for or {}).items():
        if merged.changes.get(name) is not None and meant in merged.kept:
            merged.kept.remove(meant)
            merged.conflicts.append(meant)
    return merged


def _both(merged: Merged, name: str, read: str, theirs: Any, mine: Any, *, entered: bool, is_list: bool) -> None:
    """A field that both changed: brought together where it is a list and they changed other elements of it."""
    sides = [[] if value is None and is_list else value for value in (theirs, mine)]
    joined = None if entered else joining.join(read, *sides)
    if joined is None:
        merged.conflicts.append(name)
        return
    merged.joined.append(name)
    if joined != sides[0]:
        merged.changes[name] = None if is_list and not joined else joined


def mark(section: str, name: str, part: str, value: Any, key: str = "") -> str:
    """A mark of one part of an entry as somebody reads it, of a list with marks of its elements.

    Parts are apart, so that two people may edit two of them.
    """
    whole = entries.version({"section": section, "name": name, "part": [part, key], "value": value})
    return whole + joining.marks(value)


def written(marks: Mapping[str, str]) -> str:
    """Marks as one hidden field of a form has them."""
    return " ".join(f"{name}:{one}" for name, one in marks.items())


def read(text: str) -> dict[str, str]:
    """The marks of `written`; none where it is something else, and then every field that differs has to be chosen."""
    pairs = (word.partition(":") for word in text[:LONGEST].split())
    return {name: one for name, _, one in pairs if one}
