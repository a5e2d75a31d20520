"""How every process learns within moments that a revision was published or a key changed.

One row counts such changes. A thread in each web and worker process reads it a few times a second and reloads what is
kept in memory, also when the bus is away; so requests never read the database for it. Where no thread runs (commands,
tests) each use looks itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
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
    """

    def __init__(self, load: Callable[[T | None], T]) -> None:
        self._load = load
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
    """The thread that keeps all watched values fresh."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        if self.running or not settings.SNAPSHOT_POLL_S:
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="generation-watcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self._thread = None

    def _run(self) -> None:
        while not self._stop.is_set():
            self._look()
            self._stop.wait(settings.SNAPSHOT_POLL_S)
        connections.close_all()

    def _look(self) -> None:
        try:
            _refresh_each()
        except DatabaseError as error:
            logger.warning("database away, keeping what is known: %s", type(error).__name__)
            close_old_connections()


_watched: list[Any] = []
watcher = Watcher()


def refresh_all() -> None:
    """Load what is not loaded yet or is behind; a web process does so before it takes its first request."""
    for watched in _watched:
        watched.refresh()


def _refresh_each() -> None:
    """Refresh one value after the other; a value that cannot be made keeps no other from being fresh."""
    now = _current()
    for watched in _watched:
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
