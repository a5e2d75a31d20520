from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from control.models import Preference
from routing.models import Actor, Edit, Schedule
from routing.services import entries, registry, schedules
from tests.routing.conftest import DOCUMENT, EDITOR

BEN = Actor(kind="operator", name="ben")


@pytest.fixture
def drafted(workspace):
    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=BEN)
    return workspace


def text_of(response) -> str:
    return response.content.decode()


def last_edit() -> Edit:
    return Edit.objects.filter(revision=None).order_by("-id").first()


def tomorrow(zone=None) -> str:
    return f"{timezone.localtime(timezone.now(), zone) + timedelta(days=1):%Y-%m-%dT%H:%M}"


# --- at a time --------------------------------------------------------------------------------------------------------
def test_a_draft_is_set_for_a_time_in_the_viewers_zone_shown_and_cancelled(enter, drafted, django_user_model):
    reviewer = enter("reviewer")
    Preference.objects.create(user=django_user_model.objects.get(username="the-reviewer"), time_zone="Asia/Tokyo")
    seen = registry.draft_digest(drafted)
    given = {"message": "At night", "seen": seen, "at": "2026-12-24T21:30"}
    text = text_of(reviewer.post("/w/acme/publish/schedule", given, follow=True))
    schedule = Schedule.objects.get()

    assert schedule.at.isoformat() == "2026-12-24T12:30:00+00:00"
    assert "Revision 3 goes live on 24 Dec 2026 at 21:30 JST" in text and "Goes live" in text
    assert "Goes live" in text_of(reviewer.get("/w/acme/revisions/3"))
    cancelled = text_of(reviewer.post(f"/w/acme/publish/schedule/{schedule.pk}/cancel", follow=True))
    assert "does not go live by itself any more" in cancelled and "Goes live <time" not in cancelled


def test_what_is_set_for_a_time_is_shown_wherever_revisions_are_and_called_off_from_there(
    enter, drafted, django_user_model
):
    reviewer, viewer = enter("reviewer"), enter("viewer")
    Preference.objects.create(user=django_user_model.objects.get(username="the-reviewer"), time_zone="Asia/Tokyo")
    given = {"message": "At night", "seen": registry.draft_digest(drafted), "at": "2026-12-24T21:30"}
    reviewer.post("/w/acme/publish/schedule", given)
    cancel = f"/w/acme/publish/schedule/{Schedule.objects.get().pk}/cancel"

    for page in ("/w/acme/", "/w/acme/revisions", "/w/acme/revisions/3"):
        text = text_of(reviewer.get(page))
        assert "oes live" in text and "24 Dec 2026, 21:30" in text and "the-reviewer" in text and cancel in text
        seen = text_of(viewer.get(page))
        assert "oes live" in seen and "24 Dec 2026, 12:30" in seen and cancel not in seen

    assert reviewer.post(cancel, {"next": "/w/acme/revisions?state=proposed"})["Location"].startswith(
        "/w/acme/revisions"
    )
    assert "oes live <time" not in text_of(viewer.get("/w/acme/revisions"))


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("", "Say when it should go live."),
        ("2020-01-01T10:00", "This time is past."),
        ("9999-12-31T10:00", "Give a time within a year from now."),
        ("2026-13-45T99:00", "Give a date and a time that exist"),
    ],
)
def test_a_time_that_will_not_do_is_said_beside_its_field(admin, drafted, at, said):
    response = admin.post("/w/acme/publish/schedule", {"message": "Later", "at": at})

    assert response.status_code == 422
    assert said in text_of(response) and 'id="at-e"' in text_of(response)
    assert ">Later</textarea>" in text_of(response) and not Schedule.objects.exists()


def test_what_failed_and_what_was_called_off_is_said_on_the_page(admin, drafted):
    when = timezone.now() + timedelta(hours=1)
    schedule = schedules.plan(drafted, when, message="Later", by=BEN)
    Schedule.objects.filter(pk=schedule.pk).update(at=timezone.now() - timedelta(seconds=1))
    schedules.run_due()
    failed = text_of(admin.get("/w/acme/publish"))
    schedules.plan(drafted, when, message="Later", by=BEN)
    entries.edit(drafted, "endpoints", "notes", {"tags": ["ink"]}, by=EDITOR)
    void = text_of(admin.get("/w/acme/revisions/3"))

    assert "It did not go live" in failed and "ben, who scheduled it, may no longer publish here." in failed
    assert "called off" in void and "The draft changed after revision 3 was scheduled." in void


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_whoever_may_not_publish_sets_no_time(enter, drafted, role):
    client = enter(role)

    assert client.post("/w/acme/publish/schedule", {"message": "x", "at": tomorrow()}).status_code == 403
    assert 'name="at"' not in text_of(client.get("/w/acme/publish"))


