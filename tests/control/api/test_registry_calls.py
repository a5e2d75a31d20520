from __future__ import annotations

import copy
import json

import pytest

from control.api.schemas import out
from routing.models import Revision, Workspace
from routing.services import entries, registry, revisions
from tests.routing.conftest import DOCUMENT, EDITOR


def changed(**more):
    document = copy.deepcopy(DOCUMENT)
    document["endpoints"][1]["description"] = "Notes of the team"
    return document | more


def put(api, document, seen=None, message=""):
    headers = {"Authorization": f"Bearer {api.key}"} | ({"If-Match": seen} if seen else {})
    response = api.client.put(
        "/api/v1/registry",
        json.dumps({"document": document, "message": message}),
        content_type="application/json",
        headers=headers,
    )
    return response.status_code, response.json()


def test_a_document_becomes_a_proposed_revision_and_then_live(api, workspace):
    status, proposed = put(api, changed(), message="Describe notes")
    live_before = api.get("/registry")[1]["revision"]
    published = api.post(f"/revisions/{proposed['revision']}/publish", {"message": "Go"})
    again = api.post(f"/revisions/{proposed['revision']}/publish", {"message": "Go"})

    assert (status, proposed["state"], proposed["base_revision"], live_before) == (200, "proposed", 2, 2)
    out.ProposedOut.model_validate(proposed)
    out.PublishedOut.model_validate(published[1])
    assert again == published
    assert api.get("/registry")[1]["document"]["endpoints"][1]["description"] == "Notes of the team"
    assert Revision.objects.get(workspace=workspace, number=3).published_by == "key a-harness"


def test_the_live_document_and_the_open_proposal_are_unchanged(api):
    live = put(api, DOCUMENT)[1]
    proposed = put(api, changed())[1]
    same = put(api, changed())[1]

    assert (live["revision"], live["state"]) == (2, "unchanged")
    assert (same["revision"], same["state"]) == (proposed["revision"], "unchanged")


def test_a_draft_that_somebody_else_has_is_not_overwritten(api, workspace):
    entries.edit(workspace, "endpoints", "notes", {"tags": ["mine"]}, by=EDITOR)
    blind, stale = put(api, changed()), put(api, changed(), seen='"sha256:00"')
    draft = api.get("/registry", revision="draft")[1]
    seen = put(api, changed(), seen=f'"{draft["digest"]}"')

    assert [blind[0], stale[0]] == [409, 409]
    assert blind[1]["error"]["code"] == "stale_draft"
    assert blind[1]["error"]["details"][0]["allowed"] == draft["digest"]
    assert seen[0] == 200


def test_one_goes_on_with_ones_own_proposal_without_having_read_it(api):
    first = put(api, changed())[1]["revision"]
    status, second = put(api, changed(groups={"web": ["hitspec"]}))

    assert (status, second["revision"], second["state"]) == (200, first + 1, "proposed")


def test_the_proposal_of_somebody_else_asks_for_its_digest(api, workspace):
    revision, *_ = registry.put(workspace, changed(), message="Theirs", seen=None, by=EDITOR)
    blind = put(api, changed(groups={"web": ["hitspec"]}))
    live = put(api, changed(groups={"web": ["hitspec"]}), seen=api.get("/registry")[1]["digest"])
    seen = put(api, changed(groups={"web": ["hitspec"]}), seen=revision.digest)

    assert [blind[0], live[0], seen[0]] == [409, 409, 200]
    assert blind[1]["error"]["details"][0]["allowed"] == revision.digest


def test_a_proposal_of_somebody_else_holds_after_the_draft_was_dropped(api, workspace):
    revision, *_ = registry.put(workspace, changed(), message="Theirs", seen=None, by=EDITOR)
    registry.discard_draft(workspace, by=EDITOR)

    assert put(api, changed(groups={"web": ["hitspec"]}))[0] == 409
    assert put(api, changed(groups={"web": ["hitspec"]}), seen=revision.digest)[0] == 200


def test_the_working_copy_knows_who_changed_it_last_until_it_is_live(workspace):
    def author():
        return Workspace.objects.get(pk=workspace.pk).draft_by

    entries.edit(workspace, "endpoints", "notes", {"tags": ["mine"]}, by=EDITOR)
    edited = author()
    entries.edit(workspace, "endpoints", "notes", {"tags": None}, by=EDITOR)
    undone = author()
    registry.replace_working_copy(workspace, changed(), by=EDITOR)
    replaced = author()
    revisions.publish(workspace, message="Go", by=EDITOR)

    assert (edited, undone, replaced, author()) == (str(EDITOR), "", str(EDITOR), "")


