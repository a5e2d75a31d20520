"""What the threshold lab counts: answers under one policy of which it is known whether they were right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from routing.engine.lab import Judged
from routing.engine.policy import NO_MATCH
from routing.models import Workspace
from routing.services import calibration
from routing.snapshot import live

# Reasons that leave an answer to its probability: any other one holds it back, whatever the threshold.
FREE = frozenset(
    {"low_probability", "single_candidate", "semantic_match", "strong_coverage_and_margin", "clear_margin"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Answers under one policy, and how many there are under each."""

    judged: Sequence[Judged]
    policies: Mapping[str, int]


def evidence(workspace: Workspace, policy: str) -> Evidence:
    """Probabilities are those that would be told today: corrected by what the workspace has learnt since."""
    catalog = live(workspace.pk).catalog
    judged, policies = [], dict[str, int]()
    for decision, first, outcome in calibration.judgements(workspace.pk):
        policies[decision.policy] = policies.get(decision.policy, 0) + 1
        if decision.policy == policy:
            pair = catalog.pair(first)
            doc = catalog.tool(*pair) if pair else None
            held = decision.status == NO_MATCH or not FREE.issuperset(decision.reason_codes)
            _, probability = catalog.calibration(outcome.match, outcome.right)
            judged.append(Judged(probability, outcome.was_right, effect=doc.traits.effect if doc else "", held=held))
    return Evidence(judged=judged, policies=policies)
