"""An installation of real processes for tests: started by `manage.py up`, or service by service on given servers.

A start costs seconds of the processor, and the tests share two cores: whoever only uses an installation takes the one of the
session (`installation` of tests/conftest.py), and one of its own begins with `PREPARED` unless the first start is what is tested.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

from control import processes
from tests.settings import NUMBER, PLACE, WORKER

ROOT = Path(__file__).resolve().parents[1]
MANAGE = [sys.executable, str(ROOT / "manage.py")]
PATIENCE_S = 90
PREPARED = "--prepared"  # among the options of a start: in a data dir as a first start without demo content leaves it


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    body: Any
    headers: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class Installation:
    """A running installation: where it is, how to call it, and its process tree."""

    directory: Path
    parent: subprocess.Popen[bytes]
    log: Path
    url: str = ""
    key: str = ""
    password: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    services: dict[str, tuple[processes.Process, subprocess.Popen[bytes]]] = field(default_factory=dict)

    # --- starting and stopping ----------------------------------------------------------------------------------------
    @classmethod
    @contextlib.contextmanager
    def started(cls, place: Path, *options: str, **variables: str) -> Iterator[Installation]:
        """Start `up` in a data dir under `place`; what is left of it afterwards is killed."""
        running = cls.start(place / "data", *options, **variables)
        try:
            running.wait_until_ready()
            yield running
        finally:
            running.end()

    @classmethod
    def start(cls, directory: Path, *options: str, **variables: str) -> Installation:
        environment = _environment(directory) | variables
        directory.parent.mkdir(parents=True, exist_ok=True)
        if PREPARED in options:
            shutil.copytree(_prepared(), directory)
            options = tuple(option for option in options if option != PREPARED)
        path = directory.parent / f"up-{uuid4().hex[:8]}.log"
        with path.open("wb") as log:
            command = [*MANAGE, "up", "--port", "0", "--data-dir", str(directory), *options]
            parent = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=directory.parent
            )
        return cls(directory=directory, parent=parent, log=path, environment=environment)

    def wait_until_ready(self) -> None:
        """Wait for the line that names the address, then read what the first start wrote down."""
        eventually(lambda: self.parent.poll() is not None or "\nready after" in f"\n{self.said}", PATIENCE_S)
        assert self.parent.poll() is None, self.said
        self.url = re.findall(r"ready after [\d.]+ s: (\S+)", self.said)[-1]
        first = json.loads((self.directory / "first-run.json").read_text())
        self.key, self.password = first["harness_key"], first["password"]

    @property
    def said(self) -> str:
        return self.log.read_text()

    def stop(self) -> float:
        """SIGTERM; returns how long it took."""
        began = time.monotonic()
        self.parent.send_signal(signal.SIGTERM)
        self.parent.wait(timeout=20)
        return time.monotonic() - began

    def end(self) -> None:
        """At once: nobody looks at it any more, and to stop in good order takes seconds."""
        self.parent.kill()
        self.parent.wait(timeout=20)
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # --- calling ------------------------------------------------------------------------------------------------------
    def call(self, method: str, path: str, body: Any = None, *, key: str | None = None, timeout: float = 40) -> Answer:
        headers = {"Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                return Answer(status=response.status, body=_json(response.read()), headers=response.headers)
        except urllib.error.HTTPError as error:
            return Answer(status=error.code, body=_json(error.read()), headers=error.headers)

    def post(self, path: str, body: Any, **options: Any) -> Answer:
        return self.call("POST", path, body, **options)

    def get(self, path: str, **options: Any) -> Answer:
        return self.call("GET", path, **options)

    def command(self, *words: str, status: int = 0) -> str:
        """Run a management command on this installation's data dir and return what it prints."""
        done = subprocess.run(
            [*MANAGE, *words, "--data-dir", str(self.directory)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    # --- processes ----------------------------------------------------------------------------------------------------
    def pids(self, part: str = "") -> list[int]:
        """The processes of this installation, known by its data dir, whose command has `part`."""
        variable, path = f"SWITCHYARD_DATA_DIR={self.directory}".encode(), str(self.directory)
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                # The bus writes its title over its environment, and names its socket there.
                ours = path in command or variable in (place / "environ").read_bytes().split(b"\0")
                if command and part in command and ours:
                    found.append(int(place.name))
        return sorted(found)

    def workers(self, queue: str) -> list[int]:
        return self.pids(f"worker -Q {queue} ")

    def restart(self, name: str) -> None:
        """Start a service again that was started by hand and has died; `up` does that by itself."""
        process, dead = self.services[name]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(dead.pid, signal.SIGKILL)
        dead.wait(timeout=10)
        self.services[name] = (process, _service(process, self.directory, self.environment))

    def let_claims_end(self) -> None:
        """As if so much time had passed that whoever holds a decision has lost it: the next sweep queues it again."""
        with contextlib.closing(sqlite3.connect(self.directory / "switchyard.sqlite3", timeout=20)) as database:
            database.execute("UPDATE routing_decision SET claimed_until = created_at WHERE state = 'running'")
            database.commit()

    def signal(self, pids: list[int], number: signal.Signals) -> None:
        assert pids
        for pid in pids:
            os.kill(pid, number)


class Stream:
    """An open event stream; `read_until` takes events from it until one is as wanted."""

    def __init__(self, running: Installation, path: str, last_id: str | None = None) -> None:
        place = urlsplit(running.url)
        self.connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
        headers = {"Authorization": f"Bearer {running.key}", "Accept": "text/event-stream"}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        self.connection.request("GET", path, headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()

    def read_until(self, wanted: Callable[[dict[str, str]], bool]) -> list[dict[str, str]]:
        events: list[dict[str, str]] = []
        event: dict[str, str] = {}
        while True:
            line = self.response.readline().decode().rstrip("\n")
            if line:
                name, _, value = line.partition(":")
                event[name] = value.strip()
                continue
            if "data" in event:
                events.append(event)
                if wanted(event):
                    return events
            event = {}

    def close(self) -> None:
        self.connection.close()


def eventually(holds: Callable[[], Any], seconds: float = 20) -> Any:
    """Ask again and again until the answer is true; its last answer."""
    deadline = time.monotonic() + seconds
    while not (answer := holds()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert answer, f"did not come true within {seconds} s"
    return answer


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


def _environment(directory: Path) -> dict[str, str]:
    """A user's environment: nothing of the tests' own settings, and servers only when they are given by the test."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SWITCHYARD_", "DJANGO_", "PYTEST_", "COV_"))
        and name not in ("DATABASE_URL", "REDIS_URL")
    }
    return kept | {"SWITCHYARD_DATA_DIR": str(directory)}


def _prepared() -> Path:
    """A data dir as a first start leaves it, made once for all processes of a test run."""
    template = Path(os.environ[PLACE]) / "prepared"
    if not template.exists():
        draft = template.with_name(f"prepared-{WORKER}")
        environment = _environment(draft) | {"DJANGO_SETTINGS_MODULE": "control.settings"}
        subprocess.run([sys.executable, "-c", _PREPARE], env=environment, cwd=ROOT, check=True, timeout=120)
        with contextlib.suppress(OSError):  # another process was quicker
            draft.rename(template)
    return template


_PREPARE = """
import django
django.setup()
from control import place, preparation, prepared
from control.environment import environment
place.prepare_data_dir(environment.data_dir)
preparation.migrate(print)
preparation.first_content(url="http://127.0.0.1", is_loopback=True, demo=False, say=print)
preparation.close_connections()
prepared.note()
"""


# --- Services started by hand on real servers -------------------------------------------------------------------------
@contextlib.contextmanager
def on_servers(place: Path, database_url: str, redis_url: str) -> Iterator[Installation]:
    """The same services, each started by itself as docs/operations.md says, on PostgreSQL and Redis."""
    directory = place / "data"
    with _database(database_url) as url, socket.create_server(("127.0.0.1", 0)) as listener:
        environment = _environment(directory) | {
            "DATABASE_URL": url,
            "REDIS_URL": _redis(redis_url),
            "SWITCHYARD_SUPERVISOR": str(os.getpid()),
        }
        port = listener.getsockname()[1]
        directory.mkdir(parents=True)
        subprocess.run(
            [*MANAGE, "prepare", "--url", f"http://127.0.0.1:{port}"], env=environment, check=True, timeout=120
        )
        table = processes.services(listener=listener.fileno(), web_processes=1, decide_threads=8, search_processes=2)
        services = {process.name: (process, _service(process, directory, environment)) for process in table}
        parent = services["web"][1]
        installation = Installation(
            directory=directory, parent=parent, log=directory / "web.log", environment=environment, services=services
        )
        installation.url = f"http://127.0.0.1:{port}"
        first = json.loads((directory / "first-run.json").read_text())
        installation.key, installation.password = first["harness_key"], first["password"]
        try:
            eventually(lambda: installation.get("/readyz").status == 200, PATIENCE_S)
            yield installation
        finally:
            for _, service in installation.services.values():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(service.pid, signal.SIGKILL)
                service.wait(timeout=10)
            installation.end()


def _service(process: processes.Process, directory: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with (directory / f"{process.name}.log").open("ab") as log:
        return subprocess.Popen(
            process.command,
            cwd=ROOT,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=process.inherits,
            start_new_session=True,
        )


@contextlib.contextmanager
def _database(url: str) -> Iterator[str]:
    """A database of its own on the server of `url`, dropped afterwards."""
    import psycopg

    name = f"switchyard_flow_{uuid4().hex[:12]}"
    server = urlunsplit(urlsplit(url)._replace(path="/postgres", scheme="postgresql"))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}", scheme="postgresql"))
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _redis(url: str) -> str:
    """A database number that no test process uses, emptied."""
    import redis

    address = urlunsplit(urlsplit(url)._replace(path=f"/{15 - NUMBER % 4}"))
    redis.Redis.from_url(address).flushdb()
    return address
