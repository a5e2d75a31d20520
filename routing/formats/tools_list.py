"""Answers of tools/list by server, kept in a file beside a configuration that names servers only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routing.formats.text import load
from routing.formats.values import Report, Unreadable

ONLY = ""  # stands for the one server of a file that holds one answer without a name
SHAPES = '{"server": {"tools": […]}}, {"server": […]}, or one answer of tools/list'

# MCP's names of what a tool says about itself, and ours.
_FIELDS = {
    "name": "name",
    "title": "title",
    "description": "description",
    "inputSchema": "input_schema",
    "input_schema": "input_schema",
    "outputSchema": "output_schema",
    "output_schema": "output_schema",
    "annotations": "annotations",
    "category": "category",
    "risk": "risk",
    "effect": "effect",
    "enabled": "enabled",
}


def read_tools(
    content: str | bytes | Mapping[str, Any], report: Report, *, filename: str | None = None
) -> dict[str, list[Any]]:
    """Server name -> its tools in the words of our document; what cannot be understood is reported."""
    try:
        values = content if isinstance(content, Mapping) else load(content, filename=filename)
    except Unreadable as error:
        report.problem("tools", f"the list of tools {error}")
        return {}
    single = _tools_of(values)
    if single is not None:
        return {ONLY: [tool_document(tool) for tool in single]}
    if not isinstance(values, Mapping):
        report.problem("tools", "the list of tools has no shape that is known", allowed=SHAPES)
        return {}
    return _by_server(values, report)


def _by_server(values: Mapping[Any, Any], report: Report) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for server, answer in values.items():
        tools = answer if isinstance(answer, list) else _tools_of(answer)
        if tools is None:
            report.problem(f"tools.{server}", "holds no answer of tools/list", allowed=SHAPES)
        else:
            found[str(server)] = [tool_document(tool) for tool in tools]
    return found


def _tools_of(answer: object) -> list[Any] | None:
    """The tools of one answer, bare or inside a JSON-RPC message."""
    if isinstance(answer, Mapping) and isinstance(answer.get("result"), Mapping):
        answer = answer["result"]
    tools = answer.get("tools") if isinstance(answer, Mapping) else None
    return tools if isinstance(tools, list) else None


def tool_document(tool: object) -> object:
    """One listed tool in the words of our document."""
    if not isinstance(tool, Mapping):
        return tool
    named = {_FIELDS[key]: value for key, value in tool.items() if key in _FIELDS and value is not None}
    title = named.get("annotations", {}).get("title") if isinstance(named.get("annotations"), Mapping) else None
    if isinstance(title, str) and "title" not in named:
        named["title"] = title  # where tools said their title before it had a field of its own
    return named


def add_tools(
    document: dict[str, Any], tools: Mapping[str, list[Any]], names: Mapping[str, str], report: Report
) -> None:
    """Put the listed tools into the endpoints of their servers. `names` maps the file's spellings to endpoints."""
    listed_endpoints = document.get("endpoints")
    found = [one for one in listed_endpoints if isinstance(one, dict)] if isinstance(listed_endpoints, list) else []
    by_name = {one["name"]: one for one in found if isinstance(one.get("name"), str)}
    for server, listed in tools.items():
        only = found[0] if server == ONLY and len(found) == 1 else None
        endpoint = only or by_name.get(names.get(server, server))
        if endpoint is None:
            where = f"tools.{server}" if server else "tools"
            message = "names no server of this file" if server else "does not say which server answered"
            report.problem(where, message, allowed=sorted(names)[:20])
        else:
            endpoint["tools"] = listed
