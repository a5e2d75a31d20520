"""Connection tests and discovery of tools: asked for on an endpoint's page, watched and decided on a page of their own."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import naming, toasts
from control.web.forms.endpoints import sentence
from routing import working
from routing.choices import DecisionState, InspectionKind
from routing.errors import InvalidRegistry, InvalidRequest, NotFound, RoutingError, StaleDraft
from routing.models import Inspection, Workspace
from routing.services import entries, inspections

MOST_PICKS = 5_000
MOST_USERS = 6  # that are named, of those that still need a tool
SHOWN = 200  # differences on a page; the rest comes when these are taken
LONGEST = 1_000  # characters shown of what a server says
_WORDS = {"input_schema": "input schema", "output_schema": "output schema"}
_HELP = {
    "name": "Check the spelling of the host in the URL, and that this machine can look it up.",
    "address": "Private addresses are opened by an administrator in the workspace's allow list.",
    "refused": "Check the port, and that the server runs.",
    "tls": "Check the certificate, and that the port speaks https.",
    "timeout": "The server may be busy or behind a firewall. Try again in a moment.",
    "credential": "Check that the credential reference names the right secret and that it still holds.",
    "secret": "Set the variable on the machine of the workers, then start them again.",
    "protocol": "Check the path: MCP servers over streamable HTTP often answer under /mcp.",
    "redirect": "Write the address that it redirects to into the URL.",
}


@require_POST
@may("endpoint.inspect")
def start(request: Any, workspace: Workspace, name: str, kind: str) -> HttpResponse:
    try:
        row = inspections.request(workspace, name, kind, by=request.actor)
    except NotFound:
        raise Http404 from None
    except InvalidRequest as error:
        messages.error(request, error.message)
        return redirect("endpoint", workspace.name, name)
    return redirect("inspection", workspace.name, name, row.pk)


@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace, name: str, pk: UUID) -> HttpResponse:
    return _show(request, workspace, _find(workspace, name, pk))


@require_POST
@may("endpoint.inspect")
def stop(request: Any, workspace: Workspace, name: str, pk: UUID) -> HttpResponse:
    row = _find(workspace, name, pk)
    inspections.cancel(workspace, row.pk, by=request.actor)
    return redirect("inspection", workspace.name, name, row.pk)


@require_POST
@may("endpoint.edit")
def take(request: Any, workspace: Workspace, name: str, pk: UUID) -> HttpResponse:
    row = _find(workspace, name, pk)
    picks, read = request.POST.getlist("pick")[:MOST_PICKS], request.POST.get("read", "")
    try:
        number = inspections.take(workspace, row.pk, picks, read=read, by=request.actor)
    except StaleDraft:
        problem = "Somebody changed this endpoint after you opened the page. What differs now is shown; pick again."
        return _show(request, workspace, row, problems=[problem], status=409)
    except InvalidRegistry as error:
        return _show(request, workspace, row, problems=_refusal(workspace, name, picks, error), status=422)
    except NotFound:
        raise Http404 from None
    except RoutingError as error:
        return _show(request, workspace, row, problems=[error.message], status=422)
    said = f"{number:,} {'tool' if number == 1 else 'tools'} taken into the draft"
    toasts.drafted(request, said, about=f"endpoints[{name}]", back=reverse("endpoint", args=[workspace.name, name]))
    return redirect("endpoint", workspace.name, name)


def _refusal(workspace: Workspace, name: str, picks: list[str], error: InvalidRegistry) -> list[str]:
    """Why nothing was taken, in words: mostly something else still names a tool that would be gone."""
    users = naming.users_of_tools(workspace, name, picks)
    if not users:
        return [
            f"{error.message} {sentence('What the server lists', error.details[0])}" if error.details else error.message
        ]
    more = [f"{len(users) - MOST_USERS:,} more name them."] if len(users) > MOST_USERS else []
    return [*users[:MOST_USERS], *more, "Take these names out there first, or do not pick what is no longer listed."]


def _find(workspace: Workspace, name: str, pk: UUID) -> Inspection:
    try:
        row = inspections.find(workspace, pk)
    except NotFound:
        raise Http404 from None
    if row.endpoint != name or row.kind == InspectionKind.PROVIDER:
        raise Http404
    return row


def _show(
    request: Any, workspace: Workspace, row: Inspection, *, problems: list[str] | None = None, status: int = 200
) -> HttpResponse:
    template = "endpoints/inspection.html" + ("#look" if request.htmx else "")
    return render(request, template, _told(workspace, row) | {"problems": problems or []}, status=status)


def _told(workspace: Workspace, row: Inspection) -> dict[str, Any]:
    lost = inspections.is_lost(row)
    body = working.copy_of(workspace).entry("endpoints", row.endpoint)
    found = _differences(body, row) if body is not None else []
    return {
        "look": row,
        "is_test": row.kind == InspectionKind.TEST,
        "is_open": row.state in inspections.OPEN and not lost,
        "is_lost": lost,
        "is_done": row.state == DecisionState.FINISHED,
        "help": _HELP.get(row.code, ""),
        "here": body is not None,
        "read": entries.version(body) if body is not None else "",
        "rows": [_row(one) for one in found[:SHOWN]],
        "more": max(0, len(found) - SHOWN),
        "tally": dict(Counter(one.action for one in found)),
        "unreadable": row.found.get("unreadable", [])[:20],
    }


def _differences(body: dict[str, Any], row: Inspection) -> list[inspections.Difference]:
    is_read = row.kind == InspectionKind.DISCOVER and row.state == DecisionState.FINISHED
    return inspections.differences(body, row.found.get("tools", ())) if is_read else []


def _row(one: inspections.Difference) -> dict[str, Any]:
    return {
        "name": one.name,
        "action": one.action,
        "picked": one.action != "vanished",
        "description": _text(one.tool.get("description", "")),
        "schema": _text(one.tool.get("input_schema", "")) if one.action == "new" else "",
        "fields": [
            {"word": _WORDS.get(key, key), "before": _text(before), "after": _text(after)}
            for key, before, after in one.fields
        ],
    }


def _text(value: Any) -> str:
    """What a server said, as text of bounded length."""
    if value in (None, "", {}):
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
