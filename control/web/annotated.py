"""A JSON document line by line, with what is wrong beside the place where it is."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_LINES = 4000
AROUND = 3  # lines that are shown before and after one with a problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    number: int
    text: str
    problems: Sequence[str] = ()
    skipped: bool = False  # stands for lines that are left out


def annotate(document: Any, problems: Sequence[Mapping[str, Any]]) -> list[Line]:
    """The document as it reads with two spaces a level; lines far from every problem are left out. A problem of something
    that is not there stands at the nearest thing that is."""
    lines = list(_lines(document, "", 0, ""))[:MOST_LINES]
    paths = {path for path, _ in lines}
    by_path: defaultdict[str, list[str]] = defaultdict(list)
    for problem in problems:
        path = str(problem["path"])
        name, place = path, path
        while place not in paths:
            place = place.rpartition("[" if place.endswith("]") else ".")[0]
        by_path[place].append(f"{name or 'the document'}: {problem['message']}")
    found: list[Line] = []
    for number, (path, text) in enumerate(lines, start=1):
        found.append(Line(number=number, text=text, problems=by_path.pop(path, ())))
    return _near(found)


def _lines(value: Any, path: str, depth: int, head: str, tail: str = "") -> Iterator[tuple[str, str]]:
    pad = "  " * depth
    if isinstance(value, dict) and value:
        yield path, f"{pad}{head}{{"
        names = list(value)
        for name in names:
            comma = "" if name == names[-1] else ","
            yield from _lines(
                value[name], f"{path}.{name}" if path else name, depth + 1, f"{json.dumps(name)}: ", comma
            )
        yield "\0", f"{pad}}}{tail}"
    elif isinstance(value, list) and value:
        yield path, f"{pad}{head}["
        for place, one in enumerate(value):
            yield from _lines(one, f"{path}[{place}]", depth + 1, "", "" if place == len(value) - 1 else ",")
        yield "\0", f"{pad}]{tail}"
    else:
        yield path, f"{pad}{head}{json.dumps(value, ensure_ascii=False)}{tail}"


def _near(lines: Sequence[Line]) -> list[Line]:
    wanted = {
        near for place, line in enumerate(lines) if line.problems for near in range(place - AROUND, place + AROUND + 1)
    }
    shown: list[Line] = []
    for place, line in enumerate(lines):
        if place in wanted:
            shown.append(line)
        elif shown and not shown[-1].skipped:
            shown.append(Line(number=line.number, text="…", skipped=True))
    return shown