def test_restoring_gives_up_ones_own_proposal_but_nobody_elses_draft(api, workspace):
    number = put(api, changed())[1]["revision"]
    api.post(f"/revisions/{number}/publish", {})
    put(api, changed(groups={"web": ["hitspec"]}))
    own = api.post("/revisions/2/restore", {})
    entries.edit(workspace, "endpoints", "notes", {"tags": ["mine"]}, by=EDITOR)
    status, answer = api.post("/revisions/2/restore", {})

    assert (own[0], own[1]["state"]) == (200, "proposed")
    assert (status, answer["error"]["code"]) == (409, "stale_draft")
    assert "was not restored" in answer["error"]["message"]
    assert "If-Match" not in json.dumps(answer)


def test_a_bad_document_is_refused_with_every_problem(api):
    status, answer = put(
        api,
        {
            "version": 1,
            "endpoints": [{"name": "a", "kind": "mcp"}, {"name": "b", "kind": "declared", "credential": "swordfish"}],
        },
    )

    assert (status, answer["error"]["code"]) == (422, "invalid_registry")
    assert {detail["path"] for detail in answer["error"]["details"]} == {"endpoints[0].url", "endpoints[1].credential"}
    assert "swordfish" not in json.dumps(answer)


def test_a_proposal_whose_base_is_no_longer_live_is_superseded(api, workspace):
    first = put(api, changed())[1]["revision"]
    draft = api.get("/registry", revision="draft")[1]["digest"]
    second = put(api, changed(groups={"web": ["hitspec"]}), seen=draft)[1]["revision"]

    assert api.post(f"/revisions/{second}/publish", {})[0] == 200
    status, answer = api.post(f"/revisions/{first}/publish", {})
    assert (status, answer["error"]["code"]) == (409, "superseded")
    assert api.post("/revisions/99/publish", {})[0] == 404


def test_a_workspace_that_asks_for_approvals_is_not_published_past_them(api, workspace):
    Workspace.objects.filter(pk=workspace.pk).update(approvals_needed=1)
    number = put(api, changed())[1]["revision"]

    status, answer = api.post(f"/revisions/{number}/publish", {})
    assert (status, answer["error"]["code"]) == (409, "needs_approval")
    assert api.get("/registry")[1]["revision"] == 2


def test_an_earlier_revision_is_restored_as_a_new_one(api):
    number = put(api, changed())[1]["revision"]
    api.post(f"/revisions/{number}/publish", {})
    restored = api.post("/revisions/2/restore", {"message": "Back"})[1]

    assert (restored["revision"], restored["state"]) == (4, "proposed")
    assert api.get("/revisions/4")[1]["document"]["endpoints"] == DOCUMENT["endpoints"]


def test_an_import_reports_entries_and_secrets_and_stores_no_secret(api, workspace):
    text = "servers:\n  web:\n    url: https://example.com/mcp\n    enabled: true\n    headers: {Authorization: Bearer sk-live-1234567890abcdef}\n"
    status, report = api.post("/registry/import", {"content": text, "format": "mcphub"})

    assert status == 200
    out.ImportOut.model_validate(report)
    assert report["secrets"]
    assert "sk-live" not in json.dumps(report)
    assert "sk-live" not in json.dumps(registry.working_document(workspace))


@pytest.mark.parametrize("body", [{}, {"content": "a", "document": {}}, {"content": "a", "format": "guess"}])
def test_a_bad_import_request_is_refused(api, body):
    assert api.post("/registry/import", body)[0] == 422


def test_an_import_on_top_of_somebody_s_draft_does_not_make_it_one_s_own(api, workspace):
    entries.edit(workspace, "endpoints", "notes", {"tags": ["theirs"]}, by=EDITOR)
    extra = {"version": 1, "endpoints": [{"name": "lingua", "kind": "declared"}]}
    imported = api.post("/registry/import", {"document": extra})[1]
    blind = put(api, changed())

    assert imported["state"] == "proposed"
    assert blind[0] == 409
    assert (
        Revision.objects.get(workspace=workspace, number=imported["revision"]).created_by
        == "an-editor and key a-harness"
    )


def test_a_proposal_gives_way_when_the_live_document_is_put_or_restored(api, workspace):
    number = put(api, changed())[1]["revision"]
    restored = api.post("/revisions/2/restore", {})[1]

    assert (restored["revision"], restored["state"]) == (2, "unchanged")
    assert Revision.objects.get(workspace=workspace, number=number).state == "superseded"
