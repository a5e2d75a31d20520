"""The live stream is held by pages that somebody sees, so that many open tabs leave connections for others."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from control.hub import hub
from tests.installation import eventually

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SEEN = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def streams(count: int) -> None:
    eventually(lambda: len(hub._subscriptions) == count, 20)


@pytest.fixture
def overview(sign_in) -> Page:
    page = sign_in("shortcuts")
    page.clock.install()
    page.goto(page.url.replace("shortcuts", ""))
    streams(1)
    return page


def test_a_page_that_nobody_sees_lets_go_of_its_stream_and_catches_up_when_it_is_seen(overview, decide):
    overview.evaluate(SEEN, True)
    overview.clock.run_for(16_000)
    streams(0)
    missed = decide()

    overview.evaluate(SEEN, False)
    streams(1)
    overview.clock.run_for(3_000)
    expect(overview.locator("#tail tr[id]")).to_have_count(1)
    expect(overview.locator(f"#tail a[href*='{missed}']").first).to_be_visible()

    decide("write a note into the notebook")
    overview.clock.run_for(3_000)
    expect(overview.locator("#tail tr[id]")).to_have_count(2)


def test_whoever_looks_aside_for_a_moment_keeps_the_stream(overview, decide):
    before = set(hub._subscriptions)
    overview.evaluate(SEEN, True)
    overview.clock.run_for(5_000)
    overview.evaluate(SEEN, False)
    overview.clock.run_for(30_000)

    assert set(hub._subscriptions) == before
    decide()
    overview.clock.run_for(3_000)
    expect(overview.locator("#tail tr[id]")).to_have_count(1)


def test_a_page_that_was_opened_behind_others_is_up_to_date_when_it_is_seen(sign_in, decide):
    page = sign_in("shortcuts")
    page.add_init_script("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    page.goto(page.url.replace("shortcuts", ""))
    expect(page.locator("#figures")).to_contain_text("0 decisions")
    decide()
    streams(0)

    page.evaluate(SEEN, False)
    expect(page.locator("#tail tr[id]")).to_have_count(1)
