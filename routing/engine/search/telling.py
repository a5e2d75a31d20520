"""What was found, as callers are told it: names and numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from routing.engine.models import HarnessState
from routing.engine.search.graph import SuppliedGraph
from routing.engine.search.router import solve
from routing.engine.search.values import MCTSConfig, MCTSResult, TreeNode

Told = dict[str, Any]


def tell_result(
    found: MCTSResult, graph: SuppliedGraph, root: str | HarnessState, config: MCTSConfig, *, supplied: bool = True
) -> Told:
    """The `result` of a search, beside the one-step choice and, for a graph that was supplied, the exact optimum."""
    decision = found.decision
    exact = solve(graph, root, max_depth=config.max_depth, discount=config.discount) if supplied else None
    return {
        "tool": decision.tool,
        "category": decision.category,
        "confidence": round(decision.confidence, 4),
        "probabilities": {name: round(share, 4) for name, share in decision.probabilities.items()},
        "fallback": decision.fallback,
        "fallback_reason": decision.fallback_reason,
        "principal_variation": list(found.principal_variation),
        "root_visits": dict(found.root_visits),
        "root_values": dict(found.root_values),
        "simulations": found.simulations,
        "policy_evaluations": found.policy_evaluations,
        "stopped_by": found.stopped_by,
        "one_step": _best(solve(graph, root, max_depth=1, discount=config.discount)),
        "exact": None if exact is None else _best(exact),
    }


NODE = ("id", "parent", "tool", "depth", "visits", "value", "prior", "reward", "terminal")


def pack_node(node: TreeNode) -> list[Any]:
    """The fields of NODE in their order: a tree of two thousand nodes is kept with each search."""
    return [getattr(node, name) for name in NODE]


def unpack_node(packed: Sequence[Any]) -> Told:
    return dict(zip(NODE, packed, strict=True))


def _best(solved: MCTSResult) -> Told | None:
    tool = solved.decision.tool
    return None if tool is None else {"tool": tool, "value": solved.root_values[tool]}
