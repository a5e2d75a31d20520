"""Sessions on the bus: one value each, swapped as a whole when nobody else was faster, gone when its time is over.

Beside it lies, for as long, what each decision of the session has counted for, so that one that is made again after a
worker's death counts once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import orjson

from routing import bus
from routing.engine.shared_session import SharedSession

_SESSION = "switchyard:session:{}:{}"
_ROUTES = "switchyard:session:{}:{}:routes"
_NEWEST = "switchyard:sessions:{}"
LONGEST_S = 604_800
PATIENCE_S = 2.0  # for a session that many change at once
LIST_MOST = 10_000  # sessions that are looked through for a page

# What was read is swapped for what it became, unless it has changed since; a decision's count goes along with it.
_SWAP = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] ~= '' then
    if (redis.call('HGET', KEYS[2], ARGV[3]) or '') ~= ARGV[4] then return 0 end
    redis.call('HSET', KEYS[2], ARGV[3], ARGV[5])
    redis.call('PEXPIREAT', KEYS[2], ARGV[6])
end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1
"""


class Contended(Exception):
    """Others changed the session again and again in the time there was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A kept session; times are seconds since 1970."""

    id: str
    workspace_id: str
    scope: str
    harness: str
    policy: str
    created_at: float
    expires_at: float
    shared: SharedSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What a decision has counted for in its session: nothing yet (""), `admitted`, or `settled`."""

    decision_id: str
    state: str


def keep(session: Session) -> None:
    """Begin a session. Raises BusAway; then there is none."""
    key = _SESSION.format(session.workspace_id, session.id)
    listed = _NEWEST.format(session.workspace_id)
    pipe = bus.client().pipeline(transaction=True)
    pipe.set(key, _written(session), pxat=_milliseconds(session.expires_at))
    pipe.zadd(listed, {session.id: session.created_at})
    pipe.zremrangebyscore(listed, "-inf", session.created_at - LONGEST_S)
    bus.ask(pipe.execute)


def load(workspace_id: Any, session_id: str) -> Session | None:
    found = bus.ask(bus.client().get, _SESSION.format(workspace_id, session_id))
    return None if found is None else _read(found)


def newest(workspace_id: Any, limit: int) -> list[Session]:
    """The sessions of a workspace that began last, the newest first."""
    listed = _NEWEST.format(workspace_id)
    ids = [one.decode() for one in bus.ask(bus.client().zrevrange, listed, 0, LIST_MOST - 1)]
    found: list[Session] = []
    for start in range(0, len(ids), 200):
        some = ids[start : start + 200]
        values = bus.ask(bus.client().mget, [_SESSION.format(workspace_id, one) for one in some])
        found += [_read(value) for value in values if value is not None]
        if ended := [one for one, value in zip(some, values, strict=True) if value is None]:
            bus.ask(bus.client().zrem, listed, *ended)
        if len(found) >= limit:
            break
    return found[:limit]


def change(workspace_id: Any, session_id: str, become: Callable[[Session], SharedSession]) -> Session | None:
    """Swap a session for what `become` makes of it, at once; None when there is no such session.

    `become` may be called several times. Raises BusAway, and Contended after PATIENCE_S.
    """
    return _swap(workspace_id, session_id, None, lambda session, _: (become(session), None))


def count(
    workspace_id: Any,
    session_id: str,
    decision_id: str,
    become: Callable[[Session, str], tuple[SharedSession, str | None]],
) -> Session | None:
    """As `change` for what a decision counts for: `become` is given its count's state so far and gives the next one, or
    None where nothing changes."""
    return _swap(workspace_id, session_id, decision_id, become)


def _swap(
    workspace_id: Any,
    session_id: str,
    decision_id: str | None,
    become: Callable[[Session, str], tuple[SharedSession, str | None]],
) -> Session | None:
    keys = [_SESSION.format(workspace_id, session_id), _ROUTES.format(workspace_id, session_id)]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        pipe = bus.client().pipeline(transaction=True)
        pipe.get(keys[0])
        pipe.hget(keys[1], decision_id or "")
        found, counted = bus.ask(pipe.execute)
        if found is None:
            return None
        before, state = _read(found), (counted or b"").decode()
        shared, following = become(before, state)
        if decision_id is not None and following is None:
            return before
        after = replace(before, shared=shared)
        expires = _milliseconds(before.expires_at)
        arguments = [found, _written(after), decision_id or "", state, following or "", expires]
        if bus.ask(bus.client().eval, _SWAP, len(keys), *keys, *arguments):
            return after
        if time.monotonic() > deadline:
            raise Contended
        # Whoever lost comes back at a time of their own.
        time.sleep(random.uniform(0, 0.004))


def _written(session: Session) -> bytes:
    said = {name: getattr(session, name) for name in Session.__slots__ if name != "shared"}
    return orjson.dumps({**said, "shared": session.shared.to_dict()})


def _read(value: bytes) -> Session:
    said = orjson.loads(value)
    return Session(**{**said, "shared": SharedSession.of(said["shared"])})


def _milliseconds(moment: float) -> int:
    return int(moment * 1000)
