"""The deep tier: what a request means, asked of an encoder within a time budget, and the vectors of catalogs, made beforehand.

Whatever goes wrong here, the static answer stands. A request's text goes to the encoder and nowhere else; its vector is
remembered in this process under a digest, for a while.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from functools import cache
from typing import Any

from django.conf import settings

from routing import bus, generation, snapshot, vectors
from routing.engine.encoder import Encoder, rounded
from routing.engine.meaning import Vectors
from routing.engine.recommend import is_too_long
from routing.models import TextVector
from routing.providers.encoders.base import EncoderError, TextEncoder
from routing.snapshot import Live
from routing.vectors import Deep

logger = logging.getLogger(__name__)
REMEMBERED = 256  # requests
AT_ONCE = 4
WAITING = 16  # requests that may be with the encoder at the same time; more get the static answer at once
FAILURES = 3  # in a row, after which the encoder is left alone
PAUSE_S = 10.0
BATCH = 32
CLAIM_S = 60  # how long one batch may take, and how soon a failed run is tried again while nothing has changed
_send: Callable[[str], None] | None = None


# --- a request ------------------------------------------------------------------------------------------------------
def ask(live: Live, scope: str, query: str) -> Encoder | None:
    """How near the catalog's tools come to a request; None when that cannot be known within the budget. Never raises."""
    deep = _ready(live, scope, query)
    return None if deep is None else _held_against(deep, _wait(_begin(deep.encoder, query)))


async def ask_on_loop(live: Live, scope: str, query: str) -> Encoder | None:
    """`ask` for an event loop: the encoder works in a thread, and only this coroutine waits for it."""
    deep = _ready(live, scope, query)
    return None if deep is None else _held_against(deep, await _wait_on_loop(_begin(deep.encoder, query)))


def may_ask(live: Live, scope: str, query: str) -> bool:
    """Whether `ask` would ask an encoder now."""
    return _ready(live, scope, query) is not None


def _held_against(deep: Deep, vector: Vectors | None) -> Encoder | None:
    if vector is None or deep.vectors is None or len(vector) != deep.vectors.size:
        return None
    return deep.vectors.asked(vector)


def _ready(live: Live, scope: str, query: str) -> Deep | None:
    """The deep tier, where this request may be asked of it now: memory alone is looked at."""
    if not settings.DEEP_BUDGET_S or not query.strip() or is_too_long(query):
        return None
    deep = vectors.of(live)
    if deep is None or deep.vectors is None or not _may_read(live, scope, deep):
        return None
    return deep


def _may_read(live: Live, scope: str, deep: Deep) -> bool:
    """Texts of a scope that is bound to data zones leave only for those."""
    zones = live.catalog.scope(scope).data_zones
    return deep.is_local or zones is None or deep.data_zone in zones


Begun = tuple[Future[Vectors | None], float]  # and until when it is waited for


def _begin(encoder: TextEncoder, query: str) -> Vectors | Begun | None:
    """The vector of a request that is remembered; else its encoding, begun; None where the encoder is left alone or busy."""
    digest = hashlib.sha256(f"{encoder.identity}\n{query}".encode(errors="surrogatepass")).digest()
    remembered = _memory.find(digest)
    if remembered is not None:
        return remembered
    if _breaker.is_open(encoder.identity) or not _places.acquire(blocking=False):
        return None
    deadline = time.monotonic() + settings.DEEP_BUDGET_S
    future = _pool().submit(_encode, encoder, query, digest, deadline)
    future.add_done_callback(lambda _: _places.release())
    return future, deadline


def _wait(begun: Vectors | Begun | None) -> Vectors | None:
    if not isinstance(begun, tuple):
        return begun
    future, deadline = begun
    try:
        return future.result(timeout=max(deadline - time.monotonic(), 0))
    except (TookTooLong, CancelledError):
        future.cancel()
        return None


async def _wait_on_loop(begun: Vectors | Begun | None) -> Vectors | None:
    if not isinstance(begun, tuple):
        return begun
    future, deadline = begun
    await asyncio.wait([asyncio.wrap_future(future)], timeout=max(deadline - time.monotonic(), 0))
    return _wait((future, 0.0))


def _encode(encoder: TextEncoder, query: str, digest: bytes, deadline: float) -> Vectors | None:
    left = deadline - time.monotonic()
    if left <= 0:
        return None
    try:
        vector: Vectors = encoder.encode([query], timeout_s=left)[0]
    except Exception as error:  # the answer is worth more than its tier; only what we say of a failure quotes no text
        if _breaker.failed(encoder.identity):
            problem = error if isinstance(error, EncoderError) else type(error).__name__
            logger.warning("the deep tier is left alone for %.0f s: %s", PAUSE_S, problem)
        return None
    _breaker.worked(encoder.identity)
    _memory.keep(digest, vector)  # one that came too late serves whoever asks the same again
    return vector


