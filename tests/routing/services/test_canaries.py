from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from control.keys import create_key, revoke_key
from control.models import Membership
from routing import snapshot
from routing.audience import WHOLE, Audience, least_percent, place_of
from routing.errors import (
    CanaryRunning,
    ExpectationsFailed,
    InvalidRequest,
    NeedsApproval,
    NotFound,
    StaleDraft,
    Superseded,
)
from routing.models import Actor, AuditEntry, CanaryRow, Decision, Event, Revision, Schedule
from routing.services import decisions, entries, ledger, registry, reviews, revisions, schedules, workspaces
from routing.services.canaries import ending, looking, starting
from routing.services.canaries.starting import Terms
from routing.services.decisions import Activity, Caller, RouteRequest
from tests.cast import person
from tests.routing.conftest import DOCUMENT, EDITOR

ADA = Actor(kind="operator", name="ada")
WEB = Terms(scopes=("web-only",))
QUERY = "fetch a public web page as readable Markdown"


@pytest.fixture
def drafted(published):
    person("ada", published, "administrator")
    entries.edit(published, "endpoints", "hitspec", {"use_when": ["read the newspaper"]}, by=EDITOR)
    return published


def started(workspace, terms: Terms = WEB, **more) -> CanaryRow:
    return starting.start(workspace, terms, **({"message": "To some", "by": ADA} | more))


def of(workspace, scope: str = "web-only", harness: str = "some") -> Caller:
    return Caller(workspace_id=workspace.pk, scope=scope, harness=harness)


def answered_by(workspace, scope: str = "web-only", harness: str = "some") -> int:
    return decisions.resolve(of(workspace, scope, harness), QUERY)["revision"]


def dated(at) -> UUID:
    """An id as it would have been made at that time."""
    fresh = uuid7().int & ((1 << 80) - 1)
    return UUID(int=int(at.timestamp() * 1000) << 80 | fresh)


def decided(workspace, revision: int, count: int, *, scope: str = "web-only", at=None, **facts) -> None:
    told = {"type": "resolve", "status": "confident"} | facts
    Decision.objects.bulk_create(
        Decision(
            id=uuid7() if at is None else dated(at),
            workspace=workspace,
            created_at=at or timezone.now(),
            scope=scope,
            harness="some",
            revision=revision,
            **told,
        )
        for _ in range(count)
    )


def last_entry(workspace, action: str) -> AuditEntry:
    return AuditEntry.objects.filter(workspace=workspace, action=action).order_by("-seq")[0]


# --- whom it answers --------------------------------------------------------------------------------------------------
def test_chosen_scopes_are_answered_by_it_and_all_others_by_what_is_live(drafted):
    row = started(drafted)

    assert (answered_by(drafted), answered_by(drafted, "default")) == (3, 2)
    assert (row.revision.number, row.live_number) == (3, 2)
    drafted.refresh_from_db()
    assert drafted.live_revision.number == 2


def test_a_scope_that_is_named_twice_is_kept_once(drafted):
    assert started(drafted, Terms(scopes=("web-only", "web-only"))).scopes == ["web-only"]


def test_a_proposal_that_gave_way_is_not_said_to_stand_on_what_was_live(drafted):
    older = revisions.propose(drafted, registry.working_document(drafted), by=EDITOR)
    entries.edit(drafted, "endpoints", "hitspec", {"use_when": ["read the magazine"]}, by=EDITOR)
    revisions.propose(drafted, registry.working_document(drafted), by=EDITOR)

    with pytest.raises(Superseded, match=f"Revision {older.number} gave way to a later proposal"):
        starting.start_revision(drafted, older.number, WEB, message="To some", by=ADA)


def test_a_share_holds_some_keys_and_each_stays_on_its_side(drafted):
    for number in range(40):
        create_key(drafted, "default", name=f"key-{number}", by=EDITOR)
    row = started(drafted, Terms(percent=30))

    first = {f"key-{n}": answered_by(drafted, "default", f"key-{n}") for n in range(40)}
    again = {f"key-{n}": answered_by(drafted, "default", f"key-{n}") for n in range(40)}

    assert first == again
    assert set(first.values()) == {2, 3}
    held = snapshot.audience_of(row).among(starting.keys_of(drafted.pk))
    assert sorted(held) == sorted(name for name, revision in first.items() if revision == 3)


