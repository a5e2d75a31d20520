"""Confidence worked out from probabilities again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import ChoiceDecision, RouteDecision, peak_confidence, recomputed_confidence


@pytest.mark.parametrize(
    ("k", "top", "confidence"),
    [(2, 0.8, 0.60), (3, 0.9, 0.85), (5, 0.776, 0.72), (9, 0.867, 0.85), (49, 0.608, 0.60)],
)
def test_what_a_threshold_demands_of_the_likeliest_depends_on_how_many_there_are(k, top, confidence):
    assert peak_confidence({"a": top}, k) == pytest.approx(confidence, abs=0.001)


@given(st.lists(st.floats(0, 1), max_size=9), st.integers(2, 255))
def test_it_stays_within_its_bounds(shares, k):
    assert 0 <= peak_confidence(dict(enumerate(shares)), k) <= 1  # type: ignore[arg-type]


def test_one_label_is_no_choice():
    with pytest.raises(ValueError):
        peak_confidence({"a": 1.0}, 1)


def test_a_decision_is_held_against_another_rule():
    decision = RouteDecision(tool="a", confidence=0.4, probabilities={"a": 0.88, "b": 0.12}, k=3)

    assert recomputed_confidence(decision, "reported") == 0.4
    assert recomputed_confidence(decision, "peak") == pytest.approx(0.82)
    assert recomputed_confidence(RouteDecision(fallback=True), "peak") == 0.0
    with pytest.raises(ValueError, match="peak"):
        recomputed_confidence(decision, "entropy")


def test_a_tool_is_no_surer_than_its_category():
    first, second = ChoiceDecision("git", {"git": 0.7}, 0.65), ChoiceDecision("a", {"a": 1.0}, 1.0)
    decision = RouteDecision(tool="a", confidence=0.65, probabilities={"a": 1.0}, k=3, answers=(first, second))

    assert recomputed_confidence(decision, "peak") == 0.65
