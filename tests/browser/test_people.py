"""Somebody is asked in, joins, gets another role, makes a key for a harness and ends it."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from tests.installation import eventually

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "a-password-of-ones-own"


@pytest.fixture
def another(browser, live_address):
    """A browser of somebody else."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_from_the_invitation_to_the_end_of_a_key(sign_in, another, live_address, workspace):
    ada = sign_in("people")
    ada.get_by_label("For whom").fill("Ben of the night shift")
    ada.get_by_label("Role", exact=True).select_option("viewer")
    ada.get_by_role("button", name="Make a link").press("Enter")
    link = ada.locator("#link").inner_text()
    assert link.startswith(f"{live_address}/join/")

    another.goto(link)
    expect(another.get_by_role("heading", name="Join acme")).to_be_visible()
    another.get_by_label("User name").fill("ben")
    another.get_by_label("Password", exact=True).fill(PASSWORD)
    another.get_by_label("Password again").fill("something else")
    another.get_by_role("button", name="Make the account and join").click()
    expect(another.get_by_role("alert")).to_be_visible()
    expect(another.get_by_label("User name")).to_have_value("ben")
    another.get_by_label("Password", exact=True).fill(PASSWORD)
    another.get_by_label("Password again").fill(PASSWORD)
    another.get_by_role("button", name="Make the account and join").click()
    another.wait_for_url(f"{live_address}/w/acme/")
    another.goto(f"{live_address}/w/acme/keys")
    expect(another.get_by_role("link", name="New key")).to_have_count(0)

    ada.goto(f"{live_address}/w/acme/people")
    ada.get_by_label("Role of ben").select_option("editor")
    ada.locator("tr", has_text="ben").get_by_role("button", name="Set").click()
    expect(ada.locator("#toasts")).to_contain_text("ben is editor now")

    another.reload()
    another.get_by_role("link", name="New key").first.click()
    another.get_by_label("Name").fill("night-shift")
    expect(another.get_by_label("registry.publish")).to_be_disabled()
    another.get_by_role("button", name="Make the key").press("Enter")
    key = another.locator("#plain").inner_text()
    assert status(live_address, key) == 200
    another.goto(f"{live_address}/w/acme/keys")
    assert key not in another.content()

    another.get_by_role("link", name="Revoke night-shift").click()
    another.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(another.locator("#toasts")).to_contain_text("Key night-shift is revoked")
    eventually(lambda: status(live_address, key) == 401)


def status(address: str, key: str) -> int:
    asked = {"query": "fetch a public web page"}
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{address}/api/v1/resolve", json=asked, headers=headers).status_code
