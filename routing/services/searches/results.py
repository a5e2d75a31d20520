"""What a search ends as: the answer, the decision's columns and the event for the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from routing.choices import DecisionState, DecisionType
from routing.engine import MCTSConfig, MCTSResult, MCTSToolRouter, RouteDecision, SuppliedGraph
from routing.engine.search.history import Evidence
from routing.engine.search.telling import pack_node, tell_result
from routing.events import timestamp
from routing.models import Decision, Search
from routing.sealing import keyed_digest
from routing.services.decisions.result import Result, event_of
from routing.services.searches.prior import Opinion
from routing.services.searches.worker import Found

Told = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A search as the engine takes it."""

    graph: SuppliedGraph
    root: str
    config: MCTSConfig
    router: MCTSToolRouter
    opinion: Opinion | None = None
    evidence: tuple[Evidence, ...] | None = None  # of a graph that was learnt and not supplied


def of_search(row: Decision, task: Task, found: Found) -> Result:
    """What a search ended with; cancelled before it tried anything, it recommends nothing."""
    result = found.result
    told = tell_result(result, task.graph, task.root, task.config, supplied=task.evidence is None)
    cancelled = result.stopped_by == "cancelled"
    nothing = cancelled and result.decision.tool is None
    answer = _answer(row, told if not nothing else None, result.method, found, task.config, task.evidence)
    answer["cost"]["provider_requests"] = task.opinion.requests if task.opinion else 0
    answer["state"] = (DecisionState.CANCELLED if cancelled else DecisionState.FINISHED).value
    goal = task.graph.state(task.root).goal if task.evidence is None else None
    return _result(row, answer, told, [pack_node(node) for node in result.tree], goal)


def without_evidence(row: Decision, config: MCTSConfig, evidence: tuple[Evidence, ...]) -> Result:
    """The ledger knows too little: a fallback that lists what there is."""
    fallback = RouteDecision(fallback=True, fallback_reason="mcts_no_evidence")
    found = Found(result=MCTSResult(fallback, method=config.method), elapsed_ms=0.0, cpu_ms=0.0)
    empty = SuppliedGraph([{"id": "start", "goal": ""}])
    told = tell_result(found.result, empty, "start", config, supplied=False)
    return _result(row, _answer(row, told, config.method, found, config, evidence), told, [], None)


def _answer(
    row: Decision,
    told: Told | None,
    method: str,
    found: Found,
    config: MCTSConfig,
    evidence: Sequence[Evidence] | None,
) -> Told:
    simulations = found.result.simulations
    answer = {
        "id": str(row.pk),
        "decision_id": str(row.pk),
        "state": DecisionState.FINISHED.value,
        "method": method,
        "progress": {
            "simulations": simulations,
            "of": 0 if method == "exact" else config.simulations,
            "elapsed_ms": found.elapsed_ms,
        },
        "result": told,
        "cost": {"simulations": simulations, "cpu_ms": found.cpu_ms, "provider_requests": 0},
        "created_at": timestamp(row.created_at),
        "finished_at": timestamp(timezone.now()),
    }
    return answer if evidence is None else answer | {"evidence": [one.to_dict() for one in evidence]}


def _result(row: Decision, answer: Told, told: Told, tree: list[list[Any]], goal: str | None) -> Result:
    codes = [*filter(None, [told["fallback_reason"]]), *(["cancelled"] if answer["state"] == "cancelled" else [])]
    progress = answer["progress"]
    return Result(
        state=answer["state"],
        columns=_columns(answer, told, codes) | {"revision": row.revision},
        event=None if answer["result"] is None else _event(row, answer, told, codes, goal),
        alongside=lambda: Search.objects.filter(pk=row.pk).update(
            simulations=progress["simulations"], elapsed_ms=progress["elapsed_ms"], tree=tree
        ),
    )


def _columns(answer: Told, told: Told, codes: list[str]) -> Told:
    best = _by_value(told["root_values"])[:10]
    return {
        "answer": answer,
        "target": told["tool"],
        "status": "fallback" if told["fallback"] else "selected",
        "reason_codes": codes,
        "confidence": str(told["confidence"]),
        "source": "local",
        "fallback_reason": told["fallback_reason"],
        "latency_ms": answer["progress"]["elapsed_ms"],
        "candidates": [{"target": name, "score": value, "fields": {}} for name, value in best],
    }


def _by_value(values: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda item: (-item[1], item[0]))


def _event(row: Decision, answer: Told, told: Told, codes: list[str], goal: str | None) -> Told:
    said = {
        **told,
        "type": DecisionType.SEARCH.value,
        "policy": row.policy,
        "source": "local",
        "method": answer["method"],
        "latency_ms": answer["progress"]["elapsed_ms"],
        "alternatives": [name for name, _ in _by_value(told["root_values"]) if name != told["tool"]][:5],
        "query_digest": None if goal is None else keyed_digest("query", " ".join(goal.split()).casefold()),
    }
    return event_of(row, said, revision=row.revision, tool=told["tool"], fallback=told["fallback"], codes=codes)
