"""The bus: one small client of Redis (or Valkey), shared by services and tasks.

What passes here is ids, names and numbers; the text of a request never does. Every call may find the bus away and says
so by `BusAway`; callers decide whether that matters.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson
import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

logger = logging.getLogger(__name__)

LIVE_CHANNEL = "switchyard:live"
_STREAM = "switchyard:ledger:{}"
_NUDGE = "switchyard:nudge:{}"
_HEART = "switchyard:heart:{}"
_ADVICE = "switchyard:advice:{}:{}"
_ADVISED = "switchyard:advised:{}:{}:{}"
HEART_LASTS_S = 6

# A bus that hangs costs this much once; then it is taken to be away for a while, so that answers do not wait for it.
_PATIENCE_S = 1.5
_PAUSE_S = 3.0


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


class _Silence:
    """Until when a bus that did not answer is left alone."""

    until = 0.0


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    if time.monotonic() < _Silence.until:
        raise BusAway("did not answer a moment ago")
    try:
        return function(*args, **kwargs)
    except redis.TimeoutError:
        _Silence.until = time.monotonic() + _PAUSE_S
        raise BusAway("TimeoutError") from None
    except (redis.RedisError, OSError) as error:
        raise BusAway(type(error).__name__) from None


def ping() -> None:
    _call(client().ping)


def tell(messages: Sequence[Mapping[str, Any]]) -> None:
    """Tell every process, at most once, that something happened. Silence is no failure: whoever listens also looks."""
    if not messages:
        return
    pipe = client().pipeline(transaction=False)
    for message in messages:
        pipe.publish(LIVE_CHANNEL, orjson.dumps(message))
    try:
        _call(pipe.execute)
    except BusAway:
        logger.info("bus away: open pages and waiting answers will look at the database")


def push_event(workspace_id: Any, body: Mapping[str, Any]) -> bool:
    """Hand an event to the workspace's ledger writer; true when the writer has not been called since it last looked."""
    pipe = client().pipeline(transaction=False)
    pipe.xadd(_STREAM.format(workspace_id), {b"e": orjson.dumps(body)})
    pipe.set(_NUDGE.format(workspace_id), 1, nx=True, ex=2)
    return bool(_call(pipe.execute)[1])


def nudge(workspace_id: Any) -> bool:
    """Whether the writer should be called now (nobody else has called it in this moment)."""
    return bool(_call(client().set, _NUDGE.format(workspace_id), 1, nx=True, ex=2))


def clear_nudge(workspace_id: Any) -> None:
    _call(client().delete, _NUDGE.format(workspace_id))


def read_events(workspace_id: Any, count: int) -> list[tuple[bytes, dict[str, Any]]]:
    """The oldest events that wait, with their marks; they stay until `drop_events`."""
    rows = _call(client().xrange, _STREAM.format(workspace_id), count=count)
    return [(mark, orjson.loads(fields[b"e"])) for mark, fields in rows]


def drop_events(workspace_id: Any, marks: Sequence[bytes]) -> None:
    if marks:
        _call(client().xdel, _STREAM.format(workspace_id), *marks)


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
    _call(pipe.execute)


def find_advice(workspace_id: Any, key: str) -> dict[str, Any] | None:
    found = _call(client().get, _ADVICE.format(workspace_id, key))
    return None if found is None else dict(orjson.loads(found))


def drop_advice(workspace_id: Any, scope: str, decision_ids: Sequence[str]) -> None:
    """Forget what these decisions of the scope advised."""
    named = [_ADVISED.format(workspace_id, scope, decision_id) for decision_id in decision_ids]
    keys = [key.decode() for key in _call(client().mget, named) if key is not None] if named else []
    if keys:
        _call(client().delete, *(_ADVICE.format(workspace_id, key) for key in keys))
