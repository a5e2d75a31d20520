from __future__ import annotations

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from routing.engine.canonical import digest_of
from routing.formats import read
from routing.formats.text import MAX_BYTES
from routing.models import AuditEntry
from routing.services import entries, registry
from tests.cast import person
from tests.routing.conftest import DOCUMENT, EDITOR

ADDRESS = "/w/acme/import"
NEW = {"name": "paper", "kind": "mcp", "url": "https://paper.example/mcp", "description": "Reads papers"}


def changed(**more) -> str:
    notes = next(one for one in DOCUMENT["endpoints"] if one["name"] == "notes") | {"description": "Keeps other notes"}
    return json.dumps({"version": 1, "endpoints": [notes, NEW], **more})


def looked(client, text=None, **more):
    return client.post(
        ADDRESS, {"text": changed() if text is None else text, "format": "auto", "strategy": "update"} | more
    )


def outcomes(page) -> dict[str, str]:
    return {row["name"]: row["action"] for row in page.context["rows"]}


def take(client, page, **more):
    kept = {name: page.context[name] for name in ("found", "seen", "strategy")}
    return client.post(ADDRESS, kept | {"do": "take"} | more)


def test_a_dry_run_shows_every_entry_and_stores_nothing(admin, workspace):
    before = registry.draft_digest(workspace)

    page = looked(admin)

    assert page.status_code == 200
    assert outcomes(page) == {"notes": "updated", "paper": "added"}
    assert registry.draft_digest(workspace) == before


def test_what_was_looked_at_is_taken_into_the_draft_and_leads_to_publish(enter, workspace):
    client = enter("editor")

    answer = take(client, looked(client), message="Papers")

    workspace.refresh_from_db()
    names = [one["name"] for one in registry.working_document(workspace)["endpoints"]]
    assert (answer.status_code, answer["Location"]) == (302, "/w/acme/publish")
    assert "paper" in names
    assert not workspace.revisions.open().exists()
    last = AuditEntry.objects.order_by("-pk_id").first()
    assert (last.action, last.message) == ("registry.imported", "Papers")


def test_a_file_is_read_as_pasted_text_is(admin):
    page = looked(admin, "", file=SimpleUploadedFile("registry.json", changed().encode()))

    assert outcomes(page) == {"notes": "updated", "paper": "added"}


@pytest.mark.parametrize(
    ("strategy", "became"),
    [
        ("skip", {"notes": "skipped", "paper": "added"}),
        ("rename", {"notes-2": "renamed", "paper": "added"}),
        ("refuse", {"notes": "refused", "paper": "skipped"}),
    ],
)
def test_a_strategy_decides_what_the_draft_has_already(admin, strategy, became):
    assert outcomes(looked(admin, strategy=strategy)) == became


@pytest.mark.parametrize("given", [{"choice:endpoint:notes": "king"}, {"strategy": "king"}])
def test_a_choice_that_there_is_none_of_takes_nothing(admin, workspace, given):
    before = registry.working_document(workspace)

    answer = take(admin, looked(admin, strategy="refuse"), **given)

    assert answer.status_code == 422 and "Choose one of update, skip, rename, refuse" in answer.content.decode()
    assert registry.working_document(workspace) == before


def test_one_entry_is_decided_apart_from_the_others(admin, workspace):
    page = looked(admin, strategy="refuse")

    again = take(admin, page, **{"choice:endpoint:notes": "skip"}, do="look")
    answer = take(admin, again, **{"choice:endpoint:notes": "skip"})

    assert outcomes(again) == {"notes": "skipped", "paper": "added"}
    assert answer.status_code == 302
    workspace.refresh_from_db()
    by_name = {one["name"]: one for one in registry.working_document(workspace)["endpoints"]}
    assert "paper" in by_name and by_name["notes"]["description"] != "Keeps other notes"


def test_a_refused_import_stores_nothing(admin, workspace):
    before = registry.draft_digest(workspace)

    answer = take(admin, looked(admin, strategy="refuse"))

    assert answer.status_code == 422
    assert "exists already and differs" in answer.content.decode()
    workspace.refresh_from_db()
    assert registry.draft_digest(workspace) == before


def test_a_draft_that_changed_meanwhile_is_shown_again(admin, workspace):
    page = looked(admin)
    entries.edit(workspace, "endpoints", "notes", {"tags": ["other"]}, by=EDITOR)

    again = take(admin, page)

    assert again.status_code == 409
    assert "has changed since you looked" in again.content.decode()
    assert take(admin, again).status_code == 302