def test_more_percent_keep_all_that_fewer_hold_and_hold_about_their_share():
    keys = [("default", f"key-{number}") for number in range(2000)]
    ten, thirty = (set(Audience(salt="sha256:a", percent=share).among(keys)) for share in (10, 30))

    assert ten < thirty
    assert 140 < len(ten) < 260 and 500 < len(thirty) < 700
    assert ten != set(Audience(salt="sha256:b", percent=10).among(keys))


def test_the_least_share_that_holds_a_key_is_told():
    names = ["one", "two", "three"]
    least = least_percent("salt", names)

    assert least is not None and least_percent("salt", []) is None
    assert Audience(salt="salt", percent=least).among([("s", name) for name in names])
    assert not Audience(salt="salt", percent=least - 1).among([("s", name) for name in names])


def test_what_it_decides_is_recorded_under_its_number_in_the_decision_and_the_ledger(drafted):
    started(drafted)
    decided_ = decisions.resolve(of(drafted), QUERY)["decision_id"]
    ledger.write(drafted.pk)

    assert Decision.objects.get(pk=decided_).revision == 3
    assert Event.objects.get(workspace=drafted, decision_id=decided_).revision == 3


def test_a_route_is_kept_and_decided_under_it(drafted):
    started(drafted)
    rows = [
        decisions.request_route(str(uuid7()), of(drafted, scope), RouteRequest(goal=QUERY))
        for scope in ("web-only", "default")
    ]
    for row in rows:
        decisions.run(UUID(str(row.pk)))
        row.refresh_from_db()

    assert [(row.revision, row.answer["revision"]) for row in rows] == [(3, 3), (2, 2)]


def test_advice_of_before_is_not_given_to_those_whom_it_answers(drafted):
    activity = Activity(goal="read", phase="look", activity=QUERY)
    decisions.advise(of(drafted, "web-only"), activity)
    started(drafted)

    made = decisions.advise(of(drafted, "web-only"), activity)
    ledger.write(drafted.pk)

    assert made["cached"] is False
    assert Decision.objects.get(pk=made["decision_id"]).revision == 3
    assert decisions.advise(of(drafted, "web-only"), activity)["cached"] is True


def test_what_is_browsed_is_its_catalog(drafted):
    fewer = [DOCUMENT["endpoints"][0] | {"tools": DOCUMENT["endpoints"][0]["tools"][1:]}, DOCUMENT["endpoints"][1]]
    registry.replace_working_copy(drafted, DOCUMENT | {"endpoints": fewer}, by=EDITOR)
    started(drafted)

    with pytest.raises(NotFound):
        decisions.describe(of(drafted), "hitspec__fetch")
    assert decisions.describe(of(drafted, "default"), "hitspec__fetch")


# --- what stands in its way -------------------------------------------------------------------------------------------
def test_it_needs_its_approvals_and_its_expectations_like_any_publication(drafted):
    workspaces.configure(drafted, {"approvals_needed": 1}, by=ADA)
    with pytest.raises(NeedsApproval):
        started(drafted)
    workspaces.configure(drafted, {"approvals_needed": 0}, by=ADA)
    unmet = {"name": "notes", "query": QUERY, "expect": {"status": ["no_match"]}}
    entries.add(drafted, "expectations", unmet, by=EDITOR)
    with pytest.raises(ExpectationsFailed):
        started(drafted)

    row = started(drafted, override="Known; it is mended next.")

    assert last_entry(drafted, "canary.started").after["expectations_failed"] == ["notes"]
    assert revisions.publish_revision(drafted, row.revision.number, message="", override=row.override, by=ADA)


def test_a_draft_that_changed_meanwhile_does_not_start(drafted):
    with pytest.raises(StaleDraft):
        started(drafted, seen="sha256:other")

    assert last_entry(drafted, "canary.started").result == "refused"
    assert not CanaryRow.objects.exists()


