"""Edits of an endpoint's page: one part at a time into the draft, with undo, and with both sides shown on a conflict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from control.access import may
from control.web import endpoints
from control.web.context import draft_count
from control.web.forms.endpoints import ListForm, TextForm
from routing import mapping
from routing.engine.naming import public_fragments
from routing.errors import InvalidRegistry, StaleDraft
from routing.models import EndpointRow, Workspace
from routing.services import registry

PARTS = {"description": "Description", "tags": "Tags", "use_when": "Hints", "tool_use_when": "Hints"}
TRIES = 3


@dataclass(slots=True, kw_only=True)
class Edit:
    """One post: the part, the tool that it is about (or none), and the form."""

    part: str
    tool: str
    form: Any

    @property
    def value(self) -> Any:
        if self.part == "description":
            return self.form.value
        return self.form.tags() if self.part == "tags" else self.form.cleaned()

    def held(self, body: Mapping[str, Any]) -> Any:
        """What the draft has there now."""
        empty: Any = "" if self.part == "description" else []
        value = body.get(self.part) or empty
        return (value or {}).get(self.tool, []) if self.part == "tool_use_when" else value

    def change(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if self.part != "tool_use_when":
            return {self.part: self.value or None}
        others = dict(body.get("tool_use_when", {}))
        if self.value:
            others[self.tool] = self.value
        else:
            others.pop(self.tool, None)
        return {"tool_use_when": others or None}


@require_POST
@may("endpoint.edit")
def edit(request: HttpRequest, workspace: Workspace, name: str, part: str) -> HttpResponse:
    row = endpoints.find(workspace, name)
    wanted = _read(request, row, part)
    body = mapping.endpoint_document(row)
    before = wanted.held(body)
    if before == wanted.value:
        wanted.form.read = endpoints.mark(body, part, wanted.tool)  # whatever was read, both sides agree
        return _answer(request, row, wanted)
    if wanted.form.read != endpoints.mark(body, part, wanted.tool):
        return _conflict(request, row, wanted, before)
    return _save(request, workspace, row, wanted, body, before)


def _read(request: HttpRequest, row: EndpointRow, part: str) -> Edit:
    if part not in PARTS:
        raise Http404
    tool = request.POST.get("tool", "") if part == "tool_use_when" else ""
    if part == "tool_use_when" and tool not in _keys(row):
        raise Http404
    form = TextForm.posted(request.POST) if part in ("description", "tags") else ListForm.posted(request.POST)
    return Edit(part=part, tool=tool, form=form)


def _keys(row: EndpointRow) -> set[str]:
    fragments = public_fragments(row.name, [tool.name for tool in row.tools.all()])
    return {endpoints.hint_key(row, wire, fragment) for wire, fragment in fragments.items()}


def _save(
    request: HttpRequest, workspace: Workspace, row: EndpointRow, wanted: Edit, body: Mapping[str, Any], before: Any
) -> HttpResponse:
    try:
        saved = _written(request, workspace, row.name, wanted, body)
    except InvalidRegistry as error:
        wanted.form.refuse(error.details)
        return _answer(request, row, wanted, status=422)
    except StaleDraft:
        fresh = endpoints.find(workspace, row.name)
        return _conflict(request, fresh, wanted, wanted.held(mapping.endpoint_document(fresh)))
    wanted.form.saved = True
    wanted.form.read = endpoints.mark(mapping.endpoint_document(saved), wanted.part, wanted.tool)
    return _answer(request, saved, wanted, undo=before)


def _written(request: Any, workspace: Workspace, name: str, wanted: Edit, body: Mapping[str, Any]) -> EndpointRow:
    """Save; when somebody changed another part meanwhile, go on from what they left."""
    for _ in range(TRIES):
        version = registry.endpoint_version(body)
        try:
            return registry.edit_endpoint(workspace, name, wanted.change(body), by=request.actor, version=version)
        except StaleDraft as error:
            body = error.details[0]["value"]
            if wanted.form.read != endpoints.mark(body, wanted.part, wanted.tool):
                raise
    raise StaleDraft("Somebody changes this endpoint at this moment.")


def _conflict(request: HttpRequest, row: EndpointRow, wanted: Edit, theirs: Any) -> HttpResponse:
    fresh = endpoints.mark(mapping.endpoint_document(row), wanted.part, wanted.tool)
    conflict = {"theirs": theirs, "mine": wanted.value, "read": fresh, "part": wanted.part, "tool": wanted.tool}
    return _answer(request, row, wanted, status=409, conflict=conflict)


def _answer(
    request: HttpRequest, row: EndpointRow, wanted: Edit, *, status: int = 200, undo: Any = None, conflict: Any = None
) -> HttpResponse:
    if not request.htmx and status == 200:  # type: ignore[attr-defined]
        if wanted.form.saved:
            messages.success(request, f"{PARTS[wanted.part]} saved to the draft")
        if getattr(wanted.form, "focus", None) is None or wanted.form.saved:
            return redirect("endpoint", row.workspace.name, row.name)
    if not request.htmx:  # type: ignore[attr-defined]
        page = endpoints.told(request, row, **_forms(wanted, conflict))
        return render(request, "endpoints/detail.html", page, status=status)
    # What htmx swaps in is an answer, not a failure: browsers would report any other status in the console.
    return render(request, "endpoints/_part.html", _part(request, row, wanted, undo) | {"conflict": conflict})


def _forms(wanted: Edit, conflict: Any) -> dict[str, Any]:
    if wanted.part == "tool_use_when":
        return {"posted": endpoints.Posted(tool=wanted.tool, form=wanted.form, conflict=conflict)}
    name = {"description": "description_form", "tags": "tags_form", "use_when": "hint_form"}[wanted.part]
    return {name: wanted.form, "conflicts": {wanted.part: conflict}}


def _part(request: Any, row: EndpointRow, wanted: Edit, undo: Any) -> dict[str, Any]:
    context: dict[str, Any] = {
        "endpoint": row,
        "part": wanted.part,
        "form": wanted.form,
        "tool_key": wanted.tool,
        "oob": True,
        "back": reverse("endpoint", args=[row.workspace.name, row.name]),
    }
    if wanted.part == "tool_use_when":
        context["tool"] = _tool(row, wanted)
    if wanted.form.saved:
        context |= {
            "toast": _said(wanted),
            "undo_value": undo,
            "undo_read": wanted.form.read,
            "draft_count": draft_count(request.workspace),
        }
    return context


def _tool(row: EndpointRow, wanted: Edit) -> dict[str, Any]:
    body = mapping.endpoint_document(row)
    rows = list(row.tools.all())
    fragments = public_fragments(row.name, [tool.name for tool in rows])
    place = next(
        i for i, tool in enumerate(rows) if endpoints.hint_key(row, tool.name, fragments[tool.name]) == wanted.tool
    )
    document = body["tools"][place]
    return endpoints.tool_line(
        row, document, fragments[document["name"]], body, place, endpoints.Posted(tool=wanted.tool, form=wanted.form)
    )


def _said(wanted: Edit) -> str:
    if wanted.tool:
        return f"Hints of {wanted.tool} saved to the draft"
    return f"{PARTS[wanted.part]} saved to the draft"
