"""A draft is published to one scope first, does worse there, is stopped by itself, and the console says so."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing.models import CanaryRow
from routing.services import decisions, entries, ledger
from routing.services.canaries import looking
from routing.services.decisions import Caller
from tests.routing.conftest import EDITOR

pytestmark = pytest.mark.browser
QUERY = "fetch a public web page as readable Markdown"


@pytest.fixture
def ask(workspace):
    """Ask as two harnesses, one of each scope, and let the ledger's writer take it in; answers the revisions and verdicts."""

    def ask(times: int = 1) -> list[tuple[int, str]]:
        callers = [Caller(workspace_id=workspace.pk, scope=scope, harness=f"of-{scope}") for scope in SCOPES]
        for _ in range(times):
            answers = [decisions.resolve(caller, QUERY) for caller in callers]
        ledger.write(workspace.pk)
        return [(answer["revision"], answer["status"]) for answer in answers]

    return ask


SCOPES = ("web-only", "default")


def test_a_canary_that_does_worse_is_stopped_by_itself_and_everybody_is_told(workspace, sign_in, ask):
    entries.edit(workspace, "scopes", "web-only", {"tools": []}, by=EDITOR)
    page = sign_in("publish")
    page.get_by_label("Message").first.fill("The web without its tools")
    page.get_by_text("Publish to some first", exact=True).first.click()
    page.get_by_label("web-only").check()
    page.get_by_label("Judge from so many in both groups").fill("20")
    page.get_by_role("button", name="Publish to some first").click()

    page.wait_for_url("**/revisions/3/canary")
    expect(page.locator("#canary")).to_contain_text("Revision 3 answers scope web-only; revision 2 answers all others")
    assert ask(20) == [(3, "no_match"), (2, "confident")]
    expect(page.locator("#canary")).to_contain_text("20 of 20", timeout=15_000)

    assert looking.look_after_all() == 1
    expect(page.get_by_text("Stopped by its bound")).to_be_visible(timeout=15_000)  # by itself, where it stood open
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert ask()[0] == (2, "confident")

    page.get_by_role("link", name="Overview").click()
    expect(page.locator("#canary-banner")).to_contain_text("The canary of revision 3 was stopped by itself")
    page.get_by_role("link", name="Look at its figures").click()
    page.get_by_role("link", name="20 of 20", exact=True).first.click()
    page.wait_for_url("**/decisions?revision=3*")
    expect(page.locator("#list")).to_contain_text("No match")
    assert CanaryRow.objects.get().measure == "no_match"


def test_somebody_promotes_it_after_being_asked(workspace, sign_in, ask):
    entries.edit(workspace, "endpoints", "hitspec", {"description": "Fetches pages"}, by=EDITOR)
    page = sign_in("publish")
    page.get_by_label("Message").first.fill("Said better")
    page.get_by_text("Publish to some first", exact=True).first.click()
    page.get_by_label("web-only").check()
    page.get_by_role("button", name="Publish to some first").click()
    page.wait_for_url("**/revisions/3/canary")

    page.get_by_role("link", name="Promote to everybody").click()
    page.locator("#confirm").get_by_role("button", name="Promote to everybody").click()

    expect(page.locator("#canary")).to_contain_text("Revision 3 answers everybody")
    assert [revision for revision, _ in ask()] == [3, 3]
