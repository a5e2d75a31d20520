"""May it run? Rules apart from routing, first match first."""

from __future__ import annotations

import pytest

from routing.engine import (
    DefaultExecutionPolicy,
    ExecutionRule,
    RiskLevel,
    RouteDecision,
    RouterConfigurationError,
    RuleExecutionPolicy,
    ToolDescriptor,
)
from routing.engine.execution import Proposal
from routing.engine.naming import EndpointNames, ToolNames


def tool(name: str = "a", risk: str = "medium", **facts) -> ToolDescriptor:
    return ToolDescriptor(name, name, facts.get("category"), RiskLevel(risk), effect=facts.get("effect"))


def selected(confidence: float = 0.9, name: str = "a") -> RouteDecision:
    return RouteDecision(tool=name, confidence=confidence)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("risk", "least", "confidence", "allowed"),
    [
        ("low", None, 0.0, True),
        ("medium", None, 1.0, False),
        ("medium", 0.9, 0.9, True),
        ("medium", 0.9, 0.89, False),
        ("high", 0.0, 1.0, False),
        ("critical", 0.0, 1.0, False),
    ],
)
async def test_without_rules_risk_decides(risk, least, confidence, allowed):
    assert await DefaultExecutionPolicy(least).allow(selected(confidence), tool(risk=risk)) is allowed
    assert await RuleExecutionPolicy((), least).allow(selected(confidence), tool(risk=risk)) is allowed


@pytest.mark.asyncio
async def test_a_fallback_and_another_tool_than_the_selected_one_never_run():
    everything = RuleExecutionPolicy((ExecutionRule(verdict="allow"),))
    for policy in (DefaultExecutionPolicy(0.0), everything):
        assert not await policy.allow(RouteDecision(fallback=True, fallback_reason="x", confidence=1), tool(risk="low"))
        assert not await policy.allow(selected(name="b"), tool("a", "low"))

    assert everything.judge(selected(name="b"), tool("a")).rule == "other_tool"
    assert everything.judge(RouteDecision(fallback=True), tool("a")).rule == "no_selection"


RULES = RuleExecutionPolicy(
    (
        ExecutionRule(verdict="deny", effect="erase"),
        ExecutionRule(verdict="allow", tool="deploy", scope="release", min_confidence=0.95),
        ExecutionRule(verdict="ask", risk="high"),
        ExecutionRule(verdict="deny", endpoint="prod", category="mutate"),
        ExecutionRule(verdict="allow", category="mutate", min_confidence=0.8),
    )
)


@pytest.mark.parametrize(
    ("facts", "confidence", "endpoint", "verdict", "rule"),
    [
        ({"risk": "low", "effect": "erase"}, 1.0, None, "deny", "rules[0]"),
        ({"risk": "high"}, 1.0, None, "ask", "rules[2]"),
        ({"category": "mutate"}, 0.9, "prod", "deny", "rules[3]"),
        ({"category": "mutate"}, 0.8, None, "allow", "rules[4]"),
        ({"category": "mutate"}, 0.79, None, "deny", "default.medium"),
        ({"risk": "low"}, 0.1, None, "allow", "default.low"),
    ],
)
def test_the_first_rule_whose_every_fact_holds_decides(facts, confidence, endpoint, verdict, rule):
    facts = {"effect": "write", "category": "git", **facts}

    found = RULES.judge(selected(confidence), tool(**facts), endpoint=endpoint)

    assert (found.verdict, found.rule) == (verdict, rule)


def test_a_rule_for_a_scope_holds_there_alone():
    deploy = tool("deploy", "high", effect="execute", category="execute")
    there = RuleExecutionPolicy(RULES.rules, scope="release")

    assert there.judge(selected(0.95, "deploy"), deploy).verdict == "allow"
    assert RULES.judge(selected(0.95, "deploy"), deploy).verdict == "ask"


@pytest.mark.asyncio
async def test_to_ask_is_not_to_allow():
    policy = RuleExecutionPolicy((ExecutionRule(verdict="ask"),))

    assert not await policy.allow(selected(1.0), tool(risk="low"))


