"""Graphs to search, an environment made of one, and the search as its specification tells it, in plain steps."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from routing.engine import (
    HarnessState,
    MCTSConfig,
    MCTSResult,
    MCTSToolRouter,
    SimulatedStep,
    SuppliedGraph,
    ToolDescriptor,
)

Objects = list[dict[str, Any]]


def search(environment: Any, root: Any, policy: Any = None, **bounds: Any) -> MCTSResult:
    return asyncio.run(MCTSToolRouter(environment, policy, MCTSConfig(**bounds)).search(root))


def state(id_: str, *tools: str, value: float = 0.0) -> dict[str, Any]:
    return {"id": id_, "goal": id_, "value": value, "tools": [{"name": tool} for tool in tools]}


def edge(from_state: str, tool: str, to_state: str, reward: float = 0.0, terminal: bool = False) -> dict[str, Any]:
    return {"from_state": from_state, "tool": tool, "to_state": to_state, "reward": reward, "terminal": terminal}


def two_steps() -> SuppliedGraph:
    """Quick pays 0.60 at once; invest pays 0.05, and 1.0 after it."""
    states = [state("root", "quick", "invest"), state("done"), state("invested", "finish"), state("rich")]
    edges = [
        edge("root", "quick", "done", 0.6, True),
        edge("root", "invest", "invested", 0.05),
        edge("invested", "finish", "rich", 1.0, True),
    ]
    return SuppliedGraph(states, edges)


def uniform(rng: random.Random, left: int) -> float:
    return rng.uniform(-0.3, 0.6)


def branching(
    branches: Sequence[int], seed: int, reward: Callable[[random.Random, int], float] = uniform
) -> SuppliedGraph:
    """A tree with so many branches at each level; `reward` is told how many steps are left after one."""
    return SuppliedGraph(*branching_parts(branches, seed, reward))


def branching_parts(
    branches: Sequence[int], seed: int, reward: Callable[[random.Random, int], float] = uniform
) -> tuple[Objects, Objects]:
    rng = random.Random(seed)
    states: Objects = []
    edges: Objects = []

    def grow(id_: str, left: Sequence[int]) -> None:
        tools = [f"t{number:02}" for number in range(left[0])] if left else []
        states.append(state(id_, *tools))
        for tool in tools:
            edges.append(edge(id_, tool, f"{id_}/{tool}", reward(rng, len(left) - 1)))
            grow(f"{id_}/{tool}", left[1:])

    grow("root", branches)
    return states, edges


@st.composite
def graphs(draw: st.DrawFn, *, most_states: int = 6) -> tuple[Objects, Objects]:
    """States and transitions with cycles, missing edges, terminal steps, dead ends, and numbers that often tie."""
    count = draw(st.integers(1, most_states))
    number = st.sampled_from([-1.0, 0.0, 0.5, 1.0]) | st.floats(-1, 1, width=32)
    states, edges = [], []
    for place in range(count):
        least = 1 if place == 0 else 0
        tools = draw(st.lists(st.sampled_from("abcde"), min_size=least, max_size=4, unique=True))
        states.append(state(f"s{place}", *tools, value=draw(number)))
        for tool in tools:
            if draw(st.integers(0, 9)):
                target = f"s{draw(st.integers(0, count - 1))}"
                edges.append(edge(f"s{place}", tool, target, draw(number), draw(st.integers(0, 5)) == 0))
    return states, edges


class Simulator:
    """A graph behind callbacks. It counts what it is asked."""

    def __init__(self, states: Objects, edges: Objects) -> None:
        self.states = {one["id"]: HarnessState(one["id"]) for one in states}
        self._tools = {one["id"]: [ToolDescriptor(tool["name"], "") for tool in one["tools"]] for one in states}
        self._values = {one["id"]: one["value"] for one in states}
        self._steps = {(one["from_state"], one["tool"]): one for one in edges}
        self.transitions = 0

    async def tools(self, state: HarnessState) -> Sequence[ToolDescriptor]:
        return self._tools[state.goal]

    async def transition(self, state: HarnessState, tool: ToolDescriptor) -> SimulatedStep:
        self.transitions += 1
        step = self._steps.get((state.goal, tool.name))
        if step is None:
            return SimulatedStep(state, -1.0, True)
        return SimulatedStep(self.states[step["to_state"]], step["reward"], step["terminal"])

    async def evaluate(self, state: HarnessState) -> float:
        return float(self._values[state.goal])


@dataclass
class Seen:
    """A node of the plain search."""

    state: HarnessState
    parent: Seen | None = None
    tool: str = ""
    prior: float = 1.0
    reward: float = 0.0
    terminal: bool = False
    depth: int = 0
    visits: int = 0
    total: float = 0.0
    waiting: list[ToolDescriptor] | None = None
    priors: dict[str, float] = field(default_factory=dict)
    children: list[Seen] = field(default_factory=list)

    def worth(self, discount: float) -> float:
        return self.reward + discount * (self.total / self.visits if self.visits else 0.0)


async def plain_puct(
    environment: Any, root: HarnessState, bounds: MCTSConfig, weights: dict[str, float] | None = None
) -> Seen:
    """PUCT word by word. `weights` are priors at the first node that has two tools or more."""
    top = Seen(root)
    for _ in range(bounds.simulations):
        node = top
        while True:
            if node.terminal or node.depth >= bounds.max_depth:
                value = await environment.evaluate(node.state)
                break
            if node.waiting is None:
                weights = await _prepare(environment, node, weights)
            assert node.waiting is not None
            if node.waiting:
                tool = node.waiting.pop(0)
                step = await environment.transition(node.state, tool)
                child = Seen(step.state, node, tool.name, node.priors[tool.name], step.reward, step.terminal)
                child.depth = node.depth + 1
                node.children.append(child)
                node = child
                value = await environment.evaluate(node.state)
                break
            if not node.children:
                value = await environment.evaluate(node.state)
                break
            node = max(node.children, key=_score(node, bounds))
        above: Seen | None = node
        while above is not None:
            above.visits += 1
            above.total += value
            value = above.reward + bounds.discount * value
            above = above.parent
    return top


async def _prepare(environment: Any, node: Seen, weights: dict[str, float] | None) -> dict[str, float] | None:
    tools = list(await environment.tools(node.state))
    node.priors = {tool.name: 1.0 / len(tools) for tool in tools}
    if weights is not None and len(tools) > 1:
        told = {tool.name: weights.get(tool.name, 0.0) or 1e-6 for tool in tools}
        node.priors = {name: weight / sum(told.values()) for name, weight in told.items()}
        weights = None
    node.waiting = sorted(tools, key=lambda tool: (-node.priors[tool.name], tool.name))
    return weights


def _score(node: Seen, bounds: MCTSConfig) -> Callable[[Seen], tuple[float, float, str]]:
    explored = math.sqrt(max(1, node.visits))

    def score(child: Seen) -> tuple[float, float, str]:
        urge = bounds.exploration_constant * child.prior * explored / (1 + child.visits)
        return child.worth(bounds.discount) + urge, child.prior, child.tool

    return score
