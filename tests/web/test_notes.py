"""Why somebody changed something: posted beside an edit, kept with it, and shown wherever the change is."""

from __future__ import annotations

import pytest

from control.web import noting
from routing import working
from routing.models import AuditEntry, Edit
from routing.services import entries
from tests.routing.conftest import EDITOR
from tests.web.test_toasts import _fields

HOSTILE = '<script>alert(1)</script>\u202e "quoted" 😀'
DESCRIPTION = "/w/acme/endpoints/hitspec/edit/description"


def last(workspace) -> Edit:
    return Edit.objects.filter(workspace=workspace, revision=None).latest("id")


def mark(client) -> str:
    page = client.get("/w/acme/endpoints/hitspec").content.decode()
    return _fields(page.split(f'action="{DESCRIPTION}"')[1].split("</form>")[0])["read"][0]


def save(client, value: str, why: str = "", **more):
    return client.post(DESCRIPTION, {"value": value, "read": mark(client), "why": why}, **more)


def test_a_note_is_shown_in_review_audit_log_toast_and_the_undo(admin, workspace):
    said = save(admin, "Another", HOSTILE, follow=True).content.decode()
    review = admin.get("/w/acme/publish").content.decode()
    entry = AuditEntry.objects.filter(workspace=workspace, action="endpoint.changed").latest("seq")
    logged = admin.get(f"/w/acme/audit/{entry.seq}").content.decode()

    for text in (said, review, logged):
        assert "&lt;script&gt;alert(1)" in text and "<script>alert" not in text and "\u202e" not in text
    assert entry.message == last(workspace).message == '<script>alert(1)</script> "quoted" 😀'
    toast = said.split('id="toasts"')[1].split("</form>")[0]
    assert _fields(toast)["why"][0].startswith("Undo: <script>")


def test_the_field_remembers_nothing_and_a_note_is_bounded(admin, workspace):
    answer = save(admin, "Another", "x" * 10_000, headers={"HX-Request": "true"})

    assert answer.headers["HX-Trigger"] == "noted"
    assert last(workspace).message == "x" * noting.LONGEST
    page = admin.get("/w/acme/endpoints/hitspec").content.decode()
    assert 'id="why-description"' in page and "xxxx" not in page.split('id="why-description"')[1].split(">")[0]


def test_a_note_may_come_after_its_change_and_only_to_ones_own_last_one(admin, workspace):
    htmx = {"headers": {"HX-Request": "true"}}
    assert save(admin, "Another", **htmx).headers["HX-Trigger"] == "kept"
    assert save(admin, "Another", "Thought of later", **htmx).headers["HX-Trigger"] == "noted"
    assert last(workspace).message == "Thought of later"
    assert AuditEntry.objects.filter(workspace=workspace, action="endpoint.explained").count() == 1

    entries.edit(workspace, "endpoints", "hitspec", {"description": "Theirs"}, by=EDITOR)
    assert "HX-Trigger" not in save(admin, "Theirs", "Not mine", **htmx).headers
    assert last(workspace).message == ""


@pytest.mark.parametrize(
    ("path", "form", "section", "name"),
    [
        ("new/scope", {"name": "desk", "like": ""}, "scopes", "desk"),
        ("new/policy", {"name": "calm"}, "policies", "calm"),
        ("new/capability", {"name": "quoting"}, "capabilities", "quoting"),
        ("new/endpoint", {"name": "files", "kind": "declared"}, "endpoints", "files"),
    ],
)
def test_whole_forms_take_a_note_too(admin, workspace, path, form, section, name):
    assert 'name="why"' in admin.get(f"/w/acme/{path}").content.decode()
    assert admin.post(f"/w/acme/{path}", {**form, "why": "Needed by support"}).status_code == 302

    assert working.copy_of(workspace).entry(section, name) is not None
    assert last(workspace).message == "Needed by support"
