"""The decision table: a provider's choice becomes a selection, a wish to have it confirmed, or a fallback with its reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest

from routing.engine.config import RoutingConfig
from routing.engine.errors import InvalidProviderResponse, UnknownToolError
from routing.engine.inference import infer_traits
from routing.engine.models import FALLBACK, ChoiceDecision, RouteDecision, RoutingMode, Shares, ToolDescriptor

MALFORMED = (InvalidProviderResponse, UnknownToolError)  # answers that are none


def validate_tools(tools: Iterable[ToolDescriptor]) -> None:
    """Raises ValueError for names that are blank, repeated or reserved: a choice among such tools would mean nothing."""
    seen: set[str] = set()
    for tool in tools:
        if not isinstance(tool.name, str) or not tool.name.strip():
            raise ValueError("tool names must be non-empty")
        if tool.name == FALLBACK:
            raise ValueError(f"the tool name {FALLBACK} is reserved")
        if tool.name in seen:
            raise ValueError(f"tool names must be unique; duplicate tool name: {tool.name}")
        seen.add(tool.name)


def decide_early(config: RoutingConfig, tools: Sequence[ToolDescriptor]) -> RouteDecision | None:
    """The decision where no provider is asked: the planner decides alone, or there is nothing to choose from.

    Tools are looked at only when someone is to choose among them; ValueError as `validate_tools`.
    """
    early = undecided(config, tools)
    if early is None:
        validate_tools(tools)
    return early


def undecided(config: RoutingConfig, tools: Sequence[ToolDescriptor]) -> RouteDecision | None:
    """The same for tools that are known to be told apart by their names."""
    if config.mode is RoutingMode.PLANNER_ONLY:
        return RouteDecision(fallback=True, fallback_reason="planner_only")
    if not tools:
        return RouteDecision(fallback=True, fallback_reason="no_tools")
    return None


def judge_choice(
    choice: ChoiceDecision, config: RoutingConfig, tools: Sequence[ToolDescriptor], *, direct: float | None = None
) -> RouteDecision:
    """The decision on a choice among these tools, whatever the choice is.

    A malformed choice or one of no offered tool is the fallback `router_error`; in mode jev_only it raises
    InvalidProviderResponse or UnknownToolError. Raises ValueError as `validate_tools`.
    """
    early = decide_early(config, tools)
    if early is not None:
        return early
    offered = {tool.name: tool for tool in tools}
    try:
        check_choice(choice, offered)
    except MALFORMED:
        if config.mode is RoutingMode.JEV_ONLY:
            raise
        return failed("router_error", k=len(offered) + 1)
    return decide(choice, config, offered, direct=direct)


def decide(
    choice: ChoiceDecision,
    config: RoutingConfig,
    offered: Mapping[str, ToolDescriptor],
    *,
    direct: float | None = None,
    category: str | None = None,
    answers: tuple[ChoiceDecision, ...] = (),
) -> RouteDecision:
    """The table itself, for a checked choice. Bounds are inclusive: a confidence equal to a threshold has reached it.

    `direct` stands for the direct threshold where the caller knows better than `direct_threshold` what it is; `category`
    is what was chosen before, when the tools are those of one category. `answers` go with the decision.
    """
    if choice.choice == FALLBACK:
        return fallback("no_matching_tool", choice, offered, category=category, answers=answers)
    tool = offered[choice.choice]
    category = category or category_of(tool)
    if choice.confidence < config.fallback_threshold:
        return fallback("low_confidence", choice, offered, category=category, answers=answers)
    bar = direct_threshold(config, tool)[0] if direct is None else direct
    if config.mode is RoutingMode.HYBRID and choice.confidence < bar:
        return fallback("planner_confirmation", choice, offered, category=category, proposed=tool.name, answers=answers)
    return _told(choice, offered, tool=tool.name, category=category, answers=answers)


def direct_threshold(config: RoutingConfig, tool: ToolDescriptor) -> tuple[float, str]:
    """From which confidence on this tool is selected without the planner, and by which rule: finish, risk or default."""
    if config.finish_threshold is not None and group_of(tool) == "finish":
        return config.finish_threshold, "finish"
    if config.risk_thresholds:
        effect = tool.effect or infer_traits(tool.name, tool.description)["effect"]
        if effect in config.risk_thresholds:
            return config.risk_thresholds[effect], "risk"
    return config.direct_execution_threshold, "default"


def category_of(tool: ToolDescriptor) -> str:
    """As declared, else as its words let expect."""
    return tool.category or infer_traits(tool.name, tool.description)["category"]


def group_of(tool: ToolDescriptor) -> str:
    """The category as one name for all its spellings."""
    return category_of(tool).strip().lower()


def check_choice(choice: ChoiceDecision, labels: Iterable[str]) -> None:
    """Raises InvalidProviderResponse for what is no choice, UnknownToolError for one of no offered label."""
    label = getattr(choice, "choice", None)
    if not isinstance(label, str) or not _is_share(getattr(choice, "confidence", None)):
        raise InvalidProviderResponse("a choice needs a label and a confidence from 0 to 1")
    told = getattr(choice, "probabilities", None)
    if not isinstance(told, Mapping) or not all(map(_is_share, told.values())):
        raise InvalidProviderResponse("probabilities must be numbers from 0 to 1")
    if label != FALLBACK and label not in labels:
        raise UnknownToolError("the provider chose a label that was not offered")


def _is_share(value: object) -> bool:
    if type(value) is float:
        return 0.0 <= value <= 1.0  # not a number is in no order
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1


def failed(reason: str, *, k: int | None = None, answers: tuple[ChoiceDecision, ...] = ()) -> RouteDecision:
    """The fallback where no answer came that could be judged; another one may have come before."""
    return RouteDecision(fallback=True, fallback_reason=reason, source="provider", k=k, answers=answers)


def fallback(
    reason: str,
    choice: ChoiceDecision,
    offered: Mapping[str, object],
    *,
    category: str | None = None,
    proposed: str | None = None,
    answers: tuple[ChoiceDecision, ...] = (),
) -> RouteDecision:
    return _told(choice, offered, category=category, reason=reason, proposed=proposed, answers=answers)


def _told(
    choice: ChoiceDecision,
    offered: Mapping[str, object],
    *,
    tool: str | None = None,
    category: str | None = None,
    reason: str | None = None,
    proposed: str | None = None,
    answers: tuple[ChoiceDecision, ...] = (),
) -> RouteDecision:
    """The decision with what was offered: how many labels, and how the likeliest stands to the next."""
    # A label that nobody offered is no alternative, whatever a provider says of it.
    probabilities = Shares(
        (label, share) for label, share in choice.probabilities.items() if label in offered or label == FALLBACK
    )
    best = nlargest(2, probabilities.values())
    return RouteDecision(
        tool=tool,
        category=category,
        confidence=choice.confidence,
        probabilities=probabilities,
        fallback=reason is not None,
        fallback_reason=reason,
        proposed_tool=proposed,
        source="provider",
        k=len(offered) + 1,
        top_probability=best[0] if best else None,
        margin=best[0] - best[1] if len(best) > 1 else None,
        answers=answers,
    )
