"""Switchyard inside coding agents: a skill that tells when to ask, and a hook that asks at forks.

`switchyard hooks show|install|uninstall|check --host claude-code|codex`. `ask` is what the hook runs, `hosts` says where
each agent keeps its settings, `settings` merges into them, `installer` writes and undoes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from control.asking.arguments import Parser, complain

HELP = "Ask from a coding agent: show, install, uninstall or check its hook and skill."


def main(program: str, words: list[str]) -> int:
    """Run `hooks …` and give its exit status: 0 done, 1 the answer is no, 2 bad usage."""
    from control.integrations import installer
    from control.integrations.hosts import find_host
    from control.integrations.settings import CannotMerge

    asked = arguments(f"{program} hooks").parse_args(words)
    if asked.action is None:
        arguments(f"{program} hooks").print_help()
        return 0
    if asked.project is not None and not asked.project.is_dir():
        complain(f"{program} hooks: --project: {asked.project} is no folder")
        return 2
    host = find_host(asked.host, project=asked.project)
    try:
        if asked.action == "check":
            ok, message = installer.check(host)
            _print(message)
            return 0 if ok else 1
        if asked.action == "uninstall":
            changes = installer.plan_removal(host)
        else:
            changes = installer.plan(host, credentials=asked.credentials)
        only_look = asked.action == "show" or asked.dry_run
        if not only_look:
            installer.apply(host, changes, remove=asked.action == "uninstall")
        _print(installer.told(host, changes, written=not only_look))
    except CannotMerge as problem:
        print(f"{program} hooks: {problem}", file=sys.stderr)
        return 1
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        print(f"{program} hooks: {where}{problem.strerror or problem}", file=sys.stderr)
        return 1
    return 0


def _print(text: str) -> None:
    if sys.stdout is None:  # closed by whoever started the program; the work is done
        return
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as problem:
        # What is still held would be tried again, and complained about, when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(problem, BrokenPipeError):  # whoever reads has seen enough
            raise


def arguments(program: str) -> Parser:
    from control.integrations.hosts import HOSTS

    parser = Parser(prog=program, description=HELP, allow_abbrev=False)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for name, told in (
        ("show", "print what `install` would write, and nothing else"),
        ("install", "write the hook and the skill, with a backup of every file that was there"),
        ("uninstall", "put everything back as it was; what was changed since is kept"),
        ("check", "is the hook in place, and does it reach its server?"),
    ):
        one = actions.add_parser(name, help=told, description=told, allow_abbrev=False)
        one.add_argument("--host", required=True, choices=sorted(HOSTS))
        one.add_argument("--project", type=Path, metavar="DIR", help="the settings of this project, not your own")
        if name in ("show", "install"):
            one.add_argument(
                "--credentials",
                type=Path,
                metavar="FILE",
                help="JSON with url and harness_key (like first-run.json) that only you can read; "
                "without it the hook uses SWITCHYARD_URL and SWITCHYARD_KEY",
            )
        one.add_argument("--dry-run", action="store_true", help="print what would be done, and do nothing")
    return parser
