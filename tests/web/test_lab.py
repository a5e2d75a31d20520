from __future__ import annotations

import pytest

from routing.models import Decision
from routing.services import labels, registry
from routing.services.lab import evidence
from tests.routing.conftest import EDITOR

PAGE = "/w/acme/lab"


@pytest.fixture
def judged(decide, workspace):
    """40 answers under the default policy, three in four of them right."""

    def judged(count: int = 40) -> None:
        for number in range(count):
            decision = decide()
            Decision.objects.filter(pk=decision.pk).update(
                probability=0.5 + number / 100, reason_codes=["clear_margin"]
            )
            labels.say(workspace, decision.pk, "wrong" if number % 4 == 0 else "right", by=EDITOR)

    return judged


def test_too_few_answers_draw_no_curve_and_say_so(admin, judged):
    judged(5)

    answer = admin.get(PAGE)

    assert answer.context["count"] == 5 and "curve" not in answer.context
    text = answer.content.decode()
    assert "Too few to say anything." in text and "Propose" not in text


def test_a_threshold_is_told_in_numbers_that_add_up(admin, judged):
    judged()

    answer = admin.get(f"{PAGE}?at=0.70&wrong=4&ask=1")
    point, text = answer.context["point"], answer.content.decode()

    assert (point.total, point.acted, point.right) == (40, 20, 15)
    assert "20 of 40 answers would have been confident" in text and "75 %" in text
    assert answer.context["cost_at"] == pytest.approx((5 * 4 + 20 * 1) / 40)
    assert answer.context["best"].cost(wrong=4, ask=1) <= answer.context["cost_at"]
    assert text.count('<svg viewBox="0 0 484 244"') == 3
    assert "too few, from 30 on" in text  # nothing that writes has an outcome


def test_the_slider_answers_with_its_part_alone_and_takes_no_nonsense(admin, judged):
    judged(30)

    part = admin.get(f"{PAGE}?at=0.6", headers={"HX-Request": "true"}).content.decode()
    odd = admin.get(f"{PAGE}?at=nan&wrong=-1&ask=x&policy=nobody&effect=fly").context

    assert part.lstrip().startswith('<div id="lab"')
    assert (odd["at"], odd["costs"], odd["policy"], odd["effect"]) == (0.8, {"wrong": 10.0, "ask": 1.0}, "default", "")


def test_a_threshold_is_written_into_the_draft_beside_what_the_policy_says(enter, judged, workspace):
    judged(30)
    registry.replace_working_copy(
        workspace,
        {**registry.working_document(workspace), "policies": [{"name": "default", "resolver": {"match_at": 0.4}}]},
        by=EDITOR,
    )
    editor = enter("editor")

    editor.post(f"{PAGE}/propose", {"policy": "default", "at": "0.9"})
    editor.post(f"{PAGE}/propose", {"policy": "default", "effect": "erase", "at": "0.95"})

    (policy,) = registry.working_document(workspace)["policies"]
    assert policy["resolver"] == {"match_at": 0.4, "confident_at": 0.9, "risk_at": {"erase": 0.95}}


def test_a_policy_that_is_only_implied_is_written_down_with_all_that_it_is(admin, judged, workspace):
    judged(30)

    admin.post(f"{PAGE}/propose", {"policy": "fast", "at": "0.7"})

    (policy,) = [one for one in registry.working_document(workspace)["policies"] if one["name"] == "fast"]
    assert policy["resolver"] == {"confident_at": 0.7}
    assert policy["router"]["history_limit"] == 1


@pytest.mark.parametrize(
    "given",
    [
        {"policy": "nobody", "at": "0.9"},
        {"policy": "default", "at": "1.5"},
        {"policy": "default", "at": "x"},
        {"policy": "default", "at": "0.9", "effect": "fly"},
        {"policy": "default", "at": "0.5", "effect": "erase"},
    ],
)
def test_what_would_say_nothing_is_not_proposed(admin, workspace, given):
    before = registry.working_document(workspace)

    told = admin.post(f"{PAGE}/propose", given, follow=True).content.decode()

    assert "Nothing was changed" in told
    assert registry.working_document(workspace) == before


def test_who_does_not_edit_policies_proposes_nothing(enter, judged):
    judged(30)
    viewer = enter("viewer")

    assert "Propose" not in viewer.get(f"{PAGE}?at=0.6").content.decode()
    assert viewer.post(f"{PAGE}/propose", {"policy": "default", "at": "0.9"}).status_code == 403


def test_a_tie_is_held_back_whatever_the_threshold(decide, workspace):
    tie, free = decide(), decide()
    Decision.objects.filter(pk=tie.pk).update(reason_codes=["score_tie"])
    Decision.objects.filter(pk=free.pk).update(reason_codes=["low_probability"])
    for one in (tie, free):
        labels.say(workspace, one.pk, "right", by=EDITOR)

    assert sorted(one.held for one in evidence(workspace, "default").judged) == [False, True]
    assert {one.effect for one in evidence(workspace, "default").judged} == {"read"}
