"""What is sent twice, from an older page, or after the session has ended."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from control.models import HarnessKey
from routing.models import Revision
from routing.services import entries, registry, revisions
from tests.cast import PASSWORD
from tests.routing.conftest import EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ODD = "<script>alert(1)</script>\u202e مرحبا 𝒳🦊"


def test_a_double_click_makes_one_change(sign_in, workspace):
    page = sign_in("keys/new")
    page.get_by_label("Name").fill("night-shift")
    page.get_by_role("button", name="Make the key").dblclick()
    expect(page.locator("#plain")).to_be_visible()
    assert HarnessKey.objects.count() == 1

    entries.edit(workspace, "endpoints", "notes", {"description": "Notes of the team"}, by=EDITOR)
    page.goto(page.url.replace("keys/new", "publish"))
    page.get_by_role("textbox", name="Message").fill("Once")
    page.get_by_role("button", name="Publish", exact=True).dblclick()
    expect(page.get_by_role("heading", name="Revision 3")).to_be_visible()
    assert Revision.objects.filter(workspace=workspace).count() == 3


def test_a_form_that_was_sent_can_be_sent_again_after_going_back(sign_in, workspace):
    page = sign_in("keys/new")
    for name in ("first", "second"):
        page.get_by_label("Name").fill(name)
        page.get_by_role("button", name="Make the key").click()
        expect(page.locator("#plain")).to_be_visible()
        page.go_back()

    assert set(HarnessKey.objects.values_list("name", flat=True)) == {"first", "second"}


def test_the_older_of_two_tabs_is_told_and_keeps_what_was_typed(sign_in, workspace):
    page = sign_in("endpoints/notes/form")
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_label("Description", exact=True).fill("Said in the other tab")
    other.locator("main button.primary").click()
    expect(other.get_by_role("heading", level=1)).to_contain_text("notes")

    page.get_by_label("Description", exact=True).fill(ODD)
    page.locator("main button.primary").click()

    expect(page.get_by_role("alert").first).to_contain_text("nothing of yours is lost")
    expect(page.get_by_role("group", name="Two values, one stays")).to_contain_text("Said in the other tab")
    assert ODD in page.get_by_label("Description", exact=True).input_value()
    assert registry.working_document(workspace)["endpoints"][1]["description"] == "Said in the other tab"
    page.errors.clear()  # the browser notes the refusal
    other.close()


def test_a_form_that_meets_an_ended_session_is_sent_after_signing_in(sign_in, workspace):
    page = sign_in("endpoints/notes/form")
    page.get_by_label("Description", exact=True).fill(ODD)
    page.context.clear_cookies(name="switchyard_session")
    page.locator("main button.primary").click()
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("main")).to_contain_text(ODD.replace("\u202e", "U+202E"))
    page.get_by_role("button", name="Send it now").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("notes")
    assert registry.working_document(workspace)["endpoints"][1]["description"] == ODD
    assert revisions.live_document(workspace)["endpoints"][1]["description"] == "Notebook"
    page.errors.clear()  # the browser notes the refusal
