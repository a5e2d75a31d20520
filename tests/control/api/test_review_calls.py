from __future__ import annotations

import copy
import json

import pytest

from control.access import RIGHTS
from control.api.schemas import out
from control.models import Role
from routing.models import Actor, AuditEntry, Revision, Workspace
from routing.models.actor import SYSTEM
from tests.cast import person
from tests.routing.conftest import DOCUMENT


@pytest.fixture
def key_of(make_api, workspace):
    """A key that a new member with this role made."""

    def key_of(role: str, name: str = "", rights: tuple[str, ...] = RIGHTS):
        name = name or f"the-{role}"
        person(name, workspace, role)
        return make_api(name=f"key-of-{name}", rights=rights, by=Actor(kind="operator", name=name))

    return key_of


@pytest.fixture
def editor(key_of, workspace):
    Workspace.objects.filter(pk=workspace.pk).update(approvals_needed=1)
    return key_of("editor")


@pytest.fixture
def proposed(editor) -> int:
    return put(editor, changed())[1]["revision"]


def changed(text: str = "Notes of the team"):
    document = copy.deepcopy(DOCUMENT)
    document["endpoints"][1]["description"] = text
    return document


def put(api, document, seen=None):
    headers = {"Authorization": f"Bearer {api.key}"} | ({"If-Match": seen} if seen else {})
    body = json.dumps({"document": document, "message": "Describe notes"})
    response = api.client.put("/api/v1/registry", body, content_type="application/json", headers=headers)
    return response.status_code, response.json()


def test_a_revision_is_proposed_by_one_approved_by_another_and_published(editor, proposed, key_of):
    reviewer = key_of("reviewer")
    own, early = (api.post(f"/revisions/{proposed}/publish", {}) for api in (editor, reviewer))
    status, approved = reviewer.post(f"/revisions/{proposed}/approve", {"comment": "Reads well"})
    published = reviewer.post(f"/revisions/{proposed}/publish", {"message": "Go"})
    listed = editor.get("/revisions")[1]["items"][0]

    assert (own[0], own[1]["error"]["code"]) == (403, "forbidden")  # editors do not publish, nor do their keys
    assert (early[0], early[1]["error"]["code"]) == (409, "needs_approval")
    assert early[1]["error"]["details"][0]["allowed"] == 1
    assert (status, approved["state"]) == (200, "approved")
    out.RevisionOut.model_validate(approved)
    assert [(one["by"], one["comment"]) for one in approved["approvals"]["by"]] == [
        ("key key-of-the-reviewer", "Reads well")
    ]
    assert (published[0], published[1]["state"]) == (200, "live")
    assert {name: listed["approvals"][name] for name in ("given", "needed")} == {"given": 1, "needed": 1}
    assert listed["emergency"] is False


def test_a_rejection_is_a_state_with_its_reason(proposed, key_of):
    reviewer = key_of("reviewer")
    status, rejected = reviewer.post(f"/revisions/{proposed}/reject", {"reason": "Misleading words"})
    published = reviewer.post(f"/revisions/{proposed}/publish", {})

    assert (status, rejected["state"], rejected["rejected"]["comment"]) == (200, "rejected", "Misleading words")
    assert reviewer.get(f"/revisions/{proposed}")[1]["rejected"]["by"] == "key key-of-the-reviewer"
    assert (published[0], published[1]["error"]["code"]) == (409, "superseded")
    assert "rejected" in published[1]["error"]["message"]


def test_an_author_does_not_approve_unless_self_approval_is_on(proposed, key_of, workspace, make_api):
    admin = key_of("administrator", "ada")
    other = put(admin, changed("Other words"), seen=admin.get("/registry", revision="draft")[1]["digest"])[1][
        "revision"
    ]
    refused = make_api(name="another-key-of-ada", by=Actor(kind="operator", name="ada")).post(
        f"/revisions/{other}/approve", {}
    )
    Workspace.objects.filter(pk=workspace.pk).update(self_approval=True)

    assert (refused[0], refused[1]["error"]["code"]) == (403, "forbidden")
    assert "nobody approves their own changes" in refused[1]["error"]["message"]
    assert admin.post(f"/revisions/{other}/approve", {})[1]["approvals"]["given"] == 1


def test_an_edit_of_an_open_proposal_starts_from_no_approval(editor, proposed, key_of):
    reviewer = key_of("reviewer")
    reviewer.post(f"/revisions/{proposed}/approve", {})
    again = put(editor, changed("Other words"))[1]["revision"]

    assert again == proposed + 1
    assert reviewer.get(f"/revisions/{again}")[1]["approvals"] == {"given": 0, "needed": 1, "by": []}
    assert reviewer.post(f"/revisions/{proposed}/approve", {})[1]["error"]["code"] == "superseded"
    assert reviewer.post(f"/revisions/{again}/publish", {})[1]["error"]["code"] == "needs_approval"


