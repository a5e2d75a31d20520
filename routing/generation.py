"""How every process learns within moments that a revision was published or a key changed.

One row counts such changes. Threads in each web and worker process read it a few times a second and reload what is kept
in memory, also when the bus is away; so requests never read the database for it. What takes long to make (a catalog is
compiled) has a thread of its own, so that a key that was revoked never waits for it. Where no thread runs (commands, tests)
each use looks itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections
from django.db.models import F

from routing.models import Generation

logger = logging.getLogger(__name__)


def bump() -> None:
    """Count a change, inside the transaction that makes it."""
    if not Generation.objects.filter(pk=1).update(value=F("value") + 1):
        Generation.objects.get_or_create(pk=1)
        Generation.objects.filter(pk=1).update(value=F("value") + 1)


def _current() -> int:
    row = Generation.objects.filter(pk=1).values_list("value", flat=True).first()
    return row or 0


T = TypeVar("T")


class Watched(Generic[T]):
    """A value made from the database that is remade when the generation moves on.

    `load(previous)` makes it; what it raises keeps the previous value in use and is tried again at the next look.
    `takes_long` says that making it is no matter of milliseconds, so that others shall not wait for it.
    """

    def __init__(self, load: Callable[[T | None], T], *, takes_long: bool = False) -> None:
        self._load = load
        self.takes_long = takes_long
        self._value: T | None = None
        self._seen: int | None = None
        self._lock = threading.Lock()
        _watched.append(self)

    def get(self) -> T:
        """The present value; looks at the database only where no watcher thread runs, or before the first load."""
        if self._seen is None or not watcher.running:
            self.refresh()
        assert self._value is not None
        return self._value

    def refresh(self, now: int | None = None) -> None:
        """Make the value anew when the generation is another than it was made at; `now` is what was just read of it."""
        with self._lock:
            now = _current() if now is None else now
            if now != self._seen:
                self._value = self._load(self._value)
                self._seen = now

    @property
    def is_loaded(self) -> bool:
        return self._seen is not None

    def forget(self) -> None:
        """Drop the value, so that the next use loads it anew (tests change databases under it)."""
        with self._lock:
            self._value, self._seen = None, None


class Watcher:
    """The threads that keep all watched values fresh: one for what is quick to make, one for what takes long."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def running(self) -> bool:
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def start(self) -> None:
        if self.running or not settings.SNAPSHOT_POLL_S:
            return
        self._stop.clear()
        self._threads = [
            threading.Thread(target=self._run, args=(long,), name=name, daemon=True)
            for name, long in (("generation-watcher", False), ("generation-watcher-long", True))
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=5)
        self._threads = []

    def _run(self, long: bool) -> None:
        while not self._stop.is_set():
            self._look(long)
            self._stop.wait(settings.SNAPSHOT_POLL_S)
        connections.close_all()

    def _look(self, long: bool) -> None:
        try:
            _refresh_each(watched for watched in _watched if watched.takes_long == long)
        except DatabaseError as error:
            logger.warning("database away, keeping what is known: %s", type(error).__name__)
            close_old_connections()


_watched: list[Any] = []
watcher = Watcher()


def refresh_all() -> None:
    """Load what is not loaded yet or is behind; a web process does so before it takes its first request."""
    for watched in _watched:
        watched.refresh()


def _refresh_each(some: Iterable[Any]) -> None:
    """Refresh one value after the other; a value that cannot be made keeps no other from being fresh."""
    now = _current()
    for watched in some:
        try:
            watched.refresh(now)
        except DatabaseError:
            raise
        except Exception:
            logger.exception("something published could not be loaded; what was known before stays in use")


def is_kept_fresh() -> bool:
    """Whether watched values can be read without asking the database."""
    return watcher.running and all(watched.is_loaded for watched in _watched)


def forget_all() -> None:
    for watched in _watched:
        watched.forget()
