from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import MCTSConfig, MCTSToolRouter, ToolDescriptor
from routing.engine.search.history import Habit, History, Invoked, learn

TOOLS = {name: ToolDescriptor(name=name, description=name) for name in "abcd"}


def session(line: str, worked: Mapping[str, float] | float | None = 1.0, cost: float = 0.0) -> list[Invoked]:
    rates = worked if isinstance(worked, Mapping) else dict.fromkeys(line, worked)
    return [Invoked(tool=tool, worked=rates.get(tool), cost=cost) for tool in line]


def best(history: History, **bounds) -> str | None:
    assert history.graph is not None
    router = MCTSToolRouter(history.graph, Habit(history), MCTSConfig(**bounds))
    return asyncio.run(router.search(history.root)).decision.tool


def test_what_worked_more_often_after_the_last_action_is_preferred():
    sessions = [session("ab")] * 9 + [session("ab", {"a": 1, "b": 0})] + [session("ac", {"a": 1, "c": 0})] * 8
    sessions += [session("ac")] * 2
    history = learn(sessions, tools=TOOLS, last_action="a")

    first = {(one.before, one.tool): one for one in history.evidence}
    assert (first["a", "b"].count, first["a", "b"].succeeded) == (10, 9)
    assert (first["a", "c"].count, first["a", "c"].succeeded) == (10, 2)
    assert first["a", "b"].reward > 0 > first["a", "c"].reward
    for method in ("puct", "exact", "best_path"):
        assert best(history, method=method, simulations=200) == "b"


def test_a_worse_step_that_leads_on_to_a_better_one_is_found_by_looking_ahead():
    rates = {"b": 0.5, "d": 1.0}
    sessions = [session("ab", {"b": 0.5})] * 2 + [session("abd", rates)] * 20 + [session("ac", {"c": 0.6})] * 20
    sessions += [session("c", 0.0)] * 30  # c on its own fails
    history = learn(sessions, tools=TOOLS, last_action="a")

    assert best(history, method="exact", max_depth=1) == "c"
    assert best(history, method="exact", max_depth=3, discount=1.0) == "b"


def test_too_little_is_no_graph_and_lists_what_there_is():
    history = learn([session("ab")] * 4, tools=TOOLS, last_action="a", min_count=5)

    assert history.graph is None
    assert [(one.before, one.tool, one.count) for one in history.evidence] == [("a", "b", 4)]
    assert learn([], tools=TOOLS).graph is None


def test_tools_out_of_reach_are_not_chosen_but_count_as_what_went_before():
    history = learn([session("xb")] * 6, tools=TOOLS, last_action="x")

    assert [(one.before, one.tool) for one in history.evidence] == [("x", "b")]
    assert learn([session("ax")] * 6, tools=TOOLS, last_action="a").graph is None


def test_without_a_last_action_it_begins_where_sessions_begin():
    history = learn([session("ab")] * 6 + [session("c")] * 5, tools=TOOLS)

    assert [(one.before, one.tool) for one in history.evidence] == [(None, "a"), (None, "c"), ("a", "b")]


def test_names_that_are_too_long_for_an_id_are_learnt_from_like_any_other():
    beginning = "e" * 64 + "__" + "t" * 200
    first, good, bad = (beginning + end for end in ("-first", "-good", "-bad"))
    tools = {name: ToolDescriptor(name=name, description=name) for name in (first, good, bad)}
    lines = [[Invoked(tool=first, worked=1.0), Invoked(tool=good, worked=1.0)]] * 6
    lines += [[Invoked(tool=first, worked=1.0), Invoked(tool=bad, worked=0.0)]] * 6
    history = learn(lines, tools=tools, last_action=first)

    assert {(one.before, one.tool) for one in history.evidence} == {(first, good), (first, bad)}
    assert best(history, method="puct") == best(history, method="exact") == good


def test_what_costs_more_is_worth_less():
    history = learn([session("a", cost=0.5)] * 6 + [session("b", cost=0.1)] * 6, tools=TOOLS)
    cheap, dear = sorted(history.evidence, key=lambda one: one.reward, reverse=True)

    assert (cheap.tool, dear.tool) == ("b", "a")
    assert cheap.reward - dear.reward == pytest.approx(0.4, abs=1e-6)


def test_few_cases_do_not_carry_far():
    usual = [session("b"), session("b", 0.0)] * 50
    rewards = []
    for often in (1, 5, 50):
        history = learn(usual + [session("a")] * often, tools=TOOLS, min_count=1)
        rewards.append({one.tool: one.reward for one in history.evidence}["a"])

    assert 0 < rewards[0] < rewards[1]
    assert rewards[0] < 0.4  # one success is far from certainty


def test_unreported_steps_are_counted_and_judged_by_what_is_usual():
    history = learn([session("a", None)] * 6 + [session("b")] * 6, tools=TOOLS)
    a, b = sorted(history.evidence, key=lambda one: one.tool)

    assert (a.count, a.succeeded, a.reward) == (6, 0, 0.0)
    assert b.reward > 0


LINES = st.lists(st.text("abcx", max_size=6), max_size=12)


@given(LINES, st.sampled_from([None, "a", "x"]), st.integers(1, 3), st.sampled_from([2, 256]))
def test_only_what_was_seen_often_enough_is_ever_offered(lines: Sequence[str], last, least, states):
    sessions = [session(line, 0.5) for line in lines]
    history = learn(sessions, tools=TOOLS, last_action=last, min_count=least, max_states=states)

    pairs: list[tuple[str | None, str]] = []
    for line in lines:
        pairs += [(None, line[0])] if line else []
        pairs += list(zip(line, line[1:], strict=False))
    for one in history.evidence:
        assert pairs.count((one.before, one.tool)) == one.count
        assert one.tool in TOOLS
        assert 0 <= one.succeeded <= one.count
        assert one.count >= (least if history.graph else 1)
    if history.graph is not None:
        assert len(history.graph.ids) <= states
        assert any(one.before == last for one in history.evidence)
