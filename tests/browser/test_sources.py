"""The page of a registry's source of truth in Chromium: what differs, taken by keyboard, written, and refused when stale."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from routing.formats import write_yaml
from routing.models import Workspace
from routing.services import registry, revisions, sources, workspaces
from tests.browser.sweep import violations
from tests.routing.conftest import DOCUMENT, EDITOR

pytestmark = pytest.mark.browser
OTHER = {**DOCUMENT, "scopes": [{"name": "default"}]}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_gives_axe_nothing_to_report_and_does_not_scroll_sideways(
    sign_in, live_address, workspace, file, theme
):
    keep(workspace, file, "two-way")
    page = sign_in()
    page.context.add_cookies([{"name": "switchyard_theme", "value": theme, "url": live_address}])
    for path in ("source", "source?against=draft", "endpoints", "settings"):
        page.goto(f"{live_address}/w/acme/{path}")
        assert violations(page) == []
    for width in (1440, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{live_address}/w/acme/source")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture
def file(tmp_path, settings, workspace):
    settings.SOURCE_ROOTS = [tmp_path]
    file = tmp_path / "registry.yaml"
    file.write_text(write_yaml(OTHER))
    return file


def keep(workspace, file, mode: str) -> Workspace:
    workspaces.configure(workspace, {"source_file": str(file), "source_mode": mode}, by=EDITOR)
    workspace.refresh_from_db()
    sources.check(workspace)
    return workspace


def test_drift_is_seen_and_the_file_is_taken_by_keyboard(sign_in, workspace, file):
    keep(workspace, file, "read-only")
    page = sign_in("endpoints")
    expect(page.get_by_text("edits here are refused")).to_be_visible()
    expect(page.get_by_role("link", name="New endpoint")).to_have_count(0)
    page.get_by_role("link", name="See the difference").click()

    expect(page.get_by_role("heading", name="Source of truth")).to_be_visible()
    expect(page.get_by_text("scope web-only")).to_be_visible()
    page.get_by_role("button", name="Take the file into the draft").press("Enter")
    expect(page.locator("#toasts")).to_contain_text("The draft says what the file says")
    assert registry.working_document(workspace)["scopes"] == OTHER["scopes"]
    revisions.publish(workspace, message="From the file", by=EDITOR)
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Source of truth").click()
    expect(page.get_by_role("heading", name="No difference")).to_be_visible()
    expect(page.get_by_text("In sync")).to_be_visible()


def test_what_is_live_is_written_into_the_file_that_was_looked_at_and_no_other(sign_in, workspace, file):
    keep(workspace, file, "two-way")
    page = sign_in("source")
    file.write_text(write_yaml({**OTHER, "capabilities": [{"name": "paper"}]}))

    page.get_by_role("button", name="Write revision 2 into the file").click()
    expect(page.get_by_role("alert")).to_contain_text("The file changed since you looked at it")
    expect(page.get_by_text("capability paper")).to_be_visible()
    page.errors.clear()  # Chromium tells every answer of 409 on its console
    page.get_by_role("button", name="Write revision 2 into the file").click()
    expect(page.locator("#toasts")).to_contain_text("nothing was committed")

    assert file.read_text() == write_yaml(revisions.live_document(workspace))
    expect(page.get_by_role("button", name="Write revision 2 into the file")).to_have_count(0)
