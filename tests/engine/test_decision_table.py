"""The decision table, row by row and bound by bound."""

from __future__ import annotations

import pytest

from routing.engine import ChoiceDecision, RiskLevel, RoutingConfig, RoutingMode, ToolDescriptor
from routing.engine.decision_table import direct_threshold, judge_choice, validate_tools
from routing.engine.errors import InvalidProviderResponse, RouterConfigurationError, UnknownToolError
from routing.engine.models import FALLBACK
from routing.engine.policies import effective
from routing.engine.registry import Policy

READ = ToolDescriptor("read_file", "Read one file by path", "inspect", RiskLevel.LOW)
WRITE = ToolDescriptor("write_file", "Replace a file", "mutate", RiskLevel.MEDIUM)
TOOLS = [READ, WRITE]


def choice(label: str, confidence: float, **others: float) -> ChoiceDecision:
    return ChoiceDecision(label, {label: confidence, **others}, confidence)


SELECTED, LOW, CONFIRM, NOTHING = None, "low_confidence", "planner_confirmation", "no_matching_tool"


@pytest.mark.parametrize(
    ("mode", "label", "confidence", "reason"),
    [
        ("hybrid", "read_file", 1.0, SELECTED),
        ("hybrid", "read_file", 0.85, SELECTED),
        ("hybrid", "read_file", 0.8499, CONFIRM),
        ("hybrid", "read_file", 0.60, CONFIRM),
        ("hybrid", "read_file", 0.5999, LOW),
        ("hybrid", "read_file", 0.0, LOW),
        ("hybrid", FALLBACK, 0.99, NOTHING),
        ("hybrid", FALLBACK, 0.05, NOTHING),
        ("jev_only", "read_file", 0.85, SELECTED),
        ("jev_only", "read_file", 0.60, SELECTED),
        ("jev_only", "read_file", 0.59, LOW),
        ("jev_only", FALLBACK, 0.99, NOTHING),
        ("planner_only", "read_file", 1.0, "planner_only"),
    ],
)
def test_the_decision_table(mode, label, confidence, reason):
    decision = judge_choice(choice(label, confidence), RoutingConfig(mode=RoutingMode(mode)), TOOLS)

    assert decision.fallback is (reason is not None)
    assert decision.fallback_reason == reason
    assert decision.tool == ("read_file" if reason is None else None)
    assert decision.confidence == (0.0 if mode == "planner_only" else confidence)


def test_equal_thresholds_leave_no_band_to_confirm():
    config = RoutingConfig(direct_execution_threshold=0.72, fallback_threshold=0.72)

    assert judge_choice(choice("read_file", 0.72), config, TOOLS).tool == "read_file"
    assert judge_choice(choice("read_file", 0.7199), config, TOOLS).fallback_reason == "low_confidence"


def test_what_the_planner_is_to_confirm_is_proposed():
    decision = judge_choice(choice("read_file", 0.7, write_file=0.2), RoutingConfig(), TOOLS)

    assert (decision.tool, decision.proposed_tool, decision.category) == (None, "read_file", "inspect")
    assert decision.probabilities == {"read_file": 0.7, "write_file": 0.2}


def test_nothing_else_is_proposed():
    for label, confidence in (("read_file", 0.9), ("read_file", 0.1), (FALLBACK, 0.7)):
        assert judge_choice(choice(label, confidence), RoutingConfig(), TOOLS).proposed_tool is None


def test_a_decision_tells_how_the_likeliest_label_stands():
    decision = judge_choice(choice("read_file", 0.9, write_file=0.06, **{FALLBACK: 0.04}), RoutingConfig(), TOOLS)

    assert (decision.k, decision.top_probability, decision.source) == (3, 0.9, "provider")
    assert decision.margin == pytest.approx(0.84)


def test_without_tools_there_is_nothing_to_choose_in_any_mode_but_planner_only():
    for mode, reason in (("hybrid", "no_tools"), ("jev_only", "no_tools"), ("planner_only", "planner_only")):
        decision = judge_choice(choice("x", 1.0), RoutingConfig(mode=RoutingMode(mode)), [])
        assert (decision.fallback_reason, decision.source) == (reason, "none")


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (ChoiceDecision("nope", {}, 0.9), UnknownToolError),
        (ChoiceDecision("read_file", {}, float("nan")), InvalidProviderResponse),
        (ChoiceDecision("read_file", {}, 1.01), InvalidProviderResponse),
        (ChoiceDecision("read_file", {}, True), InvalidProviderResponse),
        (ChoiceDecision("read_file", {"read_file": -1}, 0.9), InvalidProviderResponse),
        (ChoiceDecision(None, {}, 0.9), InvalidProviderResponse),  # type: ignore[arg-type]
    ],
)
def test_a_malformed_choice_is_a_router_error_or_raised_where_no_planner_helps(bad, error):
    decision = judge_choice(bad, RoutingConfig(), TOOLS)

    assert (decision.fallback_reason, decision.confidence, decision.tool) == ("router_error", 0.0, None)
    with pytest.raises(error):
        judge_choice(bad, RoutingConfig(mode=RoutingMode.JEV_ONLY), TOOLS)


