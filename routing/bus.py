"""The bus: one small client of Redis (or Valkey), shared by services and tasks.

What passes here is ids, names and numbers; the text of a request never does, except sealed where it is recorded. Every call may find the bus away and says
so by `BusAway`; callers decide whether that matters.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import orjson
import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry as LoopRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

logger = logging.getLogger(__name__)

LIVE_CHANNEL = "switchyard:live"
_STREAM = "switchyard:ledger:{}"
_NUDGE = "switchyard:nudge:{}"
_HEART = "switchyard:heart:{}"
_ADVICE = "switchyard:advice:{}:{}"
_ADVISED = "switchyard:advised:{}:{}:{}"
_CLAIM = "switchyard:claim:{}"
HEART_LASTS_S = 6

# A bus that hangs costs this much once; then it is taken to be away for a while, so that answers do not wait for it.
_PATIENCE_S = 1.5
_PAUSE_S = 3.0
# Whoever comes when somebody has waited for this long already does not begin to wait too.
_SUSPICIOUS_S = 0.25


class BusAway(Exception):
    """The bus did not answer."""


_lock = threading.Lock()


@cache
def _client_for(url: str) -> redis.Redis:
    # A pooled connection that a restart of the bus has cut is worth a second try; silence is not.
    once_more = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    return redis.Redis.from_url(url, socket_connect_timeout=_PATIENCE_S, socket_timeout=_PATIENCE_S, retry=once_more)


def client() -> redis.Redis:
    """The process's client; thread-safe, connections are pooled."""
    with _lock:
        return _client_for(settings.BUS_URL)


class _Breaker:
    """Whether this process may ask the bus now: of all that a silent bus would hold up, one waits, and for once.

    After a pause one call tries; the others leave the bus alone until that one has heard from it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0  # when the bus may be asked again
        self._began: dict[object, float] = {}  # calls under way

    def check(self, *, may_wait: bool = True) -> None:
        """Raise BusAway where a call would not be let through; without `may_wait` also while another has waited for long."""
        with self._lock:
            self._check(time.monotonic(), may_wait)

    @contextmanager
    def asking(self, *, may_wait: bool) -> Iterator[None]:
        """One call. What the client raises in it leaves as BusAway, and silence among it opens the breaker."""
        call = object()
        with self._lock:
            began = time.monotonic()
            self._check(began, may_wait)
            tries = self._until > 0.0
            if tries:
                self._until = began + _PATIENCE_S
            self._began[call] = began
        silent = False
        try:
            yield
        except (redis.TimeoutError, TimeoutError):
            silent = True
            raise BusAway("TimeoutError") from None
        except (redis.RedisError, OSError) as error:
            # A connection that is opened in vain reports its silence as one of several errors.
            silent = time.monotonic() - began >= _PATIENCE_S
            raise BusAway(type(error).__name__) from None
        finally:
            with self._lock:
                del self._began[call]
                if silent:
                    self._until = time.monotonic() + _PAUSE_S
                elif tries:
                    self._until = 0.0

    def _check(self, now: float, may_wait: bool) -> None:
        if now < self._until:
            raise BusAway("did not answer a moment ago")
        if not may_wait and self._began and now - min(self._began.values()) > _SUSPICIOUS_S:
            raise BusAway("has not answered for a moment")

    def close(self) -> None:
        """Take the bus for one that answers (tests change it)."""
        with self._lock:
            self._until = 0.0


_breaker = _Breaker()


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    with _breaker.asking(may_wait=True):
        return function(*args, **kwargs)


def _call_for_an_answer(function: Any, *args: Any, **kwargs: Any) -> Any:
    """`_call` where somebody waits for an answer that can do without the bus."""
    with _breaker.asking(may_wait=False):
        return function(*args, **kwargs)


def ask(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of `client()` by a module that keeps something of its own on the bus; raises BusAway."""
    return _call(function, *args, **kwargs)


def wait_for_first(key: str, seconds: float) -> bytes | None:
    """Take the first of a list, and wait for it; None when none came. To wait here is no sign of a bus that is away."""
    _breaker.check()
    try:
        found: Any = client().blpop([key], timeout=seconds)
    except (redis.RedisError, OSError) as error:
        raise BusAway(type(error).__name__) from None
    return found[1] if found else None


