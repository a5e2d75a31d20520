from __future__ import annotations

from uuid import UUID

import pytest
from django.urls import reverse
from uuid_utils.compat import uuid7

from routing.models import AuditEntry
from routing.services import decisions, ledger, workspaces
from tests.routing.conftest import EDITOR

QUERY = "fetch https://example.com/guide?token=hunter2 as Markdown"
SHOWN = "fetch https://example.com/guide?••• as Markdown"


@pytest.fixture
def recorded(workspace, decide):
    workspaces.configure(workspace, {"record_queries": True}, by=EDITOR)
    return decide(QUERY)


def page_of(client, decision) -> str:
    return client.get(reverse("decision", args=["acme", decision.pk])).content.decode()


def test_a_page_says_that_a_text_is_kept_and_shows_none_of_it(enter, recorded):
    for role in ("administrator", "editor", "auditor"):
        told = page_of(enter(role), recorded)
        assert "Recorded text" in told and "guide" not in told
        assert ("Show the recorded text" in told) is (role == "administrator")


def test_an_administrator_reads_the_text_and_the_audit_log_says_so(admin, recorded, workspace):
    response = admin.post(reverse("decision-text", args=["acme", recorded.pk]))

    assert SHOWN in response.content.decode() and "no-store" in response["Cache-Control"]
    entry = AuditEntry.objects.filter(workspace=workspace).order_by("seq").last()
    assert (entry.action, entry.actor) == ("query.read", "the-administrator")


def test_nobody_else_reads_it(enter, recorded, workspace):
    for role in ("viewer", "auditor", "editor", "reviewer"):
        assert enter(role).post(reverse("decision-text", args=["acme", recorded.pk])).status_code == 403
    assert not AuditEntry.objects.filter(workspace=workspace, action="query.read").exists()


@pytest.mark.parametrize("tools", [None, ({"name": "fetch", "description": "Fetch a web page"},)])
def test_the_text_of_a_route_is_there_only_where_the_local_provider_can_be_asked_again(admin, workspace, tools):
    workspaces.configure(workspace, {"record_queries": True}, by=EDITOR)
    caller = decisions.Caller(workspace_id=workspace.pk, scope="default", harness="h")
    row = decisions.request_route(str(uuid7()), caller, decisions.RouteRequest(goal=QUERY, tools=tools))
    decisions.run(UUID(str(row.pk)))
    ledger.write(workspace.pk)

    told = page_of(admin, row)
    assert ("Show the recorded text" in told) is (tools is None)
    assert ("what the provider answered is kept sealed" in told) is (tools is not None)
    shown = admin.post(reverse("decision-text", args=["acme", row.pk]))
    assert shown.status_code == (404 if tools else 200)
    assert tools or SHOWN in shown.content.decode()


def test_a_decision_without_a_recording_offers_nothing(admin, decide):
    decision = decide(QUERY)

    assert "Recorded text" not in page_of(admin, decision)
    assert admin.post(reverse("decision-text", args=["acme", decision.pk])).status_code == 404
