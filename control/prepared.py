"""Remembers what a prepared SQLite database looks like, so that a start which finds it so need not load Django to look.

PostgreSQL is looked at on every start: others may have changed it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path

from control.environment import CHECKOUT, environment
from control.launch import RUNTIME

_MIGRATIONS = ("routing/migrations", "control/migrations")


def is_known() -> bool:
    """Whether the database is exactly as the code in this checkout last left it: tables up to date, a person signed up."""
    if environment.database_url:
        return False
    try:
        noted = json.loads(_note().read_text())
        return bool(noted["code"] == _code() and noted["applied"] == _applied())
    except (OSError, ValueError, KeyError, sqlite3.Error):
        return False


def note() -> None:
    """Write down what was prepared. Called when nothing is left to do."""
    if environment.database_url:
        return
    with contextlib.suppress(OSError, sqlite3.Error):
        draft = _note().with_suffix(".new")
        draft.write_text(json.dumps({"code": _code(), "applied": _applied()}))
        draft.replace(_note())


def _note() -> Path:
    return environment.data_dir / "run" / "prepared.json"


def _code() -> str:
    """Everything that could bring a new migration: our own files, and the versions of the packages that have some."""
    files = [CHECKOUT / RUNTIME, *(path for place in _MIGRATIONS for path in sorted((CHECKOUT / place).glob("*.py")))]
    mark = hashlib.sha256()
    for path in files:
        mark.update(f"{path.name}\0".encode() + path.read_bytes())
    return mark.hexdigest()


def _applied() -> list[list[str]]:
    """The migrations that the database has; raises when it cannot be read or has no person yet."""
    address = f"{(environment.data_dir / 'switchyard.sqlite3').as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=2)) as connection:
        if connection.execute("SELECT count(*) FROM auth_user").fetchone() == (0,):
            raise ValueError("nobody has signed up yet")
        return [list(row) for row in connection.execute("SELECT app, name FROM django_migrations ORDER BY app, name")]