def ping() -> None:
    _call(client().ping)


def tell(messages: Sequence[Mapping[str, Any]]) -> None:
    """Tell every process, at most once, that something happened. Silence is no failure: whoever listens also looks."""
    if not messages:
        return
    try:
        # All in one: every web process hears every message, and taking one out of the bus costs more than reading it.
        _call(client().publish, LIVE_CHANNEL, orjson.dumps(messages))
    except BusAway:
        logger.info("bus away: open pages and waiting answers will look at the database")


def push_event(workspace_id: Any, body: Mapping[str, Any]) -> bool:
    """Hand an event to the workspace's ledger writer; true when the writer has not been called since it last looked."""
    pipe = client().pipeline(transaction=False)
    pipe.xadd(_STREAM.format(workspace_id), {b"e": orjson.dumps(body)})
    pipe.set(_NUDGE.format(workspace_id), 1, nx=True, ex=2)
    return bool(_call_for_an_answer(pipe.execute)[1])


class Handover:
    """`push_event` for an event loop. What is handed over while a write is under way goes along with the next one.

    So a busy loop pays for one write where a thread for each answer would pay for as many as there are answers. Each
    caller hears only when the bus has taken its own event. When the bus stays silent, all who wait are told together.
    """

    def __init__(self) -> None:
        self._waiting: list[_Handed] = []
        self._writing: asyncio.Task[None] | None = None
        self._client: redis.asyncio.Redis | None = None

    async def push(self, workspace_id: Any, body: Mapping[str, Any]) -> bool:
        """As `push_event`; raises BusAway."""
        _breaker.check(may_wait=False)
        loop = asyncio.get_running_loop()
        handed = _Handed(workspace_id, orjson.dumps(body), loop.create_future())
        self._waiting.append(handed)
        if self._writing is None:
            self._writing = loop.create_task(self._write())
        return await handed.taken

    async def _write(self) -> None:
        batch: list[_Handed] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._write_batch(batch)
        finally:
            self._writing = None
            # Stopped in the middle: nobody is left waiting for an answer that will not come.
            for handed in (*batch, *self._waiting):
                handed.fail(BusAway("stopped"))

    async def _write_batch(self, batch: Sequence[_Handed]) -> None:
        try:
            with _breaker.asking(may_wait=True):
                # The client counts each of its steps anew; those who wait have this long together.
                async with asyncio.timeout(_PATIENCE_S):
                    uncalled = await self._sent(batch)
        except BusAway as away:
            # What came meanwhile would wait as long, for the same silence.
            waiting, self._waiting = self._waiting, []
            self._fail((*batch, *waiting), str(away))
        except Exception as error:  # whatever it was: they are waited for, and the database can take them
            self._fail(batch, type(error).__name__)
        else:
            for handed in batch:
                handed.succeed(handed.workspace_id in uncalled)
                uncalled.discard(handed.workspace_id)

    async def _sent(self, batch: Sequence[_Handed]) -> set[Any]:
        """Write a batch; returns the workspaces whose writer must be called."""
        pipe = self._connected().pipeline(transaction=False)
        for handed in batch:
            pipe.execute_command("XADD", _STREAM.format(handed.workspace_id), "*", b"e", handed.body)
        workspaces = list({handed.workspace_id: None for handed in batch})
        for workspace_id in workspaces:
            pipe.execute_command("SET", _NUDGE.format(workspace_id), 1, "EX", 2, "NX")
        answers = await pipe.execute()
        return {workspace for workspace, set_ in zip(workspaces, answers[len(batch) :], strict=True) if set_}

    @staticmethod
    def _fail(batch: Sequence[_Handed], reason: str) -> None:
        for handed in batch:
            handed.fail(BusAway(reason))

    def _connected(self) -> redis.asyncio.Redis:
        if self._client is None:
            once_more = LoopRetry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
            self._client = redis.asyncio.Redis.from_url(
                settings.BUS_URL, socket_connect_timeout=_PATIENCE_S, socket_timeout=_PATIENCE_S, retry=once_more
            )
        return self._client

    async def close(self) -> None:
        """Finish what is under way and let go of the connection."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=_PATIENCE_S)
        if self._client is not None:
            await self._client.aclose()
        self._client = None


class _Handed:
    """An event that somebody waits for the bus to take."""

    __slots__ = ("body", "taken", "workspace_id")

    def __init__(self, workspace_id: Any, body: bytes, taken: asyncio.Future[bool]) -> None:
        self.workspace_id, self.body, self.taken = workspace_id, body, taken

    def succeed(self, must_call: bool) -> None:
        if not self.taken.done():  # whoever waited may be gone
            self.taken.set_result(must_call)

    def fail(self, error: BusAway) -> None:
        if not self.taken.done():
            self.taken.set_exception(error)


def nudge(workspace_id: Any) -> bool:
    """Whether the writer should be called now (nobody else has called it in this moment)."""
    return bool(_call_for_an_answer(client().set, _NUDGE.format(workspace_id), 1, nx=True, ex=2))


def clear_nudge(workspace_id: Any) -> None:
    _call(client().delete, _NUDGE.format(workspace_id))


def read_events(workspace_id: Any, count: int) -> list[tuple[bytes, dict[str, Any]]]:
    """The oldest events that wait, with their marks; they stay until `drop_events`."""
    rows = _call(client().xrange, _STREAM.format(workspace_id), count=count)
    return [(mark, orjson.loads(fields[b"e"])) for mark, fields in rows]


def drop_events(workspace_id: Any, marks: Sequence[bytes]) -> None:
    if marks:
        _call(client().xdel, _STREAM.format(workspace_id), *marks)


def claim(work: str, seconds: int) -> bool:
    """Whether a piece of work is ours for a while: nobody else holds it."""
    return bool(_call(client().set, _CLAIM.format(work), 1, nx=True, ex=seconds))


def hold(work: str, seconds: int) -> None:
    """Keep a claim for so long from now on."""
    _call(client().set, _CLAIM.format(work), 1, ex=seconds)


def release(work: str) -> None:
    _call(client().delete, _CLAIM.format(work))


def beat_heart(worker: str) -> None:
    _call(client().set, _HEART.format(worker), 1, ex=HEART_LASTS_S)


def hearts(workers: Sequence[str]) -> dict[str, bool]:
    """Which of these workers have beaten their heart in the last seconds."""
    found = _call(client().mget, [_HEART.format(worker) for worker in workers])
    return {worker: value is not None for worker, value in zip(workers, found, strict=True)}


def forget_hearts(workers: Sequence[str]) -> None:
    """Take workers for silent until they beat again; whoever starts them knows that none lives."""
    _call(client().delete, *(_HEART.format(worker) for worker in workers))


def keep_advice(workspace_id: Any, scope: str, key: str, advice: Mapping[str, Any], seconds: int) -> None:
    """Remember a piece of advice for a while, and under which key its decision's advice lies."""
    pipe = client().pipeline(transaction=False)
    pipe.set(_ADVICE.format(workspace_id, key), orjson.dumps(advice), ex=seconds)
    pipe.set(_ADVISED.format(workspace_id, scope, advice["decision_id"]), key, ex=seconds)
    _call_for_an_answer(pipe.execute)


def find_advice(workspace_id: Any, key: str) -> dict[str, Any] | None:
    found = _call_for_an_answer(client().get, _ADVICE.format(workspace_id, key))
    return None if found is None else dict(orjson.loads(found))


def drop_advice(workspace_id: Any, scope: str, decision_ids: Sequence[str]) -> None:
    """Forget what these decisions of the scope advised."""
    named = [_ADVISED.format(workspace_id, scope, decision_id) for decision_id in decision_ids]
    keys = [key.decode() for key in _call(client().mget, named) if key is not None] if named else []
    if keys:
        _call(client().delete, *(_ADVICE.format(workspace_id, key) for key in keys))


def evaluate(script: str, keys: Sequence[str], arguments: Sequence[int | float | str | bytes] = ()) -> Any:
    """What a Lua script answers that the bus runs as one step, for an answer that can do without the bus."""
    return _call_for_an_answer(_script_of(script), keys=list(keys), args=list(arguments), client=client())


@cache
def _script_of(script: str) -> Any:
    return client().register_script(script)
