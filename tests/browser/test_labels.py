"""Decisions are labelled in the list without leaving it, and with another tool on their page."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing.models import Label

pytestmark = pytest.mark.browser


def test_a_decision_is_labelled_in_the_list_and_corrected_on_its_page(sign_in, decide):
    decision = decide()
    page = sign_in("decisions")

    page.get_by_role("button", name="Right: hitspec__fetch").click()
    expect(page.locator(f"#label-{decision}")).to_contain_text("Right")
    page.get_by_role("button", name="Take back your label").click()
    expect(page.get_by_role("button", name="Wrong: hitspec__fetch")).to_be_visible()

    page.goto(page.url + f"/{decision}")
    page.get_by_label("Should have been").fill("hitspec__validate")
    page.get_by_role("button", name="Say so").click()

    expect(page.locator("#labels")).to_contain_text("should have been hitspec__validate")
    assert Label.objects.get().tool == "hitspec__validate"
