from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from control.keys import create_key
from routing.models import CanaryRow, Decision, Revision
from routing.services import entries, registry, workspaces
from routing.services.canaries import looking
from tests.routing.conftest import EDITOR

FORM = {"message": "To some", "audience": "scopes", "scopes": ["web-only"], "no_match": "5"}


@pytest.fixture
def drafted(workspace):
    entries.edit(workspace, "endpoints", "hitspec", {"use_when": ["read the newspaper"]}, by=EDITOR)
    return workspace


@pytest.fixture
def started(drafted, admin):
    assert admin.post("/w/acme/publish/canary", FORM).status_code == 302
    return drafted


def decided(workspace, revision: int, count: int, scope: str, **facts) -> list[Decision]:
    told = {"type": "resolve", "status": "confident"} | facts
    rows = [
        Decision(
            id=uuid7(),
            workspace=workspace,
            created_at=timezone.now(),
            scope=scope,
            harness="x",
            revision=revision,
            **told,
        )
        for _ in range(count)
    ]
    return Decision.objects.bulk_create(rows)


def text(response) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def test_the_draft_is_published_to_some_with_the_bounds_that_were_given(admin, drafted):
    sent = FORM | {"fallback": "2.5", "minimum": "40", "hours": "48", "at_end": "promote"}
    response = admin.post("/w/acme/publish/canary", sent, follow=True)

    row = CanaryRow.objects.get()
    assert response.redirect_chain == [("/w/acme/revisions/3/canary", 302)]
    assert row.bounds == {"no_match": 0.05, "fallback": 0.025, "failure": 0.05}
    assert (row.scopes, row.percent, row.minimum, row.at_end, row.actor) == (
        ["web-only"],
        None,
        40,
        "promote",
        "the-administrator",
    )
    assert timedelta(hours=47) < row.until - timezone.now() < timedelta(hours=48)
    assert "Revision 3 answers scope web-only" in text(response)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"audience": ""}, "audience"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["nowhere"]}, "scopes"),
        ({"scopes": ["web-only", "default"]}, "scopes"),
        ({"audience": "share"}, "percent"),
        ({"audience": "share", "percent": "51"}, "percent"),
        ({"audience": "share", "percent": "10"}, "percent"),
        ({"no_match": "51"}, "no_match"),
        ({"failure": "many"}, "failure"),
        ({"minimum": "9"}, "minimum"),
        ({"hours": "0"}, "hours"),
        ({"message": ""}, "message"),
    ],
)
def test_what_is_not_taken_stays_in_its_field_with_what_is_wrong(admin, drafted, changed, field):
    response = admin.post("/w/acme/publish/canary", FORM | changed)

    form = response.context["form"]
    assert response.status_code == 422
    assert list(form.errors) == [field]
    assert str(form.errors[field][0]).endswith(".")
    assert not CanaryRow.objects.exists()
    if field != "audience":
        assert form.errors[field][0] in response.content.decode().replace("&#x27;", "'")


def test_the_form_says_how_many_keys_each_share_holds(admin, drafted):
    for number in range(30):
        create_key(drafted, "default", name=f"key-{number}", by=EDITOR)

    context = admin.get("/w/acme/publish").context

    held = dict(context["canary_shares"])
    assert context["canary_keys"] == 30
    assert 0 < held[50] < 30 and held[5] <= held[10] <= held[25] <= held[50]
    response = admin.post("/w/acme/publish/canary", {"message": "m", "audience": "share", "percent": "50"}, follow=True)
    assert CanaryRow.objects.get().percent == 50
    assert len(response.context["keys"]) == held[50]


def test_it_is_offered_to_those_who_publish_and_only_with_a_draft_that_could_go_live(enter, workspace):
    nothing = enter("reviewer").get("/w/acme/publish")
    entries.edit(workspace, "endpoints", "hitspec", {"tags": ["x"]}, by=EDITOR)
    editors = enter("editor")

    assert "Publish to some first" not in text(nothing)
    assert "Publish to some first" not in text(editors.get("/w/acme/publish"))
    workspaces.configure(workspace, {"approvals_needed": 1}, by=EDITOR)
    assert "Publish to some first" not in text(enter("administrator").get("/w/acme/publish"))


def test_the_page_shows_both_groups_against_the_bounds_and_leads_to_their_decisions(admin, started):
    decided(started, 3, 110, "web-only")
    bad = decided(started, 3, 2, "web-only", status="no_match")
    decided(started, 2, 200, "default")

    response = admin.get("/w/acme/revisions/3/canary")

    line = response.context["lines"][0]
    assert (line.reading.canary, line.reading.live, line.said) == ((2, 112), (0, 200), "Within its bound")
    assert response.context["lines"][1].said == "Not judged yet, 100 to go"
    listed = admin.get(line.canary_list)
    assert sorted(row["decision"].pk for row in listed.context["rows"]) == sorted(row.pk for row in bad)
    assert admin.get(response.context["live_list"]).context["total"] == 200
    assert "2 of 112" in text(response)


