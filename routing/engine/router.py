"""Turn a provider's choice into a decision: select, ask the planner to confirm, or fall back with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from routing.engine.config import RoutingConfig
from routing.engine.errors import InvalidProviderResponse, UnknownToolError
from routing.engine.inference import infer_traits
from routing.engine.models import (
    FALLBACK,
    ActionSummary,
    ChoiceDecision,
    DecisionProvider,
    HarnessState,
    RiskLevel,
    RouteDecision,
    RoutingMode,
    ToolDescriptor,
)


def validate_tools(tools: Sequence[ToolDescriptor]) -> None:
    """Raises ValueError for names that are blank, repeated or reserved: a choice among such tools would mean nothing."""
    seen: set[str] = set()
    for tool in tools:
        if not isinstance(tool.name, str) or not tool.name.strip():
            raise ValueError("tool names must be non-empty")
        if tool.name == FALLBACK:
            raise ValueError(f"the tool name {FALLBACK} is reserved")
        if tool.name in seen:
            raise ValueError(f"duplicate tool name: {tool.name}")
        seen.add(tool.name)


def decide_early(config: RoutingConfig, tools: Sequence[ToolDescriptor]) -> RouteDecision | None:
    """The decision where no provider is asked: the planner decides alone, or there is nothing to choose from.

    Tools are looked at only when someone is to choose among them; ValueError as `validate_tools`.
    """
    if config.mode is RoutingMode.PLANNER_ONLY:
        return _fallback("planner_only", source="none")
    if not tools:
        return _fallback("no_tools", source="none")
    validate_tools(tools)
    return None


def judge_choice(
    choice: ChoiceDecision, config: RoutingConfig, tools: Sequence[ToolDescriptor], *, direct: float | None = None
) -> RouteDecision:
    """The decision table. Bounds are inclusive: a confidence equal to a threshold has reached it.

    `direct` stands for the direct threshold where the caller knows better than `direct_threshold` what it is.

    A malformed choice or one of no offered tool is the fallback `router_error`; in mode jev_only it raises
    InvalidProviderResponse or UnknownToolError. Raises ValueError as `validate_tools`.
    """
    early = decide_early(config, tools)
    if early is not None:
        return early
    try:
        _check_choice(choice, tools)
    except (InvalidProviderResponse, UnknownToolError):
        if config.mode is RoutingMode.JEV_ONLY:
            raise
        return _fallback("router_error", tools=tools)
    if choice.choice == FALLBACK:
        return _fallback("no_matching_tool", choice, tools)
    tool = next(tool for tool in tools if tool.name == choice.choice)
    if choice.confidence < config.fallback_threshold:
        return _fallback("low_confidence", choice, tools, category=category_of(tool))
    bar = direct_threshold(config, tool)[0] if direct is None else direct
    if config.mode is RoutingMode.HYBRID and choice.confidence < bar:
        return _fallback("planner_confirmation", choice, tools, category=category_of(tool), proposed=tool.name)
    selected = RouteDecision(
        tool=tool.name, category=category_of(tool), confidence=choice.confidence, source="provider"
    )
    return _with_facts(selected, choice.probabilities, tools)


def direct_threshold(config: RoutingConfig, tool: ToolDescriptor) -> tuple[float, str]:
    """From which confidence on this tool is selected without the planner, and by which rule: finish, risk or default."""
    if config.finish_threshold is not None and category_of(tool) == "finish":
        return config.finish_threshold, "finish"
    if config.risk_thresholds:
        effect = tool.effect or infer_traits(tool.name, tool.description)["effect"]
        if effect in config.risk_thresholds:
            return config.risk_thresholds[effect], "risk"
    return config.direct_execution_threshold, "default"


def category_of(tool: ToolDescriptor) -> str:
    return tool.category or infer_traits(tool.name, tool.description)["category"]


def _check_choice(choice: ChoiceDecision, tools: Sequence[ToolDescriptor]) -> None:
    if not isinstance(choice.choice, str) or not _is_share(choice.confidence):
        raise InvalidProviderResponse("a choice needs a label and a confidence from 0 to 1")
    if not isinstance(choice.probabilities, Mapping) or not all(map(_is_share, choice.probabilities.values())):
        raise InvalidProviderResponse("probabilities must be numbers from 0 to 1")
    if choice.choice != FALLBACK and all(tool.name != choice.choice for tool in tools):
        raise UnknownToolError("the provider chose a tool that was not offered")


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1


def _fallback(
    reason: str,
    choice: ChoiceDecision | None = None,
    tools: Sequence[ToolDescriptor] = (),
    *,
    category: str | None = None,
    proposed: str | None = None,
    source: str = "provider",
) -> RouteDecision:
    decision = RouteDecision(
        category=category,
        confidence=choice.confidence if choice else 0.0,
        fallback=True,
        fallback_reason=reason,
        proposed_tool=proposed,
        source=source,
    )
    return _with_facts(decision, choice.probabilities if choice else {}, tools)


def _with_facts(
    decision: RouteDecision, probabilities: Mapping[str, float], tools: Sequence[ToolDescriptor]
) -> RouteDecision:
    """The decision with what was offered: how many labels, and how the likeliest stands to the next."""
    best = sorted(probabilities.values(), reverse=True)[:2]
    return replace(
        decision,
        probabilities=dict(probabilities),
        k=len(tools) + 1 if tools else None,
        top_probability=best[0] if best else None,
        margin=best[0] - best[1] if len(best) > 1 else None,
    )


__all__ = [
    "FALLBACK",
    "ActionSummary",
    "ChoiceDecision",
    "DecisionProvider",
    "HarnessState",
    "RiskLevel",
    "RouteDecision",
    "RoutingConfig",
    "RoutingMode",
    "ToolDescriptor",
    "category_of",
    "decide_early",
    "direct_threshold",
    "judge_choice",
    "validate_tools",
]
