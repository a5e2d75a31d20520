"""The execution policy: may this tool be run on this advice? Evaluated apart from routing, so advice is never authority."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from routing.engine.errors import RouterConfigurationError
from routing.engine.inference import infer_traits
from routing.engine.models import RouteDecision, ToolDescriptor
from routing.engine.policies import EFFECTS, RISKS, VERDICTS

_FACTS = ("effect", "risk", "category", "tool", "endpoint", "scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`allow`, `ask` or `deny`, and what decided: `rules[2]`, `default.low`, or for a mismatch `no_selection`, `other_tool`."""

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
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRule:
    """A verdict for every tool of which all the facts that are given hold. Raises RouterConfigurationError for a word that
    is no verdict, effect or risk, and for a confidence beyond 0..1."""

    verdict: str
    effect: str | None = None
    risk: str | None = None
    category: str | None = None
    tool: str | None = None
    endpoint: str | None = None
    scope: str | None = None
    min_confidence: float | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("verdict", self.verdict, VERDICTS),
            ("effect", self.effect, (None, *EFFECTS)),
            ("risk", self.risk, (None, *RISKS)),
        ):
            if value not in known:
                raise RouterConfigurationError(f"{name} must be one of {', '.join(filter(None, known))}")
        _check_share("min_confidence", self.min_confidence)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ExecutionRule:
        """A rule of a policy's `execution` block."""
        unknown = sorted(set(given) - {spec.name for spec in fields(cls)})
        if unknown or "verdict" not in given:
            raise RouterConfigurationError(
                f"{unknown[0]} is no fact of a rule" if unknown else "a rule needs a verdict"
            )
        return cls(**given)

    def holds(self, proposal: Proposal) -> bool:
        return all(getattr(self, name) in (None, getattr(proposal, name)) for name in _FACTS) and (
            self.min_confidence is None or proposal.confidence >= self.min_confidence
        )

    def covers(self, other: ExecutionRule) -> bool:
        """Whether this rule holds wherever the other one does."""
        return all(getattr(self, name) in (None, getattr(other, name)) for name in _FACTS) and (
            not self.min_confidence or (other.min_confidence or 0) >= self.min_confidence
        )


class ExecutionPolicy(Protocol):
    """Whether a tool may be run on a decision's advice."""

    async def allow(self, decision: RouteDecision, tool: ToolDescriptor) -> bool: ...


@dataclass(frozen=True, slots=True)
class RuleExecutionPolicy:
    """The first rule whose every fact holds decides; else low risk is allowed, medium from `medium_min_confidence` on (None:
    never), high and critical are denied.

    A fallback, and a tool other than the selected one, are denied before any rule is asked.
    """

    rules: tuple[ExecutionRule, ...] = ()
    medium_min_confidence: float | None = None
    scope: str | None = field(default=None, kw_only=True)  # where the policy is used, for rules that name one

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        _check_share("medium_min_confidence", self.medium_min_confidence)

    @classmethod
    def of(cls, settings: Mapping[str, Any], *, scope: str | None = None) -> RuleExecutionPolicy:
        """What a policy's `execution` block says. Raises RouterConfigurationError, naming the rule that is wrong."""
        return cls(tuple(_numbered(settings.get("rules") or ())), settings.get("medium_min_confidence"), scope=scope)

    async def allow(self, decision: RouteDecision, tool: ToolDescriptor) -> bool:
        """Whether the verdict is `allow`. What is to be asked about is not allowed yet."""
        return self.judge(decision, tool).verdict == "allow"

    def judge(self, decision: RouteDecision, tool: ToolDescriptor, *, endpoint: str | None = None) -> Verdict:
        """The verdict on running `tool` because of `decision`. Category and effect are inferred where a tool has none."""
        if decision.fallback or decision.tool is None:
            return Verdict(verdict="deny", rule="no_selection")
        if decision.tool != tool.name:
            return Verdict(verdict="deny", rule="other_tool")
        return self.judge_proposal(_proposal(decision, tool, endpoint, self.scope))

    def judge_proposal(self, proposal: Proposal) -> Verdict:
        for place, rule in enumerate(self.rules):
            if rule.holds(proposal):
                return Verdict(verdict=rule.verdict, rule=f"rules[{place}]")
        return Verdict(verdict=self._by_risk(proposal), rule=f"default.{proposal.risk}")

    def unreachable(self) -> list[int]:
        """The places of rules that can never decide, since an earlier one holds wherever they do."""
        return [place for place, rule in enumerate(self.rules) if any(one.covers(rule) for one in self.rules[:place])]

    def _by_risk(self, proposal: Proposal) -> str:
        if proposal.risk == "low":
            return "allow"
        least = self.medium_min_confidence
        enough = least is not None and proposal.confidence >= least
        return "allow" if proposal.risk == "medium" and enough else "deny"


@dataclass(frozen=True, slots=True)
class DefaultExecutionPolicy:
    """No rules: low risk runs, medium from `medium_min_confidence` on (None: never), high and critical never."""

    medium_min_confidence: float | None = None

    def __post_init__(self) -> None:
        _check_share("medium_min_confidence", self.medium_min_confidence)

    async def allow(self, decision: RouteDecision, tool: ToolDescriptor) -> bool:
        """False also for a fallback, and for a tool that is not the selected one."""
        return await RuleExecutionPolicy((), self.medium_min_confidence).allow(decision, tool)


def judge_execution(settings: Mapping[str, Any], proposal: Proposal) -> Verdict:
    """What a policy's `execution` block says about a proposal: as `RuleExecutionPolicy`."""
    return RuleExecutionPolicy.of(settings).judge_proposal(proposal)


def _numbered(rules: Iterable[Mapping[str, Any]]) -> Iterable[ExecutionRule]:
    for place, rule in enumerate(rules):
        try:
            yield ExecutionRule.of(rule)
        except RouterConfigurationError as problem:
            raise RouterConfigurationError(f"rules[{place}]: {problem}") from None


def _proposal(decision: RouteDecision, tool: ToolDescriptor, endpoint: str | None, scope: str | None) -> Proposal:
    inferred = infer_traits(tool.name, tool.description) if not (tool.category and tool.effect) else {}
    return Proposal(
        tool=tool.name,
        endpoint=endpoint,
        category=tool.category or inferred["category"],
        risk=str(tool.risk),
        effect=tool.effect or inferred["effect"],
        confidence=decision.confidence,
        scope=scope,
    )


def _check_share(name: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (number and math.isfinite(value) and 0 <= value <= 1):  # type: ignore[operator, arg-type]
        raise RouterConfigurationError(f"{name} must be a number from 0 to 1")
