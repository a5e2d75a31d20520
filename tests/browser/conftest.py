"""A console in Chromium: the application over HTTP on the test's database, and a signed-in administrator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from routing.models import Workspace
from routing.services import decisions, ledger
from routing.services.decisions import Caller
from tests import baseline
from tests.cast import person

CHROMIUM = Path("/usr/bin/chromium")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium for all tests of this package, and gone before any others: those want no event loop in their thread."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is missing: apt install chromium")
    # Playwright's synchronous calls keep an event loop in this thread, and Django would refuse its models there.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), headless=True, args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def page(browser: Browser, live_address: str) -> Iterator[Any]:
    """A page in a browser context of its own; an error on its console fails the test.

    It is closed before the server stops, which would otherwise wait for the page's stream to end.
    """
    context = browser.new_context(locale="en-GB", timezone_id="UTC")
    opened: Any = context.new_page()
    errors: list[str] = []
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.errors = errors
    yield opened
    context.close()
    assert errors == []


def admit(context: BrowserContext, address: str, name: str) -> None:
    """This browser has signed in as somebody. The form is filled in where signing in is what is tried."""
    client = Client()
    client.force_login(get_user_model().objects.get(username=name))
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": address}])


@pytest.fixture
def workspace(live_address) -> Workspace:
    workspace = baseline.two_endpoints()
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
    """Open a page of the workspace as its administrator."""

    def sign_in(path: str = "") -> Page:
        admit(page.context, live_address, "ada")
        page.goto(f"{live_address}/w/acme/{path}")
        return page

    return sign_in


@pytest.fixture
def enter(browser, live_address, workspace):
    """A browser of one's own for a new member with this role, at a page of the workspace."""
    contexts = []

    def enter(name: str, role: str, path: str):
        person(name, workspace, role)
        contexts.append(browser.new_context())
        admit(contexts[-1], live_address, name)
        page = contexts[-1].new_page()
        page.goto(f"{live_address}/w/acme/{path}")
        return page

    yield enter
    for context in contexts:
        context.close()
