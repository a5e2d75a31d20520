"""A session as harnesses and operators are told of it: under the limits of its policy as it is now."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from routing.engine import Catalog, shared_session
from routing.engine.config import RoutingConfig
from routing.events import timestamp
from routing.services.sessions.store import Session
from routing.snapshot import answering


def limits(session: Session) -> RoutingConfig:
    """What the session's policy says now. NotFound when the workspace has nothing live."""
    answers = answering(UUID(session.workspace_id), session.scope, session.harness)
    return limits_in(answers.catalog, session)


def limits_in(catalog: Catalog, session: Session) -> RoutingConfig:
    """The same under a given catalog; where the policy is gone, that of the scope or the default stands in."""
    scope = catalog.scopes.get(session.scope)
    for name in (session.policy, scope.policy if scope else "default"):
        try:
            return RoutingConfig.from_policy(catalog.policy(name).router)
        except KeyError:
            continue
    return RoutingConfig()


def describe(session: Session, config: RoutingConfig | None = None) -> dict[str, Any]:
    """The session object of the API."""
    told = shared_session.describe(session.shared, config or limits(session), time.time())
    executions = [{**one, "at": moment(one["at"])} for one in told.pop("executions")]
    return {
        "id": session.id,
        "policy": session.policy,
        "created_at": moment(session.created_at),
        "expires_at": moment(session.expires_at),
        **told,
        "executions": executions,
    }


def moment(seconds: float) -> str:
    return timestamp(datetime.fromtimestamp(seconds, UTC))
