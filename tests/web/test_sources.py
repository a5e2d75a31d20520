"""The page of a registry's source of truth, and what a registry kept in a file looks like everywhere else."""

from __future__ import annotations

import json
import re

import pytest
from django.core.management import CommandError, call_command

from control.keys import create_key
from routing.engine.canonical import digest_of
from routing.formats import write_yaml
from routing.models import AuditEntry, Workspace
from routing.models.actor import SYSTEM
from routing.services import entries, registry, revisions, sources, workspaces
from tests.routing.conftest import DOCUMENT, EDITOR

PAGE = "/w/acme/source"
OTHER = {**DOCUMENT, "scopes": [{"name": "default"}]}


def text_of(response) -> str:
    return response.content.decode()


@pytest.fixture
def file(tmp_path, settings, workspace):
    settings.SOURCE_ROOTS = [tmp_path]
    file = tmp_path / "registry.yaml"
    file.write_text(write_yaml(revisions.live_document(workspace)))
    return file


def keep(workspace, file, mode="read-only", **more):
    workspaces.configure(workspace, {"source_file": str(file), "source_mode": mode, **more}, by=EDITOR)
    return Workspace.objects.get(pk=workspace.pk)


def hidden(page, name: str) -> str:
    return re.search(rf'name="{name}" value="([^"]*)"', text_of(page))[1]


# --- settings ---------------------------------------------------------------------------------------------------------
def settings_of(client, **more):
    read = hidden(client.get("/w/acme/settings"), "read")
    return client.post("/w/acme/settings", {"title": "", "approvals_needed": "0", "read": read, **more})


def test_an_administrator_names_the_file_in_the_settings(admin, workspace, file):
    done = settings_of(admin, source_file="registry.yaml", source_mode="two-way")

    workspace.refresh_from_db()
    told = AuditEntry.objects.filter(workspace=workspace).first()
    assert done.status_code == 302
    assert (workspace.source_file, workspace.source_mode) == (str(file), "two-way")
    assert told.action == "workspace.configured" and told.after["source_file"] == str(file)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"source_file": "/etc/shadow.yaml"}, "outside of the directories that this server allows"),
        ({"source_file": "../up.yaml"}, "outside of the directories that this server allows"),
        ({"source_file": "registry.txt"}, "Name a file that ends in"),
        ({"source_file": "registry.yaml", "source_mode": "two-way", "source_proposes": "on"}, "write over what people"),
    ],
)
def test_what_may_not_be_named_is_said_beside_its_field(admin, workspace, file, sent, said):
    answer = settings_of(admin, **sent)

    workspace.refresh_from_db()
    assert answer.status_code == 422 and said in text_of(answer)
    assert workspace.source_file == ""


def test_other_settings_can_be_saved_when_the_server_allows_the_file_no_more(admin, workspace, file, settings):
    keep(workspace, file)
    settings.SOURCE_ROOTS = []

    assert settings_of(admin, title="Team", source_file=str(file)).status_code == 302


def test_the_command_says_and_sets_the_source(workspace, file, capsys):
    call_command("workspace", "acme", source_file="registry.yaml", source_mode="two-way", json=True)
    assert json.loads(capsys.readouterr().out)["source_file"] == str(file)
    with pytest.raises(CommandError, match="outside"):
        call_command("workspace", "acme", source_file="/etc/x.yaml")
    with pytest.raises(CommandError, match="write over"):
        call_command("workspace", "acme", source_proposes="on")
    call_command("workspace", "acme", source_file="", json=True)
    assert json.loads(capsys.readouterr().out)["source_file"] is None


def test_the_import_command_says_where_the_registry_is_kept(workspace, file, tmp_path):
    keep(workspace, file)
    (tmp_path / "other.yaml").write_text(write_yaml(OTHER | {"capabilities": [{"name": "paper"}]}))

    with pytest.raises(CommandError, match=r"kept in registry\.yaml"):
        call_command("import_registry", str(tmp_path / "other.yaml"), workspace="acme")


