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

from control.asking.arguments import read_arguments
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
        print(f"{program} {command}: {problem}", file=sys.stderr)
        return 2
    except NoAnswer as problem:
        print(f"{program} {command}: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _print(answer: Mapping[str, Any], *, pretty: bool) -> None:
    layout: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    text = json.dumps(answer, sort_keys=True, ensure_ascii=False, **layout)
    try:
        # A name that came in over the wire may hold half a character; an answer is printed all the same.
        sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read along has seen enough; without this the interpreter complains when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
