"""A shadow policy is begun in the console, its figures come by themselves, and a difference leads to its decision."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing.models import ShadowPolicy
from routing.services import entries
from tests.routing.conftest import EDITOR

pytestmark = pytest.mark.browser


def test_live_traffic_is_scored_and_differences_appear_by_themselves(workspace, decide, sign_in):
    entries.add(workspace, "policies", {"name": "default", "resolver": {"confident_at": 0.999}}, by=EDITOR)
    page = sign_in("policies/default")

    page.get_by_role("link", name="Score live traffic with this draft").click()
    page.get_by_role("button", name="Score live traffic with this draft").click()
    expect(page.locator("#state")).to_contain_text("7 days left")

    decision = decide()
    expect(page.locator("#state")).to_contain_text("Would be ambiguous")  # no reload
    page.locator("#state").get_by_role("link", name="Would be ambiguous").click()
    page.locator("#list").get_by_role("link", name="Would be ambiguous", exact=True).click()
    page.wait_for_url(f"**/decisions/{decision}")
    page.go_back()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#state")).to_contain_text("stopped it.")
    assert ShadowPolicy.objects.get().ended_because == "stopped"
