"""The workbench as a whole: a clash is found, understood, mended, guarded, replayed, reviewed, published, and taken back."""

from __future__ import annotations

from uuid import UUID

import pytest
from playwright.sync_api import expect

from routing.models import Workspace
from routing.services import registry, replays, revisions, workspaces
from routing.services.doctor import examinations
from tests.browser.sweep import violations
from tests.routing.conftest import EDITOR
from tests.web.test_doctor import TWINS

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CLASH = "write down what the customer said"
ASKED = (CLASH, "write down what a customer said on the phone", "please write down what this customer said today")
FETCH = "fetch https://example.com/guide as Markdown"


@pytest.fixture
def clashing(workspace, monkeypatch) -> Workspace:
    """Live: two hints that tie, texts that are recorded, reviews by somebody else, and a worker that is at it at once."""
    registry.replace_working_copy(workspace, TWINS, by=EDITOR)
    revisions.publish(workspace, message="Books and customers", by=EDITOR)
    workspaces.configure(workspace, {"record_queries": True, "approvals_needed": 1}, by=EDITOR)
    monkeypatch.setattr(examinations.workers, "_send", lambda pk: examinations.make(UUID(pk)))
    monkeypatch.setattr(replays.workers, "_send", lambda pk: replays.run(UUID(pk)))
    return workspace


def test_a_clash_is_found_mended_guarded_replayed_published_and_taken_back(clashing, decide, enter):
    before, *_ = [decide(text) for text in (*ASKED, FETCH)]
    eve = enter("eve", "editor", "doctor")
    _sees_the_tie(eve)
    _edits_the_hint(eve)
    _adds_an_expectation(eve)
    _proposes(eve, "Books are for ideas")

    rob = enter("rob", "reviewer", "publish")
    _sees_three_flips(rob)
    _approves_and_publishes(rob, 4)
    assert _verdict(rob, decide(CLASH)) == "Confident"

    _finds_the_publication(eve, 4)
    _restores(eve, 3)
    _approves_and_publishes(rob, 5)
    assert _verdict(rob, decide(CLASH)) == _verdict(rob, before) == "Ambiguous"
    _finds_the_publication(eve, 5)


def _at(page, path: str = "") -> None:
    page.goto(f"{page.url.split('/w/')[0]}/w/acme/{path}")


def _sees_the_tie(page) -> None:
    clash = page.locator("tr", has_text="Hints that tie")
    expect(clash).to_have_count(1)
    expect(clash.get_by_role("list", name="Words")).to_contain_text("customer")
    clash.get_by_role("link", name="Try it").click()
    expect(page.locator("#q")).to_have_value(CLASH)
    live = page.locator("[data-side=live]")
    expect(live).to_contain_text("Ambiguous")
    expect(live.locator(".cand").nth(0)).to_contain_text("books__jot")
    expect(live.locator(".cand").nth(1)).to_contain_text("crm__log_call")


def _edits_the_hint(page) -> None:
    _at(page, "doctor")
    page.locator("tr", has_text="Hints that tie").get_by_role("link", name="Edit the hint").click()
    hint = page.locator("textarea[autofocus]")
    expect(hint).to_have_value(CLASH)
    hint.fill("keep an idea for a story of your own")
    page.keyboard.press("Tab")
    expect(page.locator("#draftchip")).to_contain_text("1 change")
    _at(page, "doctor")
    expect(page.locator("#list table")).to_be_visible()
    expect(page.locator("tr", has_text="Hints that tie")).to_have_count(0)


def _adds_an_expectation(page) -> None:
    _at(page, "playground")
    page.locator("#q").fill(CLASH)
    expect(page.locator("[data-side=live]")).to_contain_text("Ambiguous")
    expect(page.locator("[data-side=other]")).to_contain_text("Confident")
    page.get_by_role("button", name="Save as expectation").click()
    expect(page.locator("#f-query")).to_have_value(CLASH)
    expect(page.locator("#f-recommendation")).to_have_value("crm__log_call")
    page.locator("#f-name").fill("what customers say goes to crm")
    page.get_by_role("button", name="Save to the draft").click()
    expect(page.get_by_role("row", name="what customers say goes to crm")).to_contain_text("Met")


def _proposes(page, message: str) -> None:
    page.get_by_role("link", name="Review and publish").first.click()
    page.get_by_role("textbox", name="Message").fill(message)
    page.get_by_role("button", name="Propose for review").click()
    expect(page.locator("#toasts")).to_contain_text("Proposed as revision 4")


def _sees_three_flips(page) -> None:
    panel = page.get_by_role("region", name="What this would change")
    expect(panel.get_by_text("3 of 4 decisions, replayed in")).to_be_visible()
    expect(panel.get_by_role("row").filter(has_text="crm__log_call")).not_to_have_count(0)
    counts = panel.locator("tbody td[data-label=Count]").all_inner_texts()
    assert sum(int(count) for count in counts) == 3
    assert not violations(page)


def _approves_and_publishes(page, number: int) -> None:
    _at(page, "publish")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#toasts")).to_contain_text(f"Revision {number} approved")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_role("heading", name=f"Revision {number}")).to_be_visible()


def _verdict(page, decision: str) -> str:
    _at(page, f"decisions/{decision}")
    return page.locator("main .status").first.inner_text().strip()


def _finds_the_publication(page, number: int) -> None:
    _at(page)
    mark = page.get_by_role("list", name="Published in the").get_by_role("link", name=f"Revision {number} went live")
    expect(mark).to_be_visible()
    assert page.evaluate("document.querySelector('#marks').dataset.moments.split(' ').length") == number
    mark.click()
    expect(page.get_by_role("heading", name=f"Revision {number}")).to_be_visible()


def _restores(page, number: int) -> None:
    _at(page, f"revisions/{number}")
    page.get_by_role("link", name="Restore…").click()
    page.get_by_role("button", name="Restore as a new revision").click()
    expect(page.locator("#toasts")).to_contain_text(f"Revision {number} is proposed anew as revision 5")
