"""Tools of the draft: switch them on and off, and say what they are, one or many in a step.

What an operator says of a tool that an MCP server lists overrides the server: it is marked as `overridden` and outlives
every later discovery. Other tools are what the registry writes, so an edit of them is declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from routing.engine.registry import TRAITS
from routing.errors import NotFound
from routing.models import Actor, Workspace
from routing.services import entries

Document = dict[str, Any]
Pair = tuple[str, str]  # endpoint, wire name
FIELDS = (*TRAITS, "enabled")


def edit(
    workspace: Workspace,
    tools: Iterable[Pair],
    changes: Mapping[str, Any],
    *,
    by: Actor,
    seen: int | None = None,
    message: str = "",
) -> int:
    """Change some of FIELDS of these tools, all or none; None takes a trait back to what the tool says of itself.

    Returns how many tools say something else now. Raises NotFound for a tool that is not in the draft, and StaleDraft and
    InvalidRegistry as `entries.edit_many`.
    """
    wanted: dict[str, set[str]] = {}
    for endpoint, wire in tools:
        wanted.setdefault(endpoint, set()).add(wire)
    different = 0

    def change(endpoint: Document) -> Document:
        nonlocal different
        present, wires = list(endpoint.get("tools", ())), wanted[endpoint["name"]]
        if missing := wires - {tool["name"] for tool in present}:
            raise NotFound(f"{endpoint['name']} has no tool {min(missing)[:200]} in the draft.")
        following = [changed(endpoint, tool, changes) if tool["name"] in wires else tool for tool in present]
        number = sum(before != after for before, after in zip(present, following, strict=True))
        different += number
        return {"tools": following} if number else {}

    entries.edit_many(workspace, "endpoints", list(wanted), change, by=by, seen=seen, message=message)
    return different


def changed(endpoint: Mapping[str, Any], tool: Mapping[str, Any], changes: Mapping[str, Any]) -> Document:
    """A tool's document with these changes, in the spelling of the registry: what is at its default is left out."""
    after = {key: value for key, value in {**tool, **changes}.items() if value is not None and key != "overridden"}
    if after.get("enabled") is True:
        del after["enabled"]
    marked = [trait for trait in TRAITS if trait in after and _is_overridden(endpoint, tool, trait, after[trait])]
    return after | ({"overridden": marked} if marked else {})


def _is_overridden(endpoint: Mapping[str, Any], tool: Mapping[str, Any], trait: str, value: Any) -> bool:
    if value == tool.get(trait):
        return trait in tool.get("overridden", ())
    return bool(endpoint["kind"] == "mcp")
