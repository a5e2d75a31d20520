"""A workspace learns from what its harnesses report."""

from __future__ import annotations

import uuid

import pytest

from control.settings import CELERY_BEAT_SCHEDULE, CELERY_TASK_ROUTES
from routing import generation, snapshot, tasks
from routing.engine.calibration import SHIPPED
from routing.models import AuditEntry, CalibrationRow, Decision, Workspace
from routing.services import calibration, decisions, entries, ledger, registry
from routing.services.ledger import Report

QUERY = "fetch https://example.com/guide as Markdown"
FIRST = "hitspec__fetch"


def outcome(decision_id: str, status: str, target: str = FIRST) -> Report:
    return Report(id=str(uuid.uuid4()), kind="domain_outcome", target=target, status=status, decision_id=decision_id)


def asked(caller, count: int) -> list[str]:
    found = [decisions.resolve(caller, QUERY)["decision_id"] for _ in range(count)]
    ledger.write(caller.workspace_id)
    return found


def report(caller, *reports: Report) -> None:
    assert ledger.accept(caller.workspace_id, caller.scope, caller.harness, list(reports)).accepted == len(reports)
    ledger.write(caller.workspace_id)


def waiting(caller) -> int:
    return Workspace.objects.get(pk=caller.workspace_id).outcomes_new


def test_enough_failures_make_the_judge_more_careful_everywhere(caller):
    before = decisions.resolve(caller, QUERY, explain=True)
    report(caller, *(outcome(one, "failure") for one in asked(caller, 30)))
    assert waiting(caller) == 30

    tasks.recalibrate()

    after = decisions.resolve(caller, QUERY, explain=True)
    row = CalibrationRow.objects.get()
    assert before["status"] == "confident"
    assert "calibration" not in before["explanation"]
    assert after["explanation"]["calibration"] == row.version == 1
    assert after["status"] == "ambiguous"
    assert after["probability"] < 0.65 < 0.9 < before["probability"]
    told = AuditEntry.objects.filter(action="judge.calibrated").get()
    assert (told.actor_kind, told.actor, told.after["version"]) == ("system", "scheduler", 1)
    assert (row.outcomes, row.right, row.created_by, waiting(caller)) == (30, 0, "scheduler", 0)
    assert row.figures["ece_after"] < row.figures["ece_before"]
    assert snapshot.live(caller.workspace_id).catalog.calibration.version == 1


def test_a_workspace_with_few_outcomes_keeps_what_ships(caller):
    report(caller, *(outcome(one, "failure") for one in asked(caller, calibration.ENOUGH_NEW - 1)))

    assert calibration.recalibrate_due() == 0
    assert snapshot.live(caller.workspace_id).catalog.calibration == SHIPPED


def test_outcomes_that_do_not_tell_are_no_labels(caller):
    told = asked(caller, 7)
    report(
        caller,
        outcome(told[0], "success"),
        outcome(told[1], "failure"),
        outcome(told[2], "success"),
        outcome(told[2], "failure"),
        outcome(told[3], "partial"),
        outcome(told[4], "unknown"),
        outcome(told[5], "failure"),
        outcome(told[5], "success", "hitspec__validate"),
        outcome(told[6], "success", "hitspec__hitspec_fetch"),
        outcome("no-decision-of-ours", "success"),
    )

    found = calibration.labelled(caller.workspace_id)

    assert sorted((one.was_right, one.other) for one in found) == [
        (False, False),
        (False, True),
        (True, False),
        (True, False),
    ]


def test_outcomes_from_another_scope_or_workspace_say_nothing(caller, by):
    told = asked(caller, 3)
    ledger.accept(caller.workspace_id, "web-only", "other", [outcome(one, "failure") for one in told])
    ledger.write(caller.workspace_id)
    other = registry.create_workspace("other", by=by)
    ledger.accept(other.pk, "default", "other", [outcome(one, "failure") for one in told])
    ledger.write(other.pk)

    assert calibration.labelled(caller.workspace_id) == []
    assert calibration.labelled(other.pk) == []


def test_a_correction_is_fitted_to_what_ships_and_not_to_itself(caller):
    first = decisions.resolve(caller, QUERY)
    report(caller, *(outcome(one, "failure") for one in asked(caller, 30)))
    tasks.recalibrate()
    again = asked(caller, 30)
    report(caller, *(outcome(one, "failure") for one in again))

    found = calibration.labelled(caller.workspace_id)

    assert len(found) == 60
    assert {round(one.right, 4) for one in found} == {first["probability"]}
    corrected = Decision.objects.get(pk=again[0])
    assert corrected.probability < corrected.shipped[1]
    tasks.recalibrate()
    assert list(CalibrationRow.objects.values_list("version", "outcomes")) == [(2, 60), (1, 30)]


def test_a_calibration_of_another_fit_is_out_of_use(caller):
    report(caller, *(outcome(one, "failure") for one in asked(caller, 30)))
    tasks.recalibrate()

    CalibrationRow.objects.update(fit="of-an-older-one")
    generation.bump()

    assert snapshot.live(caller.workspace_id).catalog.calibration == SHIPPED


def test_publishing_keeps_what_was_learnt(caller, published, by):
    from routing.services import revisions

    report(caller, *(outcome(one, "failure") for one in asked(caller, 30)))
    tasks.recalibrate()
    entries.edit(published, "endpoints", "notes", {"tags": ["paper"]}, by=by)
    revisions.publish(published, message="Tags", by=by)

    assert snapshot.live(published.pk).catalog.calibration.version == 1
    assert decisions.resolve(caller, QUERY, explain=True)["explanation"]["calibration"] == 1


def test_a_workspace_that_cannot_be_calibrated_holds_up_no_other(caller, by, monkeypatch):
    broken = registry.create_workspace("broken", by=by)
    Workspace.objects.filter(pk=broken.pk).update(outcomes_new=99)
    report(caller, *(outcome(one, "failure") for one in asked(caller, 30)))
    whole = calibration.labelled
    monkeypatch.setattr(calibration, "labelled", lambda pk: 1 / 0 if pk == broken.pk else whole(pk))

    assert calibration.recalibrate_due() == 1


@pytest.mark.parametrize("task", ["routing.tasks.recalibrate"])
def test_it_runs_seldom_beside_the_ledgers_writer(task):
    (scheduled,) = [one for one in CELERY_BEAT_SCHEDULE.values() if one["task"] == task]

    assert scheduled["schedule"] >= 60
    assert scheduled["options"]["queue"] == CELERY_TASK_ROUTES[task]["queue"] == "ledger"
