"""The cases of the search: which step, after how many visits of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from routing.engine import HarnessState, MCTSResult, SuppliedGraph
from tests.engine.searching import Simulator, edge, search, state

CASES = json.loads((Path(__file__).parents[1] / "cases" / "router.json").read_text())["cases"]
MCTS = {case["id"]: case for case in CASES if case["kind"] == "mcts"}


def parts_of(graph: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    states = [state(id_, *one["tools"], value=one["value"]) for id_, one in graph["states"].items()]
    return states, [edge(*one) for one in graph["transitions"]]


def told(result: MCTSResult) -> dict[str, Any]:
    return {
        "tool": result.decision.tool,
        "fallback_reason": result.decision.fallback_reason,
        "root_visits": dict(result.root_visits),
        "confidence": result.decision.confidence,
        "principal_variation": list(result.principal_variation),
        "simulations": result.simulations,
        "policy_evaluations": result.policy_evaluations,
    }


def test_there_are_cases() -> None:
    assert len(MCTS) >= 5


@pytest.mark.parametrize("name", MCTS)
@pytest.mark.parametrize("supplied", [True, False], ids=["graph", "simulator"])
def test_case(name: str, supplied: bool) -> None:
    case = MCTS[name]
    states, edges = parts_of(case["graph"])
    environment: Any = SuppliedGraph(states, edges) if supplied else Simulator(states, edges)
    root: str | HarnessState = case["graph"]["root"]
    if not supplied:
        root = environment.states[root]

    found = told(search(environment, root, **case["config"]))

    for key, wanted in case["expect"].items():
        assert found[key] == (pytest.approx(wanted, abs=1e-9) if isinstance(wanted, float) else wanted), key
