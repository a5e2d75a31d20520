from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine.canary import BEYOND, MEASURES, WAITING, WITHIN, Count, Group, judge

BOUNDS = dict.fromkeys(MEASURES, 0.05)


def group(part: int, whole: int, measure: str = "no_match") -> Group:
    return Group(decisions=whole, counts={measure: Count(part, whole)})


def read(canary: Group, live: Group, **more):
    return judge(canary, live, BOUNDS, **({"minimum": 100} | more)).readings[0]


def test_a_clear_rise_is_beyond_its_bound_and_names_its_measure():
    judgement = judge(group(40, 100, "fallback"), group(5, 100, "fallback"), BOUNDS, minimum=100)

    assert judgement.broken is not None
    assert (judgement.broken.measure, round(judgement.broken.rise or 0, 2)) == ("fallback", 0.35)
    assert [one.standing for one in judgement.readings] == [WAITING, BEYOND, WAITING]


def test_too_few_on_either_side_are_not_judged_however_bad_they_are():
    assert read(group(99, 99), group(0, 1000)).standing == WAITING
    assert read(group(1000, 1000), group(0, 99)).standing == WAITING
    assert not judge(group(99, 99), group(0, 1000), BOUNDS, minimum=100).is_judged


def test_a_rise_above_the_bound_that_may_be_chance_stops_nothing():
    found = read(group(16, 100), group(8, 100))

    assert (found.standing, round(found.rise or 0, 2)) == (WITHIN, 0.08)
    assert found.least is not None and found.least < found.bound
    assert found.interval is not None and found.interval.low < 0.08 < found.interval.high


def test_the_same_rise_in_many_more_is_sure():
    assert read(group(1600, 10_000), group(800, 10_000)).standing == BEYOND


def test_groups_that_differed_before_are_told_apart_from_a_rise():
    alike, apart = (group(10, 1000), group(10, 1000)), (group(300, 1000), group(10, 1000))

    plain = read(group(300, 1000), group(10, 1000))
    known = read(group(300, 1000), group(10, 1000), before=apart)
    risen = read(group(600, 1000), group(10, 1000), before=apart)

    assert [plain.standing, known.standing, risen.standing] == [BEYOND, WITHIN, BEYOND]
    assert round(known.rise or 0, 9) == 0 and round(known.before or 0, 2) == 0.29
    assert read(group(300, 1000), group(10, 1000), before=alike).standing == BEYOND


def test_what_came_before_counts_only_where_there_was_enough_of_it():
    few = (group(30, 99), group(1, 1000))

    assert read(group(300, 1000), group(10, 1000), before=few).before is None


counts = st.integers(0, 400).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@given(canary=counts, live=counts, bound=st.floats(0, 0.5), minimum=st.integers(1, 200))
def test_a_group_that_does_no_worse_is_never_stopped(canary, live, bound, minimum):
    better, worse = sorted((group(*canary), group(*live)), key=lambda one: one.of("no_match").share)

    assert judge(better, worse, dict.fromkeys(MEASURES, bound), minimum=minimum).broken is None


@given(part=st.integers(0, 300), other=st.integers(0, 300), times=st.integers(1, 6))
def test_one_failure_more_never_makes_a_canary_look_better(part, other, times):
    whole = 300 * times
    fewer, more = (
        read(group(part, whole), group(other, 300)),
        read(group(min(part + 1, whole), whole), group(other, 300)),
    )

    assert fewer.least is not None and more.least is not None
    assert more.least >= fewer.least - 1e-12
    assert -1 - 1e-9 <= fewer.interval.low <= fewer.rise <= fewer.interval.high <= 1 + 1e-9


@given(part=st.integers(0, 100), rest=st.integers(0, 100), minimum=st.integers(1, 100))
def test_a_judgement_is_that_of_its_counts_alone_and_its_least_lies_below_its_rise(part, rest, minimum):
    found = read(group(part, part + rest), group(rest, part + rest), minimum=minimum)

    assert found == read(group(part, part + rest), group(rest, part + rest), minimum=minimum)
    assert (found.standing == WAITING) == (part + rest < minimum)
    if found.least is not None and found.rise is not None:
        assert found.least <= found.rise


@pytest.mark.parametrize(("rise", "least", "most"), [(0.0, 0, 0), (0.05, 0, 12), (0.25, 100, 100)])
def test_looking_again_and_again_stops_few_that_are_at_the_bound_and_all_that_are_far_above(rise, least, most):
    """Of 100 canaries with a bound of five points that are looked at after every 20 of 2,000 decisions."""
    random_ = random.Random(7)

    def stops() -> bool:
        canary = live = 0
        for seen in range(20, 2001, 20):
            canary += sum(random_.random() < 0.1 + rise for _ in range(20))
            live += sum(random_.random() < 0.1 for _ in range(20))
            if read(group(canary, seen), group(live, seen)).standing == BEYOND:
                return True
        return False

    assert least <= sum(stops() for _ in range(100)) <= most
