"""The execution policy: may this tool be run on this advice? Evaluated apart from routing, so advice is never authority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_FACTS = ("effect", "risk", "category", "tool", "endpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`allow`, `ask` or `deny`, and the rule that decided: `rules[2]` or `default.low`."""

    verdict: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What is about to run: the tool by its public name and what is known of it."""

    tool: str
    endpoint: str | None
    category: str | None
    risk: str
    effect: str | None
    confidence: float


def judge_execution(settings: Mapping[str, Any], proposal: Proposal) -> Verdict:
    """The first rule whose every condition holds decides; else low risk is allowed, medium from `medium_min_confidence`
    on (null: never), high and critical are denied. `settings` is a policy's `execution` block."""
    rules: Sequence[Mapping[str, Any]] = settings.get("rules") or ()
    for place, rule in enumerate(rules):
        if _holds(rule, proposal):
            return Verdict(verdict=str(rule["verdict"]), rule=f"rules[{place}]")
    return Verdict(verdict=_by_risk(settings, proposal), rule=f"default.{proposal.risk}")


def _holds(rule: Mapping[str, Any], proposal: Proposal) -> bool:
    least = rule.get("min_confidence")
    return all(rule.get(name) in (None, getattr(proposal, name)) for name in _FACTS) and (
        least is None or proposal.confidence >= least
    )


def _by_risk(settings: Mapping[str, Any], proposal: Proposal) -> str:
    if proposal.risk == "low":
        return "allow"
    least = settings.get("medium_min_confidence")
    enough = least is not None and proposal.confidence >= least
    return "allow" if proposal.risk == "medium" and enough else "deny"
