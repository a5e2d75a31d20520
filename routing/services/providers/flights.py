"""Equal requests of several processes become one: the first asks, the others wait for what it is told.

The bus holds a keyed digest of the request, and afterwards the answer (labels, numbers and a version) for a moment; no text
of a request. Whoever asks renews its lease while it waits; when it dies, the lease ends within seconds and one of those who
wait asks in its place. While the bus is away every process asks for itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import orjson

from routing import bus
from routing.engine.errors import InvalidProviderResponse, ProviderError, ProviderTimeoutError
from routing.engine.models import ChoiceDecision

LEASE_MS = 3000
RENEW_S = 1.0
LINGERS_MS = 2000  # how long an answer is there for those who wait, and for those who come a moment later
_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.01, 0.06
_LEASE = "switchyard:flight:{}"
_ANSWER = "switchyard:flown:{}"

# What may be taken of what is there already: nothing, a choice, or a failure too (by those who have waited for it).
_NOTHING, _CHOICES, _ALL = "nothing", "choices", "all"
_BEGIN = """
if ARGV[3] ~= 'nothing' then
  local kept = redis.call('GET', KEYS[2])
  if kept and (ARGV[3] == 'all' or string.find(kept, '{"choice"', 1, true) == 1) then return kept end
end
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  redis.call('DEL', KEYS[2])
  return 'lead'
end
return 'wait'
"""
_RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
_END = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
if ARGV[2] ~= '' then redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3]) end
return 1
"""

Ask = Callable[[], Awaitable[ChoiceDecision]]


async def shared(digest: str, ask: Ask, *, takes_recent: bool, patience_s: float) -> ChoiceDecision:
    """The choice that `ask` makes, here or in another process; one that another process asked for says 0 requests.

    `takes_recent`: a choice of a moment ago will do. Raises what `ask` raises, also where another process asked: then in
    words of our own. Raises ProviderTimeoutError when another's answer does not come within `patience_s`.
    """
    keys, token = [_LEASE.format(digest), _ANSWER.format(digest)], uuid4().hex
    try:
        found = await _begin(keys, token, _CHOICES if takes_recent else _NOTHING)
    except bus.BusAway:
        return await ask()
    deadline = asyncio.get_running_loop().time() + patience_s
    look = _FIRST_LOOK_S
    while found == b"wait":
        if asyncio.get_running_loop().time() + look >= deadline:
            raise ProviderTimeoutError("an equal request was not answered in time", kind="timeout")
        await asyncio.sleep(look)
        look = min(look * 1.5, _LONGEST_LOOK_S)
        try:
            found = await _begin(keys, token, _ALL)
        except bus.BusAway:
            return await ask()
    return await _lead(keys, token, ask) if found == b"lead" else _told(found)


async def _begin(keys: list[str], token: str, takes: str) -> bytes:
    return bytes(await asyncio.to_thread(bus.evaluate, _BEGIN, keys, [token, LEASE_MS, takes]))


async def _lead(keys: list[str], token: str, ask: Ask) -> ChoiceDecision:
    renewing = asyncio.ensure_future(_renew(keys, token))
    said = b""
    try:
        choice = await ask()
        said = _spoken(choice)
        return choice
    except (ProviderError, InvalidProviderResponse) as problem:
        said = orjson.dumps(_problem(problem))
        raise
    finally:
        renewing.cancel()
        with contextlib.suppress(bus.BusAway):
            await asyncio.shield(asyncio.to_thread(bus.evaluate, _END, keys, [token, said, LINGERS_MS]))


async def _renew(keys: list[str], token: str) -> None:
    while True:
        await asyncio.sleep(RENEW_S)
        with contextlib.suppress(bus.BusAway):
            await asyncio.to_thread(bus.evaluate, _RENEW, keys[:1], [token, LEASE_MS])


def _spoken(choice: ChoiceDecision) -> bytes:
    told = {
        "choice": choice.choice,
        "probabilities": dict(choice.probabilities),
        "confidence": choice.confidence,
        "confidence_source": choice.confidence_source,
        "model": choice.model,
    }
    return orjson.dumps(told)


def _problem(problem: ProviderError | InvalidProviderResponse) -> dict[str, Any]:
    """The class of a failure; its words may quote what the provider said, and stay here."""
    if isinstance(problem, InvalidProviderResponse):
        return {"failed": "answer"}
    return {"failed": problem.kind, "status": problem.status, "retry_after_s": problem.retry_after_s}


def _told(said: bytes) -> ChoiceDecision:
    told = orjson.loads(said)
    if "failed" not in told:
        return replace(ChoiceDecision(**told), requests=0)
    if told["failed"] == "answer":
        raise InvalidProviderResponse("an equal request was answered with what is no decision")
    kind, status = told["failed"], told["status"]
    error = ProviderTimeoutError if kind == "timeout" else ProviderError
    words = f"an equal request failed ({kind or 'unknown'}{f', status {status}' if status else ''})"
    raise error(words, kind=kind, status=status, retry_after_s=told["retry_after_s"])
