"""Execution rules of a registry that do not do what they seem to: those that can never decide, and those that say nothing new.

A harness may bring tools of its own in a request, of whatever name, category and risk, but never an endpoint. So a rule that
names a tool of no scope is not dead: a tool of that very name may be brought. Such rules are told apart from dead ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from routing.engine.execution import ExecutionRule, Proposal, RuleExecutionPolicy, rule_id, same_fact, taken_before
from routing.engine.execution_ground import Floor, Ground, rules_owner
from routing.engine.inference import CATEGORIES
from routing.engine.naming import split_name
from routing.engine.permission import Pair
from routing.engine.policies import EFFECTS, RISKS, EffectivePolicy, lineage, merged
from routing.engine.registry import Policy, Registry

NEVER, BROUGHT_ONLY, IDLE_BOUND, SAYS_THE_SAME = "never", "brought_only", "idle_bound", "says_the_same"
MOST_REVIEWED = 500  # rules of one policy; each is held against all before it
_OTHER = "\0"  # a name that no rule can say
_TRAITS = ("effect", "risk", "category")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNote:
    """What is to be said of one rule of a policy.

    `code`: `never` (it can never decide), `brought_only` (no tool of the scopes meets it, only one that a harness brings),
    `idle_bound` (its min_confidence is always reached), `says_the_same` (the answer would be the same without it).
    """

    policy: str
    place: int
    code: str
    message: str

    @property
    def rule(self) -> str:
        return rule_id(self.place)


def review_rules(registry: Registry, policy: str | None = None) -> tuple[RuleNote, ...]:
    """Notes on the execution rules of every policy of a valid registry, or of one, in its order; at most two of a rule."""
    ground = Ground(registry)
    owners = [one for one in registry.policies if one.execution.get("rules") and policy in (None, one.name)]
    return tuple(note for owner in owners for note in _Review(ground, owner).notes())


class _Review:
    """The rules of one policy, as all policies that inherit them and all scopes that use one of these see them."""

    def __init__(self, ground: Ground, owner: Policy) -> None:
        self.ground = ground
        self.owner = owner.name
        heirs = [name for name in ground.policies if rules_owner(name, ground.policies) == owner.name]
        users = {scope.name: {scope.policy, *(scope.policies or ())} & {*heirs} for scope in ground.scopes.values()}
        used = {name for names in users.values() for name in names}
        self.scopes = [scope for scope, names in users.items() if names]
        self.policies = [merged(lineage(name, ground.policies)) for name in sorted(used or heirs)]
        self.rules = RuleExecutionPolicy.of(owner.execution, names=ground.names).rules
        self._floors = [Floor(policy) for policy in self.policies]

    def notes(self) -> Iterator[RuleNote]:
        for place, rule in enumerate(self.rules[:MOST_REVIEWED]):
            if dead := self._dead(place, rule):
                yield self._note(place, NEVER, f"never decides: {dead}")
                continue
            if absent := self._absent(place, rule):
                yield self._note(place, BROUGHT_ONLY, f"meets no tool of the scopes that use it: {absent}")
            if idle := self._idle(rule):
                yield self._note(place, IDLE_BOUND, idle)
            if self._says_the_same(place, rule):
                yield self._note(place, SAYS_THE_SAME, "says what is said without it: the answer would be the same")

    def _note(self, place: int, code: str, message: str) -> RuleNote:
        return RuleNote(policy=self.owner, place=place, code=code, message=message)

    # --- never ------------------------------------------------------------------------------------------------------
    def _dead(self, place: int, rule: ExecutionRule) -> str:
        """Why a rule can never decide; empty when it can."""
        if all(floor.planner_only for floor in self._floors):
            return "in mode planner_only no tool is selected, so no rule is asked"
        if rule.endpoint is not None and (why := self._missing(rule)):
            return why
        return self._shadow(place, self._proposals(rule))

    def _missing(self, rule: ExecutionRule) -> str:
        """Why no tool at all meets a rule that names an endpoint, or a tool; empty when one does or may."""
        pair = self.ground.names.pair(rule.tool) if rule.tool else None
        endpoint = rule.endpoint or (pair[0] if pair else "")
        if rule.tool and pair is None:
            return "" if self.ground.is_unread(endpoint) else f"{endpoint} has no tool {rule.tool}"
        if pair is not None and pair[0] != endpoint:
            return f"{rule.tool} is a tool of {pair[0]}, not of {endpoint}"
        if not self._reaches(endpoint, pair):
            return f"no scope that uses this policy reaches {rule.tool or endpoint}"
        if not self.ground.is_unread(endpoint) and not any(self._tools(rule)):
            return self._unlike(rule, endpoint)
        return ""

    def _unlike(self, rule: ExecutionRule, endpoint: str) -> str:
        wanted = " and ".join(f"{name} {getattr(rule, name)}" for name in _TRAITS if getattr(rule, name) is not None)
        if not wanted:
            return f"{endpoint} has no tool that these scopes reach"
        return f"{rule.tool} is not of {wanted}" if rule.tool else f"no tool of {endpoint} in reach is of {wanted}"

    def _reaches(self, endpoint: str, pair: Pair | None = None) -> bool:
        """Whether a scope that uses the policy reaches a tool, or may reach some of an endpoint. Nobody's policy is free."""
        rules = [self.ground.reach(scope) for scope in self.scopes]
        return not rules or any(rule.permit(*pair) if pair else rule.permit_some(endpoint) for rule in rules)

    def _tools(self, rule: ExecutionRule) -> Iterator[Proposal]:
        """The tools in reach that meet a rule that names an endpoint or a tool of one."""
        pair = self.ground.names.pair(rule.tool) if rule.tool else None
        endpoint = self.ground.endpoints[rule.endpoint or (pair[0] if pair else "")]
        for tool in endpoint.tools if pair is None else (self.ground.tool(pair),):
            if self._reaches(endpoint.name, (endpoint.name, tool.name)):
                proposal = self.ground.proposal(endpoint, tool)
                if rule.fits(proposal):
                    yield proposal

    def _proposals(self, rule: ExecutionRule) -> Iterable[Proposal]:
        """What may meet a rule: real tools where it names an endpoint whose tools are known, else one of each kind."""
        if rule.endpoint is not None and not self.ground.is_unread(rule.endpoint):
            return list(self._tools(rule))
        return [
            Proposal(
                tool=rule.tool or _OTHER,
                endpoint=rule.endpoint,
                category=category,
                risk=risk,
                effect=effect,
                confidence=1.0,
            )
            for effect in ((rule.effect,) if rule.effect else EFFECTS)
            for risk in ((rule.risk,) if rule.risk else RISKS)
            for category in ((rule.category,) if rule.category else (_OTHER, "finish"))  # has a threshold of its own
        ]

    def _shadow(self, place: int, proposals: Iterable[Proposal]) -> str:
        """Which earlier rules take all of these; empty when something is left."""
        proposals = list(proposals)
        takers = taken_before(self.rules, place, proposals, floor=self._least)
        if takers is None:
            return ""
        names = [rule_id(one) for one in sorted(takers)]
        said = f"{names[0]} fits" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} together fit"
        # The confidence is spoken of only where the earlier rules would not do without it.
        alone = taken_before(self.rules, place, proposals) is not None
        return f"{said} wherever it does" + ("" if alone else " at the confidence that it takes to be selected")

    def _least(self, proposal: Proposal) -> float:
        return min(floor(proposal) for floor in self._floors)

    # --- less than never --------------------------------------------------------------------------------------------
    def _absent(self, place: int, rule: ExecutionRule) -> str:
        """Why only tools that a harness brings meet the rule; empty when others do too."""
        if rule.endpoint is not None:
            return ""
        if rule.tool is None:
            known = rule.category is None or rule.category.strip().casefold() in self.ground.categories
            return "" if known else f"none is of the category {rule.category}; inferred are {', '.join(CATEGORIES)}"
        parts = split_name(rule.tool)
        if self.ground.names.pair(rule.tool) is None:
            unread = parts is not None and self.ground.is_unread(parts[0])
            return "" if unread else f"{rule.tool} names no tool of this document"
        return self._missing(rule) or self._shadow(place, self._tools(rule))

    def _idle(self, rule: ExecutionRule) -> str:
        if not rule.min_confidence:
            return "" if rule.min_confidence is None else "min_confidence 0 is always reached"
        least = min((self._least(proposal) for proposal in self._proposals(rule)), default=math.inf)
        if rule.min_confidence > least:
            return ""
        return f"min_confidence {rule.min_confidence:g} is always reached: below {least:g} no such tool is selected"

    def _says_the_same(self, place: int, rule: ExecutionRule) -> bool:
        """Whether whatever would decide instead, later rules and the policy's defaults, says the same."""
        later = (one for one in self.rules[place + 1 :] if _may_meet(rule, one))
        if any(one.verdict != rule.verdict for one in later):
            return False
        least = rule.min_confidence or 0.0
        return all(
            _default(policy, risk, least) == rule.verdict
            for policy in self.policies
            for risk in ((rule.risk,) if rule.risk else RISKS)
        )


def _may_meet(one: ExecutionRule, other: ExecutionRule) -> bool:
    """Whether some tool may meet both."""
    return all(
        getattr(one, name) is None
        or getattr(other, name) is None
        or same_fact(name, getattr(one, name), getattr(other, name))
        for name in (*_TRAITS, "tool", "endpoint")
    )


def _default(policy: EffectivePolicy, risk: str, least: float) -> str | None:
    """What a policy says by risk alone at every confidence from `least` on; None when it is not the same at all of them."""
    if risk != "medium":
        return "allow" if risk == "low" else "deny"
    bound = policy.execution["medium_min_confidence"]
    if bound is None:
        return "deny"
    return "allow" if bound <= least else None
