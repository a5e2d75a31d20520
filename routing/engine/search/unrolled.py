"""The tree that a solved graph unfolds into: the best line first, then the steps that fall least behind it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from routing.engine.search.exact import Solution, last_best
from routing.engine.search.graph import Options, SuppliedGraph
from routing.engine.search.values import TreeNode


def unroll(
    graph: SuppliedGraph, start: int, root: Options, found: Solution, max_depth: int, discount: float, most: int
) -> tuple[TreeNode, ...]:
    """At most so many nodes, parents before their children; `value` is exact, and nothing was visited."""
    if most < 1:
        return ()
    nodes = [TreeNode(0, None, None, 0, 0, max(found.values), None, 0.0, False, graph.ids[start])]
    # (off the best line, how far behind it, depth, place in line), options, values of its steps, place, id of the parent
    waiting: list[tuple[tuple[bool, float, int, int], Options, Sequence[float], int, int]] = []

    def push(options: Options, values: Sequence[float], parent: int, off: bool, behind: float, depth: int) -> None:
        best, line, weight = max(values), last_best(values), discount**depth
        for place, value in enumerate(values):
            key = (off or place != line, behind + weight * (best - value), depth, len(nodes) + len(waiting))
            heapq.heappush(waiting, (key, options, values, place, parent))

    push(root, found.values, 0, False, 0.0, 0)
    while waiting and len(nodes) < most:
        (off, behind, depth, _), options, values, place, parent = heapq.heappop(waiting)
        number, target = len(nodes), options.targets[place]
        nodes.append(
            TreeNode(
                number,
                parent,
                options.tools[place].name,
                depth + 1,
                0,
                values[place],
                None,
                options.rewards[place],
                options.terminals[place],
                graph.ids[target],
            )
        )
        left = max_depth - depth - 1
        if left and not options.ends[place]:
            below = graph.options[target]
            push(below, found.steps(graph, below, left, discount), number, off, behind, depth + 1)
    return tuple(nodes)
