"""The execution policy: may this tool be run on this advice? Evaluated apart from routing, so advice is never authority."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

from routing.engine.errors import RouterConfigurationError
from routing.engine.inference import infer_traits
from routing.engine.models import RouteDecision, ToolDescriptor
from routing.engine.naming import ToolNames
from routing.engine.policies import EFFECTS, RISKS, VERDICTS

FACTS = ("effect", "risk", "category", "tool", "endpoint", "scope")
_OTHER = "\0"  # a name that no rule can say


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
        return self.fits(proposal) and (self.min_confidence is None or proposal.confidence >= self.min_confidence)

    def fits(self, proposal: Proposal) -> bool:
        """Whether all facts hold, whatever the confidence."""
        return all(same_fact(name, getattr(self, name), getattr(proposal, name)) for name in FACTS)

    def misses(self, proposal: Proposal) -> tuple[str, ...]:
        """The fields that do not hold: facts, and `min_confidence` where the confidence is too low."""
        unsure = self.min_confidence is not None and proposal.confidence < self.min_confidence
        facts = (name for name in FACTS if not same_fact(name, getattr(self, name), getattr(proposal, name)))
        return (*facts, *(("min_confidence",) if unsure else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One rule that was asked: `rules[2]`, and the fields that do not hold; none of the rule that decided."""

    rule: str
    misses: tuple[str, ...] = ()


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
    names: ToolNames | None = field(default=None, kw_only=True, compare=False, repr=False)  # tools in other spellings

    def __post_init__(self) -> None:
        rules = tuple(self.rules)
        if self.names is not None:
            rules = tuple(replace(rule, tool=self._public(rule.tool, rule.endpoint)) for rule in rules)
        object.__setattr__(self, "rules", rules)
        _check_share("medium_min_confidence", self.medium_min_confidence)

    @classmethod
    def of(
        cls, settings: Mapping[str, Any], *, scope: str | None = None, names: ToolNames | None = None
    ) -> RuleExecutionPolicy:
        """What a policy's `execution` block says. Raises RouterConfigurationError, naming the rule that is wrong.

        With `names` a tool that they know is the same in every spelling, in rules and in proposals.
        """
        rules = tuple(_numbered(settings.get("rules") or ()))
        return cls(rules, settings.get("medium_min_confidence"), scope=scope, names=names)

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
        proposal = self._spelled(proposal)
        for place, rule in enumerate(self.rules):
            if rule.holds(proposal):
                return Verdict(verdict=rule.verdict, rule=rule_id(place))
        return Verdict(verdict=self._by_risk(proposal), rule=f"default.{proposal.risk}")

    def trace(self, proposal: Proposal) -> list[Asked]:
        """The rules that were asked, in their order: those passed over and why, and last the one that decided, if any did."""
        proposal = self._spelled(proposal)
        asked: list[Asked] = []
        for place, rule in enumerate(self.rules):
            asked.append(Asked(rule=rule_id(place), misses=rule.misses(proposal)))
            if not asked[-1].misses:
                break
        return asked

    def unreachable(self) -> list[int]:
        """The places of rules that can never decide, whatever is proposed: earlier ones take all that they could."""
        return [place for place in range(len(self.rules)) if taken_before(self.rules, place) is not None]

    def _spelled(self, proposal: Proposal) -> Proposal:
        public = self._public(proposal.tool)
        return proposal if public == proposal.tool else replace(proposal, tool=public or proposal.tool)

    def _public(self, tool: str | None, endpoint: str | None = None) -> str | None:
        return tool if tool is None or self.names is None else self.names.public(tool, endpoint)

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


def rule_id(place: int) -> str:
    """How a verdict names the rule that decided: its place in the list that the policy comes to."""
    return f"rules[{place}]"


def taken_before(
    rules: Sequence[ExecutionRule],
    place: int,
    proposals: Iterable[Proposal] | None = None,
    floor: Callable[[Proposal], float] = lambda proposal: 0.0,
) -> set[int] | None:
    """The earlier rules that together take all that this one could decide; None when something is left to it.

    `proposals` are all that may meet the rule; without them, all that there can be. No confidence is below `floor`.
    """
    rule, takers = rules[place], set[int]()
    for proposal in _boundless(rule) if proposals is None else proposals:
        least = max(rule.min_confidence or 0.0, floor(proposal))
        taking = _taking(rules[:place], proposal, least)
        if taking is None:
            return None
        takers |= taking
    return takers


def _taking(earlier: Sequence[ExecutionRule], proposal: Proposal, least: float) -> set[int] | None:
    """Earlier rules that decide on a proposal at every confidence from `least` on; None when they leave some."""
    taking, from_ = set(), math.inf
    for place, rule in enumerate(earlier):
        if rule.fits(proposal) and (rule.min_confidence or 0.0) < from_:
            taking.add(place)
            from_ = rule.min_confidence or 0.0
            if from_ <= least:
                return taking
    return None


def _boundless(rule: ExecutionRule) -> Iterator[Proposal]:
    """What may meet a rule, one of each kind: a name beyond all others stands for any that the rule does not say."""
    for effect in (rule.effect,) if rule.effect else (*EFFECTS, None):
        for risk in (rule.risk,) if rule.risk else RISKS:
            yield Proposal(
                tool=rule.tool or _OTHER,
                endpoint=rule.endpoint,
                category=rule.category or _OTHER,
                risk=risk,
                effect=effect,
                confidence=1.0,
                scope=rule.scope or _OTHER,
            )


def same_fact(name: str, wanted: str | None, given: str | None) -> bool:
    """Whether a fact is as a rule wants it; None wants nothing. A category is the same in capitals."""
    if wanted is None or wanted == given:
        return True
    return name == "category" and given is not None and wanted.strip().casefold() == given.strip().casefold()


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
