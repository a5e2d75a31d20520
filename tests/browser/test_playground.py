"""Try a request while typing, share it, and make an expectation of it that then holds the draft back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing.models import Decision
from routing.services import entries, registry
from tests.browser.sweep import Sweep
from tests.cast import PASSWORD
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web import crowd

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FETCH = "fetch a public web page as readable Markdown text"
MARK = "wish-that-nobody-logs"


def first(page, side="live"):
    return page.locator(f"[data-side={side}] .cand").first


def test_the_ranking_follows_what_is_typed_and_no_address_ever_names_it(sign_in, workspace):
    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    page = sign_in("playground")
    told: list[str] = []
    page.on("request", lambda request: told.append(f"{request.url} {request.headers.get('hx-current-url')}"))

    page.locator("#q").press_sequentially(f"{FETCH} {MARK}")
    expect(first(page)).to_contain_text("hitspec__fetch")
    expect(first(page, "other")).to_contain_text("hitspec__fetch")
    expect(page.locator("#flips")).to_contain_text("comes second")
    page.get_by_role("button", name="notes__add_note").or_(
        page.locator("[data-side=live] .cand button").nth(1)
    ).first.click()
    expect(page.locator("#h-ex")).not_to_contain_text("hitspec__fetch")
    expect(page.locator("#q")).to_have_value(f"{FETCH} {MARK}")
    page.get_by_label("hitspec", exact=True).check()
    expect(page.locator("[data-side=live]")).to_contain_text("Away")

    page.get_by_role("button", name="Share").click()
    link = page.evaluate("location.href")
    assert MARK in link.split("#")[1]
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("[data-side=live]")).to_contain_text("Away")
    expect(page.locator("#q")).to_have_value(f"{FETCH} {MARK}")
    assert told and not [line for line in told if MARK in line]
    assert not Decision.objects.exists()


def test_other_forms_are_asked_too(sign_in):
    page = sign_in("playground")

    page.locator("#pg-form").select_option("activity")
    expect(page.locator("#q")).to_be_hidden()
    page.get_by_label("Current activity").fill("fetch a web page as Markdown")
    expect(first(page)).to_contain_text("hitspec__fetch")
    page.locator("#pg-form").select_option("route")
    page.locator("#pg-route").fill(FETCH)
    expect(page.locator("[data-side=live]")).to_contain_text("Selected")
    page.locator("#pg-form").select_option("endpoint")
    expect(page.locator("#answer")).to_contain_text("not part of this version")
    expect(page.get_by_role("button", name="Save as expectation")).to_be_hidden()


def test_the_finder_leads_there_with_the_words(sign_in):
    page = sign_in("endpoints")
    page.wait_for_load_state()
    page.keyboard.press("Control+k")
    page.locator("#pq").press_sequentially("fetch a page")
    page.get_by_role("option", name="Try “fetch a page” in the playground").click()

    expect(first(page)).to_contain_text("hitspec__fetch")
    assert page.evaluate("location.search") == ""


def test_what_came_out_is_made_an_expectation_and_holds_the_draft_back(sign_in, workspace):
    page = sign_in("playground")
    page.locator("#q").fill(FETCH)
    expect(first(page)).to_contain_text("hitspec__fetch")
    page.get_by_role("button", name="Save as expectation").click()
    page.locator("#f-name").fill("pages go to hitspec")
    page.get_by_role("button", name="Ask it now").click()
    expect(page.locator("#tried")).to_contain_text("Met")
    page.get_by_role("button", name="Save to the draft").click()
    expect(page.get_by_role("row", name="pages go to hitspec")).to_contain_text("Met")

    entries.edit(workspace, "endpoints", "hitspec", {"enabled": False}, by=EDITOR)
    page.get_by_role("link", name="Review and publish").first.click()
    expect(page.locator("#checks")).to_contain_text("Not met")
    page.get_by_role("textbox", name="Message").fill("Hitspec rests")
    page.get_by_role("button", name="Publish", exact=True).click()
    page.get_by_role("button", name="Publish", exact=True).last.click()  # it stops something, and asks
    expect(page.locator("main")).to_contain_text("does not do what it expects of itself")
    page.get_by_label("Publish although they are not met").check()
    page.get_by_label("Reason").fill("It moves to another host")
    page.get_by_role("button", name="Publish", exact=True).click()
    page.get_by_role("button", name="Publish", exact=True).last.click()

    expect(page.get_by_role("heading", name="Revision 3")).to_be_visible()
    page.errors.clear()  # what was refused, as the browser notes it


def test_it_works_without_script(browser, workspace, live_address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live_address}/sign-in?next=/w/acme/playground")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()

    page.locator("#q").fill(FETCH)
    page.get_by_role("button", name="Rank").click()
    expect(first(page)).to_contain_text("hitspec__fetch")
    page.locator("[data-side=live] .cand button").nth(1).click()
    expect(page.locator("#h-ex")).not_to_contain_text("hitspec__fetch")
    page.get_by_role("button", name="Save as expectation").click()
    expect(page.locator("#f-query")).to_have_value(FETCH)
    context.close()


def test_the_pages_are_sound_with_whatever_stands_in_them(sign_in, workspace, live_address):
    odd = crowd.hostile()
    expectation = {
        "name": crowd.HOSTILE[:200],
        "query": crowd.HOSTILE,
        "expect": {"status": ["ambiguous"], "note": "n" * 200},
    }
    document = {**DOCUMENT, "endpoints": [*DOCUMENT["endpoints"], *odd["endpoints"]], "expectations": [expectation]}
    registry.replace_working_copy(workspace, {**document, "capabilities": odd["capabilities"]}, by=EDITOR)
    page = sign_in("playground")
    sweep = Sweep(page, live_address)

    sweep.open("/w/acme/playground", "playground")
    page.locator("#q").fill(f"{crowd.HOSTILE} slashes and dots, fetch a page {'w' * 300}")
    expect(first(page, "other")).to_be_visible()
    expect(page.locator("#flips")).not_to_contain_text("being found out")
    sweep.look("answered")
    page.get_by_role("button", name="Save as expectation").click()
    page.locator("#f-name").wait_for()
    sweep.look("prefilled")
    page.get_by_role("button", name="Save to the draft").click()
    for name in ("expectations", "publish"):
        sweep.open(f"/w/acme/{name}", name)
        sweep.look()

    assert not sweep.faults, "\n".join(sweep.faults)
    page.errors.clear()