# --- undo -------------------------------------------------------------------------------------------------------------
def test_ones_own_last_change_is_taken_back_at_once(admin, drafted):
    entries.edit(
        drafted, "endpoints", "notes", {"description": "Mine"}, by=Actor(kind="operator", name="the-administrator")
    )
    page = text_of(admin.get("/w/acme/publish"))
    response = admin.post(f"/w/acme/publish/undo/{last_edit().pk}", follow=True)

    assert "Undo last change" in page
    assert "Taken back: endpoints[notes].description" in text_of(response)
    assert [block.path for block in response.context["blocks"]] == ["endpoints[notes].tags"]


def test_an_undo_that_is_sent_twice_is_told_that_it_was_done(admin, drafted):
    address = f"/w/acme/publish/undo/{last_edit().pk}"
    admin.post(address, {"confirmed": "on"})
    left = registry.draft_change_count(drafted)

    again = admin.post(address, {"confirmed": "on"})

    assert again.status_code == 404 and "taken back already" in text_of(again)
    assert registry.draft_change_count(drafted) == left


def test_anothers_change_is_named_first(admin, drafted):
    page, edit = text_of(admin.get("/w/acme/publish")), last_edit()
    asked = admin.post(f"/w/acme/publish/undo/{edit.pk}")
    still = registry.draft_change_count(drafted)
    done = admin.post(f"/w/acme/publish/undo/{edit.pk}", {"confirmed": "on"}, follow=True)

    assert "Undo last change, by <bdi>ben</bdi>" in page
    assert "Take back a change of ben?" in text_of(asked) and still == 1
    assert "The draft is equal to revision 2" in text_of(done)


def test_what_was_changed_again_is_refused_with_both_sides(enter, drafted):
    edit = last_edit()
    entries.edit(drafted, "endpoints", "notes", {"tags": ["ink"]}, by=EDITOR)
    response = enter("editor").post(f"/w/acme/publish/undo/{edit.pk}", {"confirmed": "on"})

    assert response.status_code == 409
    assert "Undo would make it <q" in text_of(response) and "- ink</q>" in text_of(response)


# --- two people, and what stands in the way ----------------------------------------------------------------------------
def test_publishing_what_changed_meanwhile_shows_who_changed_what(admin, drafted):
    seen = registry.draft_digest(drafted)
    entries.edit(drafted, "endpoints", "hitspec", {"description": "Another"}, by=EDITOR)
    response = admin.post("/w/acme/publish", {"message": "My words", "seen": seen})

    text = text_of(response)
    assert response.status_code == 409 and "Since you opened the page" in text and ">My words</textarea>" in text
    assert [entry.actor for entry in response.context["since"]] == ["an-editor"]
    assert "<code>endpoints[hitspec].description</code>" in text


def test_expectations_stand_among_the_checks_and_block(enter, workspace):
    asked = {"name": "notes <b>", "query": "fetch a public web page as readable Markdown text"}
    failing = {**asked, "name": "notes-first", "expect": {"recommendation": "notes__add_note"}}
    registry.replace_working_copy(workspace, {**DOCUMENT, "expectations": [failing]}, by=EDITOR)
    reviewer = enter("reviewer")
    text = text_of(reviewer.get("/w/acme/publish"))
    refused = reviewer.post(
        "/w/acme/publish", {"message": "Go", "seen": registry.draft_digest(workspace), "confirmed": "on"}
    )
    rushed = text_of(enter("administrator").get("/w/acme/publish"))

    assert "0 of 1 hold" in text and "comes out differently: the recommended tool" in text
    assert "1 expectation is not met, see the checks" in text
    assert "Publish although" not in text and "Publish although they are not met" in rushed
    assert refused.status_code == 409 and "does not do what it expects of itself" in text_of(refused)


def test_the_checks_of_a_large_draft_are_fetched_by_the_page(admin, drafted, monkeypatch):
    monkeypatch.setattr("control.web.checking.TOOLS_AT_ONCE", 0)
    page = admin.get("/w/acme/publish")
    now = admin.get("/w/acme/publish", {"checks": "now"})

    assert 'hx-get="/w/acme/publish/checks"' in text_of(page) and page.context["checked"] is None
    assert "expects nothing of itself yet" in text_of(now)
    assert "expects nothing of itself yet" in text_of(admin.get("/w/acme/publish/checks"))
