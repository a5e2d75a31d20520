"""Changes between two registry documents as an operator reads them: grouped by thing, line by line, words marked."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from routing.engine.diff import Change
from routing.formats import native
from routing.models import Edit
from routing.reviewing import touching

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_HEAD = re.compile(r"^(?P<section>\w+)(?:\[(?P<name>[^\]]*)\])?(?:\.(?P<rest>.*))?$", re.S)
_SINGULAR = {
    "endpoints": "",
    "capabilities": "capability ",
    "scopes": "scope ",
    "policies": "policy ",
    "providers": "provider ",
    "expectations": "expectation ",
    "groups": "group ",
}
MARKS = {"added": ("add", "+"), "removed": ("del", "−"), "changed": ("mod", "~")}
MOST_LINES = 60
FEWEST_LINES = 30  # of each change where there are many
FEW = 8
MOST_TOOLS = 15  # of an endpoint that is added or removed as a whole; they fill the lines anyway
LONGEST_RUN = 600  # characters of a line that are shown without being asked for
HEAD, TAIL = 300, 100  # of a longer one
MOST_COMPARED = 800  # words or lines: more are marked as a whole, since comparing takes the square of their number


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    text: str
    marked: bool = False

    @property
    def folded(self) -> int:
        """How many characters stand behind a disclosure, after the head and before the tail."""
        return len(self.text) - HEAD - TAIL if len(self.text) > LONGEST_RUN else 0

    @property
    def head(self) -> str:
        return self.text[:HEAD]

    @property
    def middle(self) -> str:
        return self.text[HEAD:-TAIL]

    @property
    def tail(self) -> str:
        return self.text[-TAIL:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    kind: str  # add | del | same
    spans: tuple[Span, ...]
    number: int = 0  # as it is shown, from 1

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @property
    def sign(self) -> str:
        return {"add": "+", "del": "−"}.get(self.kind, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One change: what it is about, in words, and its lines."""

    action: str
    mark: str  # class of its little sign
    sign: str
    thing: str
    field: str
    summary: str
    lines: tuple[Line, ...]
    path: str
    edits: tuple[Edit, ...] = ()  # who made it, oldest first
    segments: tuple[Any, ...] = ()  # its lines with what is said about them
    said: int = 0  # how many threads there are
    opened: bool = False
    is_cut: bool = False  # there is more of it than these lines

    @property
    def people(self) -> str:
        return ", ".join(dict.fromkeys(edit.by for edit in self.edits))

    @property
    def reasons(self) -> list[Edit]:
        """Edits that say why, each message once."""
        return list({edit.message: edit for edit in self.edits if edit.message}.values())


def blocks(changes: Iterable[Change], edits: Sequence[Edit] = (), *, whole: Collection[str] = ()) -> list[Block]:
    """The changes in words, each with the edits that made it where these are known; those of the paths `whole` with every line."""
    known = list(changes)
    # Of many, which are closed at first, the page stays light.
    most = MOST_LINES if len(known) <= FEW else FEWEST_LINES
    found = [_block(change, None if change.path in whole else most) for change in known]
    made = touching((block.path for block in found), edits)
    return [replace(block, edits=tuple(made[block.path])) for block in found]


def tally(changes: Sequence[Change]) -> str:
    """ "2 added, 1 removed, 3 changed", leaving out what did not happen."""
    counts = {action: sum(change.action == action for change in changes) for action in MARKS}
    return ", ".join(f"{number} {action}" for action, number in counts.items() if number)


def _block(change: Change, most: int | None) -> Block:
    thing, field = _about(change.path)
    mark, sign = MARKS[change.action]
    rows = _rows(change, None if most is None else MOST_TOOLS)
    cut = [_line(*row) for row in rows[:most]]
    return Block(
        opened=most is None,
        is_cut=most is not None and (len(rows) > most or _tools_left_out(change) > 0),
        action=change.action,
        mark=mark,
        sign=sign,
        thing=thing,
        field=field,
        summary=_summary(change),
        lines=tuple(replace(line, number=number) for number, line in enumerate(cut, 1)),
        path=change.path,
    )


def _about(path: str) -> tuple[str, str]:
    found = _HEAD.match(path)
    if not found or not found["name"]:
        return path.split(".")[0], path.partition(".")[2]
    return f"{_SINGULAR.get(found['section'], found['section'] + ' ')}{found['name']}", found["rest"] or ""


