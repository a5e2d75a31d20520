from __future__ import annotations

import re

import pytest

from routing.models import AuditEntry
from routing.services import workspaces
from tests.routing.conftest import EDITOR

GIVEN = {
    "title": "Team",
    "approvals_needed": "2",
    "self_approval": "on",
    "allow_private": "10.1.2.3/8\nTools.internal:80",
}


def text_of(response) -> str:
    return response.content.decode()


def read(client) -> str:
    return re.search(r'name="read" value="([^"]+)"', text_of(client.get("/w/acme/settings")))[1]


def test_an_administrator_changes_them_as_the_command_does(admin, workspace):
    response = admin.post("/w/acme/settings", {**GIVEN, "read": read(admin), "message": "A larger team"}, follow=True)

    workspace.refresh_from_db()
    told = AuditEntry.objects.filter(workspace=workspace).first()
    assert "Settings saved" in text_of(response)
    assert (workspace.title, workspace.approvals_needed, workspace.self_approval) == ("Team", 2, True)
    assert workspace.allow_private == ["10.0.0.0/8", "tools.internal:80"] and not workspace.record_queries
    assert (told.action, told.actor, told.message) == ("workspace.configured", "the-administrator", "A larger team")
    assert set(told.after) == {"title", "approvals_needed", "self_approval", "allow_private"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"approvals_needed": "-1"}, "It cannot be less than 0."),
        ({"approvals_needed": "many"}, "Give a whole number."),
        ({"approvals_needed": "21"}, "At most 20."),
        ({"allow_private": "10.0.0.0/8\nnot a host\nhost:99999"}, "“not a host” is neither a network"),
        ({"allow_private": "10.0.0.0/8\n169.254.0.0/16"}, "“169.254.0.0/16” opens nothing"),
        ({"allow_private": "0.0.0.0"}, "“0.0.0.0/32” opens nothing"),
        ({"title": "x" * 201}, "Keep the title within 200 characters."),
    ],
)
def test_what_will_not_do_is_said_beside_its_field_and_nothing_is_saved(admin, workspace, wrong, said):
    response = admin.post("/w/acme/settings", {**GIVEN, "read": read(admin), **wrong})

    workspace.refresh_from_db()
    assert response.status_code == 422 and said in text_of(response)
    assert (workspace.approvals_needed, workspace.allow_private) == (0, [])
    assert "tools.internal:80" in text_of(response).lower() or "allow_private" in wrong


def test_a_stale_form_is_refused_and_keeps_what_was_typed(admin, workspace):
    mark = read(admin)
    workspaces.configure(workspace, {"approvals_needed": 1}, by=EDITOR)
    refused = admin.post("/w/acme/settings", {**GIVEN, "read": mark})
    saved = admin.post("/w/acme/settings", {**GIVEN, "read": read(admin)})

    assert refused.status_code == 409 and 'value="2"' in text_of(refused)
    assert saved.status_code == 302


@pytest.mark.parametrize("role", ["viewer", "auditor", "editor", "reviewer"])
def test_others_read_them_and_change_nothing(enter, workspace, role):
    client = enter(role)
    text = text_of(client.get("/w/acme/settings"))

    assert "Approvals that a revision needs" in text and "Save settings" not in text
    assert client.post("/w/acme/settings", GIVEN).status_code == 403
