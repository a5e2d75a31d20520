"""Puts up an installation step by step: its place, its port, bus, tables, first content, then everything that serves."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import http.client
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from control import preparation, processes
from control.environment import CHECKOUT, environment
from control.supervisor import Say, Stopped, Supervisor
from routing import bus

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
BUS_PATIENCE_S = 20.0


class Refused(Exception):
    """It cannot start here; one line says why."""


def run(*, host: str, port: int, demo: bool | None, say: Say) -> None:
    """Start everything, say where it is, look after it until somebody asks to stop, stop everything."""
    began = time.monotonic()
    os.umask(0o077)
    directory = prepare_data_dir(environment.data_dir)
    with claim(directory / "run"), open_listener(host, port) as listener:
        address = Address(host, listener.getsockname()[1])
        _extend_environment(address)
        supervisor = Supervisor(logs=directory / "logs", directory=CHECKOUT, say=say)
        supervisor.listen()
        try:
            is_first = _start(supervisor, listener, address, demo, say)
            _announce(address, time.monotonic() - began, is_first, say)
            supervisor.run()
        except Stopped:
            pass
        finally:
            say("stopping")
            supervisor.stop()
            say("stopped")


class Address:
    """Where the installation listens, and how to call it from this machine."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.near = WILDCARDS.get(host, host)

    @property
    def url(self) -> str:
        return f"http://[{self.near}]:{self.port}" if ":" in self.near else f"http://{self.near}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return self.host == "localhost" or self.host.startswith("127.") or self.host == "::1"


# --- Place and port -------------------------------------------------------------------------------------------------
def prepare_data_dir(directory: Path) -> Path:
    """Make the data dir for its owner alone; one that was there before and is empty is narrowed to that."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = {"secrets.json", "run", "logs", "bus"}
        mode = stat.S_IMODE(directory.stat().st_mode)
        if mode & 0o077 and {entry.name for entry in directory.iterdir()} <= known:
            directory.chmod(0o700)
        elif mode & 0o022:
            raise Refused(
                f"others may write in the data dir {directory}; choose one of your own, or: chmod 700 {directory}"
            )
        for name in ("run", "logs", "bus"):
            (directory / name).mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise Refused(f"the data dir {directory} cannot be used: {problem.strerror}") from None
    return directory


@contextlib.contextmanager
def claim(directory: Path) -> Iterator[None]:
    """Hold the data dir for this `up` alone; the kernel lets go of it with the process, however that ends."""
    handle = os.open(directory / "up.pid", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            raise Refused(f"the data dir {directory.parent} is in use by another `up` (process {holder})") from None
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(handle)


def open_listener(host: str, port: int) -> socket.socket:
    """The socket that all web processes share. It stays open while they are restarted, so that requests wait, not fail."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if host == "::" else 1)
        listener.bind(place)
        listener.listen(1024)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise Refused(
                f"port {port} on {host} is taken; choose another one with --port, or any free one with --port 0"
            ) from None
        raise Refused(f"cannot listen on {host} port {port}: {problem.strerror or problem}") from None
    return listener


def _extend_environment(address: Address) -> None:
    """What the children are to know beyond what the user has set."""
    if address.host not in WILDCARDS and address.host not in environment.hosts:
        named = f"[{address.host}]" if ":" in address.host else address.host
        os.environ["SWITCHYARD_ALLOWED_HOSTS"] = ",".join([*environment.hosts, named])
    os.environ["SWITCHYARD_DATA_DIR"] = str(environment.data_dir)


# --- Steps ----------------------------------------------------------------------------------------------------------
def _start(supervisor: Supervisor, listener: socket.socket, address: Address, demo: bool | None, say: Say) -> bool:
    if not environment.redis_url:
        _start_bus(supervisor)
    supervisor.check()
    preparation.migrate(say)
    supervisor.check()
    is_first = preparation.first_content(url=address.url, is_loopback=address.is_loopback, demo=demo, say=say)
    preparation.close_connections()
    supervisor.check()
    supervisor.start(
        processes.services(
            listener=listener.fileno(),
            web_processes=environment.web_processes,
            decide_threads=environment.decide_threads,
            search_processes=environment.search_processes,
        )
    )
    probe = Probe(address)
    supervisor.wait_until(probe.is_ready, patience_s=20, waiting_for=probe.why_not)
    return is_first


def _start_bus(supervisor: Supervisor) -> None:
    place = environment.bus_socket
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = place.parent.stat()
    if owner.st_uid != os.getuid() or owner.st_mode & 0o077:
        raise Refused(f"{place.parent} belongs to somebody else; remove it or choose a data dir with a shorter path")
    supervisor.start([processes.bus(socket=place, directory=environment.data_dir / "bus")])
    supervisor.wait_until(lambda: answers_ping(place), patience_s=BUS_PATIENCE_S, waiting_for=lambda: "the bus")
    supervisor.ready = False
    # The last run's hearts may still be on disk: nothing lives yet.
    bus.forget_hearts(processes.QUEUES)


def answers_ping(place: Path) -> bool:
    """Whether a bus listens on that socket and has loaded what it keeps on disk."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        connection.connect(str(place))
        connection.sendall(b"PING\r\n")
        return connection.recv(64).startswith(b"+PONG")
    return False


class Probe:
    """Asks /readyz and remembers what it answered."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.answer = "the web process"

    def is_ready(self) -> bool:
        connection = http.client.HTTPConnection(self.address.near, self.address.port, timeout=1)
        try:
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            self.answer = ", ".join(response.read(2000).decode(errors="replace").split("\n")).strip(" ,")
            return response.status == 200
        except (OSError, http.client.HTTPException):
            self.answer = "the web process"
            return False
        finally:
            connection.close()

    def why_not(self) -> str:
        return self.answer


def _announce(address: Address, seconds: float, is_first: bool, say: Say) -> None:
    public = environment.public_url or address.url
    say(f"ready after {seconds:.1f} s: {public}")
    notes = environment.data_dir / "first-run.json"
    with contextlib.suppress(OSError, ValueError):
        first = json.loads(notes.read_text())
        say(f"sign-in and harness key: {notes}")
        # Once, and to a terminal only: what a log keeps, others may read.
        if is_first and sys.stdout.isatty():
            say(f"  user {first['username']}   password {first['password']}")
            say(f"  harness key {first['harness_key']}")
