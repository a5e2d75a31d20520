"""How sure a provider's probabilities are, worked out again from them: not every provider means the same by confidence."""

from __future__ import annotations

from collections.abc import Mapping

from routing.engine.models import RouteDecision

RULES = ("reported", "peak")


def peak_confidence(probabilities: Mapping[str, float], k: int) -> float:
    """How peaked a distribution over k labels is, 0..1: 0 when all are alike, 1 when one has everything.

    That is (max p - 1/k) / (1 - 1/k). Raises ValueError below two labels, where nothing is chosen.
    """
    if k < 2:
        raise ValueError("a choice needs two labels or more")
    even = 1 / k
    return min(max((max(probabilities.values(), default=0.0) - even) / (1 - even), 0.0), 1.0)


def recomputed_confidence(decision: RouteDecision, rule: str) -> float:
    """What a decision's confidence would be under a provider's rule: `reported` as it came, `peak` from the probabilities.

    Of a decision that no provider made, or that tells no probabilities, the confidence stays what it is. Where a category
    was chosen first, it is no higher than the confidence of that choice. Raises ValueError for another rule.
    """
    if rule not in RULES:
        raise ValueError(f"the rule must be one of {', '.join(RULES)}")
    if rule == "reported" or decision.k is None or not decision.probabilities:
        return decision.confidence
    before = (answer.confidence for answer in decision.answers[:-1])
    return min(peak_confidence(decision.probabilities, decision.k), *before, 1.0)