def test_category_and_effect_are_inferred_where_a_tool_does_not_say():
    policy = RuleExecutionPolicy((ExecutionRule(verdict="deny", effect="erase"),))

    assert policy.judge(selected(name="delete_branch"), tool("delete_branch", "low")).verdict == "deny"


def test_rules_that_can_never_decide_are_found():
    policy = RuleExecutionPolicy(
        (
            ExecutionRule(verdict="ask", risk="high", min_confidence=0.5),
            ExecutionRule(verdict="deny", risk="high", category="git"),  # also below 0.5: reachable
            ExecutionRule(verdict="allow", risk="high", tool="push", min_confidence=0.6),
            ExecutionRule(verdict="deny", category="git", risk="high", effect="write"),
        )
    )

    assert policy.unreachable() == [2, 3]


def test_rules_that_only_together_leave_nothing_to_a_later_one_are_found():
    by_risk = [ExecutionRule(verdict="ask", risk=risk) for risk in ("low", "medium", "high", "critical")]

    assert RuleExecutionPolicy((*by_risk, ExecutionRule(verdict="deny"))).unreachable() == [4]
    assert RuleExecutionPolicy((*by_risk[1:], ExecutionRule(verdict="deny"))).unreachable() == []


NAMES = ToolNames({"web": EndpointNames("web", ["web_fetch", "post"])}.get)


@pytest.mark.parametrize("said", ["web__fetch", "web__web_fetch"])
@pytest.mark.parametrize("proposed", ["web__fetch", "web__web_fetch"])
def test_a_tool_is_the_same_in_either_spelling(said, proposed):
    policy = RuleExecutionPolicy.of({"rules": [{"tool": said, "verdict": "ask"}]}, names=NAMES)

    assert policy.judge(selected(name=proposed), tool(proposed, "low")).rule == "rules[0]"
    assert policy.judge(selected(name="web__post"), tool("web__post", "low")).rule == "default.low"


def test_beside_its_endpoint_a_tool_may_be_called_as_the_endpoint_calls_it():
    policy = RuleExecutionPolicy.of(
        {"rules": [{"tool": "web_fetch", "endpoint": "web", "verdict": "ask"}]}, names=NAMES
    )

    assert policy.judge(selected(name="web__fetch"), tool("web__fetch"), endpoint="web").rule == "rules[0]"
    assert policy.judge(selected(name="web_fetch"), tool("web_fetch", "low")).rule == "default.low"


def test_a_trace_tells_of_each_rule_that_was_asked_what_did_not_hold():
    push = Proposal(tool="push", endpoint="prod", category="Mutate", risk="medium", effect="write", confidence=0.7)

    assert [(one.rule, one.misses) for one in RULES.trace(push)] == [
        ("rules[0]", ("effect",)),
        ("rules[1]", ("tool", "scope", "min_confidence")),
        ("rules[2]", ("risk",)),
        ("rules[3]", ()),
    ]
    assert RULES.judge_proposal(push).rule == "rules[3]"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"verdict": "maybe"}, "verdict"),
        ({"risk": "low"}, "verdict"),
        ({"verdict": "deny", "risk": "extreme"}, "risk"),
        ({"verdict": "deny", "effect": "think"}, "effect"),
        ({"verdict": "deny", "min_confidence": 1.5}, "min_confidence"),
        ({"verdict": "deny", "colour": "red"}, "colour"),
    ],
)
def test_a_rule_that_means_nothing_is_refused_by_its_place(rule, said):
    with pytest.raises(RouterConfigurationError, match=rf"rules\[1\].*{said}"):
        RuleExecutionPolicy.of({"rules": [{"verdict": "ask"}, rule]})


@pytest.mark.parametrize("policy", [DefaultExecutionPolicy, lambda least: RuleExecutionPolicy((), least)])
@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan"), True, "0.9"])
def test_a_confidence_that_is_none_is_refused(policy, least):
    with pytest.raises(RouterConfigurationError, match="medium_min_confidence"):
        policy(least)
