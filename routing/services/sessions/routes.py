"""What a session says about a route, and what the route counts for: once for each decision, whichever worker makes it.

A worker asks before it decides and tells afterwards; both may be repeated by the next worker when the first one died.
Both raise BusAway (or Contended) where the session cannot be reached: then the decision is made later.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from routing.bus import BusAway
from routing.engine.shared_session import SharedSession, admit_route, settle_route
from routing.errors import NotFound
from routing.models import Decision
from routing.services.sessions import store
from routing.services.sessions.sessions import find
from routing.services.sessions.store import Session
from routing.services.sessions.telling import describe, limits

if TYPE_CHECKING:
    from routing.services.decisions.caller import Caller

ADMITTED, SETTLED = "admitted", "settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Whether a session lets a route pass (`refusal` is why not), the session object then, and what the ledger is to know
    of it as reason codes."""

    session: dict[str, Any]
    refusal: str | None = None
    reason_codes: tuple[str, ...] = ()


def policy_for(caller: Caller, session_id: str | None, wanted: str | None) -> str | None:
    """The policy to route by: the one asked for, else the session's. NotFound for a session of somebody else."""
    if session_id is None:
        return wanted
    session = find(caller, session_id)
    scope = caller.live().catalog.scopes[caller.scope]
    still = session.policy == scope.policy or session.policy in (scope.policies or ())
    return wanted or (session.policy if still else None)


def admit(row: Decision) -> Admission | None:
    """Ask the session of a decision; None for a decision without one. A refused route costs no step.

    Raises NotFound when the session has ended since the request was accepted.
    """
    if row.session_id is None:
        return None
    refusal: str | None = None

    def become(session: Session, counted: str) -> tuple[SharedSession, str | None]:
        nonlocal refusal
        refusal = None
        if counted:
            return session.shared, None
        shared, refusal = admit_route(session.shared, limits(session), time.time())
        return shared, None if refusal else ADMITTED

    session = store.count(row.workspace_id, row.session_id, str(row.pk), become)
    if session is None:
        raise NotFound("The session has ended.")
    config = limits(session)
    loop = session.shared.loop(config)
    codes = (f"loop_{loop.kind}",) if loop else ()
    return Admission(session=describe(session, config), refusal=refusal, reason_codes=codes)


def settle(row: Decision, admission: Admission | None, *, fallback: bool) -> Admission | None:
    """Tell the session what came of a route that it admitted; returns it as it is afterwards."""
    if admission is None or admission.refusal:
        return admission
    session = _settle(row, fallback)
    if session is None:  # its time was over meanwhile
        return admission
    told = describe(session)
    return Admission(session=told, reason_codes=(*admission.reason_codes, *_turn(admission.session, told)))


def settle_failed(row: Decision) -> None:
    """Tell the session that a route ended in an error: its step is spent, and no fallback is counted.

    Where the session cannot be reached nothing is lost: a probe that is not answered ends by itself.
    """
    with contextlib.suppress(BusAway, store.Contended, NotFound):
        _settle(row, None)


def _settle(row: Decision, fallback: bool | None) -> Session | None:
    def become(session: Session, counted: str) -> tuple[SharedSession, str | None]:
        if counted != ADMITTED:
            return session.shared, None
        return settle_route(session.shared, limits(session), time.time(), fallback), SETTLED

    if row.session_id is None:
        return None
    return store.count(row.workspace_id, row.session_id, str(row.pk), become)


def _turn(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    """Whether the circuit opened or closed over this route."""
    if after["circuit"] == "open" and after["consecutive_fallbacks"] > before["consecutive_fallbacks"]:
        return ("circuit_opened",)
    return ("circuit_closed",) if before["circuit"] != "closed" and after["circuit"] == "closed" else ()
