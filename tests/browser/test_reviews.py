"""Two people and one change: the editor proposes it, the reviewer approves and publishes it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing.models import Workspace
from routing.services import entries, registry, revisions
from tests.cast import PASSWORD, person
from tests.routing.conftest import EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def enter(browser, live_address, workspace):
    """A browser of one's own for a new member with this role, at a page of the workspace."""
    contexts = []

    def enter(name: str, role: str, path: str):
        person(name, workspace, role)
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.goto(f"{live_address}/sign-in?next=/w/acme/{path}")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{live_address}/w/acme/{path}")
        return page

    yield enter
    for context in contexts:
        context.close()


def test_one_proposes_another_approves_and_it_goes_live(enter, workspace):
    Workspace.objects.filter(pk=workspace.pk).update(approvals_needed=1)
    eve = enter("eve", "editor", "endpoints/hitspec")
    eve.get_by_label("Hint 1", exact=True).fill("keep an article as text")
    eve.keyboard.press("Tab")
    expect(eve.locator("#draftchip")).to_contain_text("1 change")
    eve.locator("#draftchip a").click()
    expect(eve.get_by_text("This draft has not been proposed for review yet.")).to_be_visible()
    eve.get_by_role("textbox", name="Message").fill("Say when to keep an article")
    eve.get_by_role("button", name="Propose for review").press("Enter")
    expect(eve.locator("#toasts")).to_contain_text("Proposed as revision 3")
    expect(eve.get_by_role("button", name="Approve")).to_have_count(0)

    rob = enter("rob", "reviewer", "publish")
    expect(rob.get_by_text("One more approval is needed: 0 of 1 given.")).to_be_visible()
    expect(rob.get_by_role("button", name="Publish")).to_have_attribute("aria-disabled", "true")
    expect(rob.get_by_text("You can approve: you changed nothing in this proposal.")).to_be_visible()
    rob.get_by_role("textbox", name="Comment").focus()
    rob.keyboard.type("Reads well")
    rob.keyboard.press("Tab")
    expect(rob.get_by_role("button", name="Approve")).to_be_focused()
    rob.keyboard.press("Enter")
    expect(rob.locator("#toasts")).to_contain_text("Revision 3 approved")
    expect(rob.get_by_text("Reads well")).to_be_visible()

    eve.reload()
    expect(eve.get_by_text("Reads well")).to_be_visible()
    rob.get_by_role("button", name="Publish").click()
    expect(rob.get_by_role("heading", name="Revision 3")).to_be_visible()
    assert revisions.live_document(workspace)["endpoints"][0]["use_when"][0] == "keep an article as text"


def test_a_change_after_the_approval_asks_for_it_again(enter, workspace):
    Workspace.objects.filter(pk=workspace.pk).update(approvals_needed=1)
    entries.edit(workspace, "endpoints", "notes", {"description": "Notes of the team"}, by=EDITOR)
    registry.propose_draft(workspace, message="Describe notes", by=EDITOR)
    rob = enter("rob", "reviewer", "publish")
    rob.get_by_role("button", name="Approve").click()
    expect(rob.get_by_role("button", name="Publish")).not_to_have_attribute("aria-disabled", "true")

    entries.edit(workspace, "endpoints", "notes", {"description": "Other words"}, by=EDITOR)
    rob.get_by_role("button", name="Publish").click()

    expect(rob.get_by_role("alert")).to_contain_text("The draft changed after you opened this page")
    expect(rob.get_by_text("propose it again for review")).to_be_visible()
    assert revisions.live_document(workspace)["endpoints"][1].get("description") != "Other words"


def test_two_revisions_are_picked_compared_and_the_older_one_restored(enter, workspace):
    ada = enter("ann", "administrator", "revisions")
    ada.get_by_role("link", name="Compare two").click()
    ada.get_by_label("From").fill("1")
    ada.get_by_label("To", exact=True).fill("2")
    ada.keyboard.press("Enter")
    expect(ada.get_by_text("From revision 1 to revision 2")).to_be_visible()

    ada.get_by_role("link", name="Restore revision 1").click()
    ada.get_by_role("button", name="Restore as a new revision").click()

    expect(ada.locator("#toasts")).to_contain_text("Revision 1 is proposed anew as revision 3")
