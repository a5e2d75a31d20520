"""Opinions of people on decisions: one each, changeable, audited, and learnt from."""

from __future__ import annotations

import pytest

from routing.errors import InvalidRequest, NotFound
from routing.models import Actor, AuditEntry, Decision, Event, Label, Workspace
from routing.services import calibration, decisions, labels, ledger
from tests.routing.conftest import EDITOR
from tests.routing.test_calibration import FIRST, QUERY, asked, outcome, report

BEN = Actor(kind="operator", name="ben")


@pytest.fixture
def decided(caller, published):
    (pk,) = asked(caller, 1)
    return published, Decision.objects.get(pk=pk)


def outcomes(workspace):
    return [(one.was_right, one.other) for one in calibration.labelled(workspace.pk)]


def test_each_person_has_one_opinion_and_may_change_it(decided):
    workspace, decision = decided

    labels.say(workspace, decision.pk, "right", by=EDITOR)
    labels.say(workspace, decision.pk, "wrong", "notes__add_note", by=EDITOR)
    labels.say(workspace, decision.pk, "right", by=BEN)

    assert [(one.verdict, one.tool, one.person) for one in labels.of(decision)] == [
        ("right", "", "ben"),
        ("wrong", "notes__add_note", "an-editor"),
    ]
    told = AuditEntry.objects.filter(action="decision.labelled").order_by("-pk_id")[1]
    assert (told.before, told.after) == ({"verdict": "right"}, {"verdict": "wrong", "tool": "notes__add_note"})
    labels.take_back(workspace, decision.pk, by=BEN)
    assert Label.objects.count() == 1
    with pytest.raises(NotFound):
        labels.take_back(workspace, decision.pk, by=BEN)


def test_an_opinion_is_no_event_and_changes_no_decision(decided):
    workspace, decision = decided
    before = Event.objects.count()

    labels.say(workspace, decision.pk, "wrong", by=EDITOR)
    ledger.write(workspace.pk)

    assert Event.objects.count() == before
    assert Decision.objects.get(pk=decision.pk).domain is None


def test_a_tool_is_kept_by_its_public_name_whatever_its_spelling(decided):
    workspace, decision = decided

    label = labels.say(workspace, decision.pk, "wrong", " hitspec__hitspec_validate ", by=EDITOR)

    assert label.tool == "hitspec__validate"


@pytest.mark.parametrize(
    ("verdict", "tool", "path"),
    [("perhaps", "", "verdict"), ("wrong", "nobody__knows", "tool"), ("wrong", FIRST, "tool")],
)
def test_what_cannot_be_meant_is_refused_with_its_field(decided, verdict, tool, path):
    workspace, decision = decided

    with pytest.raises(InvalidRequest) as refused:
        labels.say(workspace, decision.pk, verdict, tool, by=EDITOR)

    assert refused.value.details[0]["path"] == path
    assert not Label.objects.exists()


def test_decisions_of_others_and_those_not_made_yet_have_no_label(decided, by):
    workspace, decision = decided
    other = Workspace.objects.create(name="other", title="Other")
    Decision.objects.filter(pk=decision.pk).update(state="running")

    with pytest.raises(NotFound):
        labels.say(other, decision.pk, "right", by=EDITOR)
    with pytest.raises(InvalidRequest):
        labels.say(workspace, decision.pk, "right", by=EDITOR)


def test_labels_are_outcomes_to_learn_from(caller, published):
    one, two, three, four = asked(caller, 4)

    labels.say(published, one, "right", by=EDITOR)
    labels.say(published, two, "wrong", by=EDITOR)
    labels.say(published, three, "wrong", "notes__add_note", by=EDITOR)
    labels.say(published, four, "right", by=EDITOR)
    labels.say(published, four, "wrong", by=BEN)  # people who disagree tell nothing

    assert sorted(outcomes(published)) == [(False, False), (False, True), (True, False)]
    assert Workspace.objects.get(pk=published.pk).outcomes_new == 5


def test_a_label_stands_over_what_was_reported(caller, published):
    (one,) = asked(caller, 1)
    report(caller, outcome(one, "success"))

    labels.say(published, one, "wrong", by=EDITOR)

    assert outcomes(published) == [(False, False)]


def test_where_nothing_was_recommended_right_says_that_nothing_fits(caller, published):
    pk = decisions.resolve(caller, "bake a note of cherries")["decision_id"]
    ledger.write(published.pk)
    decision = Decision.objects.get(pk=pk)
    Decision.objects.filter(pk=pk).update(target=None, status="no_match")
    first = str(decision.candidates[0]["target"])

    labels.say(published, pk, "right", by=EDITOR)
    assert outcomes(published) == [(False, False)]
    labels.say(published, pk, "wrong", by=EDITOR)
    assert outcomes(published) == []
    labels.say(published, pk, "wrong", first, by=EDITOR)
    assert outcomes(published) == [(True, False)]


def test_saying_the_same_again_teaches_nothing_new(decided):
    workspace, decision = decided

    for _ in range(3):
        labels.say(workspace, decision.pk, "right", by=EDITOR)

    assert Workspace.objects.get(pk=workspace.pk).outcomes_new == 1
    assert QUERY not in str(AuditEntry.objects.order_by("-pk_id").first().after)
