from __future__ import annotations

import pytest
from django.urls import reverse

from routing.models import AuditEntry
from routing.services import workspaces
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


def test_a_decision_without_a_recording_offers_nothing(admin, decide):
    decision = decide(QUERY)

    assert "Recorded text" not in page_of(admin, decision)
    assert admin.post(reverse("decision-text", args=["acme", decision.pk])).status_code == 404
