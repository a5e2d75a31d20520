"""Begin a session, ask for it, tell it what was run, reset it. Whoever may not see a session finds none."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import transaction
from uuid_utils.compat import uuid7

from routing.bus import BusAway
from routing.engine import shared_session
from routing.engine.loops import Loop
from routing.engine.shared_session import SharedSession
from routing.errors import InvalidRequest, NotFound, Unavailable
from routing.models import Actor
from routing.sealing import key_for
from routing.services import audit
from routing.services.sessions import store
from routing.services.sessions.store import Session
from routing.services.sessions.telling import limits

if TYPE_CHECKING:
    from routing.services.decisions.caller import Caller

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def open_session(caller: Caller, *, policy: str | None, ttl_s: int) -> Session:
    """Raises NotFound for a policy that the scope does not allow, Unavailable when the session cannot be kept."""
    chosen, now = caller.policy(policy), time.time()
    session = Session(
        id=str(uuid7()),
        workspace_id=str(caller.workspace_id),
        scope=caller.scope,
        harness=caller.harness,
        policy=chosen.name,
        created_at=now,
        expires_at=now + ttl_s,
        shared=SharedSession(),
    )
    with _kept():
        store.keep(session)
    return session


def find(caller: Caller, session_id: str) -> Session:
    """A session of the caller's scope; NotFound for any other, and for one whose time is over."""
    session = find_in_workspace(caller.workspace_id, session_id)
    if session.scope != caller.scope:
        raise NotFound()
    return session


def find_in_workspace(workspace_id: Any, session_id: str) -> Session:
    if not _ID.fullmatch(session_id):
        raise NotFound()
    with _kept():
        session = store.load(workspace_id, session_id)
    if session is None:
        raise NotFound()
    return session


def newest(workspace_id: Any, limit: int) -> list[Session]:
    """The sessions of a workspace that have not ended, the newest first."""
    with _kept():
        return store.newest(workspace_id, limit)


def record_execution(
    caller: Caller, session_id: str, *, tool: str, arguments: Mapping[str, Any] | None, result_class: str | None
) -> tuple[Session, Loop | None]:
    """Tell a session what was run; returns it with the loop that this closes. Of arguments a keyed digest is kept."""
    config, key, now = limits(find(caller, session_id)), key_for(f"execution:{session_id}"), time.time()
    found: Loop | None = None

    def become(session: Session) -> SharedSession:
        nonlocal found
        shared, found = shared_session.record_execution(
            session.shared, config, now, tool=tool, arguments=arguments, result_class=result_class, key=key
        )
        return shared

    return _changed(caller.workspace_id, session_id, become), found


def reset(caller: Caller, session_id: str, what: str) -> Session:
    """Close the circuit (`fallbacks`), or forget steps and executions too (`all`)."""
    find(caller, session_id)
    return _reset(caller.workspace_id, session_id, what, by=caller.harness)


@transaction.atomic
def reset_by_operator(workspace_id: Any, session_id: str, what: str, *, by: Actor) -> Session:
    """The same from the console."""
    if what not in shared_session.RESETS:
        allowed = ", ".join(shared_session.RESETS)
        raise InvalidRequest(f"what: must be one of {allowed}", [{"path": "what", "message": f"one of {allowed}"}])
    before = find_in_workspace(workspace_id, session_id).shared.state
    told = {"steps": before.steps, "consecutive_fallbacks": before.consecutive_fallbacks}
    audit.record(workspace_id, "harness_session.reset", session_id, by=by, before=told, after={"reset": what})
    return _reset(workspace_id, session_id, what, by=by.name)


def _reset(workspace_id: Any, session_id: str, what: str, *, by: str) -> Session:
    now = time.time()
    return _changed(
        workspace_id, session_id, lambda session: shared_session.reset(session.shared, now, what=what, by=by)
    )


def _changed(workspace_id: Any, session_id: str, become: Callable[[Session], SharedSession]) -> Session:
    with _kept():
        session = store.change(workspace_id, session_id, become)
    if session is None:
        raise NotFound()
    return session


@contextmanager
def _kept() -> Iterator[None]:
    """Whoever asks is told when sessions cannot be read or kept just now: nothing was changed then."""
    try:
        yield
    except (BusAway, store.Contended):
        raise Unavailable("Sessions cannot be reached now; nothing was changed. Send it again.") from None
