"""A draft is tried on what was asked: the panel starts by itself, shows how far it is and what would change, and leads to it."""

from __future__ import annotations

import threading
from uuid import UUID

import pytest
from playwright.sync_api import expect

from routing.services import entries, replays, workspaces
from tests.browser.sweep import violations
from tests.routing.conftest import EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FETCH = "fetch https://example.com/guide as Markdown"


@pytest.fixture
def worker(monkeypatch):
    """A worker that begins when it is let go."""
    let_go = threading.Event()
    at_work: list[threading.Thread] = []

    def take(pk: str) -> None:
        def work() -> None:
            let_go.wait(30)
            replays.run(UUID(pk))

        at_work.append(threading.Thread(target=work, daemon=True))
        at_work[-1].start()

    monkeypatch.setattr(replays.workers, "_send", take)
    yield let_go
    let_go.set()
    for thread in at_work:
        thread.join(20)


def test_a_draft_is_replayed_when_it_is_reviewed(sign_in, workspace, decide, worker):
    workspaces.configure(workspace, {"record_queries": True}, by=EDITOR)
    decision = decide(FETCH)
    decide("write a note into the notebook")
    entries.edit(workspace, "endpoints", "hitspec", {"enabled": False}, by=EDITOR)

    page = sign_in("publish")
    panel = page.get_by_role("region", name="What this would change")
    expect(panel.get_by_role("progressbar", name="Decisions made again")).to_be_visible()
    expect(panel.get_by_text("Waiting for a worker.")).to_be_visible()
    worker.set()

    expect(panel.get_by_text("1 of 2 decisions, replayed in")).to_be_visible()
    expect(panel.get_by_text("hitspec__fetch can no longer be had")).to_be_visible()
    assert violations(page) == []
    panel.get_by_role("link", name="Lost matches 1").click()
    expect(panel.get_by_role("link", name="Lost matches 1")).to_have_attribute("aria-current", "true")
    panel.get_by_role("link", name=f"…{decision[-4:]}").click()
    page.wait_for_url(f"**/decisions/{decision}")
    page.get_by_role("button", name="Show the recorded text").click()
    expect(page.get_by_text(FETCH)).to_be_visible()


def test_a_change_of_the_draft_has_it_replayed_again(sign_in, workspace, decide, worker):
    workspaces.configure(workspace, {"record_queries": True}, by=EDITOR)
    decide(FETCH)
    entries.edit(workspace, "endpoints", "hitspec", {"enabled": False}, by=EDITOR)
    worker.set()
    page = sign_in("publish")
    panel = page.get_by_role("region", name="What this would change")
    expect(panel.get_by_text("1 of 1 decision, replayed in")).to_be_visible()

    entries.edit(workspace, "endpoints", "hitspec", {"enabled": True, "description": "Fetches pages"}, by=EDITOR)
    page.reload()

    expect(panel.get_by_text("No recorded decision would change.")).to_be_visible()


def test_a_look_that_is_lost_on_its_way_is_taken_again(sign_in, workspace, decide, worker):
    workspaces.configure(workspace, {"record_queries": True}, by=EDITOR)
    decide(FETCH)
    entries.edit(workspace, "endpoints", "hitspec", {"enabled": False}, by=EDITOR)
    page = sign_in("endpoints")
    lost: list[str] = []

    def once(route) -> None:
        if route.request.method == "GET" and not lost:
            lost.append(route.request.url)
            worker.set()
            route.abort()
        else:
            route.fallback()

    page.route("**/replays/draft", once)
    page.goto(page.url.replace("endpoints", "publish"))

    expect(page.get_by_text("1 of 1 decision, replayed in")).to_be_visible(timeout=15_000)
    assert lost
    page.errors.clear()  # what was lost, as the browser notes it
