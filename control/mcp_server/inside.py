"""Answering with the services of this data dir: the decision is kept, made here unless a worker is faster, and recorded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import connections
from uuid_utils.compat import uuid7

from control.mcp_server.tools import POLICY, BadCall, MctsCall, RouteCall, tell_route, tell_search
from routing.choices import DecisionState
from routing.errors import RoutingError
from routing.models import Decision
from routing.services import decisions, searches
from routing.services.decisions import Caller

HARNESS = "mcp"
PATIENCE_S = 60.0  # for a worker that has taken the decision first
LOOK_EVERY_S = 0.05


class Inside:
    def __init__(self, workspace_id: Any, scope: str) -> None:
        self._searcher = Caller(workspace_id=workspace_id, scope=scope, harness=HARNESS)
        self._router = replace(self._searcher, usual_policy=POLICY)

    def answer(self, call: RouteCall | MctsCall) -> Mapping[str, Any]:
        """Raises BadCall with what is wrong."""
        try:
            return self._search(call) if isinstance(call, MctsCall) else self._route(call)
        except RoutingError as problem:
            told = [f"{one['path']}: {one['message']}" for one in problem.details]
            raise BadCall("; ".join(told) or problem.message) from None
        finally:
            connections.close_all()  # of this thread, which may not come back

    def _route(self, call: RouteCall) -> Mapping[str, Any]:
        row = _made(decisions.request_route(str(uuid7()), self._router, call.asked()))
        return tell_route(row.answer)

    def _search(self, call: MctsCall) -> Mapping[str, Any]:
        row = _made(searches.request_search(str(uuid7()), self._searcher, call.asked()))
        return tell_search(row.answer or {"result": None, "state": row.state})


def _made(row: Decision) -> Decision:
    """The decision when it is made. A worker may take it as well: whoever claims it first makes it."""
    decisions.run(UUID(str(row.pk)))
    deadline = time.monotonic() + PATIENCE_S
    while not (found := Decision.objects.get(pk=row.pk)).is_final:
        if time.monotonic() > deadline:
            raise BadCall("the decision is kept, and not made yet: no worker has finished it")
        time.sleep(LOOK_EVERY_S)
    if found.state == DecisionState.FAILED:
        raise BadCall(found.error or "the decision could not be made")
    return found
