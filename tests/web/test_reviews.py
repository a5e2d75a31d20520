from __future__ import annotations

import pytest

from control.models import Role
from routing.models import Actor, AuditEntry, Workspace
from routing.services import entries, registry, reviews, revisions
from tests.routing.conftest import DOCUMENT, EDITOR

BEN = Actor(kind="operator", name="ben")
SAID = "/w/acme/revisions/3/review"


@pytest.fixture
def drafted(workspace) -> Workspace:
    """A workspace that asks for one approval, with an edit of somebody's in its draft."""
    Workspace.objects.filter(pk=workspace.pk).update(approvals_needed=1)
    entries.edit(workspace, "endpoints", "notes", {"description": "Notes <b>of</b> the team"}, by=EDITOR)
    return workspace


@pytest.fixture
def proposed(drafted) -> Workspace:
    registry.propose_draft(drafted, message="Describe notes", by=EDITOR)
    return drafted


def text_of(response) -> str:
    return response.content.decode()


def state(workspace, number=3) -> str:
    return revisions.find(workspace, number).state


def test_an_editor_proposes_a_reviewer_approves_and_publishes(enter, drafted):
    editor, reviewer = enter("editor"), enter("reviewer")
    seen = editor.get("/w/acme/publish").context["seen"]
    told = text_of(editor.post("/w/acme/publish/propose", {"message": "Describe notes", "seen": seen}, follow=True))
    before = text_of(reviewer.get("/w/acme/publish"))
    approved = text_of(
        reviewer.post(SAID, {"verdict": "approve", "comment": "Reads well", "from": "publish"}, follow=True)
    )
    response = reviewer.post("/w/acme/publish", {"message": "Describe notes", "seen": seen}, follow=True)

    drafted.refresh_from_db()
    assert "Proposed as revision 3; it waits for review" in told
    assert "One more approval is needed: 0 of 1 given." in before
    assert "Revision 3 approved" in approved
    assert "Reads well" in approved
    assert "still block" not in approved and "Not now" not in approved
    assert response.request["PATH_INFO"] == "/w/acme/revisions/3"
    assert drafted.live_revision.number == 3


def test_who_changed_what_and_why_stands_beside_each_change(admin, proposed):
    registry.put(
        proposed,
        {**registry.working_document(proposed), "groups": {"web": ["hitspec"]}},
        message="One group for <i>web</i>",
        seen=registry.draft_digest(proposed),
        by=BEN,
    )
    response = admin.get("/w/acme/publish")

    assert {block.path: block.people for block in response.context["blocks"]} == {
        "endpoints[notes].description": "an-editor",
        "groups": "ben",
    }
    assert "One group for &lt;i&gt;web&lt;/i&gt;" in text_of(response)
    assert ", by <bdi>an-editor, ben</bdi>" in text_of(response)


def test_the_page_says_what_is_missing_until_nothing_is(enter, drafted):
    reviewer = enter("reviewer")
    first = reviewer.get("/w/acme/publish").context["blocked"]
    registry.propose_draft(drafted, message="Describe notes", by=EDITOR)
    second = reviewer.get("/w/acme/publish").context["blocked"]
    entries.edit(drafted, "endpoints", "hitspec", {"tags": ["web"]}, by=EDITOR)
    third = reviewer.get("/w/acme/publish").context["blocked"]

    assert first == ["This draft has not been proposed for review yet."]
    assert second == ["One more approval is needed: 0 of 1 given."]
    assert third == ["The draft says something else than the open proposal, revision 3; propose it again for review."]


def test_a_draft_that_lacks_its_approvals_is_not_published_by_a_forged_form(admin, proposed):
    response = admin.post("/w/acme/publish", {"message": "Go", "seen": registry.draft_digest(proposed)})

    proposed.refresh_from_db()
    assert response.status_code == 409
    assert "Revision 3 has 0 of the 1 approvals" in text_of(response)
    assert proposed.live_revision.number == 2


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_verdict_on_a_page_that_the_draft_left_behind_is_refused_and_keeps_its_words(enter, proposed, verdict):
    reviewer = enter("reviewer")
    seen = reviewer.get("/w/acme/revisions/3").context["desk"].seen
    entries.edit(proposed, "endpoints", "hitspec", {"tags": ["web"]}, by=EDITOR)

    answer = reviewer.post(SAID, {"verdict": verdict, "comment": "As I see it", "seen": seen})

    assert answer.status_code == 409 and ">As I see it</textarea>" in text_of(answer)
    assert "The draft changed since you looked, and nothing was counted." in text_of(answer)
    assert 'value="approve"' not in text_of(answer) and state(proposed) == "proposed"
    assert not revisions.find(proposed, 3).reviews.exists()


