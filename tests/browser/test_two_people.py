"""Two people with the same full form open, each in a browser of their own."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing import working
from routing.services import entries
from tests.routing.conftest import EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def save(page):
    page.get_by_role("button", name="Save to the draft").click()


def test_an_endpoint_has_what_both_wrote(enter, workspace):
    one, other = (enter(name, "editor", "endpoints/notes/form") for name in ("ben", "cleo"))
    one.get_by_label("Title", exact=True).fill("Notebook of the team")
    one.get_by_label("Owner", exact=True).fill("Ben")
    save(one)
    expect(one.get_by_role("heading", level=1)).to_contain_text("notes")

    other.get_by_label("Tags", exact=True).fill("q")
    other.get_by_label("Owner", exact=True).fill("Cleo")
    save(other)
    expect(other.get_by_role("group", name="Two values, one stays")).to_contain_text("Changed by ben too")
    expect(other.get_by_label("Title", exact=True)).to_have_value("Notebook of the team")
    save(other)  # without a choice nothing is overwritten
    expect(other.get_by_role("group", name="Two values, one stays")).to_be_visible()
    other.get_by_role("radio", name="Keep mine").check()
    save(other)

    expect(other.get_by_role("heading", level=1)).to_contain_text("notes")
    body = working.copy_of(workspace).entry("endpoints", "notes")
    assert [body[key] for key in ("title", "owner", "tags")] == ["Notebook of the team", "Cleo", ["q"]]


def test_a_scope_has_what_both_wrote(enter, workspace):
    one, other = (enter(name, "editor", "scopes/web-only/edit") for name in ("ben", "cleo"))
    one.get_by_role("group", name="Tools").get_by_role("radio", name="None", exact=True).check()
    save(one)
    expect(one.get_by_role("heading", level=1)).to_contain_text("web-only")

    other.get_by_label("Names in Denied").fill("notes")
    save(other)

    expect(other.locator("#toasts")).to_contain_text("Also kept: what ben changed in tools")
    body = working.copy_of(workspace).entry("scopes", "web-only")
    assert (body["tools"], body["deny"]) == ([], ["notes"])


def test_a_url_asks_for_its_credential_where_it_is_edited(enter, workspace):
    made = {"name": "far", "kind": "mcp", "url": "https://one.example/mcp", "credential": "env:FAR"}
    entries.add(workspace, "endpoints", made, by=EDITOR)
    page = enter("ben", "editor", "endpoints/far")
    page.locator("#s-field-url").click()
    page.get_by_label("URL", exact=True).fill("https://two.example/mcp")
    page.get_by_label("URL", exact=True).press("Tab")
    credential = page.locator("#part-url").get_by_label("Credential reference")
    expect(page.locator("#part-url")).to_contain_text("It must be entered again")
    credential.fill("env:TWO")
    credential.press("Enter")

    expect(page.locator("#now-url")).to_contain_text("two.example")
    body = working.copy_of(workspace).entry("endpoints", "far")
    assert (body["url"], body["credential"]) == ("https://two.example/mcp", "env:TWO")
