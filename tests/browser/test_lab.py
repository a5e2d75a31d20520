"""The slider of the threshold lab moves figures and drawing, and a threshold ends up in the draft; without script too."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from uuid_utils.compat import uuid7

from routing.models import Decision, Label
from routing.services import registry
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser


@pytest.fixture
def judged(workspace, decide):
    """40 labelled answers of rising probability."""
    row = Decision.objects.get(pk=decide())
    for number in range(40):
        row.pk, row.probability, row.reason_codes = uuid7(), 0.5 + number / 100, ["clear_margin"]
        row.save(force_insert=True)
        verdict = "wrong" if number % 4 == 0 else "right"
        Label.objects.create(workspace=workspace, decision=row, verdict=verdict, person="x", by="x", at=row.created_at)
    return workspace


def test_the_slider_moves_the_figures_and_the_threshold_goes_into_the_draft(judged, sign_in):
    page = sign_in("lab")
    expect(page.locator("#lab")).to_contain_text("10 of 40 answers would have been confident")

    page.get_by_label("Threshold", exact=True).fill("0.6")
    expect(page.locator("#lab")).to_contain_text("30 of 40 answers would have been confident")
    page.wait_for_url("**at=0.6*")
    page.get_by_role("button", name="Propose 0.60 as draft").click()

    expect(page.locator("#toasts")).to_contain_text("confident_at 0.60 in the draft")
    (policy,) = registry.working_document(judged)["policies"]
    assert policy["resolver"] == {"confident_at": 0.6}


def test_without_script_the_slider_is_a_form(judged, browser, live_address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live_address}/sign-in?next=/w/acme/lab")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()

    page.get_by_label("Threshold", exact=True).fill("0.7")
    page.get_by_role("button", name="Apply").click()

    expect(page.locator("#lab")).to_contain_text("20 of 40 answers would have been confident")
    expect(page.get_by_role("img", name="Share of confident answers that were right")).to_be_visible()
    context.close()
