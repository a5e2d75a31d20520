"""Saved views, and where the focus is after something on the page was replaced."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_view_is_saved_picked_and_made_the_default(sign_in, decide):
    decide()
    page = sign_in("decisions")
    page.get_by_label("Verdict").select_option("fallback")
    page.wait_for_url("**/decisions?status=fallback")
    page.locator("#views-s").click()
    page.get_by_label("Save what is shown as").fill("Fell back")
    page.locator("#views").get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("View Fell back saved")

    page.goto(page.url.split("?")[0])
    page.locator("#views-s").click()
    page.get_by_role("link", name="Fell back").click()
    page.wait_for_url("**/decisions?status=fallback")
    page.locator("#views-s").click()
    page.get_by_role("link", name="Rename, delete, choose a default").click()
    page.get_by_role("button", name="Make Fell back the default").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Decisions").click()
    page.wait_for_url("**/decisions?status=fallback")
    page.get_by_role("link", name="Clear all").first.click()
    page.wait_for_url("**/decisions?view=all")


def test_the_focus_is_not_lost_after_undo(sign_in):
    page = sign_in("endpoints/hitspec")
    page.get_by_role("textbox", name="Description").fill("Something else")
    page.keyboard.press("Tab")
    undo = page.locator("#toasts").get_by_role("button", name="Undo")
    undo.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Description")).to_have_value("HTTP request runner")

    expect(page.locator("body")).not_to_be_focused()


def test_the_focus_stays_on_a_filter_that_replaces_the_list(sign_in):
    page = sign_in("tools")
    page.locator("#f-effect").focus()
    page.locator("#f-effect").select_option("read")
    page.wait_for_url("**/tools?effect=read")

    expect(page.locator("#f-effect")).to_be_focused()


def test_a_message_waits_while_it_has_the_focus_or_the_pointer(sign_in):
    page = sign_in("endpoints/hitspec")
    page.clock.install()
    page.get_by_role("textbox", name="Description").fill("Something else")
    page.keyboard.press("Tab")
    toast = page.locator("#toasts [data-toast]")
    expect(toast).to_be_visible()
    toast.get_by_role("button", name="Undo").focus()
    page.clock.run_for(30_000)
    expect(toast).to_be_visible()
    page.locator("#main").focus()
    toast.hover()
    page.clock.run_for(30_000)
    expect(toast).to_be_visible()
    page.mouse.move(5, 300)
    page.clock.run_for(11_000)
    expect(toast).to_have_count(0)
