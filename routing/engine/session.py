"""Sessions: how many steps a harness may ask for, and when asking is pointless because nothing fits any more.

`SessionState` with `admit` and `settle` are values and functions over them, for whoever keeps sessions elsewhere;
`RoutingSession` holds one for a harness that routes in its own process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Protocol

from routing.engine.config import RoutingConfig
from routing.engine.loops import LoopGuard
from routing.engine.models import HarnessState, RouteDecision, ToolDescriptor

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half_open"


class Router(Protocol):
    """What a session asks, usually a `JevToolRouter`."""

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """Counters of a session; times are seconds of whichever clock the session goes by."""

    steps: int = 0
    consecutive_fallbacks: int = 0
    opened_at: float | None = None  # when the circuit opened
    probe_at: float | None = None  # when the one route was let through that is to close it

    def to_dict(self) -> dict[str, int | float | None]:
        return asdict(self)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> SessionState:
        """Raises ValueError for what `to_dict` cannot have given; other keys are left aside."""
        if not isinstance(given, Mapping):
            raise ValueError("a session's state is a mapping")
        state = cls(**{spec.name: given[spec.name] for spec in fields(cls) if spec.name in given})
        counters = (state.steps, state.consecutive_fallbacks)
        times = (state.opened_at, state.probe_at)
        if not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in counters):
            raise ValueError("a session's counters are whole numbers of 0 or more")
        if not all(one is None or _is_time(one) for one in times):
            raise ValueError("a session's times are finite numbers")
        return state


def circuit_of(state: SessionState, config: RoutingConfig, now: float) -> str:
    """closed, open, or half_open: one route may try whether something fits again."""
    if state.consecutive_fallbacks < config.max_consecutive_fallbacks:
        return CLOSED
    pause = config.circuit_half_open_seconds
    if pause <= 0 or state.opened_at is None or now - state.opened_at < pause:
        return OPEN
    # A probe whose answer never comes must not hold the circuit open for good.
    awaited = state.probe_at is not None and now - state.probe_at < pause
    return OPEN if awaited else HALF_OPEN


def admit(state: SessionState, config: RoutingConfig, now: float) -> tuple[SessionState, str | None]:
    """The session with one step more, or unchanged with the reason why it refuses: `max_route_steps` or
    `fallback_circuit_open`. What is admitted is to be settled."""
    if state.steps >= config.max_route_steps:
        return state, "max_route_steps"
    circuit = circuit_of(state, config, now)
    if circuit == OPEN:
        return state, "fallback_circuit_open"
    probe = now if circuit == HALF_OPEN else state.probe_at
    return replace(state, steps=state.steps + 1, probe_at=probe), None


def settle(state: SessionState, config: RoutingConfig, now: float, *, fallback: bool | None) -> SessionState:
    """The session after an admitted route: a selection closes the circuit, a fallback counts, and None (no answer but an
    error) counts as neither; a circuit that was half open waits again after both of these."""
    if fallback is False:
        return replace(state, consecutive_fallbacks=0, opened_at=None, probe_at=None)
    count = state.consecutive_fallbacks + (1 if fallback else 0)
    opened = count >= config.max_consecutive_fallbacks
    return replace(state, consecutive_fallbacks=count, opened_at=now if opened else None, probe_at=None)


class RoutingSession:
    """A router for one session: bounded in steps, and silent after too many fallbacks in a row.

    `config` is the session's own and defaults to `RoutingConfig()`, not to the router's. An open circuit stays open until
    `reset_fallbacks`, unless `circuit_half_open_seconds` lets one route pass from time to time. A session that moves
    between processes needs a `clock` that they share, such as `time.time`.

    Routes of one session may overlap. Not safe to share between threads.
    """

    def __init__(
        self, router: Router, config: RoutingConfig | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._router = router
        self._config = config or RoutingConfig()
        self._clock = clock
        self._state = SessionState()
        self._guard = LoopGuard(self._config.max_same_action_repeats)

    @property
    def steps(self) -> int:
        return self._state.steps

    @property
    def consecutive_fallbacks(self) -> int:
        return self._state.consecutive_fallbacks

    @property
    def circuit(self) -> str:
        """closed, open or half_open."""
        return circuit_of(self._state, self._config, self._clock())

    @property
    def loops(self) -> LoopGuard:
        return self._guard

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        """The router's decision; or, without asking it and at the cost of no step, the fallback `max_route_steps` or
        `fallback_circuit_open`. Raises what the router raises: the step is spent then, the count of fallbacks as it was.
        """
        self._state, refusal = admit(self._state, self._config, self._clock())
        if refusal is not None:
            return RouteDecision(fallback=True, fallback_reason=refusal, source="session")
        fallback: bool | None = None
        try:
            decision = await self._router.route(state, tools)
            fallback = decision.fallback
            return decision
        finally:
            self._state = settle(self._state, self._config, self._clock(), fallback=fallback)

    def record_execution(
        self, tool: str, arguments: Mapping[str, Any] | None = None, result_class: str | None = None
    ) -> bool:
        """Tell what was run. Whether it closes a loop; the session refuses nothing because of one."""
        return self._guard.record(tool, arguments, result_class)

    def reset_fallbacks(self) -> None:
        """Close the circuit. Steps stay spent."""
        self._state = SessionState(steps=self._state.steps)

    def to_state(self) -> dict[str, Any]:
        """The whole session as JSON takes it."""
        return {**self._state.to_dict(), "executions": self._guard.to_state()}

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        router: Router,
        config: RoutingConfig | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> RoutingSession:
        """Go on where `to_state` was taken. Raises ValueError for what it cannot have given."""
        session = cls(router, config, clock=clock)
        session._state = SessionState.of(state)
        executions = state.get("executions", ())
        session._guard = LoopGuard.from_state(executions, session._config.max_same_action_repeats)
        return session


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
