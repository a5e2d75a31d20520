"""Values of a search: its bounds, what an environment answers, what was found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from routing.engine.models import HarnessState, RouteDecision, ToolDescriptor

LARGEST = 1e100  # of a reward or value: so far, no sum of any path overflows
METHODS = ("puct", "best_path", "exact", "auto")


@dataclass(frozen=True, slots=True)
class MCTSConfig:
    """Bounds of a search; ValueError for a value out of its own.

    `method`: `puct` (the default), `best_path`, `exact`, or `auto`, which is exact over a supplied graph and puct elsewhere.
    `deadline_ms`, where given, ends a search with its best so far. `max_nodes` bounds memory (1 KiB a node at most, usually): a
    PUCT tree of that size grows no further and the simulations that are left go on within it; the other methods end there.
    """

    simulations: int = 64
    max_depth: int = 4
    exploration_constant: float = 1.5
    discount: float = 0.95
    max_policy_evaluations: int = 1
    min_prior: float = 1e-6
    method: str = "puct"
    deadline_ms: float | None = None
    max_nodes: int = 250_000

    def __post_init__(self) -> None:
        for name, low in (("simulations", 1), ("max_depth", 1), ("max_policy_evaluations", 0), ("max_nodes", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ValueError(f"{name} must be a whole number, {low} or more")
        if not _is_finite(self.exploration_constant) or self.exploration_constant < 0:
            raise ValueError("exploration_constant must be a finite number, 0 or more")
        if not _is_finite(self.discount) or not 0 <= self.discount <= 1:
            raise ValueError("discount must be a number from 0 to 1")
        if not _is_finite(self.min_prior) or self.min_prior <= 0:
            raise ValueError("min_prior must be a finite number greater than 0")
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}")
        if self.deadline_ms is not None and not (_is_finite(self.deadline_ms) and self.deadline_ms > 0):
            raise ValueError("deadline_ms must be a finite number greater than 0, or none")

    @classmethod
    def from_policy(cls, mcts: Mapping[str, Any]) -> MCTSConfig:
        """The configuration that a policy's (effective) `mcts` block means; what concerns others in it is left aside."""
        own = {spec.name for spec in fields(cls)}
        return cls(**{name: value for name, value in mcts.items() if name in own})


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class SimulatedStep:
    """What a tool would lead to; nothing follows a terminal step."""

    state: HarnessState
    reward: float = 0.0
    terminal: bool = False


class SearchEnvironment(Protocol):
    """A simulator without side effects: asked the same, it answers the same.

    Each step and each state is asked for once in a search and remembered.
    """

    async def tools(self, state: HarnessState) -> Sequence[ToolDescriptor]: ...

    async def transition(self, state: HarnessState, tool: ToolDescriptor) -> SimulatedStep: ...

    async def evaluate(self, state: HarnessState) -> float: ...


class PolicyRouter(Protocol):
    """Whose probabilities become priors; a fallback of it leaves them equal."""

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision: ...


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One step of a search tree, seen from where it was taken.

    `value` is reward + discount × what was found to follow; `state` is the id of a supplied graph's state.
    The root has no parent, no tool, and the value of its best step.
    """

    id: int
    parent: int | None
    tool: str | None
    depth: int
    visits: int
    value: float
    prior: float | None
    reward: float
    terminal: bool
    state: str | None = None


@dataclass(frozen=True, slots=True)
class MCTSResult:
    """A decision and what it rests on.

    `root_values` holds, for each first step that was tried, reward + discount × value of what follows: with puct the mean of
    what was found, with best_path the best that is expected, with exact the best there is. `stopped_by` is complete,
    deadline, cancelled, or nodes where an exact walk ran out of them. `transitions` counts the steps that the environment was asked for.
    """

    decision: RouteDecision
    principal_variation: tuple[str, ...] = ()
    root_visits: Mapping[str, int] = field(default_factory=dict)
    root_values: Mapping[str, float] = field(default_factory=dict)
    simulations: int = 0
    policy_evaluations: int = 0
    method: str = "puct"
    stopped_by: str = "complete"
    transitions: int = 0
    tree: tuple[TreeNode, ...] = ()
