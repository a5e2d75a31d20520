"""The console where no script runs: forms have buttons, questions are pages, filters are sent, and nothing is out of reach."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from control.keys import create_key
from control.models import HarnessKey
from routing.models import Actor, Workspace
from routing.models.actor import SYSTEM
from routing.services import entries, registry, revisions
from tests.cast import PASSWORD, person
from tests.routing.conftest import EDITOR
from tests.web import crowd

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
IMPORTED = '{"version": 1, "endpoints": [{"name": "files", "kind": "declared"}]}'


@pytest.fixture
def come(browser, workspace, live_address):
    """A browser without script for somebody who is a member already."""
    contexts = []

    def come(name: str) -> Page:
        contexts.append(browser.new_context(java_script_enabled=False, locale="en-GB"))
        page = contexts[-1].new_page()
        page.goto(f"{live_address}/sign-in?next=/w/acme/")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Overview").wait_for()
        return page

    yield come
    for context in contexts:
        context.close()


@pytest.fixture
def page(come) -> Page:
    return come("ada")


def to(page: Page, room: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name=room).click()


def test_lists_are_filtered_and_paged_and_lead_to_their_details(page, workspace):
    registry.replace_working_copy(workspace, crowd.document(3, 40), by=EDITOR)
    revisions.publish(workspace, message="Many", by=EDITOR)

    to(page, "Tools")
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("51 to 100 of 120 tools")).to_be_visible()
    page.locator("#f-effect").select_option("erase")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("24 of 120 tools")).to_be_visible()
    page.locator("#list tbody a.main").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("place-000__delete_thing")


def test_an_endpoint_is_changed_in_its_form_and_a_hint_on_its_page_and_both_are_published(page, workspace):
    to(page, "Endpoints")
    page.get_by_role("link", name="hitspec", exact=True).click()
    page.get_by_label("Hint 1", exact=True).fill("keep an article as text")
    page.locator("#part-use_when").get_by_role("button", name="Save").click()
    expect(page.get_by_label("Hint 1", exact=True)).to_have_value("keep an article as text")
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("URL").fill("ftp://nowhere")
    page.locator("main button.primary").click()
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was saved")
    page.get_by_label("URL").fill("")
    page.get_by_label("Description").fill("Fetches pages")
    page.locator("main button.primary").click()
    expect(page.get_by_label("Description", exact=True).first).to_have_value("Fetches pages")

    to(page, "Review and publish")
    expect(page.get_by_text("keep an article as text").first).to_be_visible()
    page.get_by_role("textbox", name="Message").fill("When to keep an article")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_role("heading", name="Revision 3")).to_be_visible()
    assert revisions.live_document(workspace)["endpoints"][0]["description"] == "Fetches pages"


def test_a_document_is_imported_and_the_draft_discarded(page, workspace):
    to(page, "Endpoints")
    page.get_by_role("link", name="Import").click()
    page.get_by_label("Or its text").fill(IMPORTED)
    page.get_by_role("button", name="Show what would happen").click()
    page.locator("main button.primary").click()
    assert "files" in [one["name"] for one in registry.working_document(workspace)["endpoints"]]

    to(page, "Review and publish")
    page.get_by_role("link", name="Discard draft").click()
    expect(page.get_by_role("heading", name="Discard 1 change?")).to_be_visible()
    page.get_by_role("button", name="Discard draft").click()
    expect(page.get_by_text("The draft is dropped")).to_be_visible()
    assert registry.draft_changes(workspace) == []


def test_a_key_is_revoked_and_the_theme_changed(page, workspace):
    create_key(workspace, "default", name="spare", by=SYSTEM)
    to(page, "Keys")
    page.get_by_role("link", name="Revoke spare").click()
    expect(page.get_by_role("heading", name="Revoke key spare?")).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("Key spare is revoked")).to_be_visible()
    assert HarnessKey.objects.get(name="spare").revoked_at

    before = page.locator("html").get_attribute("data-theme")
    page.get_by_role("button", name="Theme:").click()
    assert page.locator("html").get_attribute("data-theme") != before


def test_a_change_is_proposed_talked_about_rejected_proposed_anew_approved_and_published(come, workspace):
    Workspace.objects.filter(pk=workspace.pk).update(approvals_needed=1)
    entries.edit(workspace, "endpoints", "hitspec", {"title": "Pages"}, by=Actor(kind="operator", name="eve"))
    person("eve", workspace, "editor")
    person("rob", workspace, "reviewer")
    eve, rob = come("eve"), come("rob")

    to(eve, "Review and publish")
    eve.get_by_role("textbox", name="Message").fill("A title")
    eve.get_by_role("button", name="Propose for review").click()
    expect(eve.get_by_text("Proposed as revision 3")).to_be_visible()

    to(rob, "Review and publish")
    rob.get_by_role("link", name="Comment on this change").first.click()
    rob.locator("form[action$=remarks] textarea").first.fill("Why not Web pages?")
    rob.locator("form[action$=remarks] button").first.click()
    expect(rob.locator(".comment").first).to_contain_text("Why not Web pages?")
    rob.get_by_label("Comment", exact=True).last.fill("Say it better")
    rob.get_by_role("button", name="Reject").click()
    expect(rob.get_by_text("Revision 3 rejected")).to_be_visible()

    entries.edit(workspace, "endpoints", "hitspec", {"title": "Web pages"}, by=Actor(kind="operator", name="eve"))
    to(eve, "Review and publish")
    eve.get_by_role("textbox", name="Message").fill("A better title")
    eve.get_by_role("button", name="Propose for review").click()
    to(rob, "Review and publish")
    rob.get_by_role("button", name="Approve").click()
    expect(rob.get_by_text("Revision 4 approved")).to_be_visible()
    rob.get_by_role("button", name="Publish", exact=True).click()
    expect(rob.get_by_role("heading", name="Revision 4")).to_be_visible()
    assert revisions.live_document(workspace)["endpoints"][0]["title"] == "Web pages"


def test_a_form_that_was_saved_is_taken_back_from_its_message(page, workspace):
    to(page, "Endpoints")
    page.get_by_role("link", name="hitspec", exact=True).click()
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("Title", exact=True).fill("Pages")
    page.locator("main button.primary").click()
    page.locator("#toasts").get_by_role("button", name="Undo").click()

    expect(page.locator("#toasts")).to_contain_text("Taken back")
    expect(page.get_by_role("heading", level=1)).to_contain_text("hitspec")
    assert registry.draft_changes(workspace) == []
