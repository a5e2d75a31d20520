"""One listener on the bus per web process: it wakes answers that wait for a worker, and feeds the open event streams.

Pub/sub delivers at most once, so nobody relies on it alone: a waiting answer also looks at its row, and a stream that
missed something catches up from the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import orjson
import redis.asyncio as redis
from django.conf import settings

from routing.bus import LIVE_CHANNEL

logger = logging.getLogger(__name__)
Message = dict[str, Any]
QUEUE_SIZE = 1024  # more than the ledger's writer announces at once
RETRY_S = 0.5


class Subscription:
    """A stream's inbox. When it overflows, or the bus was away, `lagging` says to catch up from the ledger."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Message] = asyncio.Queue(QUEUE_SIZE)
        self.lagging = False

    def put(self, message: Message) -> None:
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            self.lagging = True

    async def get(self, timeout: float) -> Message | None:
        """The next message, or None after `timeout` seconds of silence."""
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(self.queue.get(), timeout)
        return None


class Hub:
    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._subscriptions: set[Subscription] = set()
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._stopping = False
        self.connected = False

    def start(self) -> None:
        """Listen from now on, in the running loop. A hub that was not started is silent, and whoever waits looks again."""
        self._stopping = False
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._listen())

    async def stop(self) -> None:
        self._stopping = True
        if self._task is not None:
            self._task.cancel()
            # The client may turn a cancellation into a timeout of its own: the flag ends the loop all the same.
            await asyncio.wait([self._task], timeout=2)
        self._task = None

    @contextlib.contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        subscription = Subscription()
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    @contextlib.contextmanager
    def expect(self, decision_id: str) -> Iterator[asyncio.Event]:
        """An event that is set when the decision (or replay) is announced as final; take it before handing the work over."""
        event = asyncio.Event()
        self._waiting[decision_id].add(event)
        try:
            yield event
        finally:
            self._waiting[decision_id].discard(event)
            if not self._waiting[decision_id]:
                del self._waiting[decision_id]

    async def _listen(self) -> None:
        while not self._stopping:
            try:
                await self._listen_once()
            except (redis.RedisError, OSError) as error:
                if self.connected:
                    logger.warning("bus away: %s", type(error).__name__)
            self.connected = False
            for subscription in self._subscriptions:
                subscription.lagging = True
            await asyncio.sleep(RETRY_S)

    async def _listen_once(self) -> None:
        client = redis.Redis.from_url(settings.BUS_URL, socket_connect_timeout=2, health_check_interval=10)
        try:
            async with client.pubsub() as pubsub:
                await pubsub.subscribe(LIVE_CHANNEL)
                self.connected = True
                while not self._stopping:
                    message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=1)
                    if message is not None:
                        self._deliver_all(message["data"])
        finally:
            await client.aclose()

    def _deliver_all(self, data: bytes) -> None:
        """The messages of one announcement; most come while nobody listens, and then they need not be read."""
        if self._subscriptions or self._waiting:
            for message in orjson.loads(data):
                self._deliver(message)

    def _deliver(self, message: Message) -> None:
        if message["event"] in ("decision.finished", "replay.finished"):
            for event in self._waiting.get(message["decision_id"], ()):
                event.set()
        for subscription in self._subscriptions:
            subscription.put(message)


hub = Hub()
