"""The console as a person meets it: signing in, editing, publishing, watching."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect

from routing.services import entries, registry, revisions
from tests.cast import PASSWORD
from tests.installation import eventually
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web import crowd

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_hint_is_edited_undone_and_published(sign_in, workspace):
    page = sign_in("endpoints/hitspec")

    page.get_by_role("button", name="Add a hint").first.click()
    expect(page.get_by_label("Hint 2", exact=True)).to_be_focused()
    page.keyboard.type("keep an article as text")
    page.keyboard.press("Tab")
    expect(page.locator("#toasts")).to_contain_text("Hints saved to the draft")
    expect(page.locator("#draftchip")).to_contain_text("1 change")

    page.get_by_label("Hint 2", exact=True).press("Alt+ArrowUp")
    expect(page.get_by_label("Hint 1", exact=True)).to_have_value("keep an article as text")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Hint 1", exact=True)).to_have_value("fetch a public web page as readable Markdown text")

    page.locator("#draftchip a").click()
    page.get_by_role("textbox", name="Message").fill("Say when to keep an article")
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("heading", name="Revision 3")).to_be_visible()
    assert revisions.live_document(workspace)["endpoints"][0]["use_when"][1] == "keep an article as text"


def test_a_refused_hint_stays_in_its_field_with_the_reason_beside_it(sign_in):
    page = sign_in("endpoints/hitspec")

    page.get_by_label("Hint 1", exact=True).fill("x" * 300)
    page.keyboard.press("Tab")

    expect(page.locator("#hint-0-n")).to_contain_text("256 bytes")
    expect(page.get_by_label("Hint 1", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Hint 1", exact=True)).to_have_value("x" * 300)


def test_a_field_that_was_pulled_larger_is_saved_without_breaking_the_pages_rules(sign_in):
    page = sign_in("endpoints/hitspec")
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    field = page.get_by_label("Description", exact=True).first
    box = field.bounding_box()
    assert box is not None

    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] + 90, steps=4)
    page.mouse.up()
    assert "height" in (field.get_attribute("style") or "")
    field.fill("Fetches a page, and says so")
    page.keyboard.press("Tab")

    expect(page.locator("#toasts")).to_contain_text("saved to the draft")
    expect(page.get_by_label("Description", exact=True).first).to_have_value("Fetches a page, and says so")
    assert said == []


def test_what_is_typed_when_the_session_has_ended_is_saved_after_signing_in_in_another_tab(sign_in, workspace):
    page = sign_in("endpoints/hitspec")
    page.context.clear_cookies(name="switchyard_session")

    page.get_by_label("Hint 1", exact=True).fill("keep an article as text")
    page.keyboard.press("Tab")
    expect(page.locator("#toasts")).to_contain_text("You were signed out, so that was not saved")
    expect(page.get_by_label("Hint 1", exact=True)).to_have_value("keep an article as text")

    with page.context.expect_page() as opened:
        page.get_by_role("link", name="sign in in another tab").click()
    opened.value.get_by_label("User name").fill("ada")
    opened.value.get_by_label("Password").fill(PASSWORD)
    opened.value.get_by_role("button", name="Sign in").click()
    opened.value.get_by_role("heading", name="Overview").wait_for()
    opened.value.close()
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator("#toasts")).not_to_contain_text("You were signed out")
    page.get_by_label("Hint 1", exact=True).fill("keep an article as plain text")
    page.keyboard.press("Tab")

    expect(page.locator("#toasts")).to_contain_text("saved to the draft")
    assert page.errors and all("401" in error for error in page.errors)  # the browser notes the refusal
    page.errors.clear()


def test_what_is_typed_while_a_save_is_on_its_way_is_kept_and_saved(sign_in, workspace, monkeypatch):
    entries.edit(workspace, "endpoints", "hitspec", {"use_when": ["first hint", "second hint"]}, by=EDITOR)
    edit = entries.edit
    monkeypatch.setattr(entries, "edit", lambda *args, **kwargs: (time.sleep(0.6), edit(*args, **kwargs))[1])
    page = sign_in("endpoints/hitspec")

    page.get_by_label("Hint 1", exact=True).fill("first hint, better")
    page.get_by_label("Hint 2", exact=True).press("End")
    page.keyboard.type(", which goes on for longer than the server needs", delay=40)
    expect(page.locator("#toasts")).to_contain_text("Hints saved")
    page.keyboard.press("Tab")

    expect(page.locator("#part-use_when")).to_contain_text("Saved to the draft")
    whole = "second hint, which goes on for longer than the server needs"
    expect(page.get_by_label("Hint 2", exact=True)).to_have_value(whole)
    eventually(lambda: any(whole in str(change) for change in registry.draft_changes(workspace)))
    page.reload()
    expect(page.get_by_label("Hint 2", exact=True)).to_have_value(whole)
    expect(page.get_by_label("Hint 1", exact=True)).to_have_value("first hint, better")


def test_the_tail_takes_a_decision_in_without_reload_waits_when_paused_and_catches_up(sign_in, decide):
    page = sign_in()
    rows = page.locator("#tail tr[id]")
    expect(page.locator("[data-live-state=open]")).to_be_visible()

    started = time.monotonic()
    decide()
    expect(rows).to_have_count(1, timeout=3000)
    assert time.monotonic() - started < 2
    expect(page.locator("#figures")).to_contain_text("1 decision in the last hour")

    page.keyboard.press("Space")
    decide("bake a cake with cherries")
    decide()
    expect(page.locator("[data-waiting]")).to_have_text("2 waiting")
    expect(rows).to_have_count(1)

    page.keyboard.press("Space")
    expect(rows).to_have_count(3)
    expect(page.locator("[data-waiting]")).to_be_hidden()
    rows.first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Decision")


def test_an_open_table_and_the_focus_survive_a_refresh(sign_in, decide):
    decide()
    page = sign_in()
    page.locator("#s-lat").click()
    page.locator("#tail a").first.focus()

    decide("bake a cake with cherries")

    expect(page.locator("#tail tr[id]")).to_have_count(2)
    expect(page.locator("#figures")).to_contain_text("2 decisions")
    expect(page.locator("#table-latency")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "link-1"


def test_charts_are_drawn_again_when_the_theme_changes(sign_in, decide):
    decide()
    page = sign_in()
    picture = "document.querySelector('#plot-rate canvas').toDataURL()"
    light = page.evaluate(picture)

    page.emulate_media(color_scheme="dark")

    page.wait_for_function(f"before => {picture} !== before", arg=light)


def test_the_keyboard_reaches_rooms_rows_and_the_search_field(sign_in, decide, live_address):
    decision = decide()
    page = sign_in()

    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_url("**/decisions")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/decisions/{decision}")
    page.keyboard.press("g")
    page.keyboard.press("e")
    page.wait_for_url("**/endpoints")
    page.keyboard.press("/")
    page.keyboard.type("note")

    page.wait_for_url("**/endpoints?q=note")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("#f-q")).to_be_focused()


def test_a_decision_page_tells_an_outcome_as_soon_as_it_is_reported(sign_in, decide, workspace):
    from routing.services import ledger
    from routing.services.ledger import Report

    decision = decide()
    page = sign_in(f"decisions/{decision}")
    expect(page.locator("#facts")).to_contain_text("No call reported")

    ledger.accept(
        workspace.pk,
        "default",
        "a-harness",
        [Report(id="i1", kind="invocation", target="hitspec__fetch", status="started", decision_id=decision)],
    )
    ledger.write(workspace.pk)

    expect(page.locator("#facts")).to_contain_text("Invoked, as advised")


def test_going_back_brings_the_whole_unfiltered_page(sign_in, decide, live_address):
    decide()
    decide("bake a cake with cherries")
    page = sign_in("decisions")
    page.get_by_label("Verdict").select_option("no_match")
    page.wait_for_url("**/decisions?status=no_match")
    expect(page.locator("tbody tr")).to_have_count(1)

    page.go_back()

    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    assert page.url == f"{live_address}/w/acme/decisions"


def test_the_menu_of_a_phone_opens_and_leads_on(sign_in):
    page = sign_in()
    page.set_viewport_size({"width": 390, "height": 844})

    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Endpoints").click()

    page.wait_for_url("**/endpoints")


def test_the_only_answer_of_an_hour_is_a_point_on_the_chart(sign_in, decide):
    decide()
    page = sign_in()
    page.wait_for_selector("#plot-latency canvas")

    drawn = page.evaluate(
        """() => {
          const canvas = document.querySelector("#plot-latency canvas"), wide = 60 * devicePixelRatio;
          const bytes = canvas.getContext("2d").getImageData(wide, 0, canvas.width - wide, canvas.height - 30 * devicePixelRatio).data;
          let seen = 0;
          for (let i = 0; i < bytes.length; i += 4) if (bytes[i + 3] > 200 && bytes[i + 2] > bytes[i] + 60) seen += 1;
          return seen;
        }"""
    )

    assert drawn >= 12


def test_a_long_description_takes_two_lines_and_ends_between_words(sign_in, workspace):
    text = (
        "Sends one bounded HTTP request to a public address and gives back status, headers and the body as readable "
        * 3
    )
    document = registry.working_document(workspace)
    document["endpoints"][0]["tools"][0] |= {"description": text}
    document["endpoints"][0]["tools"][0].pop("title", None)
    registry.replace_working_copy(workspace, document, by=EDITOR)
    page = sign_in("endpoints/hitspec")
    page.set_viewport_size({"width": 1440, "height": 900})

    shown = page.locator("td.toolname .two").first
    height, whole, line = shown.evaluate(
        "part => [part.clientHeight, part.scrollHeight, parseFloat(getComputedStyle(part).lineHeight)]"
    )
    words = shown.inner_text().removesuffix("…")

    assert (height, round(height / line)) == (whole, 2)
    assert text.startswith((f"{words} ", f"{words},"))
    assert shown.inner_text().endswith("…")


def test_synonyms_are_edited_with_the_keyboard_and_undone(sign_in, workspace):
    words = [{"name": "web-fetch", "synonyms": ["download a page"]}]
    registry.replace_working_copy(workspace, {**DOCUMENT, "capabilities": words}, by=EDITOR)
    page = sign_in()

    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_url("**/capabilities")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    field = page.get_by_label("Synonyms")
    field.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nophalen")
    page.keyboard.press("Tab")

    expect(page.locator("#toasts")).to_contain_text("Synonyms of web-fetch saved to the draft")
    assert registry.working_document(workspace)["capabilities"][0]["synonyms"] == ["download a page", "ophalen"]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Synonyms")).to_have_value("download a page")


def test_tools_are_found_sorted_and_opened_from_what_a_scope_reaches(sign_in):
    page = sign_in("scopes/web-only")
    expect(page.locator("#list tbody tr")).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("mistakes")
    page.wait_for_url("**/scopes/web-only?q=mistakes")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.locator("#list tbody a").first.click()
    page.wait_for_url("**/tools/hitspec__validate")

    page.get_by_role("navigation", name="Main").get_by_role("link", name="Tools").click()
    page.get_by_label("Effect", exact=True).select_option("erase")
    page.wait_for_url("**/tools?effect=erase")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Risk").click()
    page.wait_for_url("**/tools?effect=erase&sort=risk")


def test_hostile_names_neither_break_out_nor_widen_the_page(sign_in, workspace, live_address):
    registry.replace_working_copy(workspace, crowd.hostile(), by=EDITOR)
    revisions.publish(workspace, message="Odd names", by=EDITOR)
    page = sign_in("tools")
    page.set_viewport_size({"width": 390, "height": 844})
    addresses = page.locator("#list tbody a.main").evaluate_all("links => links.map(link => link.href)")
    rooms = ("tools", "capabilities", "capabilities/long-context", "coverage", "scopes", "scopes/odd-only")

    wide = []
    for address in [*addresses, *(f"{live_address}/w/acme/{room}" for room in rooms)]:
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wide.append(address)

    assert (len(addresses), wide) == (3, [])


def test_a_threshold_is_changed_taken_back_and_refused_beside_its_field(sign_in):
    page = sign_in("policies/default")
    field = page.get_by_label("fallback threshold", exact=True)

    field.fill("0.7")
    field.press("Tab")
    page.get_by_role("button", name="Take fallback threshold back to 0.6").click()
    expect(field).to_have_value("0.6")

    field.fill("0.99")
    field.press("Tab")
    expect(page.locator("#part-router-fallback_threshold [role=alert]")).to_contain_text("must not be above")
    expect(field).to_have_value("0.99")