def _summary(change: Change) -> str:
    before, after = change.before, change.after
    if isinstance(before, list) or isinstance(after, list):
        old, new = len(before or ()), len(after or ())
        return f"{new} now, {old} before" if old != new else f"{new}, some differ"
    if change.action != "changed" and isinstance(before or after, dict):
        body = before or after
        tools = len(body.get("tools", ()))
        return f"{tools:,} {'tool' if tools == 1 else 'tools'}" if tools else ""
    return ""


Row = tuple[str, str, str | None]  # add, del or same; the text; the line that stands in its place on the other side


def _rows(change: Change, most_tools: int | None) -> list[Row]:
    before, after = texts(change.before, most_tools), texts(change.after, most_tools)
    if change.action == "added":
        return [("add", text, None) for text in after]
    if change.action == "removed":
        return [("del", text, None) for text in before]
    return list(_compared(before, after))


def _line(kind: str, text: str, other: str | None) -> Line:
    if other is None:
        return Line(kind=kind, spans=(Span(text=text, marked=kind != "same"),))
    return Line(kind=kind, spans=_words(text, other)[0] if kind == "del" else _words(other, text)[1])


def texts(value: Any, most_tools: int | None = MOST_TOOLS) -> list[str]:
    """A value as the lines of its document, an endpoint with so many of its tools (None: all)."""
    if value is None:
        return []
    if isinstance(value, str):
        return value.split("\n")  # what else ends a line somewhere is shown as a mark
    if isinstance(value, bool) or not isinstance(value, list | dict):
        return [str(value).lower() if isinstance(value, bool) else str(value)]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [f"- {item}" for item in value]
    if most_tools is not None and isinstance(value, dict) and _more_tools(value) > 0:
        value = {**value, "tools": value["tools"][:most_tools]}
    return _dumped(json.dumps(value)).removesuffix("\n").split("\n")


@lru_cache(maxsize=128)
def _dumped(text: str) -> str:
    """As its document writes it: of an entry with many tools that takes milliseconds, and people come back to a page."""
    return native.dump(json.loads(text), width=100)


def _tools_left_out(change: Change) -> int:
    return max(_more_tools(change.before), _more_tools(change.after))


def _more_tools(value: Any) -> int:
    """How many tools of an endpoint are more than fill the lines anyway."""
    tools = value.get("tools") if isinstance(value, dict) else None
    return len(tools) - MOST_TOOLS if isinstance(tools, list) else 0


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterator[Row]:
    for tag, a0, a1, b0, b1 in _matched(before, after):
        if tag == "equal":
            yield from (("same", text, None) for text in before[a0:a1])
            continue
        paired = min(a1 - a0, b1 - b0)
        old, new = before[a0:a1], after[b0:b1]
        yield from (("del", text, new[i] if i < paired else None) for i, text in enumerate(old))
        yield from (("add", text, old[i] if i < paired else None) for i, text in enumerate(new))


@lru_cache(maxsize=4 * MOST_LINES)
def _words(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    left: list[Span] = []
    right: list[Span] = []
    for tag, a0, a1, b0, b1 in _matched(a, b):
        if a1 > a0:
            left.append(Span(text="".join(a[a0:a1]), marked=tag != "equal"))
        if b1 > b0:
            right.append(Span(text="".join(b[b0:b1]), marked=tag != "equal"))
    return tuple(left), tuple(right)


def _matched(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """What is equal and what is not, as difflib tells it. Only what lies between equal ends is compared at length."""
    head = _alike(a, b)
    tail = min(_alike(a[::-1], b[::-1]), min(len(a), len(b)) - head)
    a1, b1 = len(a) - tail, len(b) - tail
    if head:
        yield "equal", 0, head, 0, head
    if max(a1, b1) - head > MOST_COMPARED:
        yield "replace", head, a1, head, b1
    else:
        matcher = difflib.SequenceMatcher(str.isspace, a[head:a1], b[head:b1])
        for tag, *ends in matcher.get_opcodes():
            i0, i1, j0, j1 = (head + end for end in ends)
            yield tag, i0, i1, j0, j1
    if tail:
        yield "equal", a1, len(a), b1, len(b)


def _alike(a: Sequence[str], b: Sequence[str]) -> int:
    """How many stand alike at the beginning."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
