from __future__ import annotations

import re
from html import unescape

import pytest

from routing import working
from routing.services import entries, registry
from tests.routing.conftest import EDITOR


def _fields(form: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form):
        found.setdefault(name, []).append(unescape(value))
    return found


def test_an_edit_without_script_is_taken_back_from_the_next_page(admin, workspace):
    page = admin.get("/w/acme/endpoints/hitspec").content.decode()
    form = page.split('action="/w/acme/endpoints/hitspec/edit/description"')[1].split("</form>")[0]
    read = _fields(form)["read"][0]
    said = admin.post(
        "/w/acme/endpoints/hitspec/edit/description", {"value": "<b>Another</b>", "read": read}, follow=True
    ).content.decode()

    toast = said.split('id="toasts"')[1].split("</form>")[0]
    assert "saved to the draft" in toast and "Undo" in toast
    admin.post("/w/acme/endpoints/hitspec/edit/description", _fields(toast))

    assert registry.draft_changes(workspace) == []


FORMS = {
    "endpoints/hitspec/form": ({"name": "hitspec", "kind": "declared", "title": "Another"}, "endpoints/hitspec"),
    "new/endpoint": ({"name": "fresh", "kind": "declared"}, "endpoints"),
    "endpoints/odd/remove": ({}, "endpoints/odd"),
    "scopes/web-only/edit": (
        {"endpoints_state": "none", "tools_state": "all", "pins_state": "gateway"},
        "scopes/web-only",
    ),
    "new/scope": ({"name": "fresh"}, "scopes"),
    "scopes/web-only/delete": ({}, "scopes/web-only"),
    "new/policy": ({"name": "fresh", "like": "default"}, "policies"),
    "policies/careful/delete": ({}, "policies/careful"),
    "new/capability": ({"name": "fresh"}, "capabilities"),
    "capabilities/word/delete": ({}, "capabilities/word"),
    "capabilities/word/merge": ({"into": "other"}, "capabilities/word"),
    "new/provider": ({"name": "fresh", "kind": "compatible", "url": "https://d.example/v1"}, "providers"),
    "providers/jev/form": (
        {"kind": "compatible", "url": "https://jev.example/v2", "credential": "env:NEW"},
        "providers/jev",
    ),
    "providers/jev/remove": ({}, "providers/jev"),
}
MORE = {
    "endpoints": {"name": "odd", "kind": "declared"},
    "policies": {"name": "careful"},
    "capabilities": {"name": "word"},
    "providers": {"name": "jev", "kind": "compatible", "url": "https://jev.example/v1"},
}


@pytest.mark.parametrize("path", FORMS)
def test_every_form_of_an_entry_is_taken_back_from_its_message(admin, workspace, path):
    for section, body in MORE.items():
        entries.add(workspace, section, body, by=EDITOR)
    entries.add(workspace, "capabilities", {"name": "other"}, by=EDITOR)
    before = working.copy_of(workspace).document
    fields, back = FORMS[path]
    page = admin.get(f"/w/acme/{path}")
    read = _fields(page.content.decode()).get("read", [""])[0]

    said = admin.post(f"/w/acme/{path}", {**fields, "read": read}, follow=True).content.decode()
    there = working.copy_of(workspace).document
    toast = said.split('id="toasts"')[1].split("</form>")[0]
    answer = admin.post(re.search(r'action="([^"]+)"', toast)[1], _fields(toast))

    assert there != before
    assert answer["Location"] == f"/w/acme/{back}"
    assert working.copy_of(workspace).document == before


def test_a_form_that_changes_nothing_offers_no_undo_of_what_was_changed_before(admin, workspace):
    entries.edit(workspace, "endpoints", "hitspec", {"title": "Mine"}, by=EDITOR)
    page = admin.get("/w/acme/endpoints/hitspec/form").content.decode()

    fields = {"name": "hitspec", "kind": "declared", "title": "Mine", "read": _fields(page)["read"][0]}
    said = admin.post("/w/acme/endpoints/hitspec/form", fields, follow=True).content.decode()

    toasts = said.split('id="toasts"')[1].split("<template")[0]
    assert "says so already" in toasts and "Undo" not in toasts
