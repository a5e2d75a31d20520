from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import get_resolver

from control.access import ROLES
from control.web import urls
from routing.models import EndpointRow, Workspace
from routing.services import registry
from tests.routing.conftest import EDITOR

PAGES = [
    "",
    "panels/figures",
    "views",
    "panels/tail",
    "decisions",
    "endpoints",
    "endpoints/hitspec",
    "tools",
    "tools/hitspec__fetch",
    "capabilities",
    "coverage",
    "scopes",
    "policies",
    "policies/default",
    "new/policy",
    "new/scope",
    "scopes/web-only/edit",
    "scopes/web-only",
    "publish",
    "import",
    "draft/export.yaml",
    "draft/export.json",
    "publish/checks",
    "settings",
    "revisions",
    "revisions/2",
    "revisions/compare",
    "revisions/compare?from=1&to=2",
    "revisions/2/export.yaml",
    "revisions/2/export.json",
    "audit",
    "audit/2",
]


@pytest.mark.parametrize("page", PAGES)
def test_a_stranger_finds_nothing_and_a_visitor_is_asked_to_sign_in(workspace, stranger, page):
    visitor = Client().get(f"/w/acme/{page}")

    assert stranger.get(f"/w/acme/{page}").status_code == 404
    assert (visitor.status_code, visitor["Location"].split("?")[0]) == (302, "/sign-in")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_for_an_administrator_under_the_strict_policy(admin, page):
    response = admin.get(f"/w/acme/{page}")
    text = response.content.decode()

    assert response.status_code == 200
    assert "script-src 'self'; style-src 'self'" in response["Content-Security-Policy"]
    assert not re.search(r"<[^>]+\s(?:style|on[a-z]+)=", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style", text)


def test_a_workspace_of_others_looks_like_one_that_does_not_exist(admin):
    registry.create_workspace("theirs", by=EDITOR)

    theirs, none = admin.get("/w/theirs/"), admin.get("/w/no-such/")

    without_id = [
        re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|theirs|no-such|[A-Za-z0-9]{64}", "", page.content.decode())
        for page in (theirs, none)
    ]
    assert (theirs.status_code, none.status_code) == (404, 404)
    assert without_id[0] == without_id[1]


def test_a_decision_of_another_workspace_cannot_be_found(admin, decide):
    decision = decide()
    other = registry.create_workspace("other", by=EDITOR)
    Workspace.objects.get(pk=other.pk).decisions.model.objects.filter(pk=decision.pk).update(workspace=other)

    assert admin.get(f"/w/acme/decisions/{decision.pk}").status_code == 404


@pytest.mark.parametrize("role", ["viewer", "auditor", "reviewer"])
def test_whoever_may_not_edit_is_told_so_and_changes_nothing(enter, workspace, role):
    response = enter(role).post("/w/acme/endpoints/hitspec/edit/description", {"value": "Mine now", "read": "x"})

    assert response.status_code == 403
    assert "does not include this" in response.content.decode()
    assert EndpointRow.objects.get(name="hitspec", workspace=workspace).description == "HTTP request runner"


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_whoever_may_not_publish_is_told_so(enter, workspace, role):
    response = enter(role).post("/w/acme/publish", {"message": "Mine"})

    workspace.refresh_from_db()
    assert response.status_code == 403
    assert workspace.live_revision.number == 2


def test_a_viewer_sees_hints_as_text_and_no_field(enter):
    text = enter("viewer").get("/w/acme/endpoints/hitspec").content.decode()

    assert "fetch a public web page as readable Markdown text" in text
    assert "<textarea" not in text


def test_an_auditor_is_offered_only_rooms_that_open(enter):
    client = enter("auditor")
    text = client.get("/w/acme/").content.decode()

    links = re.findall(r'<li><a href="(/w/acme/[^"]*)"', text)
    assert links and all(client.get(link).status_code == 200 for link in links)


def test_a_signed_out_htmx_request_leads_the_whole_page_to_the_gate(workspace):
    response = Client().get("/w/acme/panels/tail", headers={"HX-Request": "true"})

    assert (response.status_code, response["HX-Redirect"][:9]) == (204, "/sign-in?")


def test_every_room_names_the_action_that_it_needs():
    views = [pattern.callback for pattern in urls.rooms]

    assert all(_action(view) in set().union(*ROLES.values()) for view in views)
    assert get_resolver().resolve("/w/acme/").url_name == "overview"


def _action(view):
    while view is not None and not hasattr(view, "action"):
        view = getattr(view, "__wrapped__", None)
    return getattr(view, "action", None)


def test_what_broke_is_told_without_showing_the_code(admin, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("a secret of the code")

    monkeypatch.setattr("control.web.revisions.listings.revisions", broken)
    admin.raise_request_exception = False

    response = admin.get("/w/acme/revisions")

    assert response.status_code == 500
    assert "Something broke" in response.content.decode()
    assert "a secret of the code" not in response.content.decode()


def test_a_page_that_is_not_there_says_so_without_showing_the_code(admin):
    response = admin.get("/w/acme/endpoints/nothing")

    assert response.status_code == 404
    assert "There is nothing here" in response.content.decode()
    assert "Traceback" not in response.content.decode()
