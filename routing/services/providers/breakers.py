"""The circuit breaker of a provider account, shared by all processes through the bus.

Closed: calls pass, and failures in a row are counted. Open: nobody calls for `breaker_open_s`. Half-open: one call
probes; an answer closes the circuit, a failure opens it again, and a probe that is never heard of again gives its place up
after its time. While the bus is away each process keeps a breaker of its own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from routing import bus

logger = logging.getLogger(__name__)
_KEY = "switchyard:breaker:{}:{}"
_KEPT_MS = 24 * 3600 * 1000

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half_open"

# Hash: failures in a row, until when it is open, until when a probe has its place, the class of the last failure.
_NOW = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) "
_ADMIT = (
    _NOW
    + """
local h = redis.call('HMGET', KEYS[1], 'failures', 'open_until', 'probe_until')
local open_until = tonumber(h[2] or 0)
if open_until == 0 then return {'closed', tonumber(h[1] or 0)} end
if now < open_until then return {'open', open_until - now} end
local probe_until = tonumber(h[3] or 0)
if now < probe_until then return {'open', probe_until - now} end
redis.call('HSET', KEYS[1], 'probe_until', now + ARGV[1])
return {'half_open', 0}
"""
)
_FAILED = (
    _NOW
    + """
local open_until = tonumber(redis.call('HGET', KEYS[1], 'open_until') or 0)
if open_until > 0 and ARGV[3] == '0' then return 0 end
local failures = redis.call('HINCRBY', KEYS[1], 'failures', 1)
redis.call('HSET', KEYS[1], 'kind', ARGV[4])
if ARGV[3] == '1' or failures >= tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'open_until', now + ARGV[2], 'probe_until', 0)
end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
"""
)
_WORKED = """
local open_until = tonumber(redis.call('HGET', KEYS[1], 'open_until') or 0)
if open_until == 0 or ARGV[1] == '1' then redis.call('DEL', KEYS[1]) end
return 1
"""
_LET_GO = """
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'probe_until', 0) end
return 1
"""
_STATE = (
    _NOW
    + """
local h = redis.call('HMGET', KEYS[1], 'failures', 'open_until', 'kind')
return {tonumber(h[1] or 0), tonumber(h[2] or 0), h[3] or '', now}
"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Whether a call may be made: `state` closed or half_open (it is the probe), or open for `wait_s` more."""

    state: str
    failures: int = 0
    wait_s: float = 0.0

    @property
    def passes(self) -> bool:
        return self.state != OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a breaker stands; `is_shared` is false where the bus is away and only this process is known."""

    state: str
    failures: int
    wait_s: float = 0.0
    kind: str = ""  # class of the last failure
    is_shared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """The breaker of one account. `probe_s` is how long a probe may take before another one may be made."""

    workspace_id: Any
    provider: str
    failures: int
    open_s: float
    probe_s: float

    def admit(self) -> Admission:
        try:
            word, number = bus.evaluate(_ADMIT, [self._key], [_ms(self.probe_s)])
        except bus.BusAway:
            return _own.admit(self)
        state = word.decode()
        return Admission(
            state=state,
            failures=number if state == CLOSED else 0,
            wait_s=number / 1000 if state == OPEN else 0.0,
        )

    def failed(self, admission: Admission, kind: str) -> None:
        probe = int(admission.state == HALF_OPEN)
        arguments = [self.failures, _ms(self.open_s), probe, kind, _KEPT_MS]
        self._tell(_FAILED, arguments, lambda: _own.failed(self, probe=bool(probe), kind=kind))

    def worked(self, admission: Admission) -> None:
        if admission.state == HALF_OPEN or admission.failures:
            probe = admission.state == HALF_OPEN
            self._tell(_WORKED, [int(probe)], lambda: _own.worked(self, probe=probe))

    def let_go(self, admission: Admission) -> None:
        """Neither an answer nor a failure came of it; the probe's place is free again."""
        if admission.state == HALF_OPEN:
            self._tell(_LET_GO, [], lambda: _own.let_go(self))

    def reset(self) -> None:
        """Close it. Raises BusAway where only this process hears of it."""
        _own.forget(self)
        bus.evaluate("return redis.call('DEL', KEYS[1])", [self._key])

    def standing(self) -> Standing:
        try:
            failures, until, kind, now = bus.evaluate(_STATE, [self._key])
        except bus.BusAway:
            return _own.standing(self)
        state = CLOSED if not until else OPEN if now < until else HALF_OPEN
        return Standing(state=state, failures=failures, wait_s=max(0, until - now) / 1000, kind=kind.decode())

    def _tell(self, script: str, arguments: list[Any], here: Callable[[], None]) -> None:
        try:
            bus.evaluate(script, [self._key], arguments)
        except bus.BusAway:
            here()

    @property
    def _key(self) -> str:
        return _KEY.format(self.workspace_id, self.provider)


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


class _Own:
    """The breakers of this process alone, by the same rules."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[Any, str], _Kept] = {}

    def admit(self, breaker: Breaker) -> Admission:
        now = time.monotonic()
        with self._lock:
            kept = self._of(breaker)
            if not kept.open_until:
                return Admission(state=CLOSED, failures=kept.failures)
            if now < (until := max(kept.open_until, kept.probe_until)):
                return Admission(state=OPEN, wait_s=until - now)
            kept.probe_until = now + breaker.probe_s
            return Admission(state=HALF_OPEN)

    def failed(self, breaker: Breaker, *, probe: bool, kind: str) -> None:
        with self._lock:
            kept = self._of(breaker)
            if kept.open_until and not probe:
                return
            kept.failures, kept.kind = kept.failures + 1, kind
            if probe or kept.failures >= breaker.failures:
                kept.open_until, kept.probe_until = time.monotonic() + breaker.open_s, 0.0

    def worked(self, breaker: Breaker, *, probe: bool) -> None:
        with self._lock:
            if probe or not self._of(breaker).open_until:
                self._kept.pop((breaker.workspace_id, breaker.provider), None)

    def let_go(self, breaker: Breaker) -> None:
        with self._lock:
            self._of(breaker).probe_until = 0.0

    def forget(self, breaker: Breaker) -> None:
        with self._lock:
            self._kept.pop((breaker.workspace_id, breaker.provider), None)

    def standing(self, breaker: Breaker) -> Standing:
        with self._lock:
            kept, now = self._of(breaker), time.monotonic()
        state = CLOSED if not kept.open_until else OPEN if now < kept.open_until else HALF_OPEN
        wait_s = max(0.0, kept.open_until - now)
        return Standing(state=state, failures=kept.failures, wait_s=wait_s, kind=kept.kind, is_shared=False)

    def _of(self, breaker: Breaker) -> _Kept:
        return self._kept.setdefault((breaker.workspace_id, breaker.provider), _Kept())


@dataclass(slots=True)
class _Kept:
    failures: int = 0
    open_until: float = 0.0
    probe_until: float = 0.0
    kind: str = ""


_own = _Own()