def test_failures_are_listed_as_they_are_counted(admin, started):
    decided(started, 3, 100, "web-only", domain="success")
    bad = [
        *decided(started, 3, 3, "web-only", domain="failure"),
        *decided(started, 3, 1, "web-only", transport="timeout"),
    ]
    decided(started, 3, 1, "web-only", transport="timeout", domain="success")

    line = admin.get("/w/acme/revisions/3/canary").context["lines"][2]

    assert line.reading.canary == (4, 105)
    assert admin.get(line.canary_list).context["total"] == len(bad)


def test_a_broken_bound_is_told_on_every_page_that_is_about_it(admin, started):
    running = [text(admin.get(page)) for page in ("/w/acme/", "/w/acme/publish", "/w/acme/revisions")]
    decided(started, 3, 100, "web-only", status="no_match")
    decided(started, 2, 100, "default")
    looking.look_after_all()

    pages = [text(admin.get(page)) for page in ("/w/acme/", "/w/acme/publish", "/w/acme/revisions")]

    assert all("Revision 3 runs as a canary for scope web-only" in page for page in running)
    assert all("The canary of revision 3 was stopped by itself" in page for page in pages)
    page = text(admin.get("/w/acme/revisions/3/canary"))
    assert "Stopped by its bound" in page and "100 percentage points above" in page and "Beyond its bound" in page
    assert "Its canary was stopped" in text(admin.get("/w/acme/revisions/3"))


def test_the_news_of_a_stop_is_over_once_something_is_published(admin, started):
    decided(started, 3, 100, "web-only", status="no_match")
    decided(started, 2, 100, "default")
    looking.look_after_all()
    entries.edit(started, "endpoints", "hitspec", {"use_when": ["fetch a page"]}, by=EDITOR)
    admin.post("/w/acme/publish", {"message": "Mended"})

    assert "was stopped by itself" not in text(admin.get("/w/acme/"))


def test_one_that_runs_for_long_without_an_end_asks_for_a_decision(admin, started):
    CanaryRow.objects.update(started_at=timezone.now() - timedelta(days=2))

    assert "Nobody has decided yet" in text(admin.get("/w/acme/"))


def test_an_open_page_is_fetched_whole_once_it_has_ended(admin, started):
    part = admin.get("/w/acme/revisions/3/canary", HTTP_HX_REQUEST="true")
    admin.post("/w/acme/revisions/3/canary/stop")
    after = admin.get("/w/acme/revisions/3/canary", HTTP_HX_REQUEST="true")

    assert "HX-Refresh" not in part.headers and after.headers["HX-Refresh"] == "true"
    assert b"<head>" not in part.content


def test_stopping_says_why_and_keeps_the_draft(admin, started):
    response = admin.post("/w/acme/revisions/3/canary/stop", {"reason": "Not today"}, follow=True)

    assert "Not today" in text(response)
    assert CanaryRow.objects.get().state == "stopped"
    assert registry.draft_changes(started) != []
    assert "has ended" in text(admin.post("/w/acme/revisions/3/canary/stop", follow=True))


def test_promoting_asks_first_and_then_answers_everybody(admin, started):
    asked = admin.get("/w/acme/revisions/3/canary/promote")
    response = admin.post("/w/acme/revisions/3/canary/promote", follow=True)

    assert "Promote revision 3 to everybody?" in text(asked) and "too few to judge it" in text(asked)
    assert "Promoted" in text(response)
    assert Revision.objects.get(workspace=started, state="live").number == 3
    assert "has ended" in text(admin.post("/w/acme/revisions/3/canary/promote", follow=True))


def test_the_draft_of_the_canary_is_promoted_where_it_is_published(admin, started):
    page = admin.get("/w/acme/publish")

    assert "Promote revision 3" in text(page) and page.context["blocked"] == []
    admin.post("/w/acme/publish", {"message": "Good", "seen": page.context["seen"]})
    assert CanaryRow.objects.get().state == "promoted"


def test_another_draft_waits_and_an_emergency_does_not(admin, started):
    entries.edit(started, "endpoints", "notes", {"tags": ["more"]}, by=EDITOR)
    page = admin.get("/w/acme/publish")
    refused = admin.post("/w/acme/publish", {"message": "More"})

    assert page.context["blocked"] == [
        "A canary of revision 3 runs. Promote it to everybody or stop it, then publish this draft."
    ]
    assert (refused.status_code, page.context["may_rush"], page.context["may_canary"]) == (409, True, False)
    admin.post("/w/acme/publish", {"message": "Now", "emergency": "on"})
    assert CanaryRow.objects.get().reason == "Revision 4 was published to everybody."


def test_a_decision_says_that_a_canary_made_it_and_later_ones_do_not(admin, started):
    (one,) = decided(started, 3, 1, "web-only")
    (other,) = decided(started, 2, 1, "default")
    admin.post("/w/acme/revisions/3/canary/promote")
    (later,) = decided(started, 3, 1, "web-only")

    told = ["as a canary" in text(admin.get(f"/w/acme/decisions/{row.pk}")) for row in (one, other, later)]

    assert told == [True, False, False]


def test_the_playground_answers_a_chosen_scope_as_its_harnesses_are_answered(admin, started):
    sides = {
        scope: admin.post("/w/acme/playground", {"q": "read the newspaper", "scope": scope}).context["sides"][0]["side"]
        for scope in ("web-only", "default")
    }

    assert {scope: side.note for scope, side in sides.items()} == {
        "web-only": "revision 3, its canary",
        "default": "revision 2",
    }