def test_an_effect_may_have_a_threshold_of_its_own():
    config = RoutingConfig(risk_thresholds={"write": 0.95, "read": 0.7})

    assert judge_choice(choice("write_file", 0.94), config, TOOLS).fallback_reason == "planner_confirmation"
    assert judge_choice(choice("write_file", 0.95), config, TOOLS).tool == "write_file"
    assert judge_choice(choice("read_file", 0.7), config, TOOLS).tool == "read_file"
    assert direct_threshold(config, WRITE) == (0.95, "risk")
    assert direct_threshold(config, ToolDescriptor("x", "", effect="erase")) == (0.85, "default")


def test_the_effect_that_is_told_stands_above_the_name():
    config = RoutingConfig(risk_thresholds={"erase": 0.99})

    assert direct_threshold(config, ToolDescriptor("read_file", "", effect="erase")) == (0.99, "risk")


def test_finishing_may_have_a_threshold_of_its_own():
    done = ToolDescriptor("complete", "Finish the work", "finish")

    assert direct_threshold(RoutingConfig(finish_threshold=0.95), done) == (0.95, "finish")
    assert direct_threshold(RoutingConfig(finish_threshold=0.95), READ) == (0.85, "default")


def test_risk_alone_changes_nothing():
    critical = ToolDescriptor("pay", "Make a payment", "general", RiskLevel.CRITICAL)

    assert judge_choice(choice("pay", 0.85), RoutingConfig(), [critical, READ]).tool == "pay"


@pytest.mark.parametrize("names", [["", "a"], ["  ", "a"], [FALLBACK], ["a", "b", "a"]])
def test_tools_that_cannot_be_told_apart_are_refused(names):
    tools = [ToolDescriptor(name, "") for name in names]

    with pytest.raises(ValueError):
        validate_tools(tools)
    with pytest.raises(ValueError):
        judge_choice(choice("a", 1.0), RoutingConfig(), tools)
    assert (
        judge_choice(choice("a", 1.0), RoutingConfig(mode=RoutingMode.PLANNER_ONLY), tools).fallback_reason
        == "planner_only"
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"mode": "free"},
        {"direct_execution_threshold": 1.01},
        {"direct_execution_threshold": float("nan")},
        {"fallback_threshold": -0.01},
        {"fallback_threshold": 0.9},
        {"hierarchical_threshold": 0},
        {"hierarchical_threshold": 2.5},
        {"hierarchical_min_savings_ratio": 1.5},
        {"route_cache_size": -1},
        {"goal_cache_size": -1},
        {"goal_cache_ttl_seconds": -1},
        {"max_same_action_repeats": 0},
        {"max_route_steps": 0},
        {"max_consecutive_fallbacks": 0},
        {"description_limit": 31},
        {"history_limit": 0},
        {"state_field_limit": 63},
        {"constraint_limit": -1},
        {"constraint_limit": True},
        {"adaptive_hierarchy": 1},
        {"risk_thresholds": {"destroy": 0.9}},
        {"risk_thresholds": {"erase": 2}},
        {"finish_threshold": 1.5},
        {"fallback_threshold": "0.5"},
    ],
)
def test_a_setting_out_of_its_bounds_is_refused_when_it_is_made(bad):
    with pytest.raises(RouterConfigurationError):
        RoutingConfig(**bad)


@pytest.mark.parametrize(
    "good",
    [
        {"direct_execution_threshold": 1, "fallback_threshold": 1},
        {"direct_execution_threshold": 0, "fallback_threshold": 0},
        {
            "hierarchical_threshold": 1,
            "route_cache_size": 0,
            "description_limit": 32,
            "state_field_limit": 64,
            "constraint_limit": 0,
        },
        {"mode": "jev_only"},
    ],
)
def test_bounds_themselves_are_allowed(good):
    assert RoutingConfig(**good)


def test_defaults_are_those_of_the_policy_table():
    assert RoutingConfig.from_policy(effective("default", ()).router) == RoutingConfig()


def test_a_policy_gives_its_thresholds():
    policy = Policy(name="p", router={"direct_execution_threshold": 0.9, "risk_thresholds": {"erase": 0.99}})

    config = RoutingConfig.from_policy(effective("p", [policy]).router)

    assert (config.direct_execution_threshold, config.risk_thresholds) == (0.9, {"erase": 0.99})
