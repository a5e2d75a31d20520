"""The first minutes in an empty workspace: from the sign-in to the first decision, without loading the page anew."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from control.demo import requested
from control.models import DemoLoad
from routing.models import Workspace
from routing.services import decisions, ledger, registry
from routing.services.decisions import Caller
from tests.cast import PASSWORD, person
from tests.routing.conftest import EDITOR


@pytest.fixture
def bare(live_address) -> Workspace:
    workspace = registry.create_workspace("bare", by=EDITOR)
    person("ada", workspace)
    return workspace


def test_from_the_sign_in_to_the_first_decision(page: Page, live_address, bare):
    faults: list[str] = []
    page.on("console", lambda line: faults.append(line.text) if line.type in ("error", "warning") else None)
    page.goto(f"{live_address}/sign-in")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{live_address}/w/bare/setup")

    page.get_by_role("radio", name="Import a file").check()
    expect(page.get_by_role("button", name="Choose a file")).to_be_visible()
    page.get_by_role("radio", name="Demo catalog").check()
    page.get_by_role("button", name="Load the demo catalog").click()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    requested.run(DemoLoad.objects.get().pk)

    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Make the key").click()
    key = page.locator("#plain").inner_text()
    assert key.startswith("swy_")
    expect(page.get_by_text("Listening")).to_be_visible()
    decisions.resolve(Caller(workspace_id=bare.pk, scope="default", harness="laptop"), "fetch a page as markdown")
    ledger.write(bare.pk)

    expect(page.get_by_role("heading", name="Your first decision")).to_be_visible()
    expect(page.locator(".steps .done")).to_have_count(4)
    assert page.locator("#plain").inner_text() == key  # what can be copied once is not taken away
    assert faults == []
    page.goto("about:blank")
