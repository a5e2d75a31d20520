"""Ask for a search: everything is checked before anything is kept, and what is wrong is named with its place."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db import DatabaseError, transaction
from uuid_utils.compat import uuid7

from routing.choices import DecisionType
from routing.engine import MCTSConfig, SearchGraphError, SuppliedGraph
from routing.engine.policies import EffectivePolicy
from routing.errors import InvalidRequest, Unavailable
from routing.models import Actor, Decision, Search
from routing.services import audit, sessions
from routing.services.decisions.caller import Caller
from routing.services.decisions.queue import request

logger = logging.getLogger(__name__)
BOUNDS = ("simulations", "max_depth", "exploration_constant", "discount", "max_policy_evaluations", "deadline_ms")
MOST_POLICY_EVALUATIONS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Where to look ahead from in what the ledger knows; `tools` None means those of the scope."""

    last_action: str | None = None
    tools: tuple[str, ...] | None = None
    min_count: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What POST /searches asks: a graph with its root, or a history. `bounds` holds those of BOUNDS that were given."""

    root_state: str | None = None
    states: Sequence[Mapping[str, Any]] = ()
    transitions: Sequence[Mapping[str, Any]] = ()
    history: HistoryRequest | None = None
    bounds: Mapping[str, Any]
    method: str | None = None
    use_prior: bool = True
    session_id: str | None = None
    policy: str | None = None


def request_search(decision_id: str, caller: Caller, asked: SearchRequest) -> Decision:
    """Keep a search for a worker. Raises NotFound for a policy or session that is not the scope's, InvalidRequest with
    every problem of the graph and its bounds, Unavailable when it cannot be kept."""
    live = caller.live()
    policy = caller.policy(sessions.policy_for(caller, asked.session_id, asked.policy))
    config = _config(policy, asked)
    content = {
        "root_state": asked.root_state,
        "states": list(asked.states),
        "transitions": list(asked.transitions),
        "history": None if asked.history is None else asdict(asked.history),
        "config": asdict(config),
        "use_prior": asked.use_prior,
    }
    facts = {"policy": policy.name, "revision": live.revision, "session_id": asked.session_id}
    try:
        with transaction.atomic():
            row = request(decision_id, DecisionType.SEARCH, caller, content, **facts)
            of = 0 if config.method == "exact" else config.simulations
            Search.objects.create(decision=row, method=config.method, of=of)
    except DatabaseError:
        logger.warning("a search of %s could not be kept", caller.harness)
        raise Unavailable("The search could not be kept; nothing was accepted. Send it again.") from None
    return row


def _config(policy: EffectivePolicy, asked: SearchRequest) -> MCTSConfig:
    """The bounds of the search under the policy. Raises InvalidRequest with all that is wrong, the graph included."""
    mcts, limits = policy.mcts, policy.mcts["limits"]
    given = {name: value for name, value in asked.bounds.items() if value is not None}
    problems = [
        *_above(given, "simulations", limits["max_simulations"]),
        *_above(given, "max_depth", limits["depth_limit"]),
        *_above(given, "max_policy_evaluations", max(MOST_POLICY_EVALUATIONS, mcts["max_policy_evaluations"])),
    ]
    if asked.history is None:
        problems += _graph_problems(asked, limits)
    if problems:
        raise InvalidRequest(_sentence(problems), problems)
    method = asked.method or mcts["method"]
    if method == "auto":
        method = "exact" if asked.history is None else "puct"
    # The policy's deadline is the operator's: a caller may ask for a sooner one.
    deadline_ms = min(given.pop("deadline_ms", mcts["deadline_ms"]), mcts["deadline_ms"])
    try:
        return MCTSConfig.from_policy({**mcts, **given, "method": method, "deadline_ms": deadline_ms})
    except ValueError as problem:
        path, _, message = str(problem).partition(" ")
        raise InvalidRequest(f"{path}: {message}", [{"path": path, "message": message}]) from None


def _above(given: Mapping[str, Any], name: str, most: int) -> list[dict[str, Any]]:
    if given.get(name, 0) <= most:
        return []
    return [
        {
            "path": name,
            "message": f"must be at most {most}, by the policy",
            "value": given[name],
            "allowed": f"1 to {most}",
        }
    ]


def _graph_problems(asked: SearchRequest, limits: Mapping[str, Any]) -> list[dict[str, Any]]:
    most = {"max_states": limits["max_states"], "max_transitions": limits["max_transitions"]}
    missing = [{"path": "root_state", "message": "is required"}] if asked.root_state is None else []
    try:
        graph = SuppliedGraph(asked.states, asked.transitions, **most)
        if asked.root_state is not None:
            graph.number_of(asked.root_state)
    except SearchGraphError as error:
        return [*missing, *(dict(problem) for problem in error.problems)]
    return missing


def _sentence(problems: Sequence[Mapping[str, Any]]) -> str:
    first = f"{problems[0]['path']}: {problems[0]['message']}"
    return first if len(problems) == 1 else f"{first} (and {len(problems) - 1} more)"


@transaction.atomic
def request_by_operator(workspace_id: Any, scope: str, asked: SearchRequest, *, by: Actor) -> Decision:
    """A search that an operator asks for from the console, as a harness of the scope would."""
    caller = Caller(workspace_id=workspace_id, scope=scope, harness=f"operator {by.name}")
    row = request_search(str(uuid7()), caller, asked)
    told = {"scope": scope, "states": len(asked.states), "transitions": len(asked.transitions)}
    audit.record(workspace_id, "search.request", str(row.pk), by=by, after=told)
    return row
