"""On paper: dark ink on white whatever the theme, without controls, with exact times."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_page_in_the_dark_theme_prints_dark_on_white_with_exact_times(sign_in, live_address):
    page = sign_in()
    page.context.add_cookies([{"name": "switchyard_theme", "value": "dark", "url": live_address}])
    page.goto(f"{live_address}/w/acme/revisions")
    page.emulate_media(media="print")

    ink = page.get_by_role("heading", level=1).evaluate("node => getComputedStyle(node).color")
    assert all(int(part) < 80 for part in ink.removeprefix("rgb(").removesuffix(")").split(","))
    expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    time = page.locator("main time[data-ago]").first
    said = time.evaluate("node => getComputedStyle(node, '::after').content")
    assert time.get_attribute("title") in said and "UTC" in said
