"""A session that several processes share: counters, executions and what happened to it, as one value.

Each function takes the session as it is and gives it as it becomes; whoever keeps it swaps the one for the other at once,
or asks again. Times are seconds of a clock that all of them share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from routing.engine.config import RoutingConfig
from routing.engine.loops import Loop, LoopGuard
from routing.engine.session import CLOSED, OPEN, SessionState, admit, circuit_of, settle

SHOWN_EXECUTIONS = 24
KEPT_INCIDENTS = 24
RESETS = ("fallbacks", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """An action that was run; of its arguments a keyed digest alone."""

    tool: str
    arguments: str | None
    result_class: str | None
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Something that an operator wants to know of: `loop_repeat`, `loop_alternation`, `loop_cycle`, `circuit_opened`,
    `circuit_closed`, `reset_fallbacks` or `reset_all`."""

    kind: str
    at: float
    tool: str | None = None  # the action that closed a loop
    period: int | None = None
    by: str | None = None  # who reset


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSession:
    state: SessionState = field(default_factory=SessionState)
    executions: tuple[Execution, ...] = ()
    incidents: tuple[Incident, ...] = ()

    def loop(self, config: RoutingConfig) -> Loop | None:
        """The loop that the latest executions form."""
        return self._guard(config, None).loop

    def _guard(self, config: RoutingConfig, key: bytes | None) -> LoopGuard:
        seen = [(one.tool, one.arguments, one.result_class) for one in self.executions]
        return LoopGuard.from_state(seen, config.max_same_action_repeats, key=key)

    def _with_incident(self, incident: Incident) -> SharedSession:
        return replace(self, incidents=(*self.incidents, incident)[-KEPT_INCIDENTS:])

    def to_dict(self) -> dict[str, Any]:
        return {
            "state": self.state.to_dict(),
            "executions": [asdict(one) for one in self.executions],
            "incidents": [asdict(one) for one in self.incidents],
        }

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> SharedSession:
        """What `to_dict` gave."""
        return cls(
            state=SessionState.of(given["state"]),
            executions=tuple(Execution(**one) for one in given["executions"]),
            incidents=tuple(Incident(**one) for one in given["incidents"]),
        )


def admit_route(session: SharedSession, config: RoutingConfig, now: float) -> tuple[SharedSession, str | None]:
    """The session with one step more; or as it was, with the reason why it refuses the route."""
    state, refusal = admit(session.state, config, now)
    return (session if refusal else replace(session, state=state)), refusal


def settle_route(session: SharedSession, config: RoutingConfig, now: float, fallback: bool | None) -> SharedSession:
    """The session after a route that it admitted; `fallback` None for one that ended in an error."""
    before, after = session.state, settle(session.state, config, now, fallback=fallback)
    settled = replace(session, state=after)
    if circuit_of(after, config, now) == OPEN and (fallback or circuit_of(before, config, now) == CLOSED):
        return settled._with_incident(Incident(kind="circuit_opened", at=now))
    if fallback is False and circuit_of(before, config, now) != CLOSED:
        return settled._with_incident(Incident(kind="circuit_closed", at=now))
    return settled


def record_execution(
    session: SharedSession,
    config: RoutingConfig,
    now: float,
    *,
    tool: str,
    arguments: Mapping[str, Any] | None,
    result_class: str | None,
    key: bytes,
) -> tuple[SharedSession, Loop | None]:
    """The session with one execution more, and the loop that it closes or goes on with."""
    guard = session._guard(config, key)
    before, loop = guard.loop, guard.observe(tool, arguments, result_class)
    kept = guard.to_state()
    digest = kept[-1][1]
    newest = Execution(tool=tool, arguments=digest, result_class=result_class, at=now)
    executions = (*session.executions, newest)[-len(kept) :]
    changed = replace(session, executions=executions)
    if loop is not None and loop != before:
        changed = changed._with_incident(Incident(kind=f"loop_{loop.kind}", at=now, tool=tool, period=loop.period))
    return changed, loop


def reset(session: SharedSession, now: float, *, what: str, by: str) -> SharedSession:
    """Close the circuit (`fallbacks`); or forget steps and executions too (`all`). Who did it is kept."""
    incident = Incident(kind=f"reset_{what}", at=now, by=by)
    if what == "all":
        return SharedSession(incidents=session.incidents)._with_incident(incident)
    return replace(session, state=SessionState(steps=session.state.steps))._with_incident(incident)


def describe(session: SharedSession, config: RoutingConfig, now: float) -> dict[str, Any]:
    """What of a session is told to those who may ask for it; times are as they were given."""
    shown: Sequence[Execution] = session.executions[-SHOWN_EXECUTIONS:]
    return {
        "steps": session.state.steps,
        "max_route_steps": config.max_route_steps,
        "consecutive_fallbacks": session.state.consecutive_fallbacks,
        "max_consecutive_fallbacks": config.max_consecutive_fallbacks,
        "circuit": circuit_of(session.state, config, now),
        "loop": session.loop(config) is not None,
        "executions": [{"tool": one.tool, "result_class": one.result_class, "at": one.at} for one in shown],
    }
