"""Edits of a capability's page: one part at a time into the draft, with undo, and with both sides shown on a conflict."""

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
from control.web import capabilities
from control.web.context import draft_count
from control.web.forms.capabilities import LinesForm
from control.web.forms.endpoints import TextForm
from routing import mapping
from routing.errors import InvalidRegistry, StaleDraft
from routing.models import CapabilityRow, Workspace
from routing.services import registry

PARTS = {"description": "Description", "synonyms": "Synonyms", "keywords": "Keywords"}
TRIES = 3


@dataclass(slots=True, kw_only=True)
class Edit:
    """One post: the part and the form."""

    part: str
    form: Any

    @property
    def value(self) -> Any:
        return self.form.value if self.part == "description" else self.form.lines()

    def held(self, body: Mapping[str, Any]) -> Any:
        """What the draft has there now."""
        return body.get(self.part) or ("" if self.part == "description" else [])

    def is_stale(self, body: Mapping[str, Any]) -> bool:
        return bool(self.form.read != capabilities.mark(body, self.part))


@require_POST
@may("capability.edit")
def edit(request: HttpRequest, workspace: Workspace, name: str, part: str) -> HttpResponse:
    row = capabilities.find(workspace, name)
    if part not in PARTS:
        raise Http404
    form = (TextForm if part == "description" else LinesForm).posted(request.POST)
    wanted, body = Edit(part=part, form=form), mapping.capability_document(row)
    before = wanted.held(body)
    if before == wanted.value:
        wanted.form.read = capabilities.mark(body, part)  # whatever was read, both sides agree
        return _answer(request, row, wanted)
    if wanted.is_stale(body):
        return _conflict(request, row, wanted)
    return _save(request, row, wanted, body, before)


def _save(request: Any, row: CapabilityRow, wanted: Edit, body: Mapping[str, Any], before: Any) -> HttpResponse:
    try:
        saved = _written(request, row.name, wanted, body)
    except InvalidRegistry as error:
        wanted.form.refuse(error.details)
        return _answer(request, row, wanted, status=422)
    except StaleDraft:
        return _conflict(request, capabilities.find(request.workspace, row.name), wanted)
    wanted.form.saved = True
    wanted.form.read = capabilities.mark(mapping.capability_document(saved), wanted.part)
    return _answer(request, saved, wanted, undo=before)


def _written(request: Any, name: str, wanted: Edit, body: Mapping[str, Any]) -> CapabilityRow:
    """Save; when somebody changed another part meanwhile, go on from what they left."""
    for _ in range(TRIES):
        changes = {wanted.part: wanted.value or None}
        try:
            return registry.edit_capability(
                request.workspace, name, changes, by=request.actor, version=registry.endpoint_version(body)
            )
        except StaleDraft as error:
            body = error.details[0]["value"]
            if wanted.is_stale(body):
                raise
    raise StaleDraft("Somebody changes this capability at this moment.")


def _conflict(request: HttpRequest, row: CapabilityRow, wanted: Edit) -> HttpResponse:
    body = mapping.capability_document(row)
    conflict = {
        "theirs": wanted.held(body),
        "mine": wanted.value,
        "read": capabilities.mark(body, wanted.part),
        "part": wanted.part,
    }
    return _answer(request, row, wanted, status=409, conflict=conflict)


def _answer(
    request: Any, row: CapabilityRow, wanted: Edit, *, status: int = 200, undo: Any = None, conflict: Any = None
) -> HttpResponse:
    said = f"{PARTS[wanted.part]} of {row.name} saved to the draft"
    if not request.htmx and status == 200:
        if wanted.form.saved:
            messages.success(request, said)
        return redirect("capability", request.workspace.name, row.name)
    if not request.htmx:
        forms = {f"{wanted.part}_form": wanted.form, "conflicts": {wanted.part: conflict}}
        return render(request, "capabilities/detail.html", capabilities.told(row, **forms), status=status)
    context = {
        "capability": row,
        "part": wanted.part,
        "form": wanted.form,
        "conflict": conflict,
        "oob": True,
        "back": reverse("capability", args=[request.workspace.name, row.name]),
    }
    if wanted.form.saved:
        context |= {
            "toast": said,
            "undo_value": undo if isinstance(undo, str) else "\n".join(undo),
            "draft_count": draft_count(request.workspace),
        }
    # What htmx swaps in is an answer, not a failure: browsers would report any other status in the console.
    return render(request, "capabilities/_part.html", context)
