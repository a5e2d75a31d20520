"""Edits of an endpoint's page."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from control.access import may
from control.web import endpoints
from control.web.editing import Edit, PartEditor
from control.web.forms.endpoint import EndpointForm, FieldForm, document, words
from control.web.forms.endpoint_fields import ALONE, ANEW, FIELDS, LISTS
from control.web.forms.endpoints import ListForm, TextForm
from control.web.merging import Document
from routing.engine.naming import public_fragments
from routing.models import Workspace


class EndpointEditor(PartEditor):
    section = "endpoints"
    url = "endpoint"
    templates = "endpoints"
    subject = "endpoint"
    parts = {
        "description": "Description",
        "tags": "Tags",
        "use_when": "Hints",
        "tool_use_when": "Hints",
        **{key: FIELDS[key].label for key in ALONE},
    }

    def mark(self, body: Document, part: str, key: str = "") -> str:
        return endpoints.mark(body, part, key)

    def form(self, request: HttpRequest, edit: Edit, body: Document) -> Any:
        if edit.part in ALONE:
            return FieldForm.posted(edit.part, request.POST, body)
        if edit.part == "tool_use_when" and edit.key not in _keys(body):
            raise Http404
        return (TextForm if edit.part in ("description", "tags") else ListForm).posted(request.POST)

    def value(self, edit: Edit) -> Any:
        if edit.part == "description" or edit.part in ALONE:
            return edit.form.value or [] if edit.part in LISTS else edit.form.value
        return edit.form.tags() if edit.part == "tags" else edit.form.cleaned()

    def held(self, body: Document, edit: Edit) -> Any:
        if edit.part in ALONE:
            return endpoints.alone(body, edit.part)
        if edit.part == "tool_use_when":
            return body.get("tool_use_when", {}).get(edit.key, [])
        return body.get(edit.part) or ("" if edit.part == "description" else [])

    def changes(self, body: Document, edit: Edit) -> Document:
        if edit.part in ALONE:
            given = edit.form.given | ({edit.part: edit.value or None} if edit.part in LISTS else {})
            return document(given, body.get("features", {}))
        if edit.part != "tool_use_when":
            return super().changes(body, edit)
        others = {key: hints for key, hints in body.get("tool_use_when", {}).items() if key != edit.key}
        return {"tool_use_when": (others | ({edit.key: edit.value} if edit.value else {})) or None}

    def show(self, edit: Edit) -> None:
        if edit.part == "tags":
            edit.form.value = ", ".join(edit.value)
        elif edit.part not in ALONE:  # those are shown anew anyway
            edit.form.values = list(edit.value)
            edit.form.remark()

    def page(self, request: HttpRequest, body: Document, edit: Edit, conflict: Any) -> Document:
        row = endpoints.find(request.workspace, body["name"])  # type: ignore[attr-defined]
        if edit.part in ALONE:
            return endpoints.told(request, row, field_form=edit.form, field_conflict=conflict)
        if edit.part == "tool_use_when":
            posted = endpoints.Posted(tool=edit.key, form=edit.form, conflict=conflict)
            return endpoints.told(request, row, posted=posted)
        form = {"description": "description_form", "tags": "tags_form", "use_when": "hint_form"}[edit.part]
        return endpoints.told(request, row, **{form: edit.form, "conflicts": {edit.part: conflict}})

    def _answer(
        self, request: Any, body: Document, edit: Edit, *, status: int = 200, undo: Any = None, conflict: Any = None
    ) -> HttpResponse:
        if edit.part in ALONE:
            if conflict:
                conflict |= {side: words(edit.part, conflict[side]) for side in ("theirs", "mine")}
            elif status == 200:  # the field shows what the draft has now
                before, edit.form.form = edit.form.form.before, EndpointForm.of(body)
                undo = _again(edit.part, before) if edit.form.saved else None
        return super()._answer(request, body, edit, status=status, undo=undo, conflict=conflict)

    def fragment(self, request: HttpRequest, body: Document, edit: Edit) -> Document:
        shown: Document = {"capabilities": endpoints.carried(body) if edit.part == "capabilities" else None}
        if edit.form.saved:
            shown["head"] = endpoints.head(request.workspace, body)  # type: ignore[attr-defined]
        if edit.part in ALONE:
            fact = {"key": edit.part, "now": endpoints.now(edit.part, body), "form": edit.form}
            return shown | {"fact": fact | {"field": FIELDS[edit.part]}}
        return shown | ({"tool": _tool(body, edit)} if edit.part == "tool_use_when" else {})

    def _undo(self, edit: Edit, before: Any) -> Document:
        if edit.part in ALONE:
            return {"read": edit.form.read, "key": "", "fields": before}
        if edit.part == "tags":
            return {"read": edit.form.read, "key": "", "fields": [("value", ", ".join(before))]}
        return super()._undo(edit, before)

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


def _again(part: str, before: Document) -> list[tuple[str, str]]:
    """What the field's form posts to have it as it was. A URL goes back together with what was entered for it."""
    keys = [part, *(key for key in ANEW if before.get(key))] if part == "url" else [part]
    shown = {key: FIELDS[key].shown(before) for key in keys}
    return [(key, text) if text or key not in ANEW else (f"drop-{key}", "on") for key, text in shown.items()]


EDITOR = EndpointEditor()


@require_POST
@may("endpoint.edit")
def edit(request: HttpRequest, workspace: Workspace, name: str, part: str) -> HttpResponse:
    return EDITOR.post(request, workspace, name, part)
