"""Two people and one change: the editor proposes it, the reviewer approves and publishes it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from routing.models import Actor, Schedule, Workspace
from routing.services import entries, registry, revisions, schedules
from tests.routing.conftest import EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


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


def test_a_line_is_talked_about_and_the_draft_goes_live_at_a_time(enter, workspace):
    entries.edit(workspace, "endpoints", "notes", {"description": "Notes of the team", "tags": ["paper"]}, by=EDITOR)
    rob = enter("rob", "reviewer", "publish")
    rob.keyboard.press("n")
    expect(rob.locator(".changes summary").first).to_be_focused()
    rob.get_by_role("link", name="Comment on line 2 of notes description").click()
    rob.get_by_role("textbox", name="Comment on line 2").fill("Which <b>team</b>?")
    rob.get_by_role("button", name="Comment", exact=True).first.click()
    expect(rob.locator(".comment")).to_contain_text("Which <b>team</b>?")

    eve = enter("eve", "editor", "publish")
    eve.get_by_text("Reply", exact=True).press("Enter")
    eve.get_by_role("textbox", name="Reply to rob").fill("Ours")
    eve.get_by_role("button", name="Send reply").press("Enter")
    eve.get_by_role("button", name="Resolve").press("Enter")
    expect(eve.locator(".comment")).to_contain_text("resolved by eve")

    rob.get_by_role("textbox", name="Message").fill("At night")
    rob.get_by_text("At a time").click()
    rob.get_by_label("Goes live at").fill("2020-01-01T10:00")
    rob.get_by_role("button", name="Publish at this time").click()
    expect(rob.get_by_text("This time is past.")).to_be_visible()
    expect(rob.get_by_role("textbox", name="Message")).to_have_value("At night")
    rob.get_by_label("Goes live at").fill(f"{timezone.now() + timedelta(days=1):%Y-%m-%dT%H:%M}")
    rob.get_by_role("button", name="Publish at this time").click()
    expect(rob.get_by_text("Goes live", exact=False).first).to_be_visible()

    Schedule.objects.update(at=timezone.now() - timedelta(seconds=1))
    assert schedules.run_due() == 1
    rob.goto(rob.url.replace("publish", "revisions/3"))
    expect(rob.get_by_text("as scheduled")).to_be_visible()
    expect(rob.locator(".comment")).to_contain_text("Ours")


def test_two_who_change_one_thing_lose_nothing_and_each_takes_back_their_own(enter, workspace):
    eve, ann = enter("eve", "editor", "endpoints/notes"), enter("ann", "editor", "endpoints/notes")
    eve.get_by_label("Description", exact=True).fill("Eve's words")
    eve.keyboard.press("Tab")
    expect(eve.locator("#draftchip")).to_contain_text("1 change")
    ann.get_by_label("Description", exact=True).fill("Ann's words")
    ann.keyboard.press("Tab")
    expect(ann.locator("#part-description")).to_contain_text("Eve's words")
    expect(ann.locator("#part-description")).to_contain_text("Ann's words")
    entries.edit(workspace, "endpoints", "notes", {"tags": ["ann"]}, by=Actor(kind="operator", name="ann"))

    eve.goto(eve.url.replace("endpoints/notes", "publish"))
    expect(eve.get_by_role("link", name="Undo last change, by ann")).to_be_visible()
    eve.get_by_role("button", name="Undo your last change").press("Enter")
    expect(eve.locator("#toasts")).to_contain_text("Taken back: endpoints[notes].description")
    eve.get_by_role("link", name="Undo last change, by ann").click()
    expect(eve.locator("#confirm")).to_contain_text("Take back a change of ann?")
    eve.get_by_role("button", name="Take it back").click()
    expect(eve.get_by_text("The draft is equal to revision 2.")).to_be_visible()
