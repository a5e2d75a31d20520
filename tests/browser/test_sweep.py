"""Every page of the console, in both themes and at three widths, with all that is folded open, and what opens over pages.

The pages are those of the table of doors: whoever adds an address declares it there, and it is swept from then on.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser import filled
from tests.browser.sweep import Sweep

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OTHERS = (
    "go?q=hitspec",
    "connect?scope=web-only",
    "audit?action=changes",
    "revisions/compare?from=1&to=2",
    "revisions/compare?from=1&to=99",
    "../../account",
    "../../workspaces",
)
NOTHING = "?q=nothing-is-named-like-this"
HAS_SEARCH = """() => !!document.querySelector("main [data-search]")"""
QUESTIONS = (
    """() => [...document.querySelectorAll("main a[hx-target='#confirm']")].map((link) => link.getAttribute("href"))"""
)


@pytest.fixture
def known(workspace, decide):
    return filled.fill(workspace, decide)


@pytest.fixture
def sweep(sign_in, known, live_address) -> Sweep:
    return Sweep(sign_in("shortcuts"), live_address)


@pytest.fixture(autouse=True)
def _answered(page):
    """What the browser says of pages is counted by the sweep."""
    yield
    page.errors.clear()


def test_every_page_is_sound_in_both_themes_and_at_every_width_and_so_is_every_question_over_it(sweep, known):
    pages, lists, asked = 0, 0, 0
    for name, path in filled.addresses(known, "plain"):
        if not sweep.visit(path, name):
            continue
        pages += 1
        asked += _questions(sweep)
        if sweep.page.evaluate(HAS_SEARCH):
            lists += 1
            sweep.visit(path + NOTHING, f"{name}, nothing found", themes=("light",))

    assert not sweep.faults, "\n".join(sweep.faults)
    assert pages > 20 and lists > 8 and asked > 5


def test_every_page_is_sound_with_names_that_try_to_leave_their_place(sweep, known):
    pages = sum(sweep.visit(path, name) for name, path in filled.addresses(known, "odd"))

    assert not sweep.faults, "\n".join(sweep.faults)
    assert pages > 20


def test_pages_with_a_question_in_their_address_and_those_outside_workspaces_are_sound(sweep):
    for path in OTHERS:
        sweep.visit(f"/w/acme/{path}", path)
    for path in ("/w/acme/no-such-page", "/w/no-such/"):
        sweep.visit(path, path, status=404)

    assert not sweep.faults, "\n".join(sweep.faults)


def test_finder_menus_and_messages_are_sound_over_a_page(sweep):
    page = sweep.page
    sweep.open("/w/acme/endpoints/hitspec", "endpoint")
    page.keyboard.press("Control+k")
    page.keyboard.type("hitspec")
    expect(page.locator("#hits mark").first).to_be_visible()
    sweep.look("finder")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    sweep.look("shortcuts")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="account of ada").click()
    sweep.look("account")
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Menu").click()
    sweep.look("menu")
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Description").fill("Another")
    page.keyboard.press("Tab")
    expect(page.locator("#toasts")).to_contain_text("saved to the draft")
    sweep.look("message")

    assert not sweep.faults, "\n".join(sweep.faults)


def _questions(sweep: Sweep) -> int:
    """Looks at every question that opens over the page as it stands; answers how many there are."""
    page = sweep.page
    asked = dict.fromkeys(page.evaluate(QUESTIONS))
    for href in asked:
        page.locator(f"main a[hx-target='#confirm'][href='{href}']").first.evaluate("link => link.click()")
        expect(page.locator("#confirm")).to_be_visible()
        sweep.look(f"question {href.split('/')[-1]}")
        page.keyboard.press("Escape")
    return len(asked)
