from __future__ import annotations

import dataclasses

import pytest

from routing import working
from routing.engine.registry import Endpoint
from routing.models import Inspection
from routing.services import entries, inspections, workspaces
from tests.mcp_server import serving
from tests.routing.conftest import EDITOR

HOSTILE = '<script>alert(1)</script> "\u202e"'
FORM = {
    "name": "files",
    "kind": "mcp",
    "url": "https://mcp.example/mcp",
    "tags": "a, b",
    "capabilities": "web-fetch 0.5",
}


def body(workspace, name="files"):
    return working.copy_of(workspace).entry("endpoints", name)


@pytest.fixture
def editor(enter):
    return enter("editor")


@pytest.fixture
def files(workspace):
    workspaces.configure(workspace, {"allow_private": ["127.0.0.0/8"]}, by=EDITOR)
    with serving([{"name": "read", "description": HOSTILE}, {"name": "write"}, {"name": "stat"}]) as server:
        entries.add(workspace, "endpoints", {"name": "files", "kind": "mcp", "url": server.url}, by=EDITOR)
        yield server


def test_discovery_shows_tools_as_text_and_takes_what_is_picked(editor, workspace, files):
    started = editor.post("/w/acme/endpoints/files/look/discover")
    row = Inspection.objects.get()
    waiting = editor.get(started["Location"], headers={"HX-Request": "true"}).content.decode()
    inspections.run(row.pk)
    done = editor.get(started["Location"])
    text = done.content.decode()

    assert "hx-trigger" in waiting and "Stop" in waiting
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text
    assert text.count('name="pick"') == 3
    taken = editor.post(f"{started['Location']}/take", {"pick": ["write", "stat"], "read": done.context["read"]})
    assert taken.status_code == 302
    assert [tool["name"] for tool in body(workspace)["tools"]] == ["write", "stat"]
    there = editor.get(started["Location"]).context["read"]
    again = editor.post(f"{started['Location']}/take", {"pick": ["write", "stat"], "read": there})
    assert "has what was picked already" in again.content.decode()
    stale = editor.post(f"{started['Location']}/take", {"pick": ["read"], "read": done.context["read"]})
    assert stale.status_code == 409 and "Somebody changed" in stale.content.decode()


def test_a_look_can_be_stopped_and_is_not_that_of_another_endpoint(editor, workspace, files):
    address = editor.post("/w/acme/endpoints/files/look/test")["Location"]
    editor.post(f"{address}/stop")

    assert Inspection.objects.get().state == "cancelled"
    assert editor.get(address.replace("/files/", "/hitspec/")).status_code == 404


@pytest.mark.parametrize("role", ["viewer", "reviewer", "auditor"])
def test_looking_is_for_those_who_edit(enter, workspace, files, role):
    assert enter(role).post("/w/acme/endpoints/files/look/test").status_code == 403
    assert not Inspection.objects.exists()


def test_an_endpoint_is_made_changed_and_removed(editor, workspace):
    assert editor.get("/w/acme/new/endpoint").status_code == 200
    assert editor.post("/w/acme/new/endpoint", {**FORM, "credential": "env:FILES"}).status_code == 302
    made = body(workspace)
    assert made["capabilities"] == [{"name": "web-fetch", "level": 0.5}]

    page = editor.get("/w/acme/endpoints/files/form")
    form = {**FORM, "read": page.context["form"].meeting.read}
    moved = editor.post("/w/acme/endpoints/files/form", {**form, "url": "https://other.example/mcp"})
    assert moved.status_code == 422 and "entered again" in moved.content.decode()
    assert editor.post("/w/acme/endpoints/files/form", {**form, "title": "Files"}).status_code == 302
    assert (body(workspace)["title"], body(workspace)["credential"]) == ("Files", "env:FILES")
    stale = editor.post("/w/acme/endpoints/files/form", {**form, "title": "Mine"})
    assert stale.status_code == 409 and 'value="Mine"' in stale.content.decode()

    assert "Remove files?" in editor.get("/w/acme/endpoints/files/remove").content.decode()
    editor.post("/w/acme/endpoints/files/remove")
    assert body(workspace) is None


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", "Not a name", "Not a name"),
        ("url", "http://169.254.169.254/", "no server of models or tools has"),
        ("url", "http://127.0.0.1/mcp", "allow list"),
        ("credential", "sk-123456789", "reference"),
        ("priority", "soon", "whole number"),
        ("capabilities", "a b", "neither a level"),
    ],
)
def test_what_breaks_a_rule_is_told_beside_its_field_and_kept(editor, workspace, field, value, words):
    answer = editor.post("/w/acme/new/endpoint", {**FORM, field: value})

    assert answer.status_code == 422
    assert any(words in one for one in answer.context["form"].problems[field])
    assert body(workspace) is None


def test_all_that_is_wrong_is_told_at_once(editor, workspace):
    wrong = {
        "context_window": "-5",
        "cost_in": "NaN",
        "credential": "sk-123456789",
        "url": "http://[::ffff:10.0.0.1]/",
        "headers": "broken",
        "priority": "1e400",
        "max_concurrency": "0",
        "adapters": "[{",
    }

    new = editor.post("/w/acme/new/endpoint", {**FORM, **wrong, "name": "hitspec"})
    known = editor.post("/w/acme/endpoints/hitspec/form", wrong)

    assert (new.status_code, known.status_code) == (422, 422)
    assert set(new.context["form"].problems) == {*wrong, "name"}
    assert set(known.context["form"].problems) >= set(wrong)


