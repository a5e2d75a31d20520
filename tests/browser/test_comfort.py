"""What makes the console quick to use: the finder, shortcuts, questions before something stops."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import expect

from control.web import palette, shortcuts
from routing.services import entries, registry
from tests.routing.conftest import DOCUMENT, EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


# --- the finder -------------------------------------------------------------------------------------------------------
def test_the_finder_opens_from_the_keyboard_and_leads_to_what_was_chosen(sign_in):
    page = sign_in("endpoints")
    field = page.get_by_role("combobox", name="Find or do")

    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("hitspec fetch")
    first = page.locator("#hits [role=option]").first
    expect(first).to_contain_text("hitspec__fetch")
    expect(first.locator("mark")).to_have_text(["hitspec", "fetch"])
    expect(field).to_have_attribute("aria-activedescendant", "hit-1")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "hit-2")
    expect(page.locator("#hit-2")).to_have_attribute("aria-selected", "true")
    expect(page.locator("[role=option][aria-selected=true]")).to_have_count(1)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("[role=option]").last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tools/hitspec__fetch")


def test_escape_gives_the_focus_back_to_where_it_was(sign_in):
    page = sign_in("endpoints")
    page.locator("#f-q").focus()

    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Find or do")).to_be_focused()
    page.keyboard.press("Escape")

    expect(page.locator("#palette")).to_be_hidden()
    expect(page.locator("#f-q")).to_be_focused()


def test_the_finder_opens_with_a_pointer_and_closes_with_one(sign_in):
    page = sign_in()

    page.get_by_role("button", name="Find or do").click()
    expect(page.locator("#hits").get_by_role("option", name="Overview")).to_be_visible()
    page.locator("#palette").get_by_role("button", name="Close").click()

    expect(page.locator("#palette")).to_be_hidden()


def test_an_older_answer_never_takes_the_place_of_a_newer_one(sign_in, monkeypatch):
    release, find = threading.Event(), palette.groups

    def slow(request, workspace, query):
        if query.text == "notes":
            release.wait(5)
        return find(request, workspace, query)

    monkeypatch.setattr(palette, "groups", slow)
    page = sign_in("endpoints")
    page.keyboard.press("Control+k")
    with page.expect_request("**/go?q=notes"):
        page.keyboard.type("notes")
    page.get_by_role("combobox", name="Find or do").fill("hitspec")
    expect(page.locator("#hit-1")).to_contain_text("hitspec")
    with page.expect_response("**/go?q=hitspec*") as _:
        page.get_by_role("combobox", name="Find or do").fill("hitspec ")
    release.set()

    expect(page.locator("#hit-1")).to_contain_text("hitspec")
    expect(page.locator("#hits")).not_to_contain_text("notes")


def test_whoever_types_and_presses_enter_at_once_gets_what_was_typed(sign_in):
    page = sign_in()

    page.keyboard.press("Control+k")
    expect(page.locator("#hits [role=option]").first).to_be_visible()
    page.keyboard.type("web-only")
    page.keyboard.press("Enter")

    page.wait_for_url("**/scopes/web-only")


def test_the_finder_is_a_page_without_script(browser, sign_in, live_address):
    state = sign_in().context.storage_state()
    context = browser.new_context(java_script_enabled=False, storage_state=state)
    page = context.new_page()
    page.goto(f"{live_address}/w/acme/endpoints")
    page.get_by_role("button", name="Find or do").click()
    page.locator("#go-q").fill("web-only")
    page.locator("main").get_by_role("button", name="Find").click()
    page.locator("main").get_by_role("link", name="web-only").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("web-only")
    context.close()


# --- shortcuts --------------------------------------------------------------------------------------------------------
def test_each_room_is_reached_by_its_letter(sign_in):
    page = sign_in("shortcuts")
    for shortcut in shortcuts.GO:
        page.wait_for_load_state()  # the page is there before its script listens
        page.keyboard.press("g")
        page.keyboard.press(shortcut.keys[1])
        expect(page.get_by_role("navigation", name="Main").locator("[aria-current=page]")).to_contain_text(
            shortcut.does
        )


def test_every_other_shortcut_that_is_listed_works(sign_in, workspace, decide):
    tried = {
        "Ctrl K": _finder,
        "/": _search,
        "P": _playground,
        "z": _undo,
        "?": _help,
        "Esc": _close,
        "j": _rows,
        "k": _rows,
        "Enter": _open,
        "x": _choose,
        "n": _changes,
        "p": _changes,
        "Space": _pause,
        "Alt ↑": _hints,
        "Alt ↓": _hints,
    }
    groups = (shortcuts.EVERYWHERE, shortcuts.LISTS, shortcuts.PARTS)
    listed = {" ".join(one.keys) for group in groups for one in group}
    assert listed == set(tried)

    entries.edit(workspace, "endpoints", "hitspec", {"use_when": ["first", "second"]}, by=EDITOR)
    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    decide()
    page = sign_in()
    for check in dict.fromkeys(tried.values()):
        check(page, page.url.split("/w/")[0] + "/w/acme/")


def _changes(page, home):
    page.goto(home + "publish")
    heads = page.locator(".changes > details > summary")
    assert heads.count() >= 2
    for key, place in (("n", 0), ("n", 1), ("p", 0)):
        page.keyboard.press(key)
        expect(heads.nth(place)).to_be_focused()


def _finder(page, home):
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_hidden()


def _search(page, home):
    page.goto(home + "tools")
    page.keyboard.press("/")
    expect(page.locator("#f-q")).to_be_focused()


def _playground(page, home):
    page.goto(home + "tools")
    page.keyboard.press("P")
    page.wait_for_url(home + "playground")


def _undo(page, home):
    page.goto(home + "endpoints/hitspec")
    page.get_by_role("textbox", name="Description").fill("Something else")
    page.keyboard.press("Tab")
    expect(page.locator("#toasts")).to_contain_text("saved to the draft")
    page.locator("#main").focus()
    page.keyboard.press("z")
    expect(page.get_by_role("textbox", name="Description")).to_have_value("HTTP request runner")


def _help(page, home):
    page.goto(home + "endpoints")
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()


def _close(page, home):
    page.keyboard.press("Escape")
    expect(page.locator("#shortcuts")).to_be_hidden()


def _rows(page, home):
    page.goto(home + "endpoints")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="notes")).to_be_focused()
    page.keyboard.press("k")
    expect(page.get_by_role("link", name="hitspec")).to_be_focused()


def _open(page, home):
    page.keyboard.press("Enter")
    page.wait_for_url("**/endpoints/hitspec")


def _choose(page, home):
    page.goto(home + "endpoints")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_role("checkbox", name="Choose hitspec")).to_be_checked()


def _pause(page, home):
    page.goto(home)
    page.keyboard.press("Space")
    expect(page.locator("[data-pause]")).to_have_attribute("aria-pressed", "true")


def _hints(page, home):
    page.goto(home + "endpoints/hitspec")
    page.get_by_label("Hint 2", exact=True).press("Alt+ArrowUp")
    expect(page.get_by_label("Hint 1", exact=True)).to_have_value("second")
    page.get_by_label("Hint 1", exact=True).press("Alt+ArrowDown")
    expect(page.get_by_label("Hint 1", exact=True)).to_have_value("first")


# --- questions before something stops -----------------------------------------------------------------------------------
def test_discarding_names_what_is_lost_and_the_safe_choice_has_the_focus(sign_in, workspace):
    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    page = sign_in("publish")

    page.get_by_role("link", name="Discard draft").click()
    question = page.get_by_role("dialog", name="Discard 1 change?")
    expect(question).to_contain_text("made by an-editor")
    expect(question.get_by_role("link", name="Keep the draft")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Discard draft")).to_be_focused()
    assert len(registry.draft_changes(workspace)) == 1

    page.keyboard.press("Enter")
    question.get_by_role("button", name="Discard draft").click()
    expect(page.locator("#toasts")).to_contain_text("The draft is dropped")
    assert registry.draft_changes(workspace) == []


def test_publishing_what_stops_something_says_so_first(sign_in, workspace):
    gone = {**DOCUMENT, "endpoints": [one for one in DOCUMENT["endpoints"] if one["name"] != "notes"]}
    gone["scopes"] = [one for one in DOCUMENT["scopes"] if "notes" not in str(one)]
    registry.replace_working_copy(workspace, gone, by=EDITOR)
    page = sign_in("publish")
    page.get_by_role("textbox", name="Message").fill("Without notes")

    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Publish what stops something?")
    expect(page.locator("main")).to_contain_text("Endpoint notes")
    expect(page.get_by_role("link", name="Back to the draft")).to_be_focused()
    page.locator("main").get_by_role("button", name="Publish").click()

    expect(page.get_by_role("heading", name="Revision 3")).to_be_visible()
