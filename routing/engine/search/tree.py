"""The tree of a search, and what it asks of its environment.

Searches are generators, so that one loop serves graphs in memory and simulators behind a callback: over a graph they
read, over anything else they yield a request and are sent its answer. They yield None now and then, so that whoever
drives them can stop them. What they know stays true at every yield.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from routing.engine.models import RouteDecision, ToolDescriptor
from routing.engine.search.graph import Options, SuppliedGraph
from routing.engine.search.values import MCTSConfig, TreeNode

PAUSE_EVERY = 64  # simulations


@dataclass(frozen=True, slots=True)
class AskTools:
    state: Any


@dataclass(frozen=True, slots=True)
class AskStep:
    state: Any
    tool: ToolDescriptor


@dataclass(frozen=True, slots=True)
class AskPrior:
    state: Any
    tools: Sequence[ToolDescriptor]


@dataclass(frozen=True, slots=True)
class Step:
    """The answer to AskStep, with the value of the state reached."""

    target: Any
    reward: float
    terminal: bool
    value: float


Request = AskTools | AskStep | AskPrior
Search = Generator[Request | None, Any, None]


class Node:
    """A state whose tools are known. What is known of each step stands in parallel lists, the step's place its index.

    Steps stand by prior, then name, both ascending, so the last of equally good ones is the one that ties go to.
    """

    __slots__ = (
        "children",
        "counts",
        "depth",
        "ends",
        "left",
        "open",
        "order",
        "parent",
        "place",
        "priors",
        "rewards",
        "scores",
        "state",
        "sums",
        "targets",
        "terminals",
        "tools",
        "urge",
        "values",
        "visits",
    )

    def __init__(self, state: Any, options: Options, parent: Node | None, depth: int, max_depth: int) -> None:
        size = len(options.tools)
        self.state = state
        self.parent = parent
        self.depth = depth
        self.tools: Sequence[ToolDescriptor] = options.tools
        self.targets = options.targets
        self.rewards = options.rewards
        self.values = options.values
        self.terminals = options.terminals
        self.ends = options.ends if depth + 1 < max_depth else [True] * size
        self.children: list[Node | None] = [None] * size
        self.counts = [1.0] * size  # visits of each step, and one: what its score is divided by
        self.sums = [0.0] * size  # of the values that came back
        self.scores = [0.0] * size  # reward + discount × value, as far as it is known
        self.visits = 0.0 if parent is None else 1.0
        self.left = size  # steps that were not tried yet
        self.place = 0  # of the step that the present simulation takes
        self.order: Sequence[int] | None = None  # in which steps are tried; none is as they stand
        self.priors: Sequence[float] | None = None  # none is equal ones
        self.urge = 0.0  # exploration constant × prior, where priors are equal
        self.open = size  # steps below which something is not known yet

    def prior(self, place: int) -> float:
        return 1.0 / len(self.tools) if self.priors is None else self.priors[place]

    def tried(self) -> list[int]:
        return [place for place, count in enumerate(self.counts) if count > 1]

    def visits_of(self, place: int) -> int:
        return int(self.counts[place]) - 1

    def prefer(self, weights: Mapping[str, float]) -> None:
        """Take these priors, and stand the steps anew."""
        shares = [weights[tool.name] for tool in self.tools]
        stand = sorted(range(len(shares)), key=lambda place: (shares[place], self.tools[place].name))
        self.tools = [self.tools[place] for place in stand]
        self.targets = [self.targets[place] for place in stand]
        self.rewards = [self.rewards[place] for place in stand]
        self.values = [self.values[place] for place in stand]
        self.terminals = [self.terminals[place] for place in stand]
        self.ends = [self.ends[place] for place in stand]
        priors = self.priors = [shares[place] for place in stand]
        self.order = sorted(range(len(shares)), key=lambda place: (-priors[place], self.tools[place].name))

    def forget_untried(self) -> None:
        """Grow no further: what was not tried until now is no choice any more."""
        kept = self.tried()
        self.tools = [self.tools[place] for place in kept]
        self.targets = [self.targets[place] for place in kept]
        self.rewards = [self.rewards[place] for place in kept]
        self.values = [self.values[place] for place in kept]
        self.terminals = [self.terminals[place] for place in kept]
        self.ends = [self.ends[place] for place in kept]
        self.children = [self.children[place] for place in kept]
        self.counts = [self.counts[place] for place in kept]
        self.sums = [self.sums[place] for place in kept]
        self.scores = [self.scores[place] for place in kept]
        # Equal priors stay what they were, so that the weight of exploration does not change half-way.
        self.priors = None if self.priors is None else [self.priors[place] for place in kept]
        self.order = None
        self.left = 0


def weigh(decision: RouteDecision, tools: Sequence[ToolDescriptor], min_prior: float) -> dict[str, float] | None:
    """Priors of a policy router's decision, which sum to 1; none where it falls back."""
    if decision.fallback:
        return None
    told = dict(decision.probabilities)
    if decision.tool is not None and decision.tool not in told:
        told[decision.tool] = max(decision.confidence, min_prior)
    weights = {tool.name: _usable(told.get(tool.name), min_prior) for tool in tools}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def _usable(weight: object, least: float) -> float:
    if isinstance(weight, bool) or not isinstance(weight, (int, float)):
        return least
    return float(weight) if math.isfinite(weight) and weight > 0 else least


