"""Examines an installation, part by part. Secrets are named as set or not set, never shown."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import connection

from control import launch, preparation, processes
from control.environment import environment
from control.integrations import installer
from control.place import Refused, is_claimed, open_listener
from routing import bus

Finding = tuple[bool, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    name: str
    ok: bool
    message: str


def examine(*, host: str, port: int) -> list[Check]:
    """Every check, in the order in which a start needs its subject; one that fails unforeseen says how."""
    running = is_claimed(environment.data_dir)
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("python", _python),
        ("packages", _packages),
        ("data_dir", _data_dir),
        ("secrets", _secrets),
        ("database", _database),
        ("bus", lambda: _bus(running)),
        ("workers", lambda: _workers(running)),
        ("port", lambda: _port(host, port, running)),
        ("first_run", _first_run),
        ("hooks", installer.examine),
        ("chromium", _chromium),
    ]
    return [Check(name=name, ok=ok, message=message) for name, check in checks for ok, message in _ask(check)]


def _ask(check: Callable[[], Finding]) -> Iterator[Finding]:
    try:
        yield check()
    except preparation.DatabaseAway as problem:
        yield False, str(problem)
    except Exception as problem:
        yield False, f"{type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else 'no message'}"


def _python() -> Finding:
    return sys.version_info >= (3, 11), f"{sys.version.split()[0]} at {sys.executable}"


def _packages() -> Finding:
    if not (launch.CHECKOUT / launch.RUNTIME).exists():
        return True, "no lock to compare with: installed as a package"
    wrong = launch.differences(launch.RUNTIME)
    if wrong:
        return False, f"{len(wrong)} differ from {launch.RUNTIME}: {'; '.join(wrong[:4])}; remove .venv and start again"
    return True, f"{len(launch.locked(launch.RUNTIME))} as {launch.RUNTIME} has them"


def _data_dir() -> Finding:
    directory = environment.data_dir
    if not directory.exists():
        return True, f"{directory} does not exist yet; the first start makes it"
    found = directory.stat()
    if found.st_uid != os.getuid():
        return False, f"{directory} belongs to user {found.st_uid}, not to you ({os.getuid()})"
    if not os.access(directory, os.W_OK | os.X_OK):
        return False, f"{directory} cannot be written to"
    if stat.S_IMODE(found.st_mode) & 0o077:
        return False, f"others may read {directory}: chmod 700 {directory}"
    free = shutil.disk_usage(directory).free // 2**20
    return free > 200, f"{directory}, for its owner only, {free} MiB free"


def _secrets() -> Finding:
    names = {
        "DATABASE_URL": environment.database_url,
        "REDIS_URL": environment.redis_url,
        "SWITCHYARD_SECRET_KEY": environment.secret_key,
        "SWITCHYARD_ENCRYPTION_KEYS": environment.encryption_keys,
        "OPENROUTER_API_KEY": os.environ.get("OPENROUTER_API_KEY", ""),
    }
    stored = environment.data_dir / "secrets.json"
    if stored.exists() and stat.S_IMODE(stored.stat().st_mode) & 0o077:
        return False, f"others may read {stored}: chmod 600 {stored}, then make new secrets"
    return True, ", ".join(f"{name} {'set' if value else 'not set'}" for name, value in names.items())


def _database() -> Finding:
    if not preparation.has_database():
        return True, f"{connection.settings_dict['NAME']} does not exist yet; the first start makes it"
    preparation.reach_database()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    pending = preparation.pending_migrations()
    if pending:
        return False, f"{connection.vendor} answers; {len(pending)} migrations are to be applied: the next `up` does it"
    return True, f"{connection.vendor} answers, migrations applied"


def _bus(running: bool) -> Finding:
    if not environment.redis_url and not running:
        return True, f"not running; `up` starts {processes.find_bus_binary()}"
    try:
        bus.ping()
    except bus.BusAway as problem:
        return (
            False,
            f"{'the embedded bus' if not environment.redis_url else 'the server of REDIS_URL'} does not answer ({problem})",
        )
    return True, "answers"


def _workers(running: bool) -> Finding:
    if not environment.redis_url and not running:
        return True, "not running; `up` starts them"
    try:
        hearts = bus.hearts(processes.QUEUES)
    except bus.BusAway:
        return False, "cannot be asked: the bus is away"
    silent = [name for name, beats in hearts.items() if not beats]
    return not silent, f"silent: {', '.join(silent)}" if silent else f"{', '.join(hearts)} answer"


def _port(host: str, port: int, running: bool) -> Finding:
    try:
        open_listener(host, port).close()
    except Refused as problem:
        return (True, f"{port} on {host} is in use, `up` is running") if running else (False, str(problem))
    return True, f"{port} on {host} is free"


def _first_run() -> Finding:
    notes = environment.data_dir / "first-run.json"
    if not notes.exists():
        return True, "there is no first-run.json (not started yet, or put away)"
    if stat.S_IMODE(notes.stat().st_mode) != 0o600:
        return False, f"others may read {notes}: chmod 600 {notes}, then change password and key"
    return True, f"{notes} is readable by its owner only; put it away once you have noted its content"


def _chromium() -> Finding:
    found = shutil.which("chromium")
    return True, f"{found} (for the browser tests)" if found else "not there; the browser tests are skipped without it"
