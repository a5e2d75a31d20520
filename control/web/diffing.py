"""Changes between two registry documents as an operator reads them: grouped by thing, line by line, words marked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from routing.engine.diff import Change
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
FEW = 8
MOST_TOOLS = 15  # of an endpoint that is added or removed as a whole; they fill the lines anyway
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # ten times as quick where libyaml is there


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    text: str
    marked: bool = False


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

    @property
    def people(self) -> str:
        return ", ".join(dict.fromkeys(edit.by for edit in self.edits))

    @property
    def reasons(self) -> list[Edit]:
        """Edits that say why, each message once."""
        return list({edit.message: edit for edit in self.edits if edit.message}.values())


def blocks(changes: Iterable[Change], edits: Sequence[Edit] = ()) -> list[Block]:
    """The changes in words, each with the edits that made it where these are known."""
    known = list(changes)
    most = (
        MOST_LINES if len(known) <= FEW else MOST_LINES // 2
    )  # of many, which are closed at first, the page stays light
    found = [_block(change, most) for change in known]
    made = touching((block.path for block in found), edits)
    return [replace(block, edits=tuple(made[block.path])) for block in found]


def tally(changes: Sequence[Change]) -> str:
    """ "2 added, 1 removed, 3 changed", leaving out what did not happen."""
    counts = {action: sum(change.action == action for change in changes) for action in MARKS}
    return ", ".join(f"{number} {action}" for action, number in counts.items() if number)


def _block(change: Change, most: int) -> Block:
    thing, field = _about(change.path)
    mark, sign = MARKS[change.action]
    lines = _lines(change)
    cut = lines[:most]
    if len(lines) > most:
        cut = (*cut, Line(kind="same", spans=(Span(text=f"… and {len(lines) - most} more lines"),)))
    return Block(
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


def _lines(change: Change) -> tuple[Line, ...]:
    before, after = texts(change.before), texts(change.after)
    if change.action == "added":
        return tuple(_whole("add", text) for text in after)
    if change.action == "removed":
        return tuple(_whole("del", text) for text in before)
    return tuple(_compared(before, after))


def texts(value: Any) -> list[str]:
    """A value as the lines of its document."""
    if value is None:
        return []
    if isinstance(value, str):
        return value.splitlines() or [""]
    if isinstance(value, bool) or not isinstance(value, list | dict):
        return [str(value).lower() if isinstance(value, bool) else str(value)]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [f"- {item}" for item in value]
    tools = value.get("tools") if isinstance(value, dict) else None
    left_out = len(tools) - MOST_TOOLS if isinstance(tools, list) else 0
    if isinstance(value, dict) and isinstance(tools, list) and left_out > 0:
        value = {**value, "tools": tools[:MOST_TOOLS]}
    lines: list[str] = yaml.dump(value, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=100).splitlines()
    return [*lines, f"… and {left_out} more tools"] if left_out > 0 else lines


def _whole(kind: str, text: str) -> Line:
    return Line(kind=kind, spans=(Span(text=text, marked=True),))


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterable[Line]:
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag == "equal":
            yield from (Line(kind="same", spans=(Span(text=text),)) for text in before[a0:a1])
            continue
        paired = min(a1 - a0, b1 - b0)
        pairs = [_words(before[a0 + i], after[b0 + i]) for i in range(paired)]
        yield from (Line(kind="del", spans=old) for old, _ in pairs)
        yield from (_whole("del", text) for text in before[a0 + paired : a1])
        yield from (Line(kind="add", spans=new) for _, new in pairs)
        yield from (_whole("add", text) for text in after[b0 + paired : b1])


def _words(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    matcher = difflib.SequenceMatcher(a=a, b=b, autojunk=False)
    left: list[Span] = []
    right: list[Span] = []
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if a1 > a0:
            left.append(Span(text="".join(a[a0:a1]), marked=tag != "equal"))
        if b1 > b0:
            right.append(Span(text="".join(b[b0:b1]), marked=tag != "equal"))
    return tuple(left), tuple(right)
