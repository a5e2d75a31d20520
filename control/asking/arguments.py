"""What may be said on the command line. Everything is checked here or named by its flag where it is used."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from control.asking.errors import BadInput

MODES = ("hybrid", "jev_only", "planner_only")
MAX_BYTES = 16 * 1024 * 1024

# Field of RoutingConfig -> the flag that sets it.
FLAGS = {
    "mode": "--mode",
    "direct_execution_threshold": "--direct-threshold",
    "fallback_threshold": "--fallback-threshold",
    "hierarchical_threshold": "--hierarchical-threshold",
}


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; the usage is what --help is for."""

    def error(self, message: str) -> NoReturn:
        complain(f"{self.prog}: {message.removeprefix('argument ')}")
        raise SystemExit(2)


def complain(text: str) -> None:
    """One line on standard error, if there is one: `print` would take standard output in its place."""
    if sys.stderr is not None:
        print(" ".join(text.split()), file=sys.stderr, flush=True)


def read_arguments(program: str, words: list[str]) -> argparse.Namespace:
    """The arguments of `words[0]`. Ends the process with status 2 and one line for what cannot be read."""
    parser = _PARSERS[words[0]](f"{program} {words[0]}")
    # A text that starts with a dash is still that flag's text: `--goal "-x does not work"`.
    asked = parser.parse_args(_joined(words[1:]), argparse.Namespace(program=parser.prog))
    try:
        _check_texts(asked)
        _choose_where(asked)
    except BadInput as problem:
        parser.error(str(problem))
    return asked


def parse_json(text: str, flag: str) -> Any:
    """Raises BadInput, naming the flag, for what is no JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise BadInput(f"{flag}: no JSON: {problem.msg} at line {problem.lineno}, column {problem.colno}") from None
    except (RecursionError, ValueError):
        raise BadInput(f"{flag}: no JSON that can be read: nested too deeply, or a number too long") from None


def read_text(name: str, flag: str) -> str:
    """A file, `-` for standard input. Raises BadInput for what cannot be read or is over 16 MiB."""
    try:
        if name == "-":
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise BadInput(f"{flag}: {name} cannot be read: {getattr(problem, 'strerror', None) or 'no path'}") from None
    if len(content) > MAX_BYTES:
        raise BadInput(f"{flag}: {name} is larger than {MAX_BYTES // 2**20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{flag}: {name} is no UTF-8 text") from None


def read_tools(given: str) -> list[Mapping[str, Any]]:
    """The array of `--tools-json`: JSON itself, `@FILE` or `-`. Raises BadInput for anything else, an empty one included."""
    flag = "--tools-json"
    text = read_text(given.removeprefix("@"), flag) if given == "-" or given.startswith("@") else given
    tools = parse_json(text, flag)
    if not isinstance(tools, list):
        raise BadInput(f"{flag}: must be an array of tools")
    if not tools:
        raise BadInput(f"{flag}: names no tool; there is nothing to choose from")
    for place, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise BadInput(f"{flag}: [{place}] is no object")
    return tools


def read_history(given: list[str]) -> list[dict[str, str]]:
    """The entries of `--recent-action TOOL=OUTCOME`, oldest first."""
    found = []
    for text in given:
        tool, equals, outcome = text.partition("=")
        if not equals or not tool.strip():
            raise BadInput(f"--recent-action: {text!r} is no TOOL=OUTCOME")
        found.append({"tool": tool.strip(), "outcome": outcome})
    return found


def _joined(words: list[str]) -> list[str]:
    texts = {"--goal", "--observation", "--last-action", "--constraint", "--recent-action", "--history"}
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        following = next(rest, None) if word in texts else None
        found.append(word if following is None else f"{word}={following}")
    return found


def _check_texts(asked: argparse.Namespace) -> None:
    for name, value in vars(asked).items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
                raise BadInput(f"--{name.replace('_', '-')}: no UTF-8 text")


def _choose_where(asked: argparse.Namespace) -> None:
    """A server, when one is named; what was said outright stands above the environment (`url_said`)."""
    asked.url_said = asked.url is not None
    in_process = getattr(asked, "provider", None) is not None or getattr(asked, "registry", None) is not None
    if asked.url is None and not in_process:
        asked.url = os.environ.get("SWITCHYARD_URL") or None
    elif asked.url is not None and in_process:
        raise BadInput(
            "--url: a server decides with its own providers and registry; leave --provider and --registry out"
        )
    if asked.url is None:
        return
    asked.key = asked.key or os.environ.get("SWITCHYARD_KEY") or None
    if asked.key is None:
        raise BadInput("--key: a server wants a key; give it here or as SWITCHYARD_KEY")


def _parser(program: str, description: str) -> Parser:
    parser = Parser(prog=program, description=description, allow_abbrev=False)
    parser.add_argument("--url", help="ask this server instead of deciding here (default: SWITCHYARD_URL)")
    parser.add_argument("--key", help="key for that server (better: SWITCHYARD_KEY, which other users cannot see)")
    parser.add_argument("--verbose", action="store_true", help="indented, with more of what is known")
    return parser


def _route(program: str) -> Parser:
    parser = _parser(program, "Which tool next? Prints one line of JSON; exit status 0 for every answer.")
    say = parser.add_argument
    say("--goal", required=True, help="what is to be reached")
    say(
        "--tools-json", metavar="JSON", help="array of tools (name, description, category, risk, …); @FILE or - to read"
    )
    say("--observation", help="what was seen last")
    say("--last-action", help="what was done last")
    say("--constraint", action="append", default=[], metavar="TEXT", help="may be repeated")
    say(
        "--recent-action",
        "--history",
        action="append",
        default=[],
        metavar="TOOL=OUTCOME",
        help="what was done before, oldest first; may be repeated",
    )
    say("--mode", choices=MODES, help="default: hybrid")
    say("--direct-threshold", type=float, metavar="P", help="confidence from which a tool is selected (default: 0.85)")
    say("--fallback-threshold", type=float, metavar="P", help="confidence below which none is (default: 0.60)")
    say("--hierarchical-threshold", type=int, metavar="N", help="from more tools on, categories first (default: 24)")
    say("--provider", choices=("local", "openrouter"), help="default: openrouter when its variable is set, else local")
    say("--policy", help="a server's policy to decide by (with --url)")
    return parser


def _resolve(program: str) -> Parser:
    parser = _parser(program, "Which tool of a catalog fits this request? Prints one JSON object.")
    say = parser.add_argument
    say("query", help="what should be done; - reads it from standard input")
    say("--scope", help="whose catalog (default: default; a server knows it from the key)")
    say("--max-hits", type=int, metavar="N", help="how many alternatives (default: 5, at most 10)")
    say("--explain", action="store_true", help="with every term, field and contribution")
    say("--registry", metavar="FILE", help="a registry document; without it the live one of this installation")
    return parser


def _search(program: str) -> Parser:
    parser = _parser(program, "Look ahead over a graph of states. Prints one JSON object.")
    parser.add_argument(
        "file",
        metavar="FILE",
        help="the graph as JSON (root_state, states, transitions, …: docs/command-line.md); - for standard input",
    )
    parser.add_argument("--provider", choices=("local", "openrouter"), help="whose opinion the search starts from")
    return parser


_PARSERS = {"route": _route, "resolve": _resolve, "search": _search}
