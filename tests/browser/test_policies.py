"""Execution rules written by hand, and tried before anything is published."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing.services import registry

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_rules_are_written_moved_by_keyboard_and_tried_before_they_are_live(sign_in, workspace):
    page = sign_in("policies/default")
    lines = page.locator(".rulelist > li")

    page.get_by_role("button", name="Add a rule").click()
    expect(lines).to_have_count(1)
    lines.nth(0).get_by_label("Verdict").select_option("deny")
    expect(page.locator("#rule-0 code")).to_have_text("rules[0]")
    page.get_by_role("button", name="Add a rule").click()
    lines.nth(1).get_by_label("Tool").fill("hitspec__hitspec_fetch")
    lines.nth(1).get_by_label("Verdict").select_option("ask")
    expect(page.locator("#rule-1 [data-note=never]")).to_contain_text("rules[0] fits wherever it does")

    lines.nth(1).get_by_label("Tool").focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#rule-0")).to_contain_text("the tool hitspec__hitspec_fetch")
    expect(page.locator("[data-note]")).to_have_count(0)
    (policy,) = registry.working_document(workspace)["policies"]
    assert [rule["verdict"] for rule in policy["execution"]["rules"]] == ["ask", "deny"]

    page.get_by_role("link", name="Try it").click()
    page.get_by_label("Tool", exact=True).fill("hitspec__fetch")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.locator("[data-side='1'] .status")).to_have_text("Allow")
    expect(page.locator("[data-side='2'] .status")).to_have_text("Ask")
    page.get_by_role("link", name="Different in the draft").click()
    expect(page.locator("#list tbody[data-rows] tr, #list [data-rows] tbody tr").first).to_contain_text("differs")
