"""A clash of hints from its discovery to its end: named with its words, its hint opened with one click, gone after the edit."""

from __future__ import annotations

from uuid import UUID

import pytest
from playwright.sync_api import expect

from routing.services import registry
from routing.services.doctor import examinations
from tests.routing.conftest import EDITOR
from tests.web.test_doctor import TWINS

pytestmark = pytest.mark.browser


@pytest.fixture
def ill(workspace, monkeypatch):
    """A draft with two hints that tie; whoever asks for an examination has one made at once, as by a worker."""
    registry.replace_working_copy(workspace, TWINS, by=EDITOR)
    monkeypatch.setattr(examinations.workers, "_send", lambda one: examinations.make(UUID(one)))
    return workspace


def test_a_clash_is_named_opened_mended_and_gone(ill, sign_in):
    page = sign_in("doctor")
    clash = page.locator("tr", has_text="Hints that tie")

    expect(clash).to_have_count(1)  # after the page has asked again by itself
    expect(clash.get_by_role("list", name="Words")).to_contain_text("customer")
    clash.get_by_role("link", name="Try it").click()
    expect(page.locator("textarea[name=q]")).to_have_value("write down what the customer said")
    expect(page.locator("#answer")).to_contain_text("crm__log_call")
    page.go_back()
    clash.get_by_role("link", name="Edit the hint").click()

    hint = page.locator("textarea[autofocus]")
    expect(hint).to_be_focused()
    expect(hint).to_have_value("write down what the customer said")
    hint.fill("keep an idea for a story of your own")
    page.keyboard.press("Tab")
    expect(page.locator("#toasts")).to_contain_text("saved to the draft")

    page.get_by_role("link", name="Hint doctor").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hint doctor")
    expect(page.locator("#list table")).to_be_visible()
    expect(page.locator("tr", has_text="Hints that tie")).to_have_count(0)


def test_an_edit_that_needs_no_words_is_one_click_and_can_be_undone(ill, sign_in):
    page = sign_in("doctor?kind=hint_without_tool")

    page.get_by_role("button", name="Do it in the draft").click()

    expect(page.locator("#toasts")).to_contain_text("mended in the draft")
    expect(page.locator("#list")).to_contain_text("No finding fits")
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Do it in the draft")).to_have_count(1)


def test_a_finding_is_left_with_a_reason_and_found_among_the_ignored(ill, sign_in):
    page = sign_in("doctor?kind=capability_unused")
    page.get_by_text("Leave as it is").first.click()
    page.get_by_label("Why").first.fill("It comes next week")
    page.get_by_role("button", name="Ignore it").click()

    expect(page.locator("#list")).to_contain_text("1 ignored")
    page.get_by_label("Open or ignored").select_option("Ignored")
    expect(page.locator("#list")).to_contain_text("It comes next week")
    page.wait_for_url("**show=ignored**")
