"""A registry that is kept in a file: how the file and what is live or drafted differ, and bringing one into the other."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from control.access import allows, may
from control.web import confirming, diffing, remarking
from control.web.diffing import Block
from control.web.source_state import WORDS
from routing import sources, working
from routing.choices import SourceMode, SourceState
from routing.engine.diff import diff
from routing.errors import RoutingError
from routing.models import SourceCheck, Workspace
from routing.reviewing import edits_of
from routing.services import sources as service
from routing.services.sources import Found
from routing.sources import Checkout

MOST_TEXT = 200_000  # bytes of a document that the page shows as text
SIDES = {"live": "what is live", "draft": "the draft"}


@never_cache
@require_safe
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    return _show(request, workspace)


def _show(request: HttpRequest, workspace: Workspace, why: str = "", status: int = 200) -> HttpResponse:
    found = service.look(workspace)
    return render(request, "source/page.html", _told(request, workspace, found) | {"why": why}, status=status)


def _told(request: Any, workspace: Workspace, found: Found) -> dict[str, Any]:
    side = "draft" if request.GET.get("against") == "draft" else "live"
    live, draft = working.live_of(workspace), working.copy_of(workspace)
    state = service.state_of(found, working.live_digest(workspace))
    last = SourceCheck.objects.filter(workspace=workspace).first()
    two_way = bool(workspace.source_file) and workspace.source_mode == SourceMode.TWO_WAY
    checkout = found.checkout(workspace.source_file) if workspace.source_file else None
    return {
        "found": found,
        "file": sources.short(workspace.source_file),
        "state": WORDS[state],
        "since": last.since if last and last.state == state else None,
        "checked_at": last.checked_at if last else None,
        "two_way": two_way,
        "checkout": checkout,
        "commands": _commands(workspace, checkout) if two_way and state == SourceState.IN_SYNC else [],
        "seen": found.mark,
        "draft_digest": draft.digest,
        "drafted": draft.digest != working.live_digest(workspace),
        "may_take": found.document is not None
        and found.digest != draft.digest
        and allows(request.role, "registry.import"),
        "taken": found.document is not None and found.digest == draft.digest and state == SourceState.DRIFTED,
        "may_write": two_way
        and state != SourceState.IN_SYNC
        and (found.document is not None or not found.is_there)
        and workspace.live_revision is not None
        and allows(request.role, "source.write"),
        "text": _text(live, workspace.source_file),
        **_differences(request, found, live if side == "live" else draft.document, side),
    }


def _differences(request: Any, found: Found, held: Mapping[str, Any], side: str) -> dict[str, Any]:
    """What the file says otherwise, as a page of changes that taking it would make."""
    changes = diff(held, found.document) if found.document is not None else []
    cut = remarking.page_of(request, changes)
    turn = f"?{urlencode({'against': side})}&page="
    blocks: list[Block] = diffing.blocks(cut.rows, whole=request.GET.getlist("whole"))
    return {
        "against": side,
        "side": SIDES[side],
        "tally": diffing.tally(changes),
        "blocks": blocks,
        "cut": cut,
        "previous": f"{turn}{cut.number - 1}" if cut.number > 1 else "",
        "next": f"{turn}{cut.number + 1}" if cut.number < cut.pages else "",
    }


def _text(live: Mapping[str, Any], file: str) -> str:
    """The live document as it would stand in the file; nothing of one that is too large to be read on a page."""
    if sum(len(one.get("tools", ())) for one in live.get("endpoints", ())) > 500:
        return ""
    text = service.text_of(live, file)
    return text if len(text) <= MOST_TEXT else ""


def _commands(workspace: Workspace, checkout: Checkout | None) -> list[str]:
    """What keeps the file as it is in Git, where it differs from the commit."""
    if checkout is None or checkout.why or checkout.is_committed:
        return []
    live = workspace.live_revision
    said = f"Registry, revision {live.number}" if live else "Registry"
    place, file = shlex.quote(checkout.top), shlex.quote(workspace.source_file)
    return [f"git -C {place} add {file}", f"git -C {place} commit -m {shlex.quote(said)}"]


# --- from the file and into it ----------------------------------------------------------------------------------------
@require_http_methods(["POST"])
@may("registry.import")
def take(request: Any, workspace: Workspace) -> HttpResponse:
    """Make the draft say what the file says; asks before where that drops somebody's changes."""
    seen, draft = request.POST.get("seen", "")[:100], request.POST.get("draft", "")[:100]
    if "confirmed" not in request.POST and (people := _others(workspace)):
        return confirming.ask(request, _taking(workspace, people, seen, draft))
    try:
        service.take(workspace, seen=seen, draft=draft or None, by=request.actor)
    except RoutingError as error:
        return _show(request, workspace, error.message, 409)
    messages.success(request, "The draft says what the file says")
    return redirect("publish", workspace.name)


def _others(workspace: Workspace) -> list[str]:
    """Whose changes of the draft would be gone."""
    if working.copy_of(workspace).digest == working.live_digest(workspace):
        return []
    return list(dict.fromkeys(edit.by for edit in edits_of(workspace))) or ["somebody"]


def _taking(workspace: Workspace, people: list[str], seen: str, draft: str) -> confirming.Confirmation:
    return confirming.Confirmation(
        title="Take the file in place of the draft?",
        stops=[
            f"The draft holds changes by {confirming.named(people)}. Where the file says otherwise, they are gone.",
            "What harnesses get stays as it is.",
        ],
        back="It can be undone as the draft's last change until it is published."
        if not workspace.is_read_only
        else "They cannot be brought back, except those of an open proposal, which stays.",
        action=reverse("source-take", args=[workspace.name]),
        deed="Take the file",
        keep="Keep the draft",
        away=reverse("source", args=[workspace.name]),
        fields={"seen": seen, "draft": draft, "confirmed": "on"},
    )


@require_POST
@may("source.write")
def write(request: Any, workspace: Workspace) -> HttpResponse:
    """Write the live revision into the file that the person looked at."""
    try:
        live = service.write(workspace, seen=request.POST.get("seen", "")[:100], by=request.actor)
    except RoutingError as error:
        return _show(request, workspace, error.message, 409)
    messages.success(request, f"Revision {live.number} is written into the file; nothing was committed")
    return redirect("source", workspace.name)
