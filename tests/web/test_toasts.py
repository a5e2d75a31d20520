from __future__ import annotations

import re
from html import unescape

from routing.services import registry


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