class TreeSearch(ABC):
    """What the searches that grow a tree share: preparing nodes, counting, telling what was found."""

    def __init__(self, config: MCTSConfig, graph: SuppliedGraph | None, *, prior: bool) -> None:
        self.config = config
        self.graph = graph  # none where steps must be asked for
        self.root: Node | None = None
        self.simulations = 0
        self.policy_evaluations = 0
        self.nodes = 0  # the root left out
        self.stopped_by = "complete"
        self.may_ask = config.max_policy_evaluations if prior else 0

    def prepare(
        self, state: Any, options: Options, parent: Node | None, depth: int
    ) -> Generator[Request | None, Any, Node]:
        node = Node(state, options, parent, depth, self.config.max_depth)
        size = len(options.tools)
        if size > 1 and self.policy_evaluations < self.may_ask:
            self.policy_evaluations += 1
            decision = yield AskPrior(state, options.tools)
            weights = weigh(decision, options.tools, self.config.min_prior)
            if weights is not None:
                node.prefer(weights)
        if size:
            node.urge = self.config.exploration_constant * (1.0 / size)
        return node

    @abstractmethod
    def best(self, node: Node) -> int | None:
        """Which step the search picks at a node; none where no step was tried."""

    def path(self) -> tuple[str, ...]:
        """The pick repeated from the root on."""
        names: list[str] = []
        node = self.root
        while node is not None and (place := self.best(node)) is not None:
            names.append(node.tools[place].name)
            node = node.children[place]
        return tuple(names)

    def snapshot(self, most: int) -> tuple[TreeNode, ...]:
        """The most visited nodes, parents before their children."""
        if self.root is None or most < 1:
            return ()
        place = self.best(self.root)
        value = 0.0 if place is None else self.root.scores[place]
        found = [
            self._told(
                0,
                None,
                None,
                0,
                sum(map(self.root.visits_of, self.root.tried())),
                value,
                None,
                0.0,
                False,
                self.root.state,
            )
        ]
        # (visits, then the shallower, then the earlier), node, place, id of the parent
        waiting: list[tuple[tuple[int, int, int], Node, int, int]] = []
        pushed = 0

        def push(node: Node, parent: int) -> None:
            nonlocal pushed
            for place in node.tried():
                heapq.heappush(waiting, ((-node.visits_of(place), node.depth, pushed), node, place, parent))
                pushed += 1

        push(self.root, 0)
        while waiting and len(found) < most:
            _, node, place, parent = heapq.heappop(waiting)
            number = len(found)
            found.append(
                self._told(
                    number,
                    parent,
                    node.tools[place].name,
                    node.depth + 1,
                    node.visits_of(place),
                    node.scores[place],
                    node.prior(place),
                    node.rewards[place],
                    node.terminals[place],
                    node.targets[place],
                )
            )
            below = node.children[place]
            if below is not None:
                push(below, number)
        return tuple(found)

    def _told(
        self,
        id_: int,
        parent: int | None,
        tool: str | None,
        depth: int,
        visits: int,
        value: float,
        prior: float | None,
        reward: float,
        terminal: bool,
        state: Any,
    ) -> TreeNode:
        name = None if self.graph is None else self.graph.ids[state]
        return TreeNode(id_, parent, tool, depth, visits, value, prior, reward, terminal, name)
