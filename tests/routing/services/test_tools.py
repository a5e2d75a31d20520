"""What an operator says of tools: declared or overridden, lasting, and taken back."""

from __future__ import annotations

import pytest

from routing import snapshot, working
from routing.engine import load_registry
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Edit, Inspection
from routing.services import decisions, entries, inspections, revisions, tools, undoing
from routing.services.decisions import Caller
from tests.routing.conftest import EDITOR

SERVER = {
    "name": "server",
    "kind": "mcp",
    "url": "https://mcp.example/mcp",
    "tools": [
        {"name": "read", "description": "Read a file", "annotations": {"readOnlyHint": True}},
        {"name": "drop", "description": "Drop a table", "risk": "medium"},
    ],
}
READ = ("server", "read")


@pytest.fixture
def server(published):
    entries.add(published, "endpoints", SERVER, by=EDITOR)
    return published


def tool(workspace, name: str = "read", endpoint: str = "server"):
    body = working.copy_of(workspace).entry("endpoints", endpoint)
    return next(one for one in body["tools"] if one["name"] == name)


def provenance(workspace, name: str) -> dict[str, str]:
    doc = load_registry(working.copy_of(workspace).document).tool("server", name)
    return dict(doc.traits.provenance)


def test_an_edit_of_a_discovered_tool_overrides_and_of_a_declared_one_declares(server):
    assert provenance(server, "read") == {"category": "inferred", "risk": "annotation", "effect": "annotation"}

    tools.edit(server, [READ, ("notes", "add_note")], {"risk": "high"}, by=EDITOR)

    assert tool(server)["overridden"] == ["risk"]
    assert provenance(server, "read")["risk"] == "overridden"
    assert tool(server, "add_note", "notes") | {"risk": "high"} == tool(server, "add_note", "notes")
    assert "overridden" not in tool(server, "add_note", "notes")


def test_what_was_declared_stays_declared_until_somebody_says_otherwise(server):
    tools.edit(server, [("server", "drop")], {"risk": "medium", "effect": "erase"}, by=EDITOR)
    assert provenance(server, "drop") == {"category": "inferred", "risk": "declared", "effect": "overridden"}

    tools.edit(server, [("server", "drop")], {"risk": "critical"}, by=EDITOR)
    assert provenance(server, "drop")["risk"] == "overridden"


def test_back_to_what_the_server_says(server):
    before = tool(server)
    tools.edit(server, [READ], {"risk": "high", "category": "vault"}, by=EDITOR)
    tools.edit(server, [READ], {"risk": None}, by=EDITOR)
    assert (tool(server)["overridden"], provenance(server, "read")["risk"]) == (["category"], "annotation")

    tools.edit(server, [READ], {"category": None}, by=EDITOR)
    assert tool(server) == before


def test_an_override_outlives_a_new_discovery_of_the_same_tool(server):
    tools.edit(server, [READ], {"risk": "high", "effect": "write", "enabled": False}, by=EDITOR)
    listed = [{"name": "read", "description": "Read any file", "annotations": {"destructiveHint": True}}]
    found, _ = inspections.read_listed([*listed, {"name": "drop", "risk": "low", "overridden": ["risk"]}])
    row = Inspection.objects.create(
        workspace=server, endpoint="server", kind="discover", by="x", state="finished", found={"tools": found}
    )
    read = entries.version(working.copy_of(server).entry("endpoints", "server"))

    inspections.take(server, row.pk, ["read", "drop"], read=read, by=EDITOR)

    taken = tool(server)
    assert (taken["description"], taken["annotations"]) == ("Read any file", {"destructiveHint": True})
    assert (taken["risk"], taken["effect"], taken["enabled"]) == ("high", "write", False)
    assert provenance(server, "read") == {"category": "inferred", "risk": "overridden", "effect": "overridden"}
    assert tool(server, "drop")["risk"] == "medium" and "overridden" not in tool(server, "drop")


def test_harnesses_are_told_that_it_is_overridden(server):
    tools.edit(server, [READ], {"effect": "write"}, by=EDITOR)
    revisions.publish(server, message="Set by hand", by=EDITOR)
    snapshot.live(server.pk)

    told = decisions.describe(Caller(workspace_id=server.pk, scope="default", harness="x"), "server__read")

    assert (told["effect"], told["provenance"]["effect"]) == ("write", "overridden")
    assert told["provenance"]["risk"] == "annotation"


def test_many_tools_are_one_step_that_is_taken_back_exactly(server):
    before = working.copy_of(server).document
    number = tools.edit(
        server, [READ, ("notes", "add_note"), ("notes", "delete_note")], {"enabled": False}, by=EDITOR, message="Off"
    )

    assert number == 3
    assert Edit.objects.filter(workspace=server, revision=None).count() == 2  # the server was added before
    undoing.undo(server, Edit.objects.order_by("-id").first().pk, by=EDITOR)
    assert working.copy_of(server).document == before


def test_what_is_so_already_is_no_edit(server):
    edits = Edit.objects.count()

    assert tools.edit(server, [READ], {"enabled": True, "risk": None}, by=EDITOR) == 0
    assert Edit.objects.count() == edits


@pytest.mark.parametrize("pair", [("server", "nothing"), ("nowhere", "read")])
def test_one_tool_that_is_not_there_and_nothing_is_saved(server, pair):
    before = working.copy_of(server).digest

    with pytest.raises(NotFound):
        tools.edit(server, [READ, pair], {"enabled": False}, by=EDITOR)
    assert working.copy_of(server).digest == before


def test_what_is_no_trait_is_refused_and_nothing_is_saved(server):
    with pytest.raises(InvalidRegistry):
        tools.edit(server, [READ], {"risk": "huge"}, by=EDITOR)
    assert "risk" not in tool(server)


def test_a_draft_that_changed_since_is_left_alone(server):
    server.refresh_from_db()
    seen = server.draft_version
    entries.edit(server, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)

    with pytest.raises(StaleDraft):
        tools.edit(server, [READ], {"enabled": False}, by=EDITOR, seen=seen)
    server.refresh_from_db()
    assert tools.edit(server, [READ], {"enabled": False}, by=EDITOR, seen=server.draft_version) == 1
