"""Corrections of the judge by outcomes: shrunk, bounded, in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import rank, resolve, resolve_detailed, search_tools
from routing.engine.calibration import (
    FARTHEST,
    FLATTEST,
    SHIPPED,
    STEEPEST,
    Calibration,
    Correction,
    Outcome,
    expected_error,
    recalibrate,
    was_right,
)
from tests.engine.tools import office_catalog

shares = st.floats(0, 1, allow_nan=False)
outcomes = st.lists(
    st.builds(
        lambda match, right, was, other: Outcome(
            match=match, right=min(match, right), was_right=was, other=other and not was
        ),
        shares,
        shares,
        st.booleans(),
        st.booleans(),
    ),
    max_size=40,
)


def drawn(count: int, seed: int = 3, *, intercept: float = -1.0, slope: float = 0.6) -> list[Outcome]:
    """Outcomes of a catalog on which the shipped fit is off by a known correction."""
    chance = np.random.default_rng(seed)
    truly = Correction(intercept=intercept, slope=slope)
    told = chance.uniform(0.02, 0.98, count)
    return [
        Outcome(match=(1 + one) / 2, right=one, was_right=bool(chance.random() < truly(one))) for one in told.tolist()
    ]


def test_without_outcomes_nothing_is_corrected() -> None:
    made = recalibrate([], version=4)

    assert made == Calibration(version=4)
    assert [made(match, right) for match, right in [(0.9, 0.7), (0.0, 0.0), (1.0, 1.0)]] == [
        (0.9, 0.7),
        (0.0, 0.0),
        (1.0, 1.0),
    ]


@given(outcomes, st.lists(st.tuples(shares, shares), min_size=2, max_size=6))
def test_a_correction_keeps_the_order_and_its_bounds(known: list[Outcome], asked: list[tuple[float, float]]) -> None:
    made = recalibrate(known)

    for correction in (made.match, made.right):
        assert abs(correction.intercept) <= FARTHEST
        assert FLATTEST <= correction.slope <= STEEPEST
        corrected = [correction(one) for one, _ in sorted(asked)]
        assert corrected == sorted(corrected)
    for match, right in asked:
        fits, first = made(match, min(match, right))
        assert 0 <= first <= fits <= 1


@given(outcomes, st.randoms())
def test_the_order_of_outcomes_says_nothing(known: list[Outcome], chance: object) -> None:
    shuffled = list(known)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    one, other = recalibrate(known), recalibrate(shuffled)

    assert one.right.intercept == pytest.approx(other.right.intercept, abs=1e-4)
    assert one.match.slope == pytest.approx(other.match.slope, abs=1e-4)


def test_the_more_outcomes_the_nearer_to_what_they_say() -> None:
    found = [recalibrate(drawn(count)).right for count in (3, 30, 300, 3000)]

    far = [abs(one.intercept + 1.0) + abs(one.slope - 0.6) for one in found]
    assert far[3] < 0.15 < 0.4 < far[0]  # three outcomes do not overthrow what ships


def test_corrected_probabilities_are_nearer_to_the_shares_that_come_true() -> None:
    made = recalibrate(drawn(1000))
    fresh = drawn(3000, seed=11)
    labels = np.array([one.was_right for one in fresh], float)

    before = expected_error(np.array([one.right for one in fresh]), labels)
    after = expected_error(np.array([made(one.match, one.right)[1] for one in fresh]), labels)

    assert before > 0.15
    assert after < 0.05


def test_success_of_another_tool_says_that_some_tool_fits() -> None:
    told = {"match": 0.4, "right": 0.2, "was_right": False}
    silent, other = (recalibrate([Outcome(**told, other=known)] * 60) for known in (False, True))  # type: ignore[arg-type]

    assert other.match(0.4) > 0.7 > silent.match(0.4)
    assert other.right == silent.right


@pytest.mark.parametrize(
    ("reported", "means"),
    [
        ([("a", "success")], (True, False)),
        ([("a", "failure")], (False, False)),
        ([("a", "failure"), ("b", "success")], (False, True)),
        ([("b", "success")], (False, True)),
        ([("a", "success"), ("b", "failure")], (True, False)),
        ([("a", "success"), ("a", "success")], (True, False)),
        ([("a", "success"), ("a", "failure")], None),
        ([("a", "partial")], None),
        ([("a", "unknown"), ("b", "success")], None),
        ([("a", "failure"), ("a", "unknown")], None),
        ([("b", "failure")], None),
        ([("b", "success"), ("b", "failure")], None),
        ([], None),
    ],
)
def test_only_outcomes_that_tell_are_labels(reported: list[tuple[str, str]], means: tuple[bool, bool] | None) -> None:
    assert was_right("a", reported) == means


def test_a_calibrated_catalog_judges_by_it_and_ranks_as_before() -> None:
    plain = office_catalog()
    doubtful = plain.calibrated(
        Calibration(match=Correction(intercept=-2.0), right=Correction(intercept=-2.5), version=7)
    )
    query = "list the events"

    before, after = (resolve_detailed(one, query, explain=True) for one in (plain, doubtful))

    assert before.answer["status"] == "confident"
    assert after.answer["status"] == "ambiguous"
    assert after.answer["probability"] < before.answer["probability"] < 1
    assert after.answer["recommendation"]["score"] == before.answer["recommendation"]["score"]
    assert after.shipped == pytest.approx((before.answer["match_probability"], before.answer["probability"]), abs=1e-4)
    assert before.shipped is None
    assert "calibration" not in before.answer["explanation"]
    assert after.answer["explanation"]["calibration"] == 7
    assert plain.calibration == SHIPPED
    assert [one.public for one in rank(plain, query)] == [one.public for one in rank(doubtful, query)]
    assert doubtful.with_offline(["mail"]).calibration.version == 7


def test_search_shows_what_the_calibrated_judge_would_offer() -> None:
    plain = office_catalog()
    closed = plain.calibrated(Calibration(match=Correction(intercept=-FARTHEST, slope=0.5), version=1))

    assert resolve(closed, "rainfall in town")["status"] == "no_match"
    assert all(one.get("matched_terms") for one in search_tools(closed, "rainfall in town")["matches"])
