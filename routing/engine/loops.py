"""Loops: the same actions again and again, without progress. A report, never a refusal: whoever asks decides what follows."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Fingerprint = tuple[str, str | None, str | None]  # tool, digest of its arguments, class of its result

CYCLE_SEEN = 3  # how often a cycle must have been gone through before it counts as one
SHORTEST_RING = 4  # an alternation is seen in four actions


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """`repeat` (period 1), `alternation` (period 2) or `cycle`."""

    kind: str
    period: int


class LoopGuard:
    """Remembers a session's latest actions by their fingerprints; arguments are kept as digests alone.

    A loop is one of: the same action more than `max_same_action_repeats` times in a row; x y x y; a cycle of three or
    more actions gone through three times. Equal actions are a repeat and nothing else, however often they come.
    `ring` is how many actions are remembered, so the longest cycle that is seen is a third of it. With `key`, digests
    are keyed, so that arguments cannot be guessed from a stored state.

    Raises ValueError for bounds that could see no loop. Not safe to share between threads.
    """

    def __init__(self, max_same_action_repeats: int = 2, *, ring: int = 24, key: bytes | None = None) -> None:
        if not _is_count(max_same_action_repeats) or max_same_action_repeats < 1:
            raise ValueError("max_same_action_repeats must be a whole number, 1 or more")
        if not _is_count(ring) or ring < SHORTEST_RING:
            raise ValueError(f"ring must be a whole number, {SHORTEST_RING} or more")
        self._repeats = max_same_action_repeats
        self._longest = ring // CYCLE_SEEN
        self._key = key
        # A row of equal actions must fit, whatever the ring for cycles is.
        self._ring: deque[Fingerprint] = deque(maxlen=max(ring, max_same_action_repeats + 1))

    def record(self, tool: str, arguments: Mapping[str, Any] | None = None, result_class: str | None = None) -> bool:
        """Whether this action closes a loop. Absent arguments differ from empty ones; the order of keys means nothing."""
        return self.observe(tool, arguments, result_class) is not None

    def observe(
        self, tool: str, arguments: Mapping[str, Any] | None = None, result_class: str | None = None
    ) -> Loop | None:
        """As `record`, but says which loop."""
        self._ring.append((tool, self._digest(arguments), result_class))
        return self.loop

    @property
    def loop(self) -> Loop | None:
        """The loop that the latest actions form, the shortest of several."""
        seen = list(self._ring)
        row = next((place for place, one in enumerate(reversed(seen)) if one != seen[-1]), len(seen))
        if row > self._repeats:
            return Loop(kind="repeat", period=1)
        if _recurs(seen, 2, 2):
            return Loop(kind="alternation", period=2)
        for period in range(3, self._longest + 1):
            if _recurs(seen, period, CYCLE_SEEN):
                return Loop(kind="cycle", period=period)
        return None

    def clear(self) -> None:
        self._ring.clear()

    def to_state(self) -> list[list[str | None]]:
        """The remembered fingerprints, oldest first, as JSON takes them."""
        return [list(one) for one in self._ring]

    @classmethod
    def from_state(
        cls,
        state: Sequence[Sequence[str | None]],
        max_same_action_repeats: int = 2,
        *,
        ring: int = 24,
        key: bytes | None = None,
    ) -> LoopGuard:
        """Raises ValueError for what `to_state` cannot have given."""
        guard = cls(max_same_action_repeats, ring=ring, key=key)
        if isinstance(state, str) or not isinstance(state, Sequence):
            raise ValueError("remembered actions are a list")
        for one in state:
            if isinstance(one, str) or not isinstance(one, Sequence) or len(one) != 3:
                raise ValueError("a remembered action is a tool, a digest and a result class")
            tool, digest, result_class = one
            if not isinstance(tool, str) or not all(isinstance(part, str | None) for part in (digest, result_class)):
                raise ValueError("a remembered action is a tool, a digest and a result class")
            guard._ring.append((tool, digest, result_class))
        return guard

    def _digest(self, arguments: Mapping[str, Any] | None) -> str | None:
        if arguments is None:
            return None
        text = json.dumps(_named(arguments), sort_keys=True, separators=(",", ":"), default=str).encode()
        return hashlib.sha256(text).hexdigest() if self._key is None else hmac.digest(self._key, text, "sha256").hex()


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _named(value: Any) -> Any:
    """The same with every key as text, as JSON writes it: keys of several kinds have no order."""
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else json.dumps(key, default=str): _named(one) for key, one in value.items()
        }
    return [_named(one) for one in value] if isinstance(value, list | tuple) else value


def _recurs(seen: Sequence[Fingerprint], period: int, times: int) -> bool:
    """Whether the newest actions are one round of `period` actions, not all equal, gone through `times` times."""
    newest = seen[-period * times :]
    if len(newest) < period * times or len(set(newest)) < 2:
        return False
    return all(one == other for one, other in zip(newest, newest[period:], strict=False))
