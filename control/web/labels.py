"""Labels: what people think of decisions, said on the page of one or in the list."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from control.access import may
from routing.errors import NotFound, RoutingError
from routing.models import Decision, Label, Workspace
from routing.services import labels

OFFERED = 300  # tools that the field offers


@require_POST
@may("decision.label")
def say(request: Any, workspace: Workspace, decision: uuid.UUID) -> HttpResponse:
    """Right, wrong, or which tool it should have been; or no opinion any more."""
    given, tool = request.POST.get("say", ""), request.POST.get("tool", "")[:400]
    try:
        if given == "nothing":
            labels.take_back(workspace, decision, by=request.actor)
        else:
            labels.say(
                workspace, decision, "wrong" if given == "other" else given, _other(given, tool), by=request.actor
            )
    except NotFound:
        raise Http404 from None
    except RoutingError as error:
        return _refused(request, workspace, decision, error.message, tool)
    row = Decision.objects.get(workspace=workspace, pk=decision)
    if request.htmx and request.POST.get("in") == "list":
        return render(request, "decisions/_label.html", {"decision": row, "label": mine(row, request.actor.person)})
    if request.POST.get("in") == "list":
        return redirect(_back(request, workspace))
    messages.success(request, "Your label is gone" if given == "nothing" else "Your label is kept")
    return redirect(reverse("decision", args=[workspace.name, decision]) + "#labels")


def _other(given: str, tool: str) -> str:
    return tool if given == "other" else ""


def _refused(request: Any, workspace: Workspace, decision: uuid.UUID, why: str, tool: str) -> HttpResponse:
    from control.web import decisions  # whose page this form is a part of

    row = Decision.objects.filter(workspace=workspace).defer("content").get(pk=decision)
    context = decisions.told(request, workspace, row)
    context["labels"] |= {"problem": why, "tool": tool}
    return render(request, "decisions/detail.html", context, status=422)


def told(row: Decision, person: str) -> dict[str, Any]:
    """The opinions on a decision, one's own apart, and which tools it may have had to be."""
    found = labels.of(row)
    own = next((one for one in found if one.person == person), None)
    offered = [name for name in labels.tools_for(row) if name != row.target] if row.is_final else []
    return {"all": found, "own": own, "offered": offered[:OFFERED], "tool": own.tool if own else ""}


def mine(row: Decision, person: str) -> Label | None:
    return Label.objects.filter(decision=row, person=person).first()


def _back(request: Any, workspace: Workspace) -> str:
    own, given = reverse("decisions", args=[workspace.name]), request.POST.get("back", "")
    return given if given == own or given.startswith(f"{own}?") else own
