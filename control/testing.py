"""`manage.py test`: the whole suite with nothing but Python, or against the services that the environment names."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
HELP = """usage: manage.py test [PYTEST ARGUMENT …]

Runs the test suite with embedded parts: SQLite and a bus of its own, in a directory that is removed afterwards.
With DATABASE_URL (PostgreSQL) and REDIS_URL set, the same tests run against those; their databases are made and removed,
and the Redis database is emptied.
"""


def main(arguments: list[str]) -> int:
    """Run pytest in a fresh data dir and give its exit status (1 for failed tests, 2 for bad usage)."""
    if arguments[:1] in (["--help"], ["-h"]):
        print(HELP)
        return 0
    if importlib.util.find_spec("pytest") is None:
        print(
            "The tests need the packages of requirements-dev.lock: start them with `python3 manage.py test` of the checkout.",
            file=sys.stderr,
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="switchyard-test-") as place:
        environment = {**os.environ, "SWITCHYARD_DATA_DIR": str(Path(place, "data")), "PYTHONDONTWRITEBYTECODE": ""}
        status = subprocess.call([sys.executable, "-m", "pytest", *arguments], cwd=CHECKOUT, env=environment)
    # pytest: 0 passed, 1 failed, 2 interrupted, 3 internal error, 4 bad usage, 5 nothing collected.
    return {0: 0, 4: 2}.get(status, 1)