def test_a_credential_to_be_entered_again_is_not_said_to_be_kept(editor, workspace):
    made = {"name": "files", "kind": "mcp", "url": "https://mcp.example/mcp", "credential": "env:FILES"}
    entries.add(workspace, "endpoints", made, by=EDITOR)
    page = editor.get("/w/acme/endpoints/files/form")
    assert "Left empty" in page.content.decode()

    sent = {"url": "https://other.example/mcp", "credential": "", "read": page.context["form"].meeting.read}
    moved = editor.post("/w/acme/endpoints/files/form", sent).content.decode()

    assert "entered again" in moved and "Left empty" not in moved


def test_every_field_of_the_document_can_be_set(editor, workspace):
    more = {
        "enabled": "off",
        "owner": "Search team",
        "note": "Ask before 9",
        "transport": "sse",
        "max_concurrency": "4",
        "plans_only": "on",
        "adapters": '[{"capability": "web-fetch", "type": "lora"}]',
    }
    assert editor.post("/w/acme/new/endpoint", {**FORM, **more}).status_code == 302
    made = body(workspace)

    assert {key: made[key] for key in more} == {
        "enabled": False,
        "owner": "Search team",
        "note": "Ask before 9",
        "transport": "sse",
        "max_concurrency": 4,
        "plans_only": True,
        "adapters": [{"capability": "web-fetch", "type": "lora"}],
    }
    form = editor.get("/w/acme/endpoints/files/form").context["form"]
    missing = {field.name for field in dataclasses.fields(Endpoint)} - {*form.values, "features"}
    assert missing == {"tools", "use_when", "tool_use_when"}  # have forms of their own
    assert (
        editor.post("/w/acme/new/endpoint", {"name": "stdio", "kind": "mcp", "launch": "host:files"}).status_code == 302
    )


def test_a_copy_has_the_tools_and_no_credential(editor, workspace):
    page = editor.get("/w/acme/new/endpoint?from=hitspec")
    assert page.context["form"].values["name"] == "hitspec-copy"
    editor.post("/w/acme/new/endpoint?from=hitspec", {"name": "hitspec-copy", "kind": "declared"})

    assert len(body(workspace, "hitspec-copy")["tools"]) == 2


def test_switching_off_names_what_stops_and_is_taken_back(editor, workspace, decide):
    decide()
    question = editor.get("/w/acme/endpoints/hitspec/enabled").content.decode()
    assert "default" in question and "web-only" in question and "1 decision" in question
    assert 'href="/w/acme/endpoints/hitspec#replay"' in question

    editor.post("/w/acme/endpoints/hitspec/enabled", {"enabled": "no"})
    assert body(workspace, "hitspec")["enabled"] is False
    page = editor.get("/w/acme/endpoints/hitspec").content.decode()
    assert "Undo" in page
    editor.post("/w/acme/endpoints/hitspec/enabled", {"enabled": "yes"})
    assert body(workspace, "hitspec").get("enabled", True) is True


def test_an_endpoint_that_a_scope_names_is_not_removed(editor, workspace):
    answer = editor.post("/w/acme/endpoints/hitspec/remove", follow=True)

    text = answer.content.decode()
    assert answer.status_code == 409 and "hitspec</bdi> cannot be removed" in text
    assert '<a href="/w/acme/scopes/web-only"><b><bdi>web-only</bdi></b></a>' in text
    assert "in its list of endpoints" in text and "scopes[" not in text
    assert body(workspace, "hitspec") is not None


def test_many_tools_come_in_pages(editor, workspace):
    tools = [{"name": f"tool_{n}"} for n in range(120)]
    entries.edit(workspace, "endpoints", "notes", {"tools": tools}, by=EDITOR)

    first, last = (editor.get(f"/w/acme/endpoints/notes?page={page}") for page in (1, 3))
    assert (len(first.context["tools"]), len(last.context["tools"])) == (50, 20)


def test_what_still_names_a_tool_that_vanished_is_told_in_words(editor, workspace, files):
    entries.edit(workspace, "endpoints", "files", {"tools": [{"name": "read"}, {"name": "old"}]}, by=EDITOR)
    entries.add(workspace, "scopes", {"name": "team", "deny": ["files__old"]}, by=EDITOR)
    entries.edit(workspace, "scopes", "web-only", {"pins": ["files__read"]}, by=EDITOR)
    started = editor.post("/w/acme/endpoints/files/look/discover")
    inspections.run(Inspection.objects.get().pk)
    read = editor.get(started["Location"]).context["read"]

    answer = editor.post(f"{started['Location']}/take", {"pick": ["old", "write"], "read": read})

    assert answer.status_code == 422
    assert answer.context["problems"] == [
        "Scope team names files__old among what it denies.",
        "Take these names out there first, or do not pick what is no longer listed.",
    ]
    assert [tool["name"] for tool in body(workspace)["tools"]] == ["read", "old"]