class _Memory:
    """The vectors of the last requests, by digest."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, digest: bytes) -> Vectors | None:
        with self._lock:
            if digest in self._kept:
                self._kept.move_to_end(digest)
            return self._kept.get(digest)

    def keep(self, digest: bytes, vector: Vectors) -> None:
        with self._lock:
            self._kept[digest] = vector
            if len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()


class _Breaker:
    """An encoder that fails again and again is left alone for a while, so that answers do not wait for it."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_open(self, identity: str) -> bool:
        return time.monotonic() < self._until.get(identity, 0.0)

    def failed(self, identity: str) -> bool:
        """Count a failure; true when it was one too many."""
        with self._lock:
            self._failures[identity] = self._failures.get(identity, 0) + 1
            if self._failures[identity] < FAILURES:
                return False
            self._failures[identity] = FAILURES - 1  # after the pause the next failure is enough
            self._until[identity] = time.monotonic() + PAUSE_S
            return True

    def worked(self, identity: str) -> None:
        with self._lock:
            self._failures.pop(identity, None)
            self._until.pop(identity, None)

    def forget(self) -> None:
        with self._lock:
            self._failures.clear()
            self._until.clear()


_memory, _breaker = _Memory(), _Breaker()
_places = threading.BoundedSemaphore(WAITING)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="encoder")


def forget() -> None:
    """Drop what is remembered of requests and of failures."""
    _memory.forget()
    _breaker.forget()


# --- the catalog ----------------------------------------------------------------------------------------------------
def on_missing(send: Callable[[str], None]) -> None:
    """Tell this service how a workspace's id reaches the workers (routing.tasks does)."""
    global _send
    _send = send


def sweep() -> None:
    """Have the vectors made that are missing: after a publication, a new encoder, or a run that ended half way."""
    for (workspace_id, _), deep in vectors.every().items():
        if deep.missing and _send is not None:
            try:
                if bus.claim(_work(workspace_id, deep), CLAIM_S):
                    _send(str(workspace_id))
            except Exception as error:  # whatever the transport raises; the next sweep comes in a moment
                logger.info("vectors cannot be asked for yet: %s", type(error).__name__)


def make(workspace_id: Any) -> int:
    """Encode the texts of the live catalog, and of a canary's, that have no vector yet, and keep the vectors; returns how many
    were made.

    A batch is kept as soon as it is made, so a run that ends half way has lost nothing. It ends when something else is
    published or the encoder changes: that has a run of its own.
    """
    generation.refresh_all()  # whoever claimed this run may have seen a publication sooner than this process
    return sum(_make(live) for live in list(snapshot.each()) if live.workspace_id == workspace_id)


def _make(live: Live) -> int:
    workspace_id, deep = live.workspace_id, vectors.of(live)
    if deep is None or not deep.missing:
        return 0
    wanted = {vectors.key(deep.encoder, text): text for text in vectors.texts(live)}
    there = vectors.known(list(wanted))
    left = [(one, text) for one, text in wanted.items() if one not in there]
    made, work = 0, _work(workspace_id, deep)
    try:
        for first in range(0, len(left), BATCH):
            if first and not _is_present(work, live):
                return made
            bus.hold(work, CLAIM_S)
            made += _make_batch(deep.encoder, dict(left[first : first + BATCH]))
            logger.info("vectors of workspace %s: %s of %s made", live.workspace, made, len(left))
    except EncoderError as problem:
        logger.warning("vectors of workspace %s: %s of %s made; %s", live.workspace, made, len(left), problem)
        return made
    except bus.BusAway:
        logger.info("bus away: the vectors of workspace %s are made later", live.workspace)
        return made
    generation.bump()
    bus.release(work)
    return made


def _is_present(work: str, live: Live) -> bool:
    deep = vectors.of(live)
    return deep is not None and _work(live.workspace_id, deep) == work


def _make_batch(encoder: TextEncoder, batch: dict[str, str]) -> int:
    rows = [rounded(vector) for vector in encoder.encode(list(batch.values()))]
    TextVector.objects.bulk_create(
        [
            TextVector(key=key, encoder=encoder.identity, values=row.values.tobytes(), scale=row.scale)
            for key, row in zip(batch, rows, strict=True)
        ],
        ignore_conflicts=True,
    )
    return len(rows)


def _work(workspace_id: Any, deep: Deep) -> str:
    """The name of the claim: another one for every publication and every encoder, so what failed before keeps none waiting."""
    return f"vectors:{workspace_id}:{deep.revision}:{deep.encoder.identity}"
