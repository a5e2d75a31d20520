"""What counts as going round in circles, and what does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import Loop, LoopGuard


def reports(actions: str, **settings) -> list[bool]:
    guard = LoopGuard(**settings)
    return [guard.record(action) for action in actions]


def test_the_third_equal_action_is_a_repeat():
    assert reports("aaaa") == [False, False, True, True]
    assert reports("aabaa") == [False] * 5


def test_equal_actions_are_never_an_alternation_or_a_cycle():
    assert not any(reports("a" * 24, max_same_action_repeats=24))


def test_a_row_longer_than_the_ring_is_still_counted():
    assert reports("a" * 31, max_same_action_repeats=30) == [False] * 30 + [True]


def test_x_y_x_y_is_an_alternation():
    guard = LoopGuard()

    assert [guard.observe(action) for action in "xyxy"] == [None, None, None, Loop(kind="alternation", period=2)]


@pytest.mark.parametrize("period", range(3, 9))
def test_a_cycle_is_seen_when_it_was_gone_through_three_times(period):
    guard = LoopGuard()
    actions = "abcdefgh"[:period] * 3

    found = [guard.observe(action) for action in actions]

    assert found == [None] * (len(actions) - 1) + [Loop(kind="cycle", period=period)]


def test_a_larger_ring_sees_longer_cycles():
    assert not any(reports("abcdefghi" * 3))
    assert reports("abcdefghi" * 3, ring=27)[-1]


def test_a_cycle_may_hold_equal_actions_in_a_row():
    assert reports("aabaabaab") == [False] * 8 + [True]


def test_an_action_is_its_tool_its_arguments_and_the_class_of_its_result():
    guard = LoopGuard(max_same_action_repeats=1)

    assert not guard.record("a")
    assert not guard.record("a", {})
    assert not guard.record("a", {"x": 1, "y": [2]})
    assert guard.record("a", {"y": [2], "x": 1})
    assert not guard.record("a", {"y": [2], "x": 1}, result_class="error")


def test_arguments_that_json_does_not_know_are_taken_by_their_text():
    guard = LoopGuard(max_same_action_repeats=1)

    assert not guard.record("a", {"at": {1, }})  # fmt: skip
    assert guard.record("a", {"at": {1, }})  # fmt: skip


def test_arguments_are_kept_as_digests_that_a_key_makes_unguessable():
    plain, keyed = LoopGuard(), LoopGuard(key=b"k")
    for guard in (plain, keyed):
        guard.record("a", {"password": "hunter2"})

    assert "hunter2" not in json.dumps([plain.to_state(), keyed.to_state()])
    assert plain.to_state() != keyed.to_state()


@given(st.text("abc", max_size=40), st.integers(0, 40))
def test_a_guard_goes_on_from_its_state(actions, place):
    whole, first = LoopGuard(), LoopGuard()
    expected = [whole.record(action, {"of": action}) for action in actions]
    got = [first.record(action, {"of": action}) for action in actions[:place]]
    second = LoopGuard.from_state(json.loads(json.dumps(first.to_state())))

    assert got + [second.record(action, {"of": action}) for action in actions[place:]] == expected


@pytest.mark.parametrize(
    "state", ["abc", 5, [5], {"a": 1}, ["abc"], [["a", None]], [[1, None, None]], [["a", 1, None]]]
)
def test_a_state_that_no_guard_gave_is_refused(state):
    with pytest.raises(ValueError):
        LoopGuard.from_state(state)


@pytest.mark.parametrize(
    "bounds", [{"max_same_action_repeats": 0}, {"max_same_action_repeats": True}, {"ring": 4.5}, {"ring": 3}]
)
def test_bounds_that_could_see_no_loop_are_refused(bounds):
    with pytest.raises(ValueError, match="whole number"):
        LoopGuard(**bounds)


def test_keys_of_several_kinds_in_arguments_are_read():
    guard = LoopGuard(1)
    assert not guard.record("read", {1: "a", "b": {None: 2}})
    assert guard.record("read", {"b": {None: 2}, 1: "a"})
