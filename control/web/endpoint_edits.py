"""Edits of an endpoint's page."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from control.access import may
from control.web import endpoints
from control.web.editing import Document, Edit, PartEditor
from control.web.forms.endpoints import ListForm, TextForm
from routing.engine.naming import public_fragments
from routing.models import Workspace


class EndpointEditor(PartEditor):
    section = "endpoints"
    url = "endpoint"
    templates = "endpoints"
    subject = "endpoint"
    parts = {"description": "Description", "tags": "Tags", "use_when": "Hints", "tool_use_when": "Hints"}

    def form(self, request: HttpRequest, edit: Edit, body: Document) -> Any:
        if edit.part == "tool_use_when" and edit.key not in _keys(body):
            raise Http404
        return (TextForm if edit.part in ("description", "tags") else ListForm).posted(request.POST)

    def value(self, edit: Edit) -> Any:
        if edit.part == "description":
            return edit.form.value
        return edit.form.tags() if edit.part == "tags" else edit.form.cleaned()

    def held(self, body: Document, edit: Edit) -> Any:
        if edit.part == "tool_use_when":
            return body.get("tool_use_when", {}).get(edit.key, [])
        return body.get(edit.part) or ("" if edit.part == "description" else [])

    def changes(self, body: Document, edit: Edit) -> Document:
        if edit.part != "tool_use_when":
            return super().changes(body, edit)
        others = {key: hints for key, hints in body.get("tool_use_when", {}).items() if key != edit.key}
        return {"tool_use_when": (others | ({edit.key: self.value(edit)} if self.value(edit) else {})) or None}

    def page(self, request: HttpRequest, body: Document, edit: Edit, conflict: Any) -> Document:
        row = endpoints.find(request.workspace, body["name"])  # type: ignore[attr-defined]
        if edit.part == "tool_use_when":
            posted = endpoints.Posted(tool=edit.key, form=edit.form, conflict=conflict)
            return endpoints.told(request, row, posted=posted)
        form = {"description": "description_form", "tags": "tags_form", "use_when": "hint_form"}[edit.part]
        return endpoints.told(request, row, **{form: edit.form, "conflicts": {edit.part: conflict}})

    def fragment(self, request: HttpRequest, body: Document, edit: Edit) -> Document:
        return {"tool": _tool(body, edit)} if edit.part == "tool_use_when" else {}

    def posted(self, before: Any) -> list[tuple[str, str]]:
        return [("value", before)] if isinstance(before, str) else [("hint", hint) for hint in before]

    def said(self, body: Document, edit: Edit) -> str:
        return f"Hints of {edit.key} saved to the draft" if edit.key else f"{self.parts[edit.part]} saved to the draft"


def _keys(body: Document) -> set[str]:
    fragments = public_fragments(body["name"], [tool["name"] for tool in body.get("tools", ())])
    return {endpoints.hint_key(body, wire, fragment) for wire, fragment in fragments.items()}


def _tool(body: Document, edit: Edit) -> dict[str, Any]:
    tools = body["tools"]
    fragments = public_fragments(body["name"], [tool["name"] for tool in tools])
    place = next(
        i for i, tool in enumerate(tools) if endpoints.hint_key(body, tool["name"], fragments[tool["name"]]) == edit.key
    )
    posted = endpoints.Posted(tool=edit.key, form=edit.form)
    return endpoints.tool_line(tools[place], fragments[tools[place]["name"]], body, place, posted)


EDITOR = EndpointEditor()


@require_POST
@may("endpoint.edit")
def edit(request: HttpRequest, workspace: Workspace, name: str, part: str) -> HttpResponse:
    return EDITOR.post(request, workspace, name, part)
