"""Remarks beside the lines of a change, put in their places for a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import HttpRequest

from control.access import allows
from control.web import diffing
from control.web.diffing import Block, Line
from control.web.filters import number as page_number
from routing import inventory
from routing.engine.diff import Change
from routing.inventory import Cut
from routing.models import Edit, Remark, Revision, Workspace
from routing.services import remarks as service

LONGEST_PATH = 2000


@dataclass(slots=True, kw_only=True)
class Thread:
    first: Remark
    answers: list[Remark] = field(default_factory=list)
    moved: bool = False  # its line says something else now


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Where somebody wants to say something, what they wrote, and why it was not taken."""

    path: str
    line: int = 0
    text: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Lines of a change up to one that something is said about."""

    lines: Sequence[Line]
    threads: Sequence[Thread] = ()
    asked: Asked | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the templates need to know to show remarks and their forms."""

    may: bool  # this person may say something here
    page: int  # of the changes
    page_of: int | str = ""  # the revision's number on its own page
    revision: int | str = ""  # the one that is said something about; nothing for the draft


def told(
    request: Any,
    cut: Cut,
    edits: Sequence[Edit],
    threads: Sequence[Thread],
    place: dict[str, Any],
    wanted: Asked | None,
) -> dict[str, Any]:
    """Context of a page of changes with what is said about them; only that page's changes are put into words."""
    chosen = wanted or asked(request)
    far = {thread.first.path for thread in threads if (thread.first.line or 0) > diffing.FEWEST_LINES}
    if chosen is not None and chosen.line > diffing.FEWEST_LINES:
        far.add(chosen.path)
    whole = {*request.GET.getlist("whole"), *far}
    blocks, astray = placed(diffing.blocks(cut.rows, edits, whole=whole), threads, chosen)
    if cut.pages > 1:  # threads about changes of other pages are there
        astray = []
    turns = {
        name: f"?page={to}" if 1 <= to <= cut.pages else ""
        for name, to in (("previous", cut.number - 1), ("next", cut.number + 1))
    }
    is_allowed = place.pop("open") and allows(request.role, "draft.propose")
    return {
        "blocks": blocks,
        "astray": astray,
        "cut": cut,
        "unresolved": sum(thread.first.resolved_at is None for thread in threads),
        "remarks": Place(may=is_allowed, page=cut.number, **place),
        **turns,
    }


PAGE = 25


def page_of(request: Any, changes: Sequence[Change], wanted: Asked | None = None) -> Cut:
    """The page of changes that is asked for, or the one that holds what is asked to be said something about."""
    chosen = wanted or asked(request)
    if chosen is not None:
        at = next((place for place, change in enumerate(changes) if change.path == chosen.path), 0)
        return inventory.cut(changes, at // PAGE + 1, PAGE)
    return inventory.cut(changes, page_number(request), PAGE)


def of(workspace: Workspace, revision: Revision | None) -> list[Thread]:
    """What is said of a revision; of the draft when there is none."""
    said = list(Remark.objects.filter(workspace=workspace, revision=revision))
    threads = {one.pk: Thread(first=one) for one in said if one.answers_id is None}
    for one in said:
        if one.answers_id in threads:
            threads[one.answers_id].answers.append(one)
    return list(threads.values())


def asked(request: HttpRequest) -> Asked | None:
    """What the address asks to be said something about."""
    path = request.GET.get("on", "")[:LONGEST_PATH]
    return Asked(path=path, line=page_number(request, "line") if "line" in request.GET else 0) if path else None


def placed(
    blocks: Iterable[Block], threads: Sequence[Thread], wanted: Asked | None
) -> tuple[list[Block], list[Thread]]:
    """Each block with what is said about its lines, and the threads about what is no longer changed here."""
    about: dict[str, list[Thread]] = {}
    for thread in threads:
        about.setdefault(thread.first.path, []).append(thread)
    done = [_with(block, about.pop(block.path, []), wanted) for block in blocks]
    return done, [thread for left in about.values() for thread in left]


def _with(block: Block, threads: Sequence[Thread], wanted: Asked | None) -> Block:
    mine = wanted if wanted is not None and wanted.path == block.path else None
    at: dict[int, list[Thread]] = {}
    for thread in threads:
        at.setdefault(_line(block.lines, thread), []).append(thread)
    segments, start = [], 0
    for place in range(1, len(block.lines) + 1):
        here = mine if mine is not None and mine.line == place else None
        if place in at or here:
            lines = block.lines[start:place]
            segments.append(
                Segment(lines=lines, threads=at.get(place, ()), asked=here, quote=block.lines[place - 1].text)
            )
            start = place
    if start < len(block.lines):
        segments.append(Segment(lines=block.lines[start:]))
    whole = mine if mine is not None and not 1 <= mine.line <= len(block.lines) else None
    last = Segment(lines=(), threads=at.get(0, ()), asked=whole)
    is_open = mine is not None or any(thread.first.resolved_at is None for thread in threads)
    return replace(block, segments=(*segments, last), said=len(threads), opened=is_open or block.opened)


def _line(lines: Sequence[Line], thread: Thread) -> int:
    """The line that a thread stands under now: where it was if that says the same, or the one that says it now."""
    line, quote = thread.first.line, thread.first.quote
    if not line:
        return 0
    if line <= len(lines) and lines[line - 1].text[: service.LONGEST_QUOTE] == quote:
        return line
    found = [place for place, one in enumerate(lines, 1) if one.text[: service.LONGEST_QUOTE] == quote]
    thread.moved = not found
    return found[0] if found else 0
