"""Celery's way over the bus, with one client for each channel.

kombu makes a client of the bus for every command that it sends, and making one takes longer than most commands: a quarter of
what it costs to send a task, and as much again where it is received and where it is acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis


class Channel(redis.Channel):
    _kept: Any = None

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        yield client or self._client_of_pool()

    def _client_of_pool(self) -> Any:
        """Has no state of its own but the pool of connections, which is another one after the bus was away."""
        if self._kept is None or self._kept.connection_pool is not self.pool:
            with super().conn_or_acquire() as self._kept:
                pass
        return self._kept


class Transport(redis.Transport):
    Channel = Channel


def use() -> None:
    """Have addresses of the bus lead here; before the first connection is made."""
    TRANSPORT_ALIASES["redis"] = f"{__name__}:Transport"
