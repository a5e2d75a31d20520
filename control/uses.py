"""When each key was used last: noted in memory at every call, written now and then, never in the way of an answer."""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError, close_old_connections, connections
from django.db.models import Q

from control.models import HarnessKey

INTERVAL_S = 30.0
logger = logging.getLogger(__name__)


class Uses:
    """The uses of one process that are not written yet. A thread writes them, one row for each key and interval."""

    def __init__(self) -> None:
        self._last: dict[Any, float] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, key_id: Any) -> None:
        """A key was used now."""
        self._last[key_id] = time.time()

    def flush(self) -> None:
        """Write what was noted since; what cannot be written is noted again."""
        noted, self._last = self._last, {}
        for key_id, at in noted.items():
            try:
                _write(key_id, datetime.fromtimestamp(at, UTC))
            except DatabaseError as error:
                logger.warning("the last use of a key could not be written: %s", type(error).__name__)
                self._last.setdefault(key_id, at)
                close_old_connections()

    def start(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="key-uses", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self._thread = None

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL_S):
            self.flush()
        self.flush()
        connections.close_all()


def _write(key_id: Any, at: datetime) -> None:
    """Another process may have written a later use."""
    earlier = Q(last_used_at__isnull=True) | Q(last_used_at__lt=at)
    HarnessKey.objects.filter(earlier, pk=key_id).update(last_used_at=at)


uses = Uses()
