"""What another policy's values would have made of a decision, from what was in hand when it was made."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.engine.calibration import SHIPPED, Calibration, Correction
from routing.engine.decision_table import judge_choice
from routing.engine.execution import Proposal
from routing.engine.models import ChoiceDecision, RouteDecision, ToolDescriptor
from routing.engine.policies import effective
from routing.engine.policy import Thresholds, judge
from routing.engine.query import read_request
from routing.engine.recommend import line_up
from routing.engine.registry import Policy
from routing.engine.shadow_policy import (
    ASKS_OTHERWISE,
    KINDS,
    NEEDS_ENCODER,
    NOBODY_ASKED,
    NOT_REPRODUCED,
    OF_SESSION,
    RANKS_OTHERWISE,
    SAME,
    Grounds,
    Unjudged,
    Values,
    blocks_of,
    compare,
    of_resolve,
    of_route,
    takes,
)
from tests.engine.tools import office_catalog

CATALOG = office_catalog()
QUERIES = (
    "fetch https://example.com/guide as Markdown",
    "delete the appointment",
    "list",
    "write to my colleague about the event and the query",
    "hello, how are you?",
    "the of and",
    "knit socks",
    "enumerate messages",
    "run a read-only SQL statement",
)
shares = st.integers(0, 100).map(lambda number: number / 100)
gaps = st.sampled_from([0, 0.5, 2, 5, 20])
EFFECTS = st.sampled_from(["read", "write", "erase", "execute"])
resolvers = st.fixed_dictionaries(
    {
        "confident_at": shares,
        "match_at": shares,
        "min_gap": gaps,
        "risk_at": st.dictionaries(EFFECTS, shares, max_size=2),
    }
)
routers = st.tuples(
    shares, shares, st.dictionaries(EFFECTS, shares, max_size=2), st.sampled_from(["hybrid", "jev_only"])
).map(
    lambda drawn: {
        "fallback_threshold": min(drawn[:2]),
        "direct_execution_threshold": max(drawn[:2]),
        "risk_thresholds": drawn[2],
        "mode": drawn[3],
    }
)
rules = st.lists(
    st.fixed_dictionaries(
        {"verdict": st.sampled_from(["allow", "ask", "deny"])}, optional={"effect": EFFECTS, "min_confidence": shares}
    ),
    max_size=3,
)


def values(**blocks: Any) -> Values:
    """Through JSON, as they are kept."""
    policy = effective("own", [Policy(name="own", **blocks)])
    return Values.of(orjson.loads(orjson.dumps(blocks_of(policy))))


def resolved(query: str, resolver: dict[str, Any], calibration: Calibration = SHIPPED, **more: Any) -> Grounds:
    lineup = line_up(CATALOG, "default", read_request(query), guard=True, vectors=None)
    verdict = judge(lineup, Thresholds.of(values(resolver=resolver).blocks["resolver"]), calibration)
    told = {"tier": None, "may_go_deep": False} | more
    return orjson.loads(orjson.dumps(of_resolve((lineup, verdict), calibration, **told)))


TOOLS = {
    "hitspec__fetch": ToolDescriptor("hitspec__fetch", "Fetch", category="fetch", effect="read"),
    "calendar__delete_event": ToolDescriptor("calendar__delete_event", "Delete", category="mutate", effect="erase"),
}


def routed(confidence: float, own: Values, *, choice: str = "calendar__delete_event", risk: str = "medium") -> Grounds:
    answer = ChoiceDecision(choice, {choice: confidence}, confidence)
    decision = judge_choice(answer, own.config, list(TOOLS.values()))
    decision = RouteDecision(
        tool=decision.tool,
        category=decision.category,
        confidence=decision.confidence,
        probabilities=decision.probabilities,
        fallback=decision.fallback,
        fallback_reason=decision.fallback_reason,
        proposed_tool=decision.proposed_tool,
        source="provider",
        answers=(answer,),
    )
    facts = (
        {"endpoint": None, "category": "mutate", "risk": risk, "effect": TOOLS[choice].effect}
        if choice in TOOLS
        else {}
    )
    verdict = None
    if decision.tool:
        verdict = own.execution.judge_proposal(Proposal(tool=choice, confidence=confidence, **facts)).verdict
    facts = dict.fromkeys(("endpoint", "category", "risk", "effect")) | facts
    return orjson.loads(orjson.dumps(of_route(decision, TOOLS, of_catalog=True, facts=facts, verdict=verdict)))


# --- live's own values --------------------------------------------------------------------------------------------------
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(QUERIES), resolvers, st.floats(-2, 2))
def test_the_live_values_themselves_never_make_a_difference_to_a_resolve(query, resolver, moved):
    calibration = Calibration(match=Correction(intercept=moved), right=Correction(intercept=-moved), version=1)
    own = values(resolver=resolver)

    assert compare(resolved(query, resolver, calibration), own, own).kind == SAME


@settings(max_examples=150, deadline=None)
@given(shares, routers, rules, st.sampled_from([*TOOLS, "__fallback__"]), st.sampled_from(["low", "medium", "high"]))
def test_the_live_values_themselves_never_make_a_difference_to_a_route(confidence, router, listed, choice, risk):
    own = values(router=router, execution={"rules": listed})

    assert compare(routed(confidence, own, choice=choice, risk=risk), own, own).kind == SAME


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(QUERIES), resolvers, resolvers)
def test_a_resolve_is_judged_again_as_it_would_have_been_judged(query, here, there):
    lineup = line_up(CATALOG, "default", read_request(query), guard=True, vectors=None)
    wanted = judge(lineup, Thresholds.of(values(resolver=there).blocks["resolver"]))
    found = compare(resolved(query, here), values(resolver=here), values(resolver=there))

    assert found.shadow.status == wanted.status
    assert found.kind in (SAME, *KINDS)
    if wanted.status == "ambiguous":
        assert found.shadow.reason in wanted.reasons


@settings(max_examples=150, deadline=None)
@given(shares, routers, routers)
def test_a_route_is_judged_again_as_it_would_have_been_decided(confidence, here, there):
    other = values(router=there)
    choice = ChoiceDecision("calendar__delete_event", {"calendar__delete_event": confidence}, confidence)
    wanted = judge_choice(choice, other.config, list(TOOLS.values()))
    found = compare(routed(confidence, values(router=here)), values(router=here), other)

    assert (found.shadow.target, found.shadow.proposed) == (wanted.tool, wanted.proposed_tool)
    assert found.shadow.reason == (wanted.fallback_reason or "")


# --- kinds --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("router", "kind", "bar"),
    [
        ({"direct_execution_threshold": 0.95}, "would_fall_back", 0.95),
        ({"fallback_threshold": 0.85, "direct_execution_threshold": 0.99}, "would_fall_back", 0.99),
        ({"risk_thresholds": {"erase": 0.97}}, "would_fall_back", 0.97),
        ({"risk_thresholds": {"read": 0.97}}, SAME, 0.85),
    ],
)
def test_a_route_that_was_selected_meets_the_other_bar(router, kind, bar):
    found = compare(routed(0.9, values()), values(), values(router=router))

    assert (found.kind, found.shadow.measure, found.shadow.value, found.shadow.bar) == (kind, "confidence", 0.9, bar)
    assert (found.live.status, found.live.bar) == ("selected", 0.85)


def test_a_lower_bar_no_longer_falls_back():
    found = compare(routed(0.7, values()), values(), values(router={"direct_execution_threshold": 0.65}))

    assert (found.kind, found.shadow.target) == ("would_not_fall_back", "calendar__delete_event")
    assert (found.live.reason, found.live.proposed) == ("planner_confirmation", "calendar__delete_event")


def test_a_fallback_that_asks_the_planner_to_confirm_is_another_than_one_that_does_not():
    found = compare(routed(0.7, values()), values(), values(router={"fallback_threshold": 0.8}))

    assert (found.kind, found.live.proposed, found.shadow.proposed) == (
        "other_fallback",
        "calendar__delete_event",
        None,
    )
    assert (found.shadow.reason, found.shadow.bar) == ("low_confidence", 0.8)


def test_the_same_selection_may_have_another_verdict():
    asks = values(execution={"rules": [{"effect": "erase", "verdict": "ask"}]})
    found = compare(routed(0.9, values()), values(), asks)

    assert (found.kind, found.live.verdict, found.shadow.verdict) == ("other_verdict", "deny", "ask")


def test_a_resolve_tells_the_probability_and_the_bar_that_it_missed():
    found = compare(
        resolved(QUERIES[0], {}), values(), values(resolver={"risk_at": {"read": 1.0}, "confident_at": 0.99})
    )

    assert (found.kind, found.live.status) == ("would_be_ambiguous", "confident")
    assert (found.shadow.measure, found.shadow.bar) == ("probability", 1.0)
    assert 0.8 <= (found.shadow.value or 0) < 1.0


def test_a_gap_that_is_asked_for_holds_an_answer_back():
    found = compare(resolved(QUERIES[0], {}), values(), values(resolver={"min_gap": 1000}))

    assert (found.kind, found.shadow.reason, found.shadow.measure) == ("would_be_ambiguous", "close_scores", "gap")


# --- what cannot be judged again ------------------------------------------------------------------------------------------
def why_not(grounds: Grounds, base: Values, shadow: Values) -> str:
    with pytest.raises(Unjudged) as problem:
        compare(grounds, base, shadow)
    return problem.value.why


def test_another_tier_would_rank_otherwise_unless_the_call_named_its_own():
    other = values(resolver={"tier": "lexical"})

    assert why_not(resolved(QUERIES[0], {}), values(), other) == RANKS_OTHERWISE
    assert compare(resolved(QUERIES[0], {}, tier="static"), values(), other).kind == SAME


def test_an_encoder_that_would_only_now_be_asked_is_not_guessed():
    stricter = values(resolver={"confident_at": 0.999})

    assert why_not(resolved(QUERIES[0], {}, may_go_deep=True), values(), stricter) == NEEDS_ENCODER
    assert compare(resolved(QUERIES[0], {}), values(), stricter).kind == "would_be_ambiguous"


def test_where_the_encoder_was_asked_the_answer_before_it_may_suffice():
    strict, lax = {"confident_at": 0.999}, values(resolver={"confident_at": 0.5})
    before = resolved(QUERIES[0], strict, may_go_deep=True)
    deep = {**resolved(QUERIES[0], strict), "used": "deep", "first": "mail__send_email", "before": before}

    found = compare(deep, values(resolver=strict), lax)

    assert (found.live.target, found.shadow.target) == ("mail__send_email", "hitspec__fetch")
    assert found.kind == "would_be_confident"


def test_other_providers_would_be_asked_something_else():
    assert why_not(routed(0.9, values()), values(), values(router={"providers": ["jev"]})) == ASKS_OTHERWISE
    assert why_not(routed(0.9, values()), values(), values(router={"candidates": 5})) == ASKS_OTHERWISE
    assert (
        compare(routed(0.9, values()), values(), values(router={"history_limit": 9})).kind == SAME
    )  # local sees it all


def test_the_planner_alone_needs_nobody_and_nobody_was_asked_for_it():
    planned = values(router={"mode": "planner_only"})
    facts = dict.fromkeys(("endpoint", "category", "risk", "effect"))
    nothing = RouteDecision(fallback=True, fallback_reason="planner_only")
    grounds = of_route(nothing, {}, of_catalog=True, facts=facts, verdict=None)

    assert compare(routed(0.9, values()), values(), planned).kind == "would_fall_back"
    assert why_not(grounds, planned, values()) == NOBODY_ASKED


def test_what_a_session_refused_is_not_judged():
    grounds = {**routed(0.9, values()), "source": "session"}

    assert why_not(grounds, values(), values(router={"fallback_threshold": 0.1})) == OF_SESSION


def test_an_answer_that_these_grounds_do_not_lead_to_is_compared_with_nothing():
    grounds = {**routed(0.9, values()), "tool": "hitspec__fetch"}

    assert why_not(grounds, values(), values()) == NOT_REPRODUCED


def test_a_share_is_the_same_decisions_for_everybody():
    ids = [f"01a2297f-9bcb-770a-b322-{place * 2654435761 % 2**48:012x}" for place in range(1, 2001)]

    taken = {one for one in ids if takes(one, 0.25)}
    assert 400 < len(taken) < 600
    assert taken <= {one for one in ids if takes(one, 0.5)}
    assert all(takes(one, 1.0) for one in ids)
