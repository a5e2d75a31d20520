"""Edits of a capability's page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from control.access import may
from control.web import capabilities
from control.web.editing import Document, Edit, PartEditor
from control.web.forms.capabilities import LinesForm
from control.web.forms.endpoints import TextForm
from routing.models import Workspace


class CapabilityEditor(PartEditor):
    section = "capabilities"
    url = "capability"
    templates = "capabilities"
    subject = "capability"
    parts = {"description": "Description", "synonyms": "Synonyms", "keywords": "Keywords"}

    def form(self, request: HttpRequest, edit: Edit, body: Document) -> Any:
        return (TextForm if edit.part == "description" else LinesForm).posted(request.POST)

    def value(self, edit: Edit) -> Any:
        return edit.form.value if edit.part == "description" else edit.form.lines()

    def held(self, body: Document, edit: Edit) -> Any:
        return body.get(edit.part) or ("" if edit.part == "description" else [])

    def page(self, request: HttpRequest, body: Document, edit: Edit, conflict: Any) -> Document:
        row = capabilities.find(request.workspace, body["name"])  # type: ignore[attr-defined]
        return capabilities.told(row, **{f"{edit.part}_form": edit.form, "conflicts": {edit.part: conflict}})

    def posted(self, before: Any) -> list[tuple[str, str]]:
        return [("value", before if isinstance(before, str) else "\n".join(before))]


EDITOR = CapabilityEditor()


@require_POST
@may("capability.edit")
def edit(request: HttpRequest, workspace: Workspace, name: str, part: str) -> HttpResponse:
    return EDITOR.post(request, workspace, name, part)
