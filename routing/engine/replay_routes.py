"""Routes of the past: what is recorded of one, and what the decision table makes of it under another document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from heapq import nlargest
from typing import Any

from routing.engine.catalog import Catalog
from routing.engine.config import RoutingConfig
from routing.engine.decision_table import category_of, decide, fallback
from routing.engine.models import FALLBACK, ChoiceDecision, RouteDecision, RoutingMode, ToolDescriptor
from routing.engine.policies import EffectivePolicy

MOST_LABELS = 10  # that are recorded of a provider's answer
LOCAL = "local"


def asks_local_alone(catalog: Catalog, policy: EffectivePolicy) -> bool:
    """Whether nobody but the local provider decides under a policy: who asks again knows what it would answer."""
    kinds = {provider.name: provider.kind for provider in catalog.registry.providers} | {LOCAL: LOCAL}
    return all(kinds.get(name) == LOCAL for name in policy.router["providers"])


def recorded_route(
    decision: RouteDecision, offered: Mapping[str, ToolDescriptor], *, of_catalog: bool
) -> dict[str, Any]:
    """What it takes to decide a route again: answers, and of the tools that were chosen what thresholds ask about."""
    reasons = ("no_matching_category", "low_category_confidence")
    chosen = [answer.choice for answer in decision.answers if answer.choice in offered]
    return {
        "answers": [[one.choice, one.confidence, _likeliest(one)] for one in decision.answers],
        "by_category": len(decision.answers) > 1 or decision.fallback_reason in reasons,
        "tools": {name: [category_of(offered[name]), offered[name].effect] for name in chosen},
        "of_catalog": of_catalog,
    }


def _likeliest(answer: ChoiceDecision) -> dict[str, float]:
    best = dict(nlargest(MOST_LABELS, answer.probabilities.items(), key=lambda item: item[1]))
    if answer.choice in answer.probabilities:
        best[answer.choice] = answer.probabilities[answer.choice]
    return best


def decided_again(
    route: Mapping[str, Any], config: RoutingConfig, offered: Callable[[str], ToolDescriptor | None]
) -> RouteDecision | None:
    """What the decision table says to recorded answers; None where it would take one that nobody gave. `offered` knows the
    chosen tool as the thresholds see it, or that it is not to be had."""
    if config.mode is RoutingMode.PLANNER_ONLY:
        return RouteDecision(fallback=True, fallback_reason="planner_only")
    if not route["answers"]:
        return None
    answers = [ChoiceDecision(choice, shares, confidence) for choice, confidence, shares in route["answers"]]
    first, last = answers[0], answers[-1]
    category = None
    if route["by_category"]:
        if first.choice == FALLBACK:
            return fallback("no_matching_category", first, first.probabilities)
        if first.confidence < config.fallback_threshold:
            return fallback("low_category_confidence", first, first.probabilities, category=first.choice)
        if len(answers) < 2:
            return None  # the tools of that category were never asked about
        category, last = first.choice, replace(last, confidence=min(first.confidence, last.confidence))
    if last.choice == FALLBACK:
        return fallback("no_matching_tool", last, last.probabilities, category=category)
    tool = offered(last.choice)
    if tool is None:
        return fallback("no_matching_tool", replace(last, probabilities={}), {}, category=category)
    return decide(last, config, dict.fromkeys(last.probabilities, tool) | {last.choice: tool}, category=category)


def as_it_is(name: str, route: Mapping[str, Any], catalog: Catalog, scope: str) -> ToolDescriptor | None:
    """The chosen tool as the thresholds see it; None where it was one of the scope's and is no more to be had."""
    category, effect = route["tools"].get(name, (None, None))
    if not route["of_catalog"]:
        return ToolDescriptor(name, "", category=category, effect=effect)
    pair = catalog.pair(name)
    doc = catalog.tool(*pair) if pair is not None and catalog.permits(scope, *pair) else None
    if doc is None or not catalog.is_available(doc):
        return None
    return ToolDescriptor(name, "", category=doc.traits.category, effect=doc.traits.effect)