@pytest.mark.parametrize("page", ["publish", "revisions/3"])
def test_the_page_of_a_proposal_sends_along_which_draft_it_showed(enter, proposed, page):
    digest = registry.draft_digest(proposed)

    assert f'name="seen" value="{digest}"' in text_of(enter("reviewer").get(f"/w/acme/{page}")).split('id="h-appr"')[1]


def test_an_author_is_told_why_they_cannot_approve(admin, drafted):
    entries.edit(
        drafted, "endpoints", "hitspec", {"tags": ["web"]}, by=Actor(kind="operator", name="the-administrator")
    )
    registry.propose_draft(drafted, message="Both", by=EDITOR)

    page = text_of(admin.get("/w/acme/publish"))
    forged = admin.post(SAID, {"verdict": "approve", "comment": "Mine is good"})

    assert "You changed something in this proposal, and nobody approves their own changes here." in page
    assert 'value="approve"' not in page
    assert forged.status_code == 409
    assert "nobody approves their own changes" in text_of(forged)
    assert "Mine is good" in text_of(forged)
    assert state(drafted) == "proposed"


def test_self_approval_is_explained_where_it_is_on(admin, drafted):
    Workspace.objects.filter(pk=drafted.pk).update(self_approval=True)
    entries.edit(
        drafted, "endpoints", "hitspec", {"tags": ["web"]}, by=Actor(kind="operator", name="the-administrator")
    )
    registry.propose_draft(drafted, message="Both", by=EDITOR)

    assert "self-approval is on here, so you may approve it" in text_of(admin.get("/w/acme/publish"))
    admin.post(SAID, {"verdict": "approve"})
    assert state(drafted) == "approved"


def test_a_rejection_asks_for_its_reason_and_shows_it_to_the_author(enter, proposed):
    reviewer = enter("reviewer")
    without = reviewer.post(SAID, {"verdict": "reject", "comment": " "})
    reviewer.post(SAID, {"verdict": "reject", "comment": "Say <what> it keeps"})
    draft = text_of(enter("editor").get("/w/acme/publish"))

    assert (without.status_code, state(proposed)) == (422, "rejected")
    assert "Say why, so that its author knows what to change." in text_of(without)
    assert "This draft was rejected" in draft
    assert "Say &lt;what&gt; it keeps" in draft
    assert "Propose for review" in draft
    assert "Rejected by" in text_of(reviewer.get("/w/acme/revisions/3"))


@pytest.mark.parametrize("role", Role.values)
def test_only_reviewers_and_administrators_see_and_use_the_review(enter, proposed, role):
    client, may = enter(role), role in ("reviewer", "administrator")
    page = text_of(client.get("/w/acme/revisions/3"))
    response = client.post(SAID, {"verdict": "approve"})

    assert ('value="approve"' in page) is may
    assert response.status_code == (302 if may else 403)
    assert state(proposed) == ("approved" if may else "proposed")


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize(
    ("act", "allowed"),
    [
        ("revisions/3/comment", {"editor", "reviewer", "administrator"}),
        ("revisions/1/restore", {"editor", "administrator"}),
        ("publish/propose", {"editor", "reviewer", "administrator"}),
    ],
)
def test_each_act_is_for_its_roles(enter, proposed, role, act, allowed):
    status = enter(role).post(f"/w/acme/{act}", {"comment": "Hm", "message": "Hm"}).status_code

    assert (status != 403) is (role in allowed)


@pytest.mark.parametrize("act", ["revisions/3/review", "revisions/3/comment", "revisions/1/restore", "publish/propose"])
def test_a_stranger_finds_none_of_it(stranger, proposed, act):
    assert stranger.post(f"/w/acme/{act}", {"verdict": "approve"}).status_code == 404
    assert state(proposed) == "proposed"


def test_what_is_not_there_cannot_be_reviewed(admin, proposed):
    assert admin.post("/w/acme/revisions/99/review", {"verdict": "approve"}).status_code == 404
    live = admin.post("/w/acme/revisions/2/review", {"verdict": "approve", "comment": "What I wrote"})
    assert live.status_code == 409
    assert "only an open proposal can be reviewed" in text_of(live)
    assert "What I wrote" in text_of(live)


