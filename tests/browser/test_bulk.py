"""Rows that are chosen and changed together, and a tool that is set by hand; with script, without, and on a small screen."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing import working
from routing.services import entries, registry
from tests.routing.conftest import EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def endpoint(workspace):
    return lambda name="hitspec": working.copy_of(workspace).entry("endpoints", name)


def bar(page):
    return page.locator("[data-bulk]")


def test_rows_are_chosen_by_the_keyboard_and_tagged_and_that_is_undone(sign_in, endpoint, workspace):
    page = sign_in("endpoints")
    expect(bar(page)).to_be_hidden()

    for key in "jxjx":
        page.keyboard.press(key)
    expect(bar(page)).to_contain_text("2 endpoints chosen")
    expect(page.get_by_role("checkbox", name="Choose all shown").first).to_be_checked()
    page.keyboard.press("x")
    expect(bar(page)).to_contain_text("1 endpoint chosen")
    page.get_by_label("Tags, with commas").fill("paper")
    page.keyboard.press("Enter")

    expect(page.locator("#toasts")).to_contain_text("hitspec: tagged paper in the draft")
    assert endpoint()["tags"] == ["web", "http", "paper"]
    page.keyboard.press("z")
    expect(page.locator("#toasts")).to_contain_text("Taken back")
    expect(page).to_have_url(page.url.split("/w/")[0] + "/w/acme/endpoints")
    assert registry.draft_changes(workspace) == []


def test_switching_off_asks_in_a_dialog_that_keeps_the_choice(sign_in, endpoint):
    page = sign_in("endpoints?q=h")
    page.get_by_role("checkbox", name="Choose hitspec").check()
    page.get_by_role("button", name="Switch off").click()

    question = page.get_by_role("dialog", name="Switch off hitspec?")
    expect(question).to_contain_text("Scope web-only loses all 2 tools that it reaches.")
    expect(question.get_by_role("link", name="Leave as it is")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("checkbox", name="Choose hitspec")).to_be_checked()

    page.get_by_role("button", name="Switch off").click()
    question.get_by_role("button", name="Switch off").click()
    expect(page.locator("#toasts")).to_contain_text("hitspec: switched off in the draft")
    expect(page).to_have_url(page.url.split("/w/")[0] + "/w/acme/endpoints?q=h")
    assert endpoint()["enabled"] is False


def test_a_choice_from_an_older_draft_is_asked_about(sign_in, endpoint, workspace):
    page = sign_in("tools")
    page.get_by_role("checkbox", name="Choose all shown").first.check()
    expect(bar(page)).to_contain_text("4 tools chosen")
    entries.edit(workspace, "endpoints", "notes", {"tags": ["theirs"]}, by=EDITOR)
    page.get_by_label("Risk to set").select_option("critical")
    page.get_by_role("button", name="Set", exact=True).click()

    expect(page.locator("main")).to_contain_text("Somebody changed the draft since you chose these.")
    page.locator("main").get_by_role("button", name="Set traits of").click()
    expect(page.locator("#toasts")).to_contain_text("4 tools: set to critical in the draft")
    assert {tool["risk"] for name in ("hitspec", "notes") for tool in endpoint(name)["tools"]} == {"critical"}
    assert endpoint("notes")["tags"] == ["theirs"]


def test_filters_leave_the_bar_working(sign_in):
    page = sign_in("endpoints")
    page.get_by_role("checkbox", name="Choose hitspec").check()
    page.locator("#f-q").fill("note")
    expect(page.get_by_role("checkbox", name="Choose hitspec")).to_have_count(0)
    expect(bar(page)).to_be_hidden()
    with page.expect_response("**/endpoints?q=note"):  # leaving the field asks for the list once more
        page.get_by_role("checkbox", name="Choose notes").check()
    expect(bar(page)).to_contain_text("1 endpoint chosen")
    expect(page.get_by_role("checkbox", name="Choose notes")).to_be_checked()
    page.get_by_role("button", name="Choose none").click()
    expect(bar(page)).to_be_hidden()


def test_without_script_and_on_a_small_screen(browser, sign_in, live_address, endpoint):
    state = sign_in().context.storage_state()
    context = browser.new_context(
        java_script_enabled=False, storage_state=state, viewport={"width": 390, "height": 800}
    )
    page = context.new_page()
    page.goto(f"{live_address}/w/acme/endpoints")
    page.get_by_role("checkbox", name="Choose hitspec").check()
    page.get_by_role("button", name="Switch off").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Switch off hitspec?")
    page.locator("main").get_by_role("button", name="Switch off").click()
    expect(page.locator("#toasts")).to_contain_text("hitspec: switched off in the draft")
    assert endpoint()["enabled"] is False
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(page.locator("#toasts")).to_contain_text("Taken back")
    assert "enabled" not in endpoint()
    context.close()


@pytest.mark.parametrize("listing", ["endpoints", "tools"])
def test_nothing_runs_over_the_edge_of_a_small_screen(sign_in, page, listing):
    page.set_viewport_size({"width": 390, "height": 800})
    sign_in(listing)
    page.locator(".allshown input").check()

    expect(bar(page)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_tool_is_set_by_hand_and_goes_back_to_what_its_words_say(sign_in, endpoint):
    page = sign_in("tools/notes__add_note")
    page.get_by_label("Risk").select_option("critical")
    page.get_by_role("button", name="Save to the draft").click()
    expect(page.locator("#toasts")).to_contain_text("risk critical in the draft")
    expect(page.locator("#t-risk-how")).to_have_text("declared")
    assert endpoint("notes")["tools"][0]["risk"] == "critical"

    page.get_by_role("button", name="Risk back to inferred").click()
    expect(page.locator("#t-risk-how")).to_have_text("inferred")
    assert "risk" not in endpoint("notes")["tools"][0]

    page.get_by_role("button", name="Switch off").click()
    page.get_by_role("dialog").get_by_role("button", name="Switch off").click()
    expect(page.locator("main")).to_contain_text("The draft switches it off.")
    page.get_by_role("button", name="Switch on").click()
    expect(page.get_by_role("button", name="Switch off")).to_be_visible()
    assert "enabled" not in endpoint("notes")["tools"][0]
