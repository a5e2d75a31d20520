"""Where an installation lives: its data dir, held by one `up` at a time, and its port."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
# What may lie in a data dir before the first start has finished.
_OURS = {"secrets.json", "run", "logs", "bus"}


class Refused(Exception):
    """It cannot start here; one line says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the installation listens, and how to call it from this machine."""

    host: str
    port: int

    @property
    def near(self) -> str:
        return WILDCARDS.get(self.host, self.host)

    @property
    def url(self) -> str:
        return f"http://[{self.near}]:{self.port}" if ":" in self.near else f"http://{self.near}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def prepare_data_dir(directory: Path) -> Path:
    """Make the data dir for its owner alone; one that was there before and is empty is narrowed to that."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(directory.stat().st_mode)
        if mode & 0o077 and {entry.name for entry in directory.iterdir()} <= _OURS:
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
    handle = os.open(directory / "run" / "up.pid", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            raise Refused(f"the data dir {directory} is in use by another `up` (process {holder})") from None
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(handle)


def is_claimed(directory: Path) -> bool:
    """Whether an `up` holds the data dir at this moment."""
    with contextlib.suppress(OSError):
        handle = os.open(directory / "run" / "up.pid", os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
    return False


def open_listener(host: str, port: int) -> socket.socket:
    """The socket that all web processes share. It stays open while they are restarted, so that requests wait, not fail."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. The web server is given this socket by number, does not know that it is TCP and would not
        # ask for it: answers on a connection that is kept open would each wait some 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if host == "::" else 1)
        listener.bind(place)
        listener.listen(1024)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            advice = "choose another one with --port, or any free one with --port 0"
            raise Refused(f"port {port} on {host} is taken; {advice}") from None
        raise Refused(f"cannot listen on {host} port {port}: {problem.strerror or problem}") from None
    return listener