# --- the page ---------------------------------------------------------------------------------------------------------
def test_without_a_file_the_page_says_how_one_is_named(admin):
    assert "No file is named" in text_of(admin.get(PAGE))


def test_the_difference_is_shown_against_what_is_live_and_against_the_draft(enter, workspace, file):
    keep(workspace, file, "two-way")
    entries.edit(workspace, "endpoints", "notes", {"description": "Notes of the team"}, by=EDITOR)
    file.write_text(write_yaml(OTHER))
    viewer = enter("viewer")

    live, draft = viewer.get(PAGE), viewer.get(PAGE, {"against": "draft"})

    assert [block.path for block in live.context["blocks"]] == ["scopes[web-only]"]
    assert "Drifted" in text_of(live) and "Take the file" not in text_of(live)
    assert "endpoints[notes].description" in [block.path for block in draft.context["blocks"]]


def test_a_document_with_problems_is_told_with_each(admin, workspace, file):
    keep(workspace, file)
    file.write_text("version: 1\nendpoints: 5\n<script>alert(1)</script>: 1\n")

    page = text_of(admin.get(PAGE))

    assert "cannot be read as a registry" in page and "endpoints" in page
    assert "<script>alert" not in page


def test_an_editor_takes_the_file_into_the_draft(enter, workspace, file):
    keep(workspace, file)
    file.write_text(write_yaml(OTHER))
    client = enter("editor")
    page = client.get(PAGE)

    done = client.post(f"{PAGE}/take", {name: hidden(page, name) for name in ("seen", "draft")})

    assert (done.status_code, done["Location"]) == (302, "/w/acme/publish")
    assert registry.draft_digest(workspace) == digest_of(registry.checked(OTHER)[0])
    assert "The draft says what the file says. It goes live" in text_of(client.get(PAGE))


def test_whose_changes_would_be_gone_is_asked_before(admin, workspace, file):
    keep(workspace, file, "two-way")
    entries.edit(workspace, "endpoints", "notes", {"description": "Notes of the team"}, by=EDITOR)
    before = registry.draft_digest(workspace)
    file.write_text(write_yaml(OTHER))
    page = admin.get(PAGE)
    sent = {name: hidden(page, name) for name in ("seen", "draft")}

    asked = admin.post(f"{PAGE}/take", sent)
    assert "changes by an-editor" in text_of(asked) and registry.draft_digest(workspace) == before
    assert admin.post(f"{PAGE}/take", sent | {"confirmed": "on"}).status_code == 302
    assert registry.draft_digest(workspace) != before


def test_a_page_that_is_stale_takes_and_writes_nothing(admin, workspace, file):
    keep(workspace, file, "two-way")
    seen = admin.get(PAGE).context["seen"]
    file.write_text(write_yaml(OTHER))

    for deed in ("take", "write"):
        answer = admin.post(f"{PAGE}/{deed}", {"seen": seen, "draft": ""})
        assert answer.status_code == 409 and "The file changed since you looked at it" in text_of(answer)
    assert file.read_text() == write_yaml(OTHER)


def test_a_reviewer_writes_what_is_live_into_the_file(enter, workspace, file):
    keep(workspace, file, "two-way")
    file.write_text(write_yaml(OTHER))
    client = enter("reviewer")
    page = client.get(PAGE)
    assert "Write revision 2 into the file" in text_of(page)

    done = client.post(f"{PAGE}/write", {"seen": hidden(page, "seen")}, follow=True)

    assert "nothing was committed" in text_of(done) and "In sync" in text_of(done)
    assert file.read_text() == write_yaml(revisions.live_document(workspace))


def test_a_read_only_page_offers_no_writing_and_refuses_it(admin, workspace, file):
    keep(workspace, file)
    file.write_text(write_yaml(OTHER))

    assert "into the file" not in text_of(admin.get(PAGE))
    assert admin.post(f"{PAGE}/write", {"seen": admin.get(PAGE).context["seen"]}).status_code == 409
    assert file.read_text() == write_yaml(OTHER)


