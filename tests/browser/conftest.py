"""A console in Chromium: the application over HTTP on the test's database, and a signed-in administrator."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from routing.models import Workspace
from routing.services import decisions, ledger, registry, revisions
from routing.services.decisions import Caller
from tests.cast import PASSWORD, person
from tests.routing.conftest import DOCUMENT, EDITOR


@pytest.fixture
def workspace(live_address) -> Workspace:
    workspace = registry.create_workspace("acme", by=EDITOR)
    registry.replace_working_copy(workspace, DOCUMENT, by=EDITOR)
    revisions.publish(workspace, message="Two endpoints", by=EDITOR)
    person("ada", workspace)
    return workspace


@pytest.fixture
def decide(workspace):
    """Ask the resolver and let the ledger's writer take the decision in; answers its id."""
    caller = Caller(workspace_id=workspace.pk, scope="default", harness="a-harness")

    def decide(query: str = "fetch https://example.com/guide as Markdown") -> str:
        answer = decisions.resolve(caller, query)
        ledger.write(workspace.pk)
        return answer["decision_id"]

    return decide


@pytest.fixture
def sign_in(page: Page, live_address, workspace):
    """Sign in through the form and open a page of the workspace."""

    def sign_in(path: str = "") -> Page:
        page.goto(f"{live_address}/sign-in?next=/w/acme/{path}")
        page.get_by_label("User name").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{live_address}/w/acme/{path}")
        return page

    yield sign_in
    page.goto("about:blank")  # closes the page's stream before the server stops


@pytest.fixture
def enter(browser, live_address, workspace):
    """A browser of one's own for a new member with this role, at a page of the workspace."""
    contexts = []

    def enter(name: str, role: str, path: str):
        person(name, workspace, role)
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.goto(f"{live_address}/sign-in?next=/w/acme/{path}")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{live_address}/w/acme/{path}")
        return page

    yield enter
    for context in contexts:
        context.close()
