"""Review what the draft changes, publish it with a message, or drop it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from control.access import allows, may
from control.web import diffing
from control.web.forms.publish import PublishForm
from routing.engine.canonical import document_digest
from routing.engine.diff import diff
from routing.errors import InvalidRegistry, RoutingError
from routing.models import Revision, Workspace
from routing.services import registry, revisions


@require_http_methods(["GET", "HEAD", "POST"])
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    if request.method == "POST":
        answer: HttpResponse = _publish(request, workspace.name)
        return answer
    return render(request, "publish/index.html", _told(request, workspace, PublishForm()))


def _told(request: HttpRequest, workspace: Workspace, form: PublishForm) -> dict[str, Any]:
    live, draft = revisions.live_document(workspace), registry.working_document(workspace)
    changes = diff(live, draft)
    problems, warnings = _checked(draft)
    seen = document_digest(draft) if not problems else ""
    return {
        "form": form,
        "blocks": diffing.blocks(changes),
        "tally": diffing.tally(changes),
        "problems": problems,
        "warnings": warnings,
        "seen": seen,
        "endpoints_in_draft": len(draft.get("endpoints", ())),
        "tools_in_draft": sum(len(endpoint.get("tools", ())) for endpoint in draft.get("endpoints", ())),
        "next_number": revisions.next_number(workspace, seen),
        "asks_discard": request.GET.get("discard") == "ask",
        "blocked": _blocked(request, workspace, bool(changes), bool(problems)),
    }


def _checked(draft: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    try:
        return [], registry.checked(draft)[1]
    except InvalidRegistry as error:
        return error.details, []


def _blocked(request: Any, workspace: Workspace, changed: bool, broken: bool) -> str:
    """Why publishing is not possible now, or nothing."""
    if not allows(request.role, "revision.publish"):
        return f"Your role here, {request.role}, does not publish."
    if not changed:
        return "The draft is equal to the live revision."
    return "The draft breaks rules of the registry; mend them first." if broken else ""


@may("revision.publish")
def _publish(request: Any, workspace: Workspace) -> HttpResponse:
    form = PublishForm(request.POST)
    if not form.is_valid():
        return render(request, "publish/index.html", _told(request, workspace, form), status=422)
    try:
        revision = _publish_seen(workspace, form.cleaned_data, request.actor)
    except RoutingError as error:
        form.add_error(None, error.message)
        return render(request, "publish/index.html", _told(request, workspace, form), status=409)
    if revision is None:
        form.add_error(None, "The draft changed after you opened this page. Look at the changes again, then publish.")
        return render(request, "publish/index.html", _told(request, workspace, form), status=409)
    messages.success(request, f"Revision {revision.number} is live")
    return redirect("revision", workspace.name, revision.number)


@transaction.atomic
def _publish_seen(workspace: Workspace, wanted: dict[str, str], by: Any) -> Revision | None:
    """Publish exactly what the person looked at, or nothing."""
    registry.lock(workspace)
    if wanted["seen"] and wanted["seen"] != registry.draft_digest(workspace):
        return None
    return revisions.publish(workspace, message=wanted["message"], by=by)


@require_POST
@may("draft.discard")
def discard(request: Any, workspace: Workspace) -> HttpResponse:
    registry.discard_draft(workspace, by=request.actor)
    messages.success(request, "The draft is dropped; it equals the live revision again")
    return redirect("publish", workspace.name)
