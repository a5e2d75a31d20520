"""Decisions: resolve in the same breath, or keep the request for a worker; run, finish and sweep."""

from routing.services.decisions.advice import Activity, advise
from routing.services.decisions.caller import Caller
from routing.services.decisions.desk import Desk
from routing.services.decisions.queue import call_for_what_waits, enqueue, on_enqueue, request
from routing.services.decisions.resolve import (
    browse,
    describe,
    judge,
    needs_no_worker,
    resolve,
    resolve_lane,
    resolve_on_loop,
)
from routing.services.decisions.route import RouteRequest, draft_route, request_route
from routing.services.decisions.running import run, run_relayed
from routing.services.decisions.sweep import sweep

__all__ = [
    "Activity",
    "Caller",
    "Desk",
    "RouteRequest",
    "advise",
    "browse",
    "call_for_what_waits",
    "describe",
    "draft_route",
    "enqueue",
    "judge",
    "needs_no_worker",
    "on_enqueue",
    "request",
    "request_route",
    "resolve",
    "resolve_lane",
    "resolve_on_loop",
    "run",
    "run_relayed",
    "sweep",
]
