from __future__ import annotations

import pytest

from routing import working
from routing.errors import InvalidRegistry, InvalidRequest, StaleDraft
from routing.models import AuditEntry, Inspection, Workspace
from routing.services import entries, inspections, workspaces
from tests.mcp_server import serving
from tests.routing.conftest import EDITOR

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = [
    {"name": "read", "description": "Read a file", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    {"name": "write", "description": "Write a file", "inputSchema": SCHEMA},
    {"name": "stat", "description": "Tell about a file"},
]


def endpoint(workspace: Workspace, url: str, **more):
    workspaces.configure(workspace, {"allow_private": ["127.0.0.0/8"]}, by=EDITOR)
    return entries.add(workspace, "endpoints", {"name": "files", "kind": "mcp", "url": url, **more}, by=EDITOR)


def looked(workspace: Workspace, kind: str) -> Inspection:
    row = inspections.request(workspace, "files", kind, by=EDITOR)
    inspections.run(row.pk)
    row.refresh_from_db()
    return row


def test_all_pages_of_a_servers_tools_are_found_and_nothing_enters_the_draft(workspace):
    with serving(TOOLS, page=1, streams=True) as server:
        endpoint(workspace, server.url)
        row = looked(workspace, "discover")

    assert (row.state, row.said) == ("finished", "It lists 3 tools.")
    assert [tool["name"] for tool in row.found["tools"]] == ["read", "write", "stat"]
    assert row.found["tools"][0]["input_schema"] == SCHEMA
    assert "tools" not in working.copy_of(workspace).entry("endpoints", "files")


def test_what_is_picked_enters_the_draft_in_one_step_and_what_operators_set_stays(workspace):
    old = [
        {"name": "read", "description": "Read", "risk": "high", "enabled": False},
        {"name": "write", "description": "Old words"},
        {"name": "gone", "description": "No longer there"},
    ]
    with serving(TOOLS) as server:
        endpoint(workspace, server.url, tools=old, tool_use_when={"read": ["open a file"]})
        row = looked(workspace, "discover")
    body = working.copy_of(workspace).entry("endpoints", "files")
    found = inspections.differences(body, row.found["tools"])

    assert [(one.name, one.action) for one in found] == [
        ("stat", "new"),
        ("read", "changed"),
        ("write", "changed"),
        ("gone", "vanished"),
    ]
    assert [key for key, _, _ in found[1].fields] == ["description", "input_schema", "annotations"]

    told = AuditEntry.objects.count()
    number = inspections.take(workspace, row.pk, ["read", "stat", "gone"], read=entries.version(body), by=EDITOR)
    after = working.copy_of(workspace).entry("endpoints", "files")
    tools = {tool["name"]: tool for tool in after["tools"]}

    assert (number, AuditEntry.objects.count() - told) == (3, 1)
    assert list(tools) == ["read", "write", "stat"]
    assert (tools["read"]["description"], tools["read"]["risk"], tools["read"]["enabled"]) == (
        "Read a file",
        "high",
        False,
    )
    assert tools["write"]["description"] == "Old words"
    assert after["tool_use_when"] == {"read": ["open a file"]}
    with pytest.raises(StaleDraft):
        inspections.take(workspace, row.pk, ["write"], read=entries.version(body), by=EDITOR)


def test_a_test_tells_what_it_found_and_never_the_secret(workspace, monkeypatch):
    monkeypatch.setenv("FILES_TOKEN", "sk-very-hidden")
    with serving(TOOLS, secret="sk-very-hidden") as server:
        endpoint(workspace, server.url, credential="env:FILES_TOKEN")
        good = looked(workspace, "test")
        monkeypatch.setenv("FILES_TOKEN", "sk-another")
        bad = looked(workspace, "test")

    assert good.state == "finished" and "an MCP server, protocol 2025-06-18" in good.said
    assert (bad.state, bad.code) == ("failed", "credential")
    assert "hidden" not in f"{good.said}{good.found}{bad.said}{bad.found}"


def test_a_private_address_that_is_not_allowed_any_more_is_not_called(workspace):
    with serving(TOOLS) as server:
        endpoint(workspace, server.url)
        workspaces.configure(workspace, {"allow_private": []}, by=EDITOR)
        row = looked(workspace, "test")

    assert (row.state, row.code, server.asked) == ("failed", "address", [])


def test_one_look_at_a_time_and_one_that_was_stopped_stays_so(workspace):
    with serving(TOOLS) as server:
        endpoint(workspace, server.url)
        row = inspections.request(workspace, "files", "discover", by=EDITOR)
        assert inspections.request(workspace, "files", "discover", by=EDITOR).pk == row.pk
        inspections.cancel(workspace, row.pk, by=EDITOR)
        inspections.run(row.pk)

    row.refresh_from_db()
    assert (row.state, server.asked) == ("cancelled", [])


def test_what_is_never_contacted_is_not_looked_at(published):
    with pytest.raises(InvalidRequest, match="no URL"):
        inspections.request(published, "notes", "test", by=EDITOR)


def test_tools_that_break_a_rule_are_told_and_left_out():
    tools, problems = inspections.read_listed([{"name": "a", "risk": "low"}, {"name": ""}, 7, {"name": "a"}])

    assert tools == [{"name": "a"}]
    assert len(problems) == 3


# --- where an endpoint leads -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("https://mcp.example/git/other", False),
        ("https://mcp.example:443/git?x=1", False),
        ("http://mcp.example/git", True),
        ("https://mcp.example:8443/git", True),
        ("https://mcp.evil/git", True),
        ("https://mcp.example/other", True),
    ],
)
def test_a_credential_is_entered_again_when_the_url_leads_elsewhere(workspace, url, refused):
    body = {"name": "git", "kind": "mcp", "url": "https://mcp.example/git", "credential": "env:GIT"}
    entries.add(workspace, "endpoints", body, by=EDITOR)

    if not refused:
        assert entries.edit(workspace, "endpoints", "git", {"url": url}, by=EDITOR)["url"] == url
        return
    with pytest.raises(InvalidRegistry) as error:
        entries.edit(workspace, "endpoints", "git", {"url": url}, by=EDITOR)
    assert [one["path"] for one in error.value.details] == ["credential"]
    with pytest.raises(InvalidRegistry):
        entries.edit_many(workspace, "endpoints", ["git"], lambda _: {"url": url}, by=EDITOR)
    again = entries.edit(workspace, "endpoints", "git", {"url": url, "credential": "env:GIT"}, by=EDITOR)
    assert (again["url"], again["credential"]) == (url, "env:GIT")


def test_a_url_into_a_refused_range_is_told_at_its_field(workspace):
    with pytest.raises(InvalidRegistry) as error:
        entries.add(workspace, "endpoints", {"name": "x", "kind": "mcp", "url": "http://2130706433/mcp"}, by=EDITOR)

    assert [one["path"] for one in error.value.details] == ["url"]