@pytest.mark.parametrize("role", ["reviewer", "administrator"])
def test_an_emergency_is_for_administrators_and_stays_on_the_record(enter, proposed, role):
    client = enter(role)
    offered = "Publish as an emergency" in text_of(client.get("/w/acme/publish"))
    response = client.post("/w/acme/publish", {"message": "It burns", "emergency": "on"})

    proposed.refresh_from_db()
    assert offered is (role == "administrator")
    assert response.status_code == (302 if offered else 403)
    denied = [entry.after["lacks"] for entry in AuditEntry.objects.filter(action="access.denied")]
    assert denied == ([] if offered else ["revision.emergency"])
    assert proposed.live_revision.number == (3 if offered else 2)
    assert ("as an emergency" in text_of(client.get("/w/acme/revisions/3"))) is offered


def test_comments_are_read_by_all_and_decide_nothing(enter, proposed):
    enter("editor").post("/w/acme/revisions/3/comment", {"comment": "Is <that> meant?"})
    empty = enter("reviewer").post("/w/acme/revisions/3/comment", {"comment": ""})

    assert "Is &lt;that&gt; meant?" in text_of(enter("viewer").get("/w/acme/revisions/3"))
    assert (empty.status_code, state(proposed)) == (422, "proposed")


def test_a_void_approval_is_still_told(admin, proposed):
    reviews.approve(proposed, 3, comment="Fine", by=BEN)
    entries.edit(proposed, "endpoints", "hitspec", {"tags": ["web"]}, by=EDITOR)

    page = text_of(admin.get("/w/acme/revisions/3"))
    assert "approved an earlier draft, void since" in page
    assert "0 of 1" in page


def test_any_two_revisions_are_compared_and_either_way_round(admin, workspace):
    there = admin.get("/w/acme/revisions/compare?from=1&to=2")
    back = admin.get("/w/acme/revisions/compare?from=2&to=1")
    same = admin.get("/w/acme/revisions/compare?from=2&to=live")

    assert {block.action for block in there.context["blocks"]} >= {"added"}
    assert {block.action for block in back.context["blocks"]} >= {"removed"}
    assert "say the same" in text_of(same)


def test_a_draft_is_compared_too_but_not_by_an_auditor(enter, drafted):
    address = "/w/acme/revisions/compare?from=live&to=draft"

    assert len(enter("viewer").get(address).context["blocks"]) == 1
    assert enter("auditor").get(address).status_code == 403


@pytest.mark.parametrize("typed", ["99", "x", "-1", "9" * 30, "<script>", "²"])
def test_a_revision_that_is_not_there_is_said_beside_its_field(admin, typed):
    response = admin.get("/w/acme/revisions/compare", {"from": typed, "to": "2"})

    assert response.context["blocks"] == []
    assert "There is no such revision" in text_of(response)
    assert "<script>" not in text_of(response).replace('<script src="', "")


def test_an_earlier_revision_is_restored_as_a_new_one(admin, workspace):
    asked = text_of(admin.get("/w/acme/revisions/1/restore"))
    response = admin.post("/w/acme/revisions/1/restore", {"message": "Back to the start"}, follow=True)

    workspace.refresh_from_db()
    assert "Restore revision 1 as a new revision?" in asked
    assert "Revision 1 is proposed anew as revision 3" in text_of(response)
    assert revisions.find(workspace, 3).message == "Back to the start"
    assert workspace.live_revision.number == 2


def test_restoring_never_overwrites_somebody_elses_draft(admin, drafted):
    response = admin.post("/w/acme/revisions/1/restore", {"message": "Back"})

    assert response.status_code == 409
    assert "was not restored" in text_of(response)
    assert "Back" in text_of(response)
    assert len(registry.draft_changes(drafted)) == 1


def test_restoring_what_is_live_only_drops_the_draft(admin, workspace):
    entries.edit(workspace, "endpoints", "notes", {"tags": ["x"]}, by=Actor(kind="operator", name="the-administrator"))
    response = admin.post("/w/acme/revisions/2/restore", {}, follow=True)

    assert "The draft equals revision 2, which is live" in text_of(response)
    assert registry.working_document(workspace)["endpoints"] == DOCUMENT["endpoints"]


def test_a_rejected_draft_offers_no_emergency_and_a_forged_one_is_refused(admin, proposed):
    reviews.reject(proposed, 3, reason="It misleads", by=BEN)
    page = text_of(admin.get("/w/acme/publish"))
    forged = admin.post("/w/acme/publish", {"message": "Now", "emergency": "on", "confirmed": "on"})

    assert "Propose for review" in page and "Publish as an emergency" not in page
    assert forged.status_code == 409 and "was rejected as revision 3; propose it again" in text_of(forged)
    proposed.refresh_from_db()
    assert proposed.live_revision.number == 2
