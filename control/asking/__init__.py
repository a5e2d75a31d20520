"""`route`, `resolve` and `search` from a shell: in this process, or asked of a server. Django is not loaded for them.

Each prints one JSON object with sorted keys on one line (`--verbose`: indented, and with more) and exits 0 for every
answer, fallbacks included; 1 when there was no answer, 2 for bad input, 130 when interrupted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from control.asking.arguments import complain, read_arguments
from control.asking.errors import BadInput, NoAnswer

COMMANDS = {
    "route": "Which tool next: one decision, or a fallback with its reason.",
    "resolve": "Which tool of a catalog fits a request.",
    "search": "Which first step leads to the best end: look ahead over a graph of states.",
}


def main(program: str, words: list[str]) -> int:
    """Run one of COMMANDS and give its exit status."""
    command = words[0]
    asked = read_arguments(program, words)
    try:
        if asked.url is not None:
            from control.asking import remote as answerer
        else:
            from control.asking import local as answerer  # type: ignore[no-redef]
        answer = getattr(answerer, command)(asked)
        _print(answer, pretty=asked.verbose)
    except BadInput as problem:
        complain(f"{program} {command}: {problem}")
        return 2
    except NoAnswer as problem:
        complain(f"{program} {command}: {problem}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _print(answer: Mapping[str, Any], *, pretty: bool) -> None:
    """Raises NoAnswer where standard output takes nothing; a reader who has seen enough is no such case."""
    if sys.stdout is None:  # closed by whoever started the program
        raise NoAnswer("the answer cannot be written: standard output is closed")
    text = _text(answer, sys.stdout.encoding or "utf-8", {"indent": 2} if pretty else {"separators": (",", ":")})
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as problem:
        # What is still held would be tried again, and complained about, when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(problem, BrokenPipeError):
            raise NoAnswer(f"the answer cannot be written: {problem.strerror or problem}") from None


def _text(answer: Mapping[str, Any], encoding: str, layout: Mapping[str, Any]) -> str:
    """JSON as it reads best, or escaped where a terminal's encoding lacks a letter or a name holds half a character."""
    text = json.dumps(answer, sort_keys=True, ensure_ascii=False, **layout)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(answer, sort_keys=True, **layout)
    return text
