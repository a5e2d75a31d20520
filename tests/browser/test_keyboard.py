"""The main tasks with the keyboard alone: nothing is clicked, and every control is reached with Tab."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from routing.services import registry, revisions
from tests.cast import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MOST = 150  # presses of Tab to the farthest control of a page
IMPORTED = '{"version": 1, "endpoints": [{"name": "files", "kind": "declared"}]}'


@pytest.fixture
def page(page, live_address, workspace) -> Page:
    """Signed in, without a pointer."""
    page.goto(f"{live_address}/sign-in?next=/w/acme/endpoints")
    reach(page.get_by_label("User name"))
    page.keyboard.type("ada")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Endpoints", level=1)).to_be_visible()
    page.wait_for_load_state()
    yield page
    page.goto("about:blank")


def reach(control: Locator) -> None:
    """Press Tab until this control has the focus."""
    expect(control).to_be_attached()
    for _ in range(MOST):
        if control.evaluate("node => node === document.activeElement"):
            return
        control.page.keyboard.press("Tab")
    raise AssertionError(f"{control} is not reached with Tab")


def press(control: Locator, key: str = "Enter") -> None:
    reach(control)
    control.page.keyboard.press(key)


def test_a_hint_is_written_talked_about_and_published(page, workspace):
    reach(page.get_by_role("link", name="Skip to content"))
    page.keyboard.press("Enter")
    reach(page.locator("#f-q"))
    page.keyboard.type("hits")
    page.wait_for_url("**/endpoints?q=hits")
    expect(page.locator("#f-q")).to_be_focused()
    press(page.get_by_role("link", name="hitspec", exact=True))
    press(page.get_by_role("button", name="Add a hint").first)
    expect(page.get_by_label("Hint 2", exact=True)).to_be_focused()
    page.keyboard.type("keep an article as text")
    page.keyboard.press("Tab")
    expect(page.locator("#draftchip")).to_contain_text("1 change")
    page.wait_for_function("document.activeElement !== document.body")

    page.keyboard.press("g")
    if page.evaluate("document.activeElement.matches('input, textarea')"):
        press(page.get_by_role("link", name="Review draft"))
    else:
        page.keyboard.press("p")
    page.wait_for_url("**/publish")
    press(page.get_by_role("link", name="Comment on this change").first)
    reach(page.get_by_role("textbox", name="Comment").first)
    page.keyboard.type("Reads well")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".comment").first).to_contain_text("Reads well")
    press(page.get_by_role("button", name="Resolve"))
    reach(page.get_by_role("textbox", name="Message"))
    page.keyboard.type("Say when to keep an article")
    press(page.get_by_role("button", name="Publish", exact=True))

    expect(page.get_by_role("heading", name="Revision 3")).to_be_visible()
    assert revisions.live_document(workspace)["endpoints"][0]["use_when"][1] == "keep an article as text"


def test_a_key_is_made_and_revoked(page):
    press(page.get_by_role("navigation", name="Main").get_by_role("link", name="Keys"))
    page.wait_for_url("**/keys")
    press(page.get_by_role("link", name="New key").first)
    reach(page.locator("#id_name"))
    page.keyboard.type("night-shift")
    reach(page.get_by_label("Scope", exact=True))
    page.keyboard.press("ArrowDown")
    reach(page.get_by_label("simulate"))
    page.keyboard.press("Space")
    press(page.get_by_role("button", name="Make the key"))
    expect(page.locator("#plain")).to_contain_text("swy_")

    press(page.get_by_role("navigation", name="Main").get_by_role("link", name="Keys"))
    press(page.get_by_role("link", name="Revoke night-shift"))
    expect(page.get_by_role("dialog").get_by_role("link", name="Keep it")).to_be_focused()
    press(page.get_by_role("dialog").get_by_role("button", name="Revoke"))
    expect(page.locator("#toasts")).to_contain_text("Key night-shift is revoked")


def test_a_document_is_imported(page, workspace):
    press(page.get_by_role("link", name="Import").first)
    reach(page.get_by_label("Or its text"))
    page.keyboard.insert_text(IMPORTED)
    press(page.get_by_role("button", name="Show what would happen"))
    expect(page.get_by_text("files").first).to_be_visible()
    press(page.locator("main button.primary"))

    expect(page.locator("#draftchip")).to_contain_text("1 change")
    assert "files" in [one["name"] for one in registry.working_document(workspace)["endpoints"]]


def test_the_finder_leads_to_a_row_that_j_and_k_walk(page):
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Find or do")).to_be_focused()
    page.keyboard.type("tools")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tools")
    page.wait_for_load_state()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#list tbody a.main").nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_contain_text("hitspec__fetch")


def test_who_types_and_enters_before_the_first_answer_goes_where_the_words_lead(page):
    early: list[Route] = []
    page.route(
        "**/w/acme/go", lambda route: early.append(route)
    )  # what the empty field finds, held back until more was typed
    page.clock.install()
    page.clock.pause_at(
        datetime.now() + timedelta(hours=1)
    )  # what was typed is asked for after a while that stands still
    with page.expect_request("**/w/acme/go"):
        page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Find or do")).to_be_focused()
    page.keyboard.type("tools")
    page.keyboard.press("Enter")
    early[0].continue_()
    expect(page.get_by_role("option", name="Overview")).to_be_attached()
    page.clock.resume()
    page.wait_for_url("**/tools")


def test_the_theme_is_changed_from_the_account_and_stays(page):
    def colour() -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    press(page.get_by_role("button", name="account of ada"))
    themes = page.locator("#account")
    press(themes.get_by_role("button", name="Dark"))
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = colour()
    press(page.get_by_role("button", name="account of ada"))
    expect(themes.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    press(themes.get_by_role("button", name="Light"), "Space")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert colour() != dark

    press(page.get_by_role("navigation", name="Main").get_by_role("link", name="Tools"))
    page.wait_for_url("**/tools")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    press(page.get_by_role("button", name="Theme: light"))
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
