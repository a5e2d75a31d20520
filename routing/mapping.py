"""Rows ↔ the registry document. Past this module's last line nobody touches the ORM for routing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from routing.models import (
    CapabilityRow,
    EndpointRow,
    EntryRow,
    PolicyRow,
    ScopeRow,
    ToolRow,
    Workspace,
)

Document = dict[str, Any]

# Columns and what a document means by leaving them out.
_ENDPOINT: Document = {
    "title": None,
    "kind": None,
    "url": None,
    "credential": None,
    "enabled": True,
    "description": "",
    "tags": [],
    "capabilities": [],
    "use_when": [],
    "tool_use_when": {},
}
_TOOL: Document = {
    "title": None,
    "description": "",
    "input_schema": {},
    "category": None,
    "risk": None,
    "effect": None,
    "enabled": True,
}
_CAPABILITY: Document = {"description": "", "deprecated": False}
_SCOPE: Document = {"policy": "default"}
_POLICY: Document = {}
_THRESHOLDS = ("direct_execution_threshold", "fallback_threshold")
_SECTIONS = ("providers", "task_rules", "contracts", "expectations")

# Lists whose entries are edited one at a time: their rows, and the columns of these.
ENTRIES: dict[str, tuple[Any, Document]] = {
    "providers": (EntryRow, {}),
    "endpoints": (EndpointRow, _ENDPOINT),
    "capabilities": (CapabilityRow, _CAPABILITY),
    "scopes": (ScopeRow, _SCOPE),
    "policies": (PolicyRow, _POLICY),
    "expectations": (EntryRow, {}),
}


def document_of(workspace: Workspace) -> Document:
    """The working copy as a document; entries keep their order, fields at their default are left out."""
    document: Document = {"version": 1}
    if workspace.gateway:
        document["gateway"] = workspace.gateway
    others = list(EntryRow.objects.filter(workspace=workspace).order_by("section", "position"))
    _put(document, "groups", {row.name: row.details["members"] for row in others if row.section == "groups"})
    _put(document, "providers", _bodies(others, "providers"))
    endpoints = EndpointRow.objects.filter(workspace=workspace).prefetch_related("tools")
    _put(document, "endpoints", [endpoint_document(row) for row in endpoints])
    _put(document, "capabilities", _named(CapabilityRow.objects.filter(workspace=workspace), _CAPABILITY))
    _put(document, "scopes", _named(ScopeRow.objects.filter(workspace=workspace), _SCOPE))
    _put(document, "policies", _named(PolicyRow.objects.filter(workspace=workspace), _POLICY))
    for section in _SECTIONS[1:]:
        _put(document, section, _bodies(others, section))
    return document


def endpoint_document(row: EndpointRow) -> Document:
    """One endpoint with its tools (prefetched) as the document spells it."""
    body = _from_columns(row, _ENDPOINT)
    tools = [_from_columns(tool, _TOOL) for tool in row.tools.all()]
    return body | ({"tools": tools} if tools else {})


def replace(workspace: Workspace, document: Mapping[str, Any]) -> None:
    """Make the tables of a workspace say exactly this (valid) document."""
    for model in (EndpointRow, CapabilityRow, ScopeRow, PolicyRow, EntryRow):
        model.objects.filter(workspace=workspace).delete()
    fill(workspace, document)


def scope_document(row: ScopeRow) -> Document:
    """One scope as the document spells it."""
    return _from_columns(row, _SCOPE)


def capability_document(row: CapabilityRow) -> Document:
    """One capability as the document spells it."""
    return _from_columns(row, _CAPABILITY)


def fill(workspace: Workspace, document: Mapping[str, Any]) -> None:
    """Write a whole (valid) document into the empty tables of a workspace."""
    workspace.gateway = document.get("gateway", {})
    workspace.save(update_fields=["gateway"])
    fill_endpoints(workspace, document.get("endpoints", ()))
    _fill(CapabilityRow, workspace, document.get("capabilities", ()), _CAPABILITY)
    _fill(ScopeRow, workspace, document.get("scopes", ()), _SCOPE)
    _fill(PolicyRow, workspace, document.get("policies", ()), _POLICY)
    EntryRow.objects.bulk_create(_entries(workspace, document))


def fill_endpoints(workspace: Workspace, endpoints: Iterable[Mapping[str, Any]]) -> None:
    rows = [
        EndpointRow(workspace=workspace, position=place, **_to_columns(body, _ENDPOINT))
        for place, body in enumerate(endpoints)
    ]
    tools = [tool for row, body in zip(rows, endpoints, strict=True) for tool in tool_rows(row, body)]
    EndpointRow.objects.bulk_create(rows, batch_size=200)
    ToolRow.objects.bulk_create(tools, batch_size=200)


def tool_rows(endpoint: EndpointRow, body: Mapping[str, Any]) -> list[ToolRow]:
    return [
        ToolRow(endpoint=endpoint, position=place, **_to_columns(tool, _TOOL))
        for place, tool in enumerate(body.get("tools", ()))
    ]


def update(workspace: Workspace, section: str, bodies: Iterable[Mapping[str, Any]]) -> None:
    """Make the rows of these entries say what their documents say; known ones keep their place, new ones go last."""
    model, columns = ENTRIES[section]
    wanted = list(bodies)
    rows = {row.name: row for row in _rows(workspace, section).filter(name__in=[body["name"] for body in wanted])}
    for body in wanted:
        row = rows.get(body["name"]) or model(workspace=workspace, **_last(workspace, section))
        fresh = {"name": body["name"], "details": body} if model is EntryRow else _to_columns(body, columns)
        for column, value in fresh.items():
            setattr(row, column, value)
        row.save()
        if section == "endpoints":
            _update_tools(row, body)


def remove(workspace: Workspace, section: str, names: Iterable[str]) -> None:
    """Drop the rows of these entries; the others keep their order."""
    _rows(workspace, section).filter(name__in=list(names)).delete()


def _rows(workspace: Workspace, section: str) -> Any:
    model, _ = ENTRIES[section]
    rows = model.objects.filter(workspace=workspace)
    return rows.filter(section=section) if model is EntryRow else rows


def _last(workspace: Workspace, section: str) -> Document:
    place = _rows(workspace, section).order_by("-position").values_list("position", flat=True).first()
    following = {"position": 0 if place is None else place + 1}
    return following | ({"section": section} if ENTRIES[section][0] is EntryRow else {})


def _update_tools(row: EndpointRow, body: Mapping[str, Any]) -> None:
    """Tools that the document leaves as they are keep their rows."""
    if [_from_columns(tool, _TOOL) for tool in row.tools.all()] == list(body.get("tools", ())):
        return
    row.tools.all().delete()
    ToolRow.objects.bulk_create(tool_rows(row, body), batch_size=200)


def _put(document: Document, section: str, content: Any) -> None:
    if content:
        document[section] = content


def _named(rows: Iterable[Any], columns: Mapping[str, Any]) -> list[Document]:
    return [_from_columns(row, columns) for row in rows]


def _bodies(rows: Iterable[EntryRow], section: str) -> list[Document]:
    return [row.details for row in rows if row.section == section]


def _entries(workspace: Workspace, document: Mapping[str, Any]) -> list[EntryRow]:
    groups = [
        EntryRow(workspace=workspace, section="groups", position=place, name=name, details={"members": members})
        for place, (name, members) in enumerate(document.get("groups", {}).items())
    ]
    others = [
        EntryRow(
            workspace=workspace, section=section, position=place, name=str(body.get("name", place))[:256], details=body
        )
        for section in _SECTIONS
        for place, body in enumerate(document.get(section, ()))
    ]
    return groups + others


def _from_columns(row: Any, columns: Mapping[str, Any]) -> Document:
    known = {name: getattr(row, name) for name, default in columns.items() if getattr(row, name) != default}
    return {"name": row.name, **known, **row.details}


def _to_columns(body: Mapping[str, Any], columns: Mapping[str, Any]) -> Document:
    known = {name: body.get(name, _fresh(default)) for name, default in columns.items()}
    if columns is _POLICY:
        known |= {name: body.get("router", {}).get(name) for name in _THRESHOLDS}
    return {
        "name": body["name"],
        **known,
        "details": {
            # An endpoint's tools are rows of their own; a scope's list of tools stays with the scope.
            key: value
            for key, value in body.items()
            if key != "name" and key not in columns and not (key == "tools" and columns is _ENDPOINT)
        },
    }


def _fresh(default: Any) -> Any:
    return type(default)() if isinstance(default, list | dict) else default


def _fill(
    model: Callable[..., Any], workspace: Workspace, bodies: Iterable[Mapping[str, Any]], columns: Mapping[str, Any]
) -> None:
    rows = [
        model(workspace=workspace, position=place, **_to_columns(body, columns)) for place, body in enumerate(bodies)
    ]
    model.objects.bulk_create(rows, batch_size=200)  # type: ignore[attr-defined]
