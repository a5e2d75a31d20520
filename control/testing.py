"""`manage.py test`: the whole suite with nothing but Python, or against the servers that the environment names."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from control.launch import CHECKOUT

SETTINGS = "tests.settings"  # before whatever DJANGO_SETTINGS_MODULE says: a test never touches a real data dir
HELP = """usage: manage.py test [PYTEST ARGUMENT …]

Runs the test suite with embedded parts: SQLite and a bus of its own, in a directory that is removed afterwards.
With DATABASE_URL (PostgreSQL) and REDIS_URL set, the same tests run against those: in databases that are made and
removed, and in Redis databases that are emptied, from the number in REDIS_URL on, one for each process.
Two or more processes share the work; `-n0` runs the tests in one.
"""


def main(arguments: list[str]) -> int:
    """Run pytest and give the exit status: 0 passed, 1 failed, 2 bad usage."""
    if arguments[:1] in (["--help"], ["-h"]):
        print(HELP)
        return 0
    if importlib.util.find_spec("pytest") is None:
        print(
            "The tests need the packages of requirements-dev.lock: start them with `python3 manage.py test` of the checkout.",
            file=sys.stderr,
        )
        return 1
    spread = [] if any(word.startswith("-n") for word in arguments) else ["-n", "auto", "--maxprocesses", "8"]
    command = [sys.executable, "-m", "pytest", f"--ds={SETTINGS}", "--dist", "loadgroup", *spread, *arguments]
    # pytest: 0 passed, 1 failed, 2 interrupted, 3 internal error, 4 bad usage, 5 nothing collected.
    return {0: 0, 4: 2}.get(subprocess.call(command, cwd=CHECKOUT), 1)
