"""Exact search: every path to the depth limit, by dynamic programming over (state, steps left)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from routing.engine.search.graph import Options, SuppliedGraph


@dataclass(slots=True)
class Solution:
    """The value of each first step, a best path, and what each state is worth by how many steps are left."""

    values: list[float]
    path: tuple[str, ...]
    layers: list[list[float]]

    def steps(self, graph: SuppliedGraph, options: Options, left: int, discount: float) -> list[float]:
        """What each of these steps is worth with `left` steps left, itself included."""
        below = self.layers[min(left, len(self.layers)) - 1]
        return _worth(graph, options, below, discount)


def solve_graph(graph: SuppliedGraph, root: Options, max_depth: int, discount: float) -> Iterator[Solution | None]:
    """Yields nothing between layers, so that the caller can stop, and the solution at the end.

    Layer d holds each state's best value with d steps left. A state's own value stands behind it in the same list, for
    steps after which nothing follows: so a step is one look-up whether it ends there or not.
    """
    count = len(graph.ids)
    own = graph.values
    rewards: list[float] = []
    targets: list[int] = []
    spans: list[tuple[int, int, int]] = []
    for number, options in enumerate(graph.options):
        if options.tools:
            spans.append((number, len(rewards), len(rewards) + len(options.tools)))
            rewards.extend(options.rewards)
            targets.extend(_behind(options, count))
    layers = [own + own]
    while len(layers) < max_depth:
        yield None
        before = layers[-1]
        steps = [reward + discount * before[target] for reward, target in zip(rewards, targets, strict=True)]
        layer = before.copy()
        for number, first, last in spans:
            layer[number] = max(steps[first:last])
        if layer == before:  # nothing lies deeper
            break
        layers.append(layer)
    values = _worth(graph, root, layers[-1], discount)
    yield Solution(values, _best_path(graph, root, layers, values, max_depth, discount), layers)


def _worth(graph: SuppliedGraph, options: Options, below: Sequence[float], discount: float) -> list[float]:
    return [
        reward + discount * below[target]
        for reward, target in zip(options.rewards, _behind(options, len(graph.ids)), strict=True)
    ]


def _behind(options: Options, count: int) -> list[int]:
    return [target + count if end else target for target, end in zip(options.targets, options.ends, strict=True)]


def _best_path(
    graph: SuppliedGraph,
    root: Options,
    layers: Sequence[Sequence[float]],
    values: Sequence[float],
    max_depth: int,
    discount: float,
) -> tuple[str, ...]:
    path: list[str] = []
    options, found = root, values
    for left in range(max_depth - 1, -1, -1):
        best = last_best(found)
        path.append(options.tools[best].name)
        if options.ends[best] or not left:
            break
        options = graph.options[options.targets[best]]
        found = _worth(graph, options, layers[min(left, len(layers)) - 1], discount)
    return tuple(path)


def last_best(values: Sequence[float]) -> int:
    """Where the greatest stands; the last of equal ones."""
    best = max(values)
    return len(values) - 1 - list(reversed(values)).index(best)