# --- elsewhere --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("page", "control"),
    [
        ("endpoints", "New endpoint"),
        ("endpoints/hitspec", "endpoints/hitspec/form"),
        ("scopes", "New scope"),
        ("policies", "New policy"),
        ("capabilities", "New capability"),
        ("publish", '/w/acme/import"'),
    ],
)
def test_pages_say_where_the_registry_is_kept_and_offer_no_edit(admin, workspace, file, page, control):
    assert control in text_of(admin.get(f"/w/acme/{page}"))
    keep(workspace, file)

    shown = text_of(admin.get(f"/w/acme/{page}"))

    assert "edits here are refused" in shown and "registry.yaml" in shown
    assert control not in re.sub(r'<dialog class="palette.*?</dialog>', "", shown, flags=re.DOTALL)


@pytest.mark.parametrize(
    "form",
    ["new/endpoint", "endpoints/hitspec/form", "new/scope", "new/policy", "new/capability", "new/provider", "import"],
)
def test_a_form_that_is_opened_by_its_address_says_where_the_registry_is_kept(admin, workspace, file, form):
    opened = admin.get(f"/w/acme/{form}")
    keep(workspace, file)
    closed = admin.get(f"/w/acme/{form}")

    assert opened.status_code == 200 and closed.status_code == 409
    assert "kept in registry.yaml" in text_of(closed) and 'href="/w/acme/source">To the source of truth' in text_of(
        closed
    )
    assert "Save" not in re.sub(r"<dialog.*?</dialog>", "", text_of(closed), flags=re.DOTALL)


def test_an_edit_that_is_posted_anyway_is_told_in_words_whole_or_in_passing(admin, workspace, file):
    keep(workspace, file)
    page = admin.post("/w/acme/new/capability", {"name": "paper"})
    beside = admin.post("/w/acme/new/capability", {"name": "paper"}, headers={"HX-Request": "true"})

    assert page.status_code == beside.status_code == 409
    assert "This registry is kept in a file" in text_of(page) and "Change it there" in text_of(page)
    assert beside["HX-Retarget"] == "#toasts" and "<html" not in text_of(beside)
    assert admin.post("/w/acme/endpoints/notes/enabled", {"enabled": "", "confirmed": "on"}).status_code == 409


def test_drift_is_told_on_the_overview_and_on_the_registry(admin, workspace, file):
    keep(workspace, file, "two-way")
    sources.check(workspace)
    assert "what is live differ" not in text_of(admin.get("/w/acme/"))
    file.write_text(write_yaml(OTHER))
    sources.check(workspace)

    for page in ("", "endpoints", "publish"):
        assert "what is live differ" in text_of(admin.get(f"/w/acme/{page}")), page
    file.unlink()
    sources.check(workspace)
    assert "There is no such file." in text_of(admin.get("/w/acme/"))


def test_the_api_refuses_as_the_pages_do(workspace, file, client):
    keep(workspace, file)
    _, key = create_key(workspace, "default", rights=["registry.write"], by=SYSTEM)

    answer = client.put(
        "/api/v1/registry",
        json.dumps({"document": OTHER}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}"},
    )

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "source_read_only")
    assert error["details"][0]["value"] == "registry.yaml" and "Change it there" in error["message"]


def test_a_stale_edit_of_a_registry_in_a_file_is_told_of_the_file(admin, workspace, file, client):
    read = hidden(admin.get("/w/acme/endpoints/notes"), "read")
    entries.edit(workspace, "endpoints", "notes", {"description": "Else"}, by=EDITOR)
    keep(workspace, file)
    _, key = create_key(workspace, "default", rights=["registry.write"], by=SYSTEM)

    page = admin.post("/w/acme/endpoints/notes/edit/description", {"value": "Mine", "read": read})
    call = client.put(
        "/api/v1/registry",
        json.dumps({"document": OTHER}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}", "If-Match": '"sha256:0"'},
    )

    assert page.status_code == 409 and "Change it there" in text_of(page)
    assert call.json()["error"]["code"] == "source_read_only"
