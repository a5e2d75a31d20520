"""Names as long as harnesses and services may send them stay inside their panel."""

from __future__ import annotations

from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from routing.services import decisions, registry, revisions, searches, sessions
from routing.services.decisions import Caller
from routing.services.providers import figures
from routing.services.providers.figures import Call
from routing.services.searches import SearchRequest
from tests.browser.sweep import Sweep
from tests.routing.conftest import DOCUMENT, EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OVERLAPS = """() => [...document.querySelectorAll(".list > li > .grow")]
  .filter((node) => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1)
  .map((node) => `${node.scrollWidth} of ${node.clientWidth} px: ${node.textContent.slice(0, 80)}`)"""
ONE_LINE = """() => [...document.querySelectorAll(".list .sub")]
  .filter((node) => node.getClientRects()[0].top < node.previousElementSibling.getBoundingClientRect().bottom - 2)
  .map((node) => node.parentElement.textContent.slice(0, 80))"""


CROSSING = """() => {
  const words = [...document.querySelectorAll("figure.tree text")].map((node) => [node.textContent, node.getBoundingClientRect()]);
  const cross = (a, b) => a.left < b.right + 3 && b.left < a.right + 3 && a.top < b.bottom - 4 && b.top < a.bottom - 4;
  return words.flatMap(([one, a], at) => words.slice(at + 1).filter(([, b]) => cross(a, b)).map(([other]) => `${one} over ${other}`));
}"""


@pytest.fixture
def pages(workspace) -> list[tuple[str, str]]:
    """A session that goes round in circles with a tool of a long name, and an account whose model has one."""
    harness = Caller(workspace_id=workspace.pk, scope="default", harness="a-harness")
    session = sessions.open_session(harness, policy=None, ttl_s=600).id
    for _ in range(3):
        sessions.record_execution(harness, session, tool="an_endpoint__" + "x" * 300, arguments={}, result_class=None)
    providers = [{"name": "jev", "kind": "openrouter"}]
    registry.replace_working_copy(workspace, {**DOCUMENT, "providers": providers}, by=EDITOR)
    revisions.publish(workspace, message="An account", by=EDITOR)
    figures.record(workspace.pk, [Call(provider="jev", took_ms=5, requests=1, model="m" * 200)])
    return [("the session", f"/w/acme/sessions/{session}"), ("the account", "/w/acme/providers/jev")]


def test_long_names_stay_in_their_panel_and_what_is_said_of_them_has_its_own_line(sign_in, pages, live_address):
    sweep = Sweep(sign_in("shortcuts"), live_address)
    for name, path in pages:
        sweep.open(path, name)
        sweep.faults += [f"{name}: {fault}" for fault in sweep.page.evaluate(OVERLAPS) + sweep.page.evaluate(ONE_LINE)]
        assert sweep.page.locator(".list .sub").count()

    assert not sweep.faults, "\n".join(sweep.faults)


def test_the_words_of_a_tree_leave_room_for_its_numbers(sign_in, workspace, live_address):
    name = "notes__" + "w" * 60
    step = {"from_state": "root", "tool": name, "to_state": "root", "reward": 2.5}
    states = [{"id": "root", "goal": "g", "tools": [{"name": name}, {"name": "short"}]}]
    graph = SearchRequest(root_state="root", states=states, transitions=[step], bounds={})
    row = searches.request_search(str(uuid7()), Caller(workspace_id=workspace.pk, scope="default", harness="x"), graph)
    decisions.run(UUID(str(row.pk)))
    page = sign_in(f"searches/{row.pk}")

    assert page.locator("figure.tree text").count() > 5
    assert page.evaluate(CROSSING) == []
