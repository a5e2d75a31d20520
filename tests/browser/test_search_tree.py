"""A search's tree in Chromium: it grows while a worker is at it, is walked by keyboard, and folds."""

from __future__ import annotations

import re
import threading
from uuid import UUID

import pytest
from playwright.sync_api import expect
from uuid_utils.compat import uuid7

from bench.searches import LARGE, graph
from routing.services import decisions, registry, revisions, searches
from routing.services.decisions import Caller
from routing.services.searches import SearchRequest
from tests.browser.sweep import Sweep
from tests.routing.conftest import DOCUMENT, EDITOR

pytestmark = pytest.mark.browser


@pytest.fixture
def ask(workspace):
    """Ask for a search that goes on until somebody cancels it; answers its id."""
    scopes = [{"name": "default", "policies": ["default", "large"]}]
    registry.replace_working_copy(workspace, {**DOCUMENT, "policies": [LARGE], "scopes": scopes}, by=EDITOR)
    revisions.publish(workspace, message="Large", by=EDITOR)

    def ask() -> str:
        caller = Caller(workspace_id=workspace.pk, scope="default", harness="a-harness")
        body = graph()
        asked = SearchRequest(
            root_state=body["root_state"],
            states=body["states"],
            transitions=body["transitions"],
            bounds={"simulations": 5_000_000},
            method="puct",
            use_prior=False,
            policy="large",
        )
        return str(searches.request_search(str(uuid7()), caller, asked).pk)

    return ask


def test_a_tree_grows_is_walked_folded_and_ends_when_it_is_cancelled(sign_in, ask):
    id_ = ask()
    page = sign_in(f"searches/{id_}")
    expect(page.get_by_text("The tree grows here")).to_be_visible()
    worker = threading.Thread(target=decisions.run, args=(UUID(id_),))
    worker.start()

    done = page.locator(".figs4 b").first
    expect(done).to_have_text(re.compile(r"[1-9][\d,]*"), timeout=30_000)
    before = done.inner_text()
    expect(done).not_to_have_text(before, timeout=30_000)
    page.get_by_role("button", name="Cancel, keep best so far").click()
    expect(page.get_by_text("It was cancelled; this is its best so far.")).to_be_visible(timeout=30_000)
    worker.join(timeout=30)

    page.locator("[data-node]").first.focus()
    page.keyboard.press("ArrowRight")
    focused = page.locator("[data-node]:focus")
    expect(focused).to_have_attribute("aria-expanded", "true")
    word = focused.get_attribute("aria-label")
    shown = page.locator("[data-node]").count()
    page.keyboard.press("Enter")
    expect(focused).to_have_attribute("aria-expanded", "false")
    assert focused.get_attribute("aria-label") == word  # the focus stays where it was
    assert page.locator("[data-node]").count() < shown
    assert "fold=" in page.url
    page.keyboard.press("ArrowLeft")
    expect(focused).to_have_attribute("data-parent", "")


def test_a_graph_is_edited_as_rows_and_what_is_wrong_is_told_beside_them(sign_in, live_address):
    sweep = Sweep(sign_in("searches"), live_address)
    page = sweep.page
    sweep.open("/w/acme/searches/new", "new search")
    page.get_by_role("button", name="Edit as rows").click()
    page.get_by_role("button", name="Add a state").click()
    page.get_by_role("button", name="Start", exact=True).click()
    added = page.get_by_role("textbox", name="Id, row 4")
    expect(added).to_have_attribute("aria-invalid", "true")
    sweep.look("rows")

    page.get_by_role("button", name="Remove state 4").click()
    expect(added).to_have_count(0)
    page.get_by_role("textbox", name="Id, row 2").fill("known")
    page.get_by_role("button", name="Edit as text").click()

    assert page.get_by_label("Text").input_value().count('"known"') == 3
    page.get_by_role("button", name="Save as expectation").click()
    expect(page.get_by_label("Graph")).to_have_value(re.compile('"known"'))
    expect(page.get_by_label("Goal")).to_be_hidden()
    assert not sweep.faults, "\n".join(sweep.faults)
    page.errors.clear()  # the browser notes each answer that refuses