@pytest.mark.parametrize(
    ("terms", "path"),
    [
        (Terms(), "scopes"),
        (Terms(scopes=("web-only",), percent=10), "scopes"),
        (Terms(scopes=("nowhere",)), "scopes"),
        (Terms(scopes=("web-only", "default")), "scopes"),
        (Terms(percent=0), "percent"),
        (Terms(percent=51), "percent"),
        (Terms(percent=10), "percent"),
        (Terms(scopes=("web-only",), bounds={"fallback": 0.6}), "fallback"),
        (Terms(scopes=("web-only",), minimum=9), "minimum"),
        (Terms(scopes=("web-only",), lasts=timedelta(days=91)), "hours"),
    ],
)
def test_an_audience_or_a_limit_that_makes_no_sense_is_refused_by_its_name(drafted, terms, path):
    with pytest.raises(InvalidRequest) as refused:
        started(drafted, terms)

    assert [one["path"] for one in refused.value.details] == [path]
    assert Revision.objects.filter(workspace=drafted).count() == 2


def test_a_share_that_holds_no_key_says_which_would(drafted):
    digest = registry.draft_digest(drafted)
    outside = [f"key-{n}" for n in range(100) if place_of(digest, f"key-{n}") >= WHOLE // 100]
    for name in outside[:2]:
        create_key(drafted, "default", name=name, by=EDITOR)
    gone, _ = create_key(drafted, "default", name="gone", by=EDITOR)
    revoke_key(gone, by=EDITOR)

    with pytest.raises(InvalidRequest) as refused:
        started(drafted, Terms(percent=1))

    assert "none of the 2 keys" in str(refused.value)


def test_there_is_one_at_a_time(drafted):
    started(drafted)
    entries.edit(drafted, "endpoints", "notes", {"tags": ["more"]}, by=EDITOR)

    with pytest.raises(CanaryRunning):
        started(drafted)


def test_a_schedule_gives_way_to_it(drafted):
    schedule = schedules.plan(drafted, timezone.now() + timedelta(hours=1), message="Later", by=ADA)

    started(drafted)

    schedule.refresh_from_db()
    assert schedule.state == "void" and "some first" in schedule.reason


# --- how it ends ------------------------------------------------------------------------------------------------------
def test_publishing_its_revision_promotes_it_to_everybody(drafted):
    row = started(drafted)

    revision = revisions.publish_revision(drafted, 3, message="Good", by=ADA)

    row.refresh_from_db()
    assert (revision.state, row.state, row.ended_by) == ("live", "promoted", "ada")
    assert [answered_by(drafted, scope) for scope in ("web-only", "default")] == [3, 3]
    assert last_entry(drafted, "canary.promoted").target == "revision 3"


def test_publishing_the_same_draft_promotes_it_under_its_own_number(drafted):
    started(drafted)

    assert revisions.publish(drafted, message="Good", by=ADA).number == 3
    assert Revision.objects.filter(workspace=drafted).count() == 3


def test_a_promotion_keeps_the_approvals_that_it_began_with(drafted):
    workspaces.configure(drafted, {"approvals_needed": 1}, by=ADA)
    proposed = registry.propose_draft(drafted, message="Please", by=EDITOR)
    reviews.approve(drafted, proposed.number, by=ADA)
    started(drafted)
    entries.edit(drafted, "endpoints", "notes", {"tags": ["more"]}, by=EDITOR)

    assert revisions.publish_revision(drafted, proposed.number, message="", by=ADA).state == "live"
    assert registry.draft_changes(drafted) != []


def test_stopping_puts_its_audience_back_and_keeps_the_draft(drafted):
    started(drafted)
    before = registry.draft_digest(drafted)

    ending.stop_revision(drafted, 3, reason="Not now.", by=ADA)

    assert answered_by(drafted) == 2
    assert registry.draft_digest(drafted) == before
    assert revisions.find(drafted, 3).state == "superseded"
    entry = last_entry(drafted, "canary.stopped")
    assert (entry.actor, entry.message, entry.after["state"]) == ("ada", "Not now.", "stopped")
    with pytest.raises(Superseded):
        ending.stop_revision(drafted, 3, by=ADA)
    with pytest.raises(NotFound):
        ending.stop_revision(drafted, 2, by=ADA)


def test_what_was_stopped_is_published_again_under_a_new_number_and_can_be_restored(drafted):
    started(drafted)
    ending.stop_revision(drafted, 3, by=ADA)
    registry.discard_draft(drafted, by=ADA)

    restored, is_new, _ = registry.restore(drafted, 3, message="", by=ADA)

    assert (restored.number, is_new) == (4, True)


def test_another_publication_waits_for_a_decision_and_nothing_is_left_of_it(drafted):
    started(drafted)
    entries.edit(drafted, "endpoints", "notes", {"tags": ["more"]}, by=EDITOR)

    with pytest.raises(CanaryRunning) as refused:
        revisions.publish(drafted, message="Another", by=ADA)

    assert "Promote it to everybody or stop it" in refused.value.message
    assert Revision.objects.filter(workspace=drafted).count() == 3
    assert ending.running_in(drafted) is not None


def test_an_emergency_goes_live_and_stops_it(drafted):
    row = started(drafted)
    entries.edit(drafted, "endpoints", "notes", {"tags": ["more"]}, by=EDITOR)

    revisions.publish(drafted, message="Now", emergency=True, by=ADA)

    row.refresh_from_db()
    assert (row.state, row.reason) == ("stopped", "Revision 4 was published to everybody.")
    assert answered_by(drafted) == 4


def test_going_back_to_what_was_live_is_always_possible_and_stops_it(drafted):
    row = started(drafted)
    restored, _, _ = registry.restore(drafted, 1, message="", by=ADA)

    revisions.publish_revision(drafted, restored.number, message="Back", by=ADA)

    row.refresh_from_db()
    assert row.state == "stopped" and answered_by(drafted, "default") == restored.number


def test_dropping_the_draft_leaves_it_running_and_its_changes_explained(drafted):
    row = started(drafted)

    registry.discard_draft(drafted, by=ADA)

    assert answered_by(drafted) == 3
    assert row.revision.edits.exists()
    assert revisions.publish_revision(drafted, 3, message="", by=ADA).state == "live"
    assert registry.draft_changes(drafted) == []


# --- judged -----------------------------------------------------------------------------------------------------------
def test_a_rise_of_no_match_stops_it_by_itself_and_says_why(drafted):
    row = started(drafted)
    decided(drafted, 3, 60)
    decided(drafted, 3, 60, status="no_match")
    decided(drafted, 2, 150, scope="default")

    assert looking.look_after_all() == 1

    row.refresh_from_db()
    assert (row.state, row.measure, row.ended_by) == ("stopped", "no_match", "system switchyard")
    assert "resolves without a match is 50 percentage points above" in row.reason
    entry = last_entry(drafted, "canary.stopped")
    assert (entry.actor_kind, entry.after["bound"], entry.message) == ("system", "no_match", row.reason)
    assert row.figures["canary"] == {"decisions": 120, "no_match": [60, 120], "fallback": [0, 0], "failure": [0, 0]}
    assert answered_by(drafted) == 2
    assert looking.look_after_all() == 0


@pytest.mark.parametrize(
    ("bad", "good", "measure"),
    [
        ({"type": "route", "status": "fallback"}, {"type": "route", "status": "selected"}, "fallback"),
        ({"domain": "failure"}, {"domain": "success"}, "failure"),
        ({"domain": "partial"}, {"domain": "success"}, "failure"),
        ({"transport": "timeout"}, {"transport": "ok"}, "failure"),
        ({"type": "advice", "status": "no_match"}, {"type": "advice"}, "no_match"),
    ],
)
def test_each_measure_has_its_own_bound(drafted, bad, good, measure):
    row = started(drafted)
    decided(drafted, 3, 100, **bad)
    decided(drafted, 2, 100, scope="default", **good)

    looking.look_after_all()

    row.refresh_from_db()
    assert row.measure == measure


@pytest.mark.parametrize(
    ("number", "facts"),
    [
        (99, {"status": "no_match"}),  # too few
        (300, {"domain": "unknown"}),  # nobody knows what came of it
        (300, {"transport": "error", "domain": "success"}),  # it did the job in the end
        (300, {"type": "select", "status": "no_match"}),
        (300, {"state": "failed", "status": None}),
    ],
)
def test_what_says_nothing_stops_nothing(drafted, number, facts):
    row = started(drafted)
    decided(drafted, 3, number, **facts)
    decided(drafted, 2, 300, scope="default")
    decided(drafted, 2, 300, scope="default", domain="success")

    assert looking.look_after_all() == 0
    row.refresh_from_db()
    assert row.is_running


def test_what_was_decided_before_it_began_is_not_counted(drafted):
    decided(drafted, 3, 200, status="no_match", at=timezone.now() - timedelta(hours=2))
    row = started(drafted)
    decided(drafted, 2, 200, scope="default")

    assert looking.look_after_all() == 0
    row.refresh_from_db()
    assert row.figures["canary"]["decisions"] == 0


def test_scopes_that_always_had_more_of_it_are_not_taken_for_worse(drafted):
    before = timezone.now() - timedelta(days=1)
    decided(drafted, 2, 150, status="no_match", at=before)
    decided(drafted, 2, 150, at=before)
    decided(drafted, 2, 300, scope="default", at=before)
    row = started(drafted)
    decided(drafted, 3, 100, status="no_match")
    decided(drafted, 3, 100)
    decided(drafted, 2, 200, scope="default")

    assert looking.look_after_all() == 0
    decided(drafted, 3, 200, status="no_match")
    assert looking.look_after_all() == 1
    row.refresh_from_db()
    assert row.before["canary"]["no_match"] == [150, 300]


@pytest.mark.parametrize(
    ("at_end", "judged", "state", "why"),
    [
        ("stop", True, "stopped", "nobody had promoted it"),
        ("promote", False, "stopped", "too little was counted"),
        ("promote", True, "promoted", ""),
    ],
)
def test_it_ends_as_chosen_when_its_time_is_over(drafted, at_end, judged, state, why):
    row = started(drafted, Terms(scopes=("web-only",), lasts=timedelta(hours=1), at_end=at_end))
    if judged:
        decided(drafted, 3, 100)
        decided(drafted, 2, 100, scope="default")
    early = looking.look_after_all()
    CanaryRow.objects.update(until=timezone.now() - timedelta(seconds=1))

    assert (early, looking.look_after_all()) == (0, 1)
    row.refresh_from_db()
    assert row.state == state and why in row.reason
    assert answered_by(drafted, "default") == (3 if state == "promoted" else 2)


def test_a_promotion_at_its_time_needs_somebody_who_may_still_publish(drafted):
    row = started(drafted, Terms(scopes=("web-only",), lasts=timedelta(hours=1), at_end="promote"))
    decided(drafted, 3, 100)
    decided(drafted, 2, 100, scope="default")
    Membership.objects.update(role="viewer")
    CanaryRow.objects.update(until=timezone.now() - timedelta(seconds=1))

    looking.look_after_all()

    row.refresh_from_db()
    assert row.state == "stopped" and "may no longer publish" in row.reason
    assert Schedule.objects.count() == 0


def test_one_that_a_key_started_is_promoted_as_the_person_who_made_the_key(drafted):
    key = Actor(kind="key", name="ci", acts_as="ada")
    row = started(drafted, Terms(scopes=("web-only",), lasts=timedelta(hours=1), at_end="promote"), by=key)
    decided(drafted, 3, 100)
    decided(drafted, 2, 100, scope="default")
    CanaryRow.objects.update(until=timezone.now() - timedelta(seconds=1))

    looking.look_after_all()

    row.refresh_from_db()
    assert (row.state, row.ended_by) == ("promoted", "key ci")
