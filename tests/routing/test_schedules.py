from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from routing.errors import ExpectationsFailed, InvalidRequest, NeedsApproval, StaleDraft, Superseded
from routing.models import Actor, AuditEntry, Schedule
from routing.services import entries, registry, reviews, revisions, schedules, workspaces
from tests.cast import person
from tests.routing.conftest import EDITOR

ADA = Actor(kind="operator", name="ada")
LATER = timedelta(hours=1)


@pytest.fixture
def drafted(published):
    person("ada", published, "administrator")
    entries.edit(published, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    return published


def planned(workspace) -> Schedule:
    return schedules.plan(workspace, timezone.now() + LATER, message="At night", by=ADA)


def come(schedule: Schedule) -> int:
    Schedule.objects.filter(pk=schedule.pk).update(at=timezone.now() - timedelta(seconds=1))
    return schedules.run_due()


def state(schedule: Schedule) -> str:
    schedule.refresh_from_db()
    return schedule.state


def live(workspace) -> int:
    workspace.refresh_from_db()
    return workspace.live_revision.number


def actions(workspace) -> list[str]:
    return [entry.action for entry in AuditEntry.objects.filter(workspace=workspace).order_by("-seq")[:2]]


def test_it_goes_live_once_when_its_time_has_come_and_not_before(drafted):
    schedule = planned(drafted)
    early = (schedules.run_due(), live(drafted))

    due = [come(schedule), schedules.run_due()]

    assert (early, due) == ((0, 2), [1, 0])
    assert (live(drafted), state(schedule)) == (3, "done")
    revision = revisions.find(drafted, 3)
    assert (revision.published_by, revision.message) == ("ada", "At night")
    assert AuditEntry.objects.filter(workspace=drafted, action="revision.published", target="revision 3").count() == 1


def test_two_workers_that_see_the_same_schedule_publish_it_once(drafted):
    schedule = planned(drafted)
    Schedule.objects.filter(pk=schedule.pk).update(at=timezone.now() - timedelta(seconds=1))
    seen_by_both = Schedule.objects.select_related("revision", "workspace").get(pk=schedule.pk)

    first, second = schedules.run_due(), schedules._run(seen_by_both)

    assert (first, bool(second), live(drafted), state(schedule)) == (1, False, 3, "done")


@pytest.mark.parametrize("moment", [timedelta(seconds=-1), timedelta(days=400)])
def test_a_time_that_is_past_or_far_is_refused(drafted, moment):
    with pytest.raises(InvalidRequest):
        schedules.plan(drafted, timezone.now() + moment, message="", by=ADA)


def test_it_needs_its_approvals_when_it_is_set_and_when_it_comes(drafted):
    workspaces.configure(drafted, {"approvals_needed": 1}, by=ADA)
    with pytest.raises(NeedsApproval):
        planned(drafted)
    registry.propose_draft(drafted, message="Tags", by=EDITOR)
    reviews.approve(drafted, 3, by=ADA)
    schedule = planned(drafted)
    workspaces.configure(drafted, {"approvals_needed": 2}, by=ADA)

    come(schedule)

    assert (state(schedule), live(drafted)) == ("failed", 2)
    assert "1 of the 2 approvals" in schedule.reason
    told = AuditEntry.objects.filter(workspace=drafted).first()
    assert (told.action, told.target, told.result) == ("schedule.failed", "revision 3", "refused")
    assert told.after["why"] == schedule.reason


def test_what_is_not_met_is_not_set_and_does_not_go_live_at_its_time(drafted):
    missed = {"name": "notes first", "query": "fetch a web page", "expect": {"recommendation": "notes__add_note"}}
    entries.add(drafted, "expectations", missed, by=EDITOR)
    schedule = planned(drafted)

    come(schedule)

    assert (state(schedule), live(drafted)) == ("failed", 2)
    assert "1 expectation is not met" in schedule.reason
    with pytest.raises(ExpectationsFailed):
        planned(drafted)


def test_it_fails_when_whoever_set_it_may_no_longer_publish(drafted):
    schedule = planned(drafted)
    drafted.memberships.filter(user__username="ada").update(role="viewer")

    come(schedule)

    assert (state(schedule), live(drafted)) == ("failed", 2)
    assert schedule.reason == "ada, who scheduled it, may no longer publish here."


def test_a_draft_that_changes_takes_its_schedule(drafted):
    schedule = planned(drafted)
    entries.edit(drafted, "endpoints", "notes", {"tags": ["paper", "ink"]}, by=EDITOR)

    assert (come(schedule), state(schedule), live(drafted)) == (0, "void", 2)
    assert schedule.reason == "The draft changed after revision 3 was scheduled."
    assert "schedule.void" in actions(drafted)


def test_a_rejection_a_newer_proposal_and_a_publication_by_hand_take_it_too(drafted):
    rejected = planned(drafted)
    reviews.reject(drafted, 3, reason="Not now", by=ADA)
    by_hand = planned(drafted)
    revisions.publish_revision(drafted, 4, message="Now", by=ADA)

    assert (state(rejected), rejected.reason) == ("void", "Revision 3 was rejected.")
    assert (state(by_hand), by_hand.reason) == ("void", "Revision 4 went live before.")


def test_setting_another_time_takes_the_place_of_the_first(drafted):
    first, second = planned(drafted), planned(drafted)

    assert (state(first), state(second), first.revision_id == second.revision_id) == ("void", "waiting", True)


def test_it_is_cancelled_once(drafted):
    schedule = planned(drafted)
    schedules.cancel(drafted, schedule.pk, by=EDITOR)

    assert (state(schedule), come(schedule), live(drafted)) == ("cancelled", 0, 2)
    assert actions(drafted)[0] == "schedule.cancelled"
    with pytest.raises(Superseded):
        schedules.cancel(drafted, schedule.pk, by=EDITOR)


def test_only_what_was_seen_is_scheduled(drafted):
    with pytest.raises(StaleDraft):
        schedules.plan(drafted, timezone.now() + LATER, message="", seen="sha256:0", by=ADA)
    assert not Schedule.objects.exists()
