"""The decision router's values, and the table that turns a provider's choice into a decision.

A provider says which label it prefers and how sure it is; the table says what may follow from that. A decision that
hands the choice back to the planner has no tool and says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from routing.engine.errors import InvalidProviderResponse, RouterConfigurationError

FALLBACK = "__fallback__"


class RiskLevel(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class RoutingMode(StrEnum):
    PLANNER_ONLY = "planner_only"
    JEV_ONLY = "jev_only"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class ToolDescriptor:
    name: str
    description: str
    category: str | None = None
    risk: RiskLevel = RiskLevel.MEDIUM
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ActionSummary:
    tool: str
    outcome: str
    arguments_hash: str | None = None


@dataclass(slots=True)
class HarnessState:
    """What the harness is doing and has seen; mutable, because a harness carries it along."""

    goal: str
    observation: str | None = None
    last_action: str | None = None
    recent_actions: list[ActionSummary] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChoiceDecision:
    """What a provider answers: a label, its distribution over the labels, and how sure it is (0..1)."""

    choice: str
    probabilities: Mapping[str, float]
    confidence: float


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """A selected tool, or a fallback with its reason. `proposed_tool` is set exactly when a confirmation is wanted."""

    tool: str | None = None
    category: str | None = None
    confidence: float = 0.0
    probabilities: Mapping[str, float] = field(default_factory=dict)
    fallback: bool = False
    fallback_reason: str | None = None
    proposed_tool: str | None = None
    source: str = "none"
    k: int | None = None  # labels that the provider chose among, the fallback label included
    top_probability: float | None = None
    margin: float | None = None  # distance from the most probable label to the next


@dataclass(frozen=True, slots=True)
class RoutingConfig:
    """Bounds and budgets of a router. A value out of its bounds raises RouterConfigurationError, naming the field."""

    mode: RoutingMode = RoutingMode.HYBRID
    direct_execution_threshold: float = 0.85
    fallback_threshold: float = 0.60
    hierarchical_threshold: int = 24
    adaptive_hierarchy: bool = True
    hierarchical_min_savings_ratio: float = 0.15
    route_cache_size: int = 128
    goal_cache_size: int = 0
    goal_cache_ttl_seconds: float = 300.0
    fallback_cache_ttl_seconds: float = 5.0
    max_same_action_repeats: int = 2
    max_route_steps: int = 50
    max_consecutive_fallbacks: int = 2
    description_limit: int = 160
    history_limit: int = 3
    state_field_limit: int = 800
    constraint_limit: int = 4

    def __post_init__(self) -> None:
        for name, low, high in _BOUNDS:
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or not low <= value <= high:
                bound = f"from {low} to {high}" if high < math.inf else f"at least {low}"
                raise RouterConfigurationError(f"{name} must be {bound}")
        if self.fallback_threshold > self.direct_execution_threshold:
            raise RouterConfigurationError("fallback_threshold must not be above direct_execution_threshold")
        object.__setattr__(self, "mode", _mode(self.mode))

    @classmethod
    def from_policy(cls, block: Mapping[str, Any]) -> RoutingConfig:
        """From a policy's `router` block; fields that belong to the service alone are left aside."""
        return cls(**{name: block[name] for name in cls.__dataclass_fields__ if name in block})


_BOUNDS: tuple[tuple[str, float, float], ...] = (
    ("direct_execution_threshold", 0, 1),
    ("fallback_threshold", 0, 1),
    ("hierarchical_threshold", 1, math.inf),
    ("hierarchical_min_savings_ratio", 0, 1),
    ("route_cache_size", 0, math.inf),
    ("goal_cache_size", 0, math.inf),
    ("goal_cache_ttl_seconds", 0, math.inf),
    ("fallback_cache_ttl_seconds", 0, math.inf),
    ("max_same_action_repeats", 1, math.inf),
    ("max_route_steps", 1, math.inf),
    ("max_consecutive_fallbacks", 1, math.inf),
    ("description_limit", 32, math.inf),
    ("history_limit", 1, math.inf),
    ("state_field_limit", 64, math.inf),
    ("constraint_limit", 0, math.inf),
)


def _mode(value: str) -> RoutingMode:
    try:
        return RoutingMode(value)
    except ValueError:
        raise RouterConfigurationError(f"mode must be one of {', '.join(RoutingMode)}") from None


def validate_tools(tools: Sequence[ToolDescriptor]) -> None:
    """Names must be there, different, and not the reserved label; raises ValueError."""
    names = [tool.name for tool in tools]
    if any(not name.strip() for name in names):
        raise ValueError("tool names must not be blank")
    if FALLBACK in names:
        raise ValueError(f"{FALLBACK} is reserved")
    if len(set(names)) != len(names):
        raise ValueError("tool names must be unique")


def judge_choice(
    choice: ChoiceDecision, config: RoutingConfig, tools: Sequence[ToolDescriptor], *, direct: float | None = None
) -> RouteDecision:
    """The decision table. Bounds are inclusive at their lower end; `direct` replaces the configured direct threshold.

    Raises InvalidProviderResponse when the provider chose what was not offered.
    """
    bar = config.direct_execution_threshold if direct is None else direct
    facts = _facts(choice, len(tools) + 1)
    if choice.choice == FALLBACK:
        return _handed_back("no_matching_tool", None, facts)
    tool = next((tool for tool in tools if tool.name == choice.choice), None)
    if tool is None:
        raise InvalidProviderResponse("the provider chose a tool that was not offered")
    if choice.confidence < config.fallback_threshold:
        return _handed_back("low_confidence", tool.category, facts)
    if choice.confidence < bar and config.mode is RoutingMode.HYBRID:
        return _handed_back("planner_confirmation", tool.category, facts, proposed=tool.name)
    return RouteDecision(tool=tool.name, category=tool.category, **facts)


def _facts(choice: ChoiceDecision, k: int) -> dict[str, Any]:
    top = sorted(choice.probabilities.values(), reverse=True)[:2]
    return {
        "confidence": choice.confidence,
        "probabilities": choice.probabilities,
        "source": "provider",
        "k": k,
        "top_probability": top[0] if top else None,
        "margin": top[0] - top[1] if len(top) > 1 else None,
    }


def _handed_back(reason: str, category: str | None, facts: Mapping[str, Any], proposed: str | None = None) -> RouteDecision:
    return RouteDecision(category=category, fallback=True, fallback_reason=reason, proposed_tool=proposed, **facts)
