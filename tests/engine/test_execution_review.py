"""Execution rules that never decide, or say nothing new, held against every proposal there can be in a small world."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.engine import load_registry
from routing.engine.config import RoutingConfig
from routing.engine.decision_table import direct_threshold
from routing.engine.execution import Proposal, RuleExecutionPolicy
from routing.engine.execution_review import BROUGHT_ONLY, IDLE_BOUND, NEVER, SAYS_THE_SAME, review_rules
from routing.engine.models import RiskLevel, ToolDescriptor
from routing.engine.policies import EFFECTS, RISKS, VERDICTS
from routing.engine.validation import parse_document

ENDPOINTS = [
    {
        "name": "hitspec",
        "kind": "declared",
        "tools": [
            {"name": "hitspec_fetch", "category": "network", "risk": "low", "effect": "read"},
            {"name": "drop", "category": "mutate", "risk": "high", "effect": "erase"},
        ],
    },
    {"name": "notes", "kind": "declared", "tools": [{"name": "add", "category": "git", "risk": "medium", "effect": "write"}]},
    {"name": "unread", "kind": "mcp", "url": "http://127.0.0.1:9/mcp"},
]  # fmt: skip


def document(rules, *, scopes=(), router=None, medium=None):
    execution = {"rules": rules, "medium_min_confidence": medium}
    policy = {"name": "careful", "execution": execution, "router": router or {}}
    return {"version": 1, "endpoints": ENDPOINTS, "scopes": list(scopes), "policies": [policy]}


def notes(rules, **more):
    registry = parse_document(document(rules, **more)).registry
    return [(note.place, note.code, note.message) for note in review_rules(registry)]


USED = [{"name": "web", "endpoints": ["hitspec"], "policy": "careful"}]


@pytest.mark.parametrize(
    ("rules", "code", "said"),
    [
        ([{"effect": "erase", "verdict": "ask"}, {"effect": "erase", "risk": "low", "verdict": "deny"}], NEVER, "rules[0] fits"),
        (
            [{"effect": one, "verdict": "ask"} for one in EFFECTS] + [{"verdict": "deny"}],
            NEVER, "rules[0], rules[1], rules[2] and rules[3] together fit",
        ),
        (
            [{"min_confidence": 0.8, "verdict": "ask"}, {"verdict": "deny"}],
            NEVER, "at the confidence that it takes to be selected",
        ),
        ([{"tool": "hitspec__fetch", "endpoint": "notes", "verdict": "ask"}], NEVER, "is a tool of hitspec, not of notes"),
        ([{"tool": "gone", "endpoint": "hitspec", "verdict": "ask"}], NEVER, "hitspec has no tool gone"),
        ([{"endpoint": "notes", "verdict": "ask"}], NEVER, "no scope that uses this policy reaches notes"),
        ([{"endpoint": "hitspec", "effect": "write", "verdict": "ask"}], NEVER, "no tool of hitspec in reach is of effect write"),
        ([{"endpoint": "hitspec", "tool": "drop", "risk": "low", "verdict": "ask"}], NEVER, "is not of risk low"),
        ([{"tool": "hitspec__gone", "verdict": "ask"}], BROUGHT_ONLY, "names no tool of this document"),
        ([{"tool": "fetch", "verdict": "ask"}], BROUGHT_ONLY, "names no tool of this document"),
        ([{"tool": "notes__add", "verdict": "ask"}], BROUGHT_ONLY, "no scope that uses this policy reaches notes__add"),
        ([{"tool": "hitspec__drop", "effect": "read", "verdict": "ask"}], BROUGHT_ONLY, "hitspec__drop is not of effect read"),
        (
            [{"endpoint": "hitspec", "verdict": "ask"}, {"tool": "hitspec__drop", "verdict": "deny"}],
            BROUGHT_ONLY, "rules[0] fits wherever it does",
        ),
        ([{"category": "networking", "verdict": "ask"}], BROUGHT_ONLY, "none is of the category networking"),
        ([{"effect": "erase", "min_confidence": 0.6, "verdict": "ask"}], IDLE_BOUND, "below 0.85 no such tool is selected"),
        ([{"risk": "critical", "verdict": "deny"}], SAYS_THE_SAME, "the same"),
        ([{"risk": "low", "verdict": "allow"}], SAYS_THE_SAME, "the same"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_rule(rules, code, said):
    found = [(place, words) for place, what, words in notes(rules, scopes=USED) if what == code]

    assert [place for place, _ in found] == [len(rules) - 1] and said in found[0][1]


@pytest.mark.parametrize(
    "rules",
    [
        [{"verdict": "ask"}],
        [{"effect": "erase", "min_confidence": 0.9, "verdict": "allow"}, {"effect": "erase", "verdict": "ask"}],
        [{"tool": "hitspec__hitspec_fetch", "verdict": "ask"}],  # the other spelling
        [{"tool": "hitspec_fetch", "endpoint": "hitspec", "verdict": "deny"}],  # as its endpoint calls it
        [{"tool": "unread__anything", "verdict": "deny"}],  # what it publishes is not known yet
        [{"category": " Network", "verdict": "deny"}],
    ],
)
def test_rules_that_do_something_pass_without_a_word(rules):
    scopes = [{"name": "web", "endpoints": ["hitspec", "unread"], "policy": "careful"}]

    assert notes(rules, scopes=scopes) == []


def test_a_policy_that_no_scope_uses_is_held_against_all_tools():
    assert notes([{"endpoint": "notes", "verdict": "ask"}]) == []


def test_rules_are_read_as_the_policies_that_inherit_them_are_used():
    below = {"name": "below", "extends": "careful"}
    rules = [{"endpoint": "notes", "verdict": "ask"}]
    made = document(rules, scopes=[{"name": "web", "endpoints": ["hitspec"], "policy": "below"}])
    made["policies"].append(below)

    assert [note.policy for note in review_rules(parse_document(made).registry)] == ["careful"]
    made["policies"][1]["execution"] = {"rules": [{"verdict": "ask"}]}  # rules of its own: nobody uses careful's
    assert review_rules(parse_document(made).registry) == ()


def test_where_no_tool_is_ever_selected_no_rule_is_asked():
    ((place, code, said),) = notes([{"verdict": "ask"}], scopes=USED, router={"mode": "planner_only"})

    assert (place, code) == (0, NEVER) and "planner_only" in said


def test_a_document_is_warned_with_the_place_of_the_rule():
    warnings = parse_document(document([{"verdict": "ask"}, {"verdict": "deny"}])).warnings

    assert warnings == (
        {"path": "policies[0].execution.rules[1]", "message": "never decides: rules[0] fits wherever it does"},
    )


# --- a small world, tried out whole -----------------------------------------------------------------------------------
STEPS = [0.0, 0.3, 0.6, 0.7, 0.8, 0.85, 0.9, 1.0]
SHARES = st.sampled_from([0.0, 0.3, 0.6, 0.8, 0.9, 1.0])
RULES = st.lists(
    st.fixed_dictionaries(
        {"verdict": st.sampled_from(VERDICTS)},
        optional={
            "effect": st.sampled_from(EFFECTS),
            "risk": st.sampled_from(RISKS),
            "category": st.sampled_from(["network", "finish", "odd"]),
            "tool": st.sampled_from(["hitspec__hitspec_fetch", "drop", "notes__add"]),
            "endpoint": st.sampled_from(["hitspec", "notes"]),
            "min_confidence": SHARES,
        },
    ),
    max_size=5,
)
ROUTERS = st.fixed_dictionaries(
    {"direct_execution_threshold": st.sampled_from([0.6, 0.8, 0.9]), "fallback_threshold": st.sampled_from([0.0, 0.6])},
    optional={
        "mode": st.sampled_from(["hybrid", "jev_only", "planner_only"]),
        "risk_thresholds": st.dictionaries(st.sampled_from(EFFECTS), SHARES, max_size=2),
        "finish_threshold": SHARES,
    },
)
SCOPES = st.sampled_from(
    [[], USED, [*USED, {"name": "some", "tools": ["notes__add"], "policies": ["default", "careful"]}]]
)


@given(rules=RULES, router=ROUTERS, scopes=SCOPES, medium=st.none() | SHARES)
@settings(max_examples=40, deadline=None)
def test_notes_say_of_each_rule_what_trying_everything_shows(rules, router, scopes, medium):
    catalog = load_registry(document(rules, router=router, scopes=scopes, medium=medium))
    policy = catalog.execution("careful")
    said = {(note.place, note.code) for note in review_rules(catalog.registry)}
    config = RoutingConfig.from_policy(catalog.policy("careful").router)
    own, brought = list(_selected(config, _of_scopes(catalog))), list(_selected(config, _brought()))

    decided = {policy.judge_proposal(one).rule for one in own + brought}
    decided_here = {policy.judge_proposal(one).rule for one in own}
    for place in range(len(rules)):
        rule = f"rules[{place}]"
        assert (rule in decided) is ((place, NEVER) not in said)
        if (place, BROUGHT_ONLY) in said:
            assert rule not in decided_here
        without = [one for at, one in enumerate(rules) if at != place]
        unbound = [{**one, "min_confidence": 0} if at == place else one for at, one in enumerate(rules)]
        for code, others in ((SAYS_THE_SAME, without), (IDLE_BOUND, unbound)):
            if (place, code) in said:
                other = RuleExecutionPolicy.of({"rules": others, "medium_min_confidence": medium}, names=catalog.names)
                assert all(_verdict(policy, one) == _verdict(other, one) for one in own + brought)


def _verdict(policy: RuleExecutionPolicy, proposal: Proposal) -> str:
    return policy.judge_proposal(proposal).verdict


def _of_scopes(catalog):
    users = [one.name for one in catalog.scopes.values() if "careful" in {one.policy, *(one.policies or ())}]
    for doc in catalog.index.docs:
        if not users or any(catalog.permits(scope, doc.endpoint.name, doc.wire) for scope in users):
            traits = doc.traits
            yield {
                "tool": doc.public, "endpoint": doc.endpoint.name,
                "category": traits.category, "risk": traits.risk, "effect": traits.effect,
            }  # fmt: skip


def _brought():
    names = ("hitspec__fetch", "drop", "notes__add", "another")
    for tool, category, risk, effect in product(names, ("network", "finish", "odd", "x"), RISKS, EFFECTS):
        yield {"tool": tool, "endpoint": None, "category": category, "risk": risk, "effect": effect}


def _selected(config, facts):
    """Every proposal of these facts that the router can come to."""
    if config.mode == "planner_only":
        return
    for one in facts:
        known = ToolDescriptor(one["tool"], "", one["category"], RiskLevel(one["risk"]), effect=one["effect"])
        least = config.fallback_threshold
        if config.mode == "hybrid":
            least = max(least, direct_threshold(config, known)[0])
        yield from (Proposal(**one, confidence=step) for step in STEPS if step >= least)
