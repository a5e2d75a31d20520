"""Sessions that every process sees: kept on the bus, counted once for each decision, shown to operators."""

from routing.services.sessions.routes import Admission, admit, policy_for, settle, settle_failed
from routing.services.sessions.sessions import (
    find,
    find_in_workspace,
    newest,
    open_session,
    record_execution,
    reset,
    reset_by_operator,
)
from routing.services.sessions.store import Contended, Session
from routing.services.sessions.telling import describe, limits

__all__ = [
    "Admission",
    "Contended",
    "Session",
    "admit",
    "describe",
    "find",
    "find_in_workspace",
    "limits",
    "newest",
    "open_session",
    "policy_for",
    "record_execution",
    "reset",
    "reset_by_operator",
    "settle",
    "settle_failed",
]
