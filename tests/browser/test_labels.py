"""Decisions are labelled in the list without leaving it, and with another tool on their page."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing.models import Label

pytestmark = pytest.mark.browser


def test_a_narrow_page_shows_each_decision_as_a_card_with_its_label_below(sign_in, decide):
    decide()
    page = sign_in("decisions")
    page.set_viewport_size({"width": 390, "height": 844})
    row = page.locator("tbody tr")
    verdict, time, name = (row.locator(cell).bounding_box() for cell in (".status", "time", ".main"))
    label = row.locator(".labelling").bounding_box()

    assert abs(verdict["y"] - time["y"]) < 12 and verdict["x"] < time["x"]
    assert name["x"] == pytest.approx(verdict["x"], abs=12) and name["y"] > verdict["y"]
    assert label["y"] > name["y"]


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
