"""The program `manage.py`, `switchyard`, `har` and `harness-router`: Django's commands, our help, our exit statuses.

0 is done, 1 is "the answer is no", 2 is bad usage.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

USAGE = 2
# The commands that may begin an installation; all others write nothing where there is none.
BEGINNERS = (["up"], ["prepare"], ["migrate"])
# Answered without Django, which would take longer to load than they take to answer.
ASKED = ("route", "resolve", "search")
DJANGO_USEFUL = ("changepassword", "createsuperuser", "dbshell", "migrate", "shell")


def main(argv: list[str] | None = None) -> int:
    """Run one command and give its exit status."""
    try:
        arguments = take_data_dir(list(sys.argv if argv is None else argv))
    except ValueError as problem:
        print(f"{Path(sys.argv[0]).name}: {problem}", file=sys.stderr)
        return USAGE
    program, words = Path(arguments[0]).name, arguments[1:]
    if words[:1] in (["--version"], ["version"]):
        print(f"switchyard {version()}")
        return 0
    if words[:1] == ["test"]:
        # pytest loads Django itself, under the settings of the tests.
        from control import testing

        return testing.main(words[1:])
    if words[:1] == ["help"] and len(words) > 1 and words[1] in ASKED:
        words = [words[1], "--help"]
    if words and words[0] in ASKED:
        if argv is None:
            _travel_light(words[0])
        try:
            from control import asking

            status = asking.main(program, words)
        except KeyboardInterrupt:
            status = 130
        if argv is None:
            _leave(status)
        return status
    if words[:1] == ["hooks"]:
        from control import integrations

        return integrations.main(program, words[1:])
    return _execute(program, words)


def _travel_light(command: str) -> None:
    """What only costs time in a process that answers one question."""
    # A ranking is over before threads for matrices would have started. Said before numpy is loaded, or not at all.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if command == "route":
        gc.disable()  # the process is over before there is garbage; looking for it would be felt


def _leave(status: int) -> None:
    """End the process of a program that has said all it has to say: to take it apart would cost as much as its ranking."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by whoever started the program
            with contextlib.suppress(OSError):
                stream.flush()
    os._exit(status)


def _up(program: str, words: list[str]) -> int:
    from control import up

    return up.main(program, words)


def take_data_dir(arguments: list[str]) -> list[str]:
    """Take `--data-dir DIR` out of the arguments, wherever it stands, and hand it on as SWITCHYARD_DATA_DIR."""
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--":
            return [*rest, word, *words]
        if name != "--data-dir":
            rest.append(word)
            continue
        value = value if equals else next(words, "")
        if not value:
            raise ValueError("--data-dir needs a directory")
        os.environ["SWITCHYARD_DATA_DIR"] = str(Path(value).expanduser().absolute())
    return rest


def version() -> str:
    """The version of the checkout, or of the installed package where there is no checkout."""
    # Imported here: a program that routes has no use for them, and starts sooner without.
    import importlib.metadata
    import tomllib

    project = Path(__file__).resolve().parent.parent / "pyproject.toml"
    if project.exists():
        return str(tomllib.loads(project.read_text())["project"]["version"])
    return importlib.metadata.version("switchyard")


def _execute(program: str, words: list[str]) -> int:
    try:
        import django
        from django.conf import settings
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import ManagementUtility, get_commands
    except ImportError as problem:
        print(
            f"{program}: {problem}; start `python3 manage.py` of the checkout, it installs what is missing",
            file=sys.stderr,
        )
        return 1
    from django.db import DatabaseError, OperationalError
    from pydantic import ValidationError

    from control.place import Refused

    if not settings.configured:
        # Whatever it is set to: the shell of somebody who works on another Django project may name that one's settings.
        os.environ["DJANGO_SETTINGS_MODULE"] = "control.settings"
    try:
        from control.environment import environment

        if words[:1] == ["up"]:
            return _up(program, words[1:])  # loads Django only when there is something to prepare
        if words[:1] not in BEGINNERS:
            environment.only_look()
        _quieten(settings)
        django.setup()
        if not words or words in (["help"], ["--help"], ["-h"]):
            print(_help(program))
            return 0
        known = get_commands()
        if words[0] not in known and words[0] != "help":
            print(f"{program}: there is no command {words[0]!r}; `{program} help` lists them", file=sys.stderr)
            return USAGE
        if reason := _obstacle(words):
            _refuse(program, words, [reason])
            return 1
        ManagementUtility([program, *words]).execute()
    except ValidationError as problem:
        if problem.title != "Environment":
            raise
        errors = problem.errors(include_url=False, include_input=False, include_context=False)
        _refuse(
            program, words, [f"{error['loc'][0]}: {error['msg'].removeprefix('Value error, ')}" for error in errors]
        )
        return 1
    except (ImproperlyConfigured, Refused) as problem:
        _refuse(program, words, [str(problem)])
        return 1
    except DatabaseError as problem:
        if type(problem) not in (DatabaseError, OperationalError):  # the others are mistakes of ours
            raise
        _refuse(program, words, [_why(problem)])
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _quieten(settings: Any) -> None:
    """A command's terminal is for its answer. Django reads LOGGING again for every command, so it is changed there."""
    if not os.environ.get("SWITCHYARD_LOG_LEVEL"):
        settings.LOGGING["root"]["level"] = "WARNING"
        settings.LOGGING["loggers"]["psycopg.pool"] = {"level": "ERROR"}  # what it tries is said once, at the end


def _obstacle(words: list[str]) -> str | None:
    """What keeps Django's own commands from the database, before they try for long; ours look for themselves."""
    from control import preparation

    if words[0] not in DJANGO_USEFUL or {"--help", "-h"} & set(words):
        return None
    try:
        if words[0] in ("changepassword", "createsuperuser"):
            return preparation.why_not_started()
        preparation.reach_database()
    except preparation.DatabaseAway as away:
        return str(away)
    return None


def _refuse(program: str, words: list[str], reasons: list[str]) -> None:
    """One line for each setting that is refused; `doctor --json` keeps its shape."""
    if words[:1] == ["doctor"] and "--json" in words:
        checks = [{"name": "settings", "ok": False, "message": reason} for reason in reasons]
        print(json.dumps({"ok": False, "checks": checks}, ensure_ascii=False))
        return
    for reason in reasons:
        print(f"{program}: {reason}", file=sys.stderr)


def _why(problem: Exception) -> str:
    """Why the database failed, in one line: the server is away, or whatever it said."""
    from control import preparation

    try:
        preparation.reach_database()
    except preparation.DatabaseAway as away:
        return str(away)
    return f"the database cannot be used: {str(problem).strip().splitlines()[0] if str(problem).strip() else 'no reason given'}"


def _help(program: str) -> str:
    from django.core.management import get_commands, load_command_class

    from control import asking, integrations

    ours = {
        "test": "Run the test suite; further arguments go to pytest.",
        **asking.COMMANDS,
        "hooks": integrations.HELP,
    }
    for name, app in get_commands().items():
        if str(app).startswith(("control", "routing")):
            ours[name] = load_command_class(str(app), name).help.strip().split("\n")[0]
    width = max(len(name) for name in ours) + 2
    lines = [f"  {name:<{width}}{text}" for name, text in sorted(ours.items())]
    return "\n".join(
        [
            f"Switchyard {version()}: decides which tool, endpoint or model an AI agent should use next.",
            "",
            f"usage: {program} COMMAND [--data-dir DIR] …      `{program} COMMAND --help` tells more",
            "",
            *lines,
            "",
            f"Django's own: {', '.join(DJANGO_USEFUL)} and others.",
        ]
    )