def test_no_secret_comes_back(admin, workspace):
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    listed = {
        "mcpServers": {"forge": {"url": "https://forge.example/mcp", "headers": {"Authorization": f"Bearer {secret}"}}}
    }

    page = looked(admin, json.dumps(listed))

    assert page.status_code == 200
    assert page.context["result"]["secrets"]
    assert secret not in page.content.decode()
    assert secret not in str(page.context["result"])


@pytest.mark.parametrize(
    "text", ["", "   ", "{", "[1, 2", "\0", "version: 1\nendpoints: 5", "<script>alert(1)</script>"]
)
def test_what_cannot_be_read_is_told_in_words(admin, text):
    page = looked(admin, text)

    assert page.status_code == 422
    assert 'role="alert"' in page.content.decode()
    assert "<script>alert" not in page.content.decode()


def test_a_file_that_is_too_large_is_told(admin):
    page = looked(admin, "", file=SimpleUploadedFile("large.yaml", b" " * (MAX_BYTES + 1)))

    assert page.status_code == 422
    assert "larger than 16 MiB" in page.content.decode()


def test_what_was_read_is_bound_to_its_workspace(admin, workspace):
    page = admin.post(ADDRESS, {"found": "forged", "do": "take", "strategy": "update"})

    assert page.status_code == 422
    assert "Choose the file again" in page.content.decode()


def test_a_viewer_may_not(enter):
    assert enter("viewer").get(ADDRESS).status_code == 403


@pytest.mark.parametrize("address", ["draft/export", "revisions/2/export"])
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_an_export_comes_back_as_the_same_document(admin, workspace, address, form):
    before = registry.draft_digest(workspace)
    file = admin.get(f"/w/acme/{address}.{form}")
    assert re.search(rf'filename="acme-[a-z0-9-]+\.{form}"', file["Content-Disposition"])
    assert digest_of(registry.checked(read(file.content).document)[0]) == before
    other = registry.create_workspace("other", by=EDITOR)
    registry.replace_working_copy(other, {"version": 1}, by=EDITOR)
    admin.force_login(person("mover", other, "administrator"))
    page = admin.post("/w/other/import", {"text": file.content.decode(), "format": "auto", "strategy": "update"})
    kept = {name: page.context[name] for name in ("found", "seen", "strategy")}

    assert admin.post("/w/other/import", kept | {"do": "take"}).status_code == 302
    other.refresh_from_db()
    assert registry.draft_digest(other) == before


# --- the draft that a page was made from ------------------------------------------------------------------------------
def test_what_was_done_since_the_page_was_opened_is_shown_and_the_text_is_read(admin, workspace):
    seen = admin.get(ADDRESS).context["seen"]
    entries.edit(workspace, "endpoints", "hitspec", {"tags": ["other"]}, by=EDITOR)

    page = looked(admin, seen=seen)

    shown = page.content.decode()
    assert page.status_code == 200 and outcomes(page) == {"notes": "updated", "paper": "added"}
    assert "Since you opened the page" in shown and "an-editor" in shown and "endpoints[hitspec].tags" in shown
    assert take(admin, page).status_code == 302


def test_a_stale_page_shows_what_changed_and_keeps_all_that_was_chosen(admin, workspace):
    page = looked(admin, strategy="refuse")
    entries.edit(workspace, "endpoints", "hitspec", {"tags": ["other"]}, by=EDITOR)

    again = take(admin, page, message="Papers", **{"choice:endpoint:notes": "skip"})

    shown = again.content.decode()
    assert again.status_code == 409 and "endpoints[hitspec].tags" in shown and 'value="Papers"' in shown
    assert outcomes(again) == {"notes": "skipped", "paper": "added"}
    assert take(admin, again, **{"choice:endpoint:notes": "skip"}).status_code == 302


def test_a_text_that_cannot_be_read_stays_in_its_field(admin, workspace):
    seen = admin.get(ADDRESS).context["seen"]

    page = looked(admin, "version: 1\nendpoints: 5\n", seen=seen)

    assert "endpoints: 5" in page.content.decode() and page.context["seen"] == seen


def test_more_than_a_form_takes_is_told_with_the_limit(admin, workspace, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
    before = registry.draft_digest(workspace)

    page = looked(admin, "#" * (2 * 1024 * 1024 + 1))

    shown = page.content.decode()
    assert page.status_code == 413 and "2 MiB together" in shown and "16 MiB" in shown and "Go back" in shown
    assert registry.draft_digest(workspace) == before


def test_a_form_of_too_many_fields_is_told_with_the_limit(admin, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 10

    page = looked(admin, **{f"choice:endpoint:{number}": "skip" for number in range(20)})

    assert page.status_code == 413 and "10 fields" in page.content.decode()