def test_a_rejection_without_a_reason_is_told_so_in_words(proposed, key_of):
    status, answer = key_of("reviewer").post(f"/revisions/{proposed}/reject", {"reason": ""})

    assert (status, answer["error"]["details"][0]["path"]) == (422, "reason")
    assert answer["error"]["details"][0]["message"] == "must not be empty"


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize("act", ["approve", "reject"])
def test_a_key_reviews_only_as_far_as_whoever_made_it(proposed, key_of, role, act):
    status, answer = key_of(role, f"another-{role}").post(
        f"/revisions/{proposed}/{act}", {"reason": "No"} if act == "reject" else {}
    )

    assert status == (200 if role in ("reviewer", "administrator") else 403)
    assert status == 200 or "acts as" in answer["error"]["message"]


@pytest.mark.parametrize("role", Role.values)
def test_only_an_administrators_key_publishes_as_an_emergency(proposed, key_of, role):
    api = key_of(role, f"another-{role}")
    status, _ = api.post(f"/revisions/{proposed}/publish", {"message": "It burns", "emergency": True})

    assert status == (200 if role == "administrator" else 403)
    revision = Revision.objects.get(number=proposed, workspace__name="acme")
    assert revision.emergency is (role == "administrator")
    denied = [entry.after["lacks"] for entry in AuditEntry.objects.filter(action="access.denied")]
    assert len(denied) == (role != "administrator") and ("revision.emergency" in denied) is (role == "reviewer")


def test_what_is_not_met_is_refused_with_its_name_and_overridden_by_an_emergency(key_of, workspace):
    asked = {"name": "notes first", "query": "fetch a web page"}
    missed = {**asked, "expect": {"recommendation": "notes__add_note", "ambiguous": True}}
    api = key_of("administrator")
    number = put(api, {**DOCUMENT, "expectations": [missed]})[1]["revision"]

    status, answer = api.post(f"/revisions/{number}/publish", {"message": "Go"})
    done, _ = api.post(f"/revisions/{number}/publish", {"message": "The tool moves", "emergency": True})

    (detail,) = answer["error"]["details"]
    assert (status, answer["error"]["code"], detail["path"]) == (
        409,
        "expectations_failed",
        "expectations[notes first]",
    )
    assert "recommendation, ambiguous" in detail["message"]
    assert done == 200
    told = AuditEntry.objects.filter(workspace=workspace, action="revision.published").first().after
    assert (told["expectations_failed"], told["override_reason"]) == (["notes first"], "The tool moves")


def test_an_emergency_needs_the_right_to_publish_too(proposed, key_of):
    without = tuple(right for right in RIGHTS if right != "registry.publish")

    assert key_of("administrator", rights=without).post(f"/revisions/{proposed}/publish", {"emergency": True})[0] == 403


@pytest.mark.parametrize("right", RIGHTS)
def test_reviewing_needs_the_right_to_review_and_no_other(proposed, key_of, right):
    api = key_of("reviewer", rights=(right,))

    for call in (("approve", {}), ("reject", {"reason": "No"})):
        assert api.post(f"/revisions/{proposed}/{call[0]}", call[1])[0] == (200 if right == "registry.review" else 403)


def test_the_installations_own_keys_act_as_one_person(make_api, workspace):
    Workspace.objects.filter(pk=workspace.pk).update(approvals_needed=1)
    one, other = make_api(name="one", by=SYSTEM), make_api(name="other", by=SYSTEM)
    number = put(one, changed())[1]["revision"]

    assert other.post(f"/revisions/{number}/approve", {})[0] == 403
    assert other.post(f"/revisions/{number}/publish", {"emergency": True})[0] == 200


def test_a_key_of_somebody_who_left_lets_nobody_in(proposed, key_of):
    from django.contrib.auth import get_user_model

    reviewer = key_of("reviewer")
    get_user_model().objects.filter(username="the-reviewer").update(is_active=False)

    assert reviewer.post(f"/revisions/{proposed}/approve", {})[0] == 401


@pytest.mark.parametrize(
    "body", [{}, {"reason": ""}, {"reason": "  "}, {"reason": 3}, {"reason": "x" * 2001}, {"why": "x"}]
)
def test_a_bad_rejection_changes_nothing(proposed, key_of, body):
    reviewer = key_of("reviewer")

    assert reviewer.post(f"/revisions/{proposed}/reject", body)[0] == 422
    assert reviewer.get(f"/revisions/{proposed}")[1]["state"] == "proposed"


def test_what_is_not_there_or_not_open_cannot_be_reviewed(proposed, key_of):
    reviewer = key_of("reviewer")

    assert reviewer.post("/revisions/99/approve", {})[0] == 404
    live = reviewer.post("/revisions/2/approve", {})
    assert (live[0], live[1]["error"]["code"]) == (409, "superseded")
