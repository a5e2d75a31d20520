"""What another threshold would have done: counted, with intervals, and silent where there is too little to count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine.lab import FEWEST, Judged, Point, at, cheapest, curve, reliability, wilson

answers = st.lists(
    st.builds(
        Judged,
        probability=st.integers(0, 1000).map(lambda n: n / 1000),
        right=st.booleans(),
        held=st.booleans(),
    ),
    min_size=FEWEST,
    max_size=90,
)


def some(count: int, probability: float, right: int) -> list[Judged]:
    return [Judged(probability, number < right) for number in range(count)]


@given(answers)
def test_the_curve_says_of_each_threshold_what_counting_says(judged):
    for point in curve(judged):
        assert point == at(judged, point.threshold)


@given(answers)
def test_a_higher_threshold_never_covers_more(judged):
    points = curve(judged)

    assert all(lower.acted >= higher.acted for lower, higher in zip(points, points[1:], strict=False))


@given(st.integers(0, 200), st.integers(1, 200))
def test_an_interval_holds_the_share_and_stays_between_nothing_and_all(part, more):
    whole = part + more
    low, high = wilson(part, whole)

    assert 0 <= low <= part / whole <= high <= 1


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"), [(0, 0, 0, 1), (9, 10, 0.596, 0.982), (90, 100, 0.826, 0.945), (10, 10, 0.722, 1)]
)
def test_intervals_are_wilsons(part, whole, low, high):
    assert wilson(part, whole) == pytest.approx((low, high), abs=0.001)


def test_with_too_few_answers_nothing_is_said():
    few = some(FEWEST - 1, 0.9, 20)

    assert curve(few) == () and reliability(few) == ()
    assert cheapest((), wrong=1, ask=1) is None


def test_what_is_held_back_is_never_confident():
    judged = [*some(20, 0.9, 20), *(Judged(0.99, False, held=True) for _ in range(20))]

    point = at(judged, 0.5)

    assert (point.acted, point.right, point.asked, point.precision) == (20, 20, 20, 1.0)


def test_dear_mistakes_ask_for_a_higher_threshold_than_cheap_ones():
    judged = [*some(40, 0.95, 39), *some(40, 0.6, 24)]
    points = curve(judged)

    dear, cheap = (cheapest(points, wrong=wrong, ask=1) for wrong in (10, 1))

    assert dear.threshold == 0.95 and dear.acted == 40
    assert cheap.threshold == 0.6 and cheap.acted == 80
    assert dear.cost(wrong=10, ask=1) == pytest.approx((1 * 10 + 40) / 80)


def test_reliability_has_bins_of_equal_size_and_says_what_came_of_them():
    bins = reliability([*some(30, 0.9, 27), *some(30, 0.3, 9)])

    assert [one.count for one in bins] == [10] * 6
    assert [one.told for one in bins] == pytest.approx([0.3] * 3 + [0.9] * 3)
    assert sum(one.right for one in bins) == 36


def test_a_point_of_nothing_has_no_precision():
    point = Point(threshold=1.0, acted=0, right=0, total=40)

    assert point.precision is None and point.coverage == 0 and tuple(point.interval) == (0, 1)
