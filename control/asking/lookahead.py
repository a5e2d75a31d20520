"""`search` in this process: the body of POST /searches in, the object that the server would answer out."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from control.asking.arguments import parse_json, read_text
from control.asking.errors import BadInput, NoAnswer
from control.asking.local import decide, provider_of
from control.asking.remote import OF_A_SERVER
from routing.engine import (
    HarnessState,
    MCTSConfig,
    MCTSToolRouter,
    RouteDecision,
    RouterError,
    RoutingConfig,
    SearchGraphError,
    SuppliedGraph,
    ToolDescriptor,
)
from routing.engine.search.telling import tell_result

MOST_STATES, MOST_TRANSITIONS = 256, 1024
_CONFIG = ("simulations", "max_depth", "exploration_constant", "discount", "max_policy_evaluations", "deadline_ms")
KNOWN = {"root_state", "states", "transitions", "method", "use_prior", "wait_ms", *_CONFIG, *OF_A_SERVER}


class Opinion:
    """What a provider thinks of the first tools, as a search asks for it."""

    def __init__(self, provider: str) -> None:
        self._provider = provider

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        return await asyncio.to_thread(decide, self._provider, RoutingConfig(), state, tools)


def search(asked: argparse.Namespace) -> Mapping[str, Any]:
    return look_ahead(parse_json(read_text(asked.file, "FILE"), "FILE"), asked)


def look_ahead(body: Any, asked: argparse.Namespace) -> Mapping[str, Any]:
    """The answer to the content of a search file. Raises BadInput for what is none."""
    _check(body)
    config = _config(body)
    begun, started, cpu = datetime.now(UTC), time.monotonic(), time.process_time()
    try:
        graph = SuppliedGraph(
            body.get("states", []),
            body.get("transitions", []),
            max_states=MOST_STATES,
            max_transitions=MOST_TRANSITIONS,
        )
        root = graph.state(body.get("root_state", ""))
    except SearchGraphError as problem:
        raise BadInput("FILE: " + "; ".join(f"{one['path']}: {one['message']}" for one in problem.problems)) from None
    provider = provider_of(asked)
    opinion = Opinion(provider) if body.get("use_prior", True) else None
    try:
        found = asyncio.run(MCTSToolRouter(graph, policy_router=opinion, config=config).search(root))
    except RouterError as problem:
        raise NoAnswer(f"the search was not finished: {problem}") from None
    elapsed_ms = (time.monotonic() - started) * 1000
    return {
        "id": None,
        "decision_id": None,
        "state": "finished",
        "method": found.method,
        "progress": {
            "simulations": found.simulations,
            "of": 0 if found.method == "exact" else config.simulations,
            "elapsed_ms": round(elapsed_ms, 1),
        },
        "result": tell_result(found, graph, root, config),
        "cost": {
            "simulations": found.simulations,
            "cpu_ms": round((time.process_time() - cpu) * 1000, 1),
            "provider_requests": 0 if provider == "local" else found.policy_evaluations,
        },
        "created_at": _told(begun),
        "finished_at": _told(datetime.now(UTC)),
    }


def _check(body: Any) -> None:
    if not isinstance(body, dict):
        raise BadInput("FILE: must be one object, the body of POST /searches")
    problems = [f"{key}: is no key of a search" for key in sorted(body.keys() - KNOWN)]
    problems += [f"{key}: only a server has it; give --url" for key in OF_A_SERVER if body.get(key) is not None]
    if not isinstance(body.get("root_state"), str):
        problems.append("root_state: must be the id of a state")
    if not isinstance(body.get("use_prior", True), bool):
        problems.append("use_prior: must be true or false")
    if problems:
        raise BadInput("FILE: " + "; ".join(problems))


def _config(body: Mapping[str, Any]) -> MCTSConfig:
    given = {name: body[name] for name in _CONFIG if body.get(name) is not None}
    try:
        return MCTSConfig(**given, method=body.get("method") or "auto")
    except (ValueError, TypeError) as problem:
        raise BadInput(f"FILE: {problem}") from None


def _told(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
