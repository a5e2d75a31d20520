"""Every page in both themes: nothing for axe to report, nothing that scrolls sideways, nothing on the console."""

from __future__ import annotations

from pathlib import Path

import pytest

from control import invitations
from control.keys import create_key, rotate_key
from routing.models import Actor, Workspace
from routing.models.actor import SYSTEM
from routing.services import entries, registry, reviews
from tests.routing.conftest import DOCUMENT, EDITOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
WIDTHS = (1440, 768, 390)


@pytest.fixture
def pages(decide, workspace) -> list[str]:
    decision = decide()
    nothing = decide("bake a cake with cherries")
    words = [{"name": "long-context", "synonyms": ["much text", "نص طويل"], "keywords": ["book"]}, {"name": "gap"}]
    registry.replace_working_copy(workspace, {**DOCUMENT, "capabilities": words}, by=EDITOR)
    carried = [{"name": "long-context", "level": 0.6}, "elsewhere"]
    entries.edit(workspace, "endpoints", "notes", {"capabilities": carried}, by=EDITOR)
    entries.edit(workspace, "endpoints", "hitspec", {"use_when": ["fetch a page", "git"]}, by=EDITOR)
    Workspace.objects.filter(pk=workspace.pk).update(approvals_needed=2)
    registry.propose_draft(workspace, message="Say when to fetch", by=EDITOR)
    reviews.approve(workspace, 3, comment="Reads well", by=Actor(kind="operator", name="ben"))
    key, _ = create_key(workspace, "default", name="مفتاح <b>", allowed_addresses=["192.0.2.0/24"], by=SYSTEM)
    rotate_key(key, by=EDITOR)
    create_key(workspace, "web-only", name="spare", expires_days=1, by=SYSTEM)
    invitations.invite(workspace, "Ben <b>", "viewer", by=SYSTEM)
    return [
        "",
        "decisions",
        "decisions?q=nothing",
        f"decisions/{decision}",
        f"decisions/{nothing}",
        "endpoints",
        "endpoints/hitspec",
        "tools",
        "tools?q=nothing",
        "tools/hitspec__fetch",
        "capabilities",
        "capabilities/long-context",
        "coverage",
        "scopes",
        "scopes/web-only",
        "policies",
        "policies/default",
        "new/policy",
        "new/scope",
        "scopes/web-only/edit",
        "keys",
        "keys?q=nothing",
        "keys/new",
        f"keys/{key.pk}/rotate",
        f"keys/{key.pk}/revoke",
        "connect?scope=web-only",
        "people",
        "people?q=nothing",
        "people/ada/remove",
        "../../account",
        "../../workspaces",
        "publish",
        "revisions",
        "revisions/2",
        "audit",
        "audit?q=nothing&action=changes",
        "audit/3",
        "revisions/1/restore",
        "publish/discard",
        "shortcuts",
        "go",
        "go?q=hitspec",
        "revisions/3",
        "revisions/compare",
        "revisions/compare?from=1&to=2",
        "revisions/compare?from=1&to=99",
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_gives_axe_anything_to_report(sign_in, pages, live_address, theme):
    page = sign_in()
    page.context.add_cookies([{"name": "switchyard_theme", "value": theme, "url": live_address}])
    page.set_viewport_size({"width": 1440, "height": 900})

    found = []
    for path in pages:
        page.goto(f"{live_address}/w/acme/{path}")
        found += [f"{path}: {problem}" for problem in violations(page)]

    assert found == []


def test_the_gate_gives_axe_nothing_to_report(page, live_address, workspace):
    page.goto(f"{live_address}/sign-in")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()

    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_invitation_gives_axe_nothing_to_report(page, live_address, workspace, theme):
    _, token = invitations.invite(workspace, "Ben", "viewer", by=SYSTEM)
    page.context.add_cookies([{"name": "switchyard_theme", "value": theme, "url": live_address}])
    page.goto(f"{live_address}/join/{token}")
    found = violations(page)
    page.get_by_role("button", name="Make the account and join").click()
    page.get_by_role("alert").first.wait_for()

    assert [*found, *violations(page)] == []
    page.errors.clear()  # the browser notes every answer with 422


def violations(page) -> list[str]:
    page.evaluate(AXE.read_text())
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']} {one['nodes'][0]['html'][:120]}" for one in result["violations"]]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_scrolls_sideways(sign_in, pages, live_address, width):
    page = sign_in()
    page.set_viewport_size({"width": width, "height": 900})

    wide = []
    for path in pages:
        page.goto(f"{live_address}/w/acme/{path}")
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wide.append(path)

    assert wide == []
