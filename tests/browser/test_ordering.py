"""Preferred endpoints are put in order with the pointer; buttons and keys do the same elsewhere in these tests."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from routing import working
from routing.services import entries
from tests.routing.conftest import EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = "a-name-that-is-as-long-as-a-name-may-be-" + "x" * 24
NAMES = ["hitspec", LONG, "notes"]


@pytest.fixture
def order(workspace):
    """The order that the draft has."""
    entries.add(workspace, "endpoints", {"name": LONG, "kind": "declared"}, by=EDITOR)
    entries.add(workspace, "capabilities", {"name": "reading", "prefer": NAMES}, by=EDITOR)
    return lambda: working.copy_of(workspace).entry("capabilities", "reading")["prefer"]


@pytest.fixture(params=[1440, 390])
def page(request, sign_in, order) -> Page:
    page = sign_in("capabilities/reading")
    page.set_viewport_size({"width": request.param, "height": 900})
    return page


def line(page: Page, name: str):
    return page.locator("[data-ordered] > li").filter(has=page.locator(f"input[value='{name}']"))


def drag(page: Page, name: str, to: str, *, low: bool) -> None:
    """Take a line by its grip and let it go near the upper or the lower edge of another."""
    room = line(page, to).bounding_box()
    line(page, name).locator(".grip").drag_to(
        line(page, to), target_position={"x": room["width"] / 2, "y": room["height"] * (0.9 if low else 0.1)}
    )


def shows(page: Page, *names: str) -> None:
    expect(page.locator("[data-ordered] > li .mono")).to_have_text([f"{n}. {name}" for n, name in enumerate(names, 1)])


def test_a_line_that_is_dragged_down_or_up_stays_where_it_was_dropped(page, order):
    drag(page, "hitspec", LONG, low=True)
    shows(page, LONG, "hitspec", "notes")
    assert order() == [LONG, "hitspec", "notes"]
    drag(page, "notes", LONG, low=False)
    shows(page, "notes", LONG, "hitspec")
    assert order() == ["notes", LONG, "hitspec"]
    expect(page.locator("#toasts")).to_contain_text("Preferred endpoints")
    assert page.evaluate("document.activeElement !== document.body")


def test_a_line_that_is_dropped_outside_the_list_goes_back(page, order):
    line(page, "notes").locator(".grip").drag_to(page.get_by_role("heading", level=1))

    expect(page.locator("[data-ordered] > li")).to_have_count(3)
    assert [one.get_attribute("value") for one in page.locator("[data-ordered] input").all()] == NAMES
    assert order() == NAMES
