"""What becomes of the draft besides publishing it now: set it for a time, or take its last change back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from control.access import may
from control.templatetags.console import moment_words
from control.web import confirming, going, problems, publish
from control.web.forms.publish import ScheduleForm
from control.web.session import own_path
from routing.errors import NotFound, RoutingError, StaleDraft
from routing.models import Edit, Workspace
from routing.services import schedules, undoing


@require_POST
@may("revision.publish")
def plan(request: Any, workspace: Workspace) -> HttpResponse:
    """Set the draft that the person looked at to go live at a time, which they gave in their own zone."""
    form = ScheduleForm(request.POST)
    if not form.is_valid():
        return publish.show_form(request, workspace, form, 422)
    wanted = form.cleaned_data
    try:
        schedule = schedules.plan(
            workspace, wanted["at"], message=wanted["message"], seen=wanted["seen"] or None, by=request.actor
        )
    except StaleDraft:
        return publish.refused(request, workspace, form, publish.CHANGED)
    except RoutingError as error:
        return publish.refused(request, workspace, form, error.message)
    told = moment_words(schedule.at)
    messages.success(request, f"Revision {schedule.revision.number} goes live on {told}")
    return redirect("publish", workspace.name)


@require_POST
@may("revision.publish")
def cancel(request: Any, workspace: Workspace, schedule: UUID) -> HttpResponse:
    try:
        found = schedules.cancel(workspace, schedule, by=request.actor)
    except NotFound:
        raise Http404 from None
    except RoutingError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"Revision {found.revision.number} does not go live by itself any more")
    back = request.POST.get("next")
    return redirect(own_path(request, back) if back else reverse("publish", args=[workspace.name]))


# --- undo -------------------------------------------------------------------------------------------------------------
@require_http_methods(["GET", "HEAD", "POST"])
@may("draft.discard")
def undo(request: Any, workspace: Workspace, edit: UUID) -> HttpResponse:
    """Take one's own change back at once; of another's change the person is first told whose it is and what it did."""
    found = _find(workspace, edit)
    if found is None:
        return problems.nothing_to_undo(request, reverse("publish", args=[workspace.name]))
    if request.method != "POST":
        return confirming.ask(request, _undoing(workspace, found))
    if found.person != request.actor.person and "confirmed" not in request.POST:
        return confirming.ask(request, _undoing(workspace, found))
    try:
        undoing.undo(workspace, edit, by=request.actor)
    except NotFound:
        messages.error(request, "This change is no longer in the draft.")
    except StaleDraft as error:
        if request.htmx:  # asked for beside the message that told of the edit: there is no place for both sides
            messages.error(request, "It was not taken back: what it changed was changed again since.")
            return going.to(request, reverse("publish", args=[workspace.name]))
        return publish.show_conflicts(request, workspace, error.details)
    except RoutingError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"Taken back: {_words(found)}")
    following = request.POST.get("next")
    return going.to(request, own_path(request, following) if following else reverse("publish", args=[workspace.name]))


def _find(workspace: Workspace, edit: UUID) -> Edit | None:
    return Edit.objects.filter(workspace=workspace, pk=edit, revision=None).first()


def _words(edit: Edit) -> str:
    return confirming.named([path or "the whole document" for path in edit.paths], 4)


def _undoing(workspace: Workspace, edit: Edit) -> confirming.Confirmation:
    why = [f"They said why: {edit.message}"] if edit.message else []
    return confirming.Confirmation(
        title=f"Take back a change of {edit.by}?",
        stops=[
            f"{edit.by} changed {_words(edit)} on {moment_words(edit.at)}.",
            *why,
            "The draft says again what it said before that; other changes stay. What harnesses get stays as it is.",
        ],
        back="Approvals of an open proposal are void, as after every change of the draft.",
        action=reverse("undo", args=[workspace.name, edit.pk]),
        deed="Take it back",
        keep="Keep it",
        away=reverse("publish", args=[workspace.name]),
        fields={"confirmed": "on"},
        harmless=True,
    )
