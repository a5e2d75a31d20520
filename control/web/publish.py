"""Review what the draft changes, propose it, publish it with a message, or drop it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from control.access import allows, may
from control.web import confirming, diffing, reviewing
from control.web.forms.publish import PublishForm
from routing.choices import RevisionState
from routing.engine.canonical import document_digest
from routing.engine.diff import diff
from routing.errors import InvalidRegistry, RoutingError
from routing.models import Revision, Workspace
from routing.reviewing import edits_of, proposal_of, standing
from routing.services import registry, revisions

CHANGED = "The draft changed after you opened this page. Look at the changes again, then go on."


@require_http_methods(["GET", "HEAD", "POST"])
@may("registry.view", posts="revision.publish")
def page(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    return _publish(request, workspace) if request.method == "POST" else _show(request, workspace)


def _show(
    request: HttpRequest, workspace: Workspace, form: PublishForm | None = None, status: int = 200
) -> HttpResponse:
    return render(request, "publish/index.html", _told(request, workspace, form), status=status)


def _told(request: Any, workspace: Workspace, form: PublishForm | None) -> dict[str, Any]:
    live, draft = revisions.live_document(workspace), registry.working_document(workspace)
    changes = diff(live, draft)
    problems, warnings = _checked(draft)
    seen = document_digest(draft) if not problems else ""
    proposal = proposal_of(workspace)
    is_proposed = proposal is not None and bool(changes) and proposal.digest == seen
    edits = edits_of(workspace)
    blocked = _blocked(request, workspace, bool(changes), bool(problems), proposal, is_proposed)
    return {
        "form": form or PublishForm(initial={"message": proposal.message if proposal and is_proposed else ""}),
        "blocks": diffing.blocks(changes, edits),
        "tally": diffing.tally(changes),
        "people": list(dict.fromkeys(edit.by for edit in edits)) if changes else [],
        "problems": problems,
        "warnings": warnings,
        "seen": seen,
        "endpoints_in_draft": len(draft.get("endpoints", ())),
        "tools_in_draft": sum(len(endpoint.get("tools", ())) for endpoint in draft.get("endpoints", ())),
        "next_number": revisions.next_number(workspace, seen),
        "blocked": blocked,
        "proposal": proposal,
        "is_proposed": is_proposed,
        "may_propose": bool(changes) and not problems and not is_proposed and allows(request.role, "draft.propose"),
        "may_rush": _only_approvals_miss(request, workspace, bool(changes), bool(problems), blocked),
        "rejected": _rejected(workspace, seen) if changes and not is_proposed else None,
        **reviewing.told(request, workspace, proposal if is_proposed else None),
    }


def _checked(draft: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    try:
        return [], registry.checked(draft)[1]
    except InvalidRegistry as error:
        return error.details, []


def _blocked(
    request: Any, workspace: Workspace, changed: bool, broken: bool, proposal: Revision | None, is_proposed: bool
) -> list[str]:
    """Everything that still keeps this person from publishing, each in a sentence."""
    found = []
    if not allows(request.role, "revision.publish"):
        found.append(f"Your role here, {request.role}, does not publish; a reviewer or an administrator does.")
    if not changed:
        return [*found, "The draft is equal to the live revision."]
    if broken:
        found.append("The draft breaks rules of the registry; mend them first.")
    if workspace.approvals_needed:
        found += _unapproved(workspace, proposal, is_proposed)
    return found


def _unapproved(workspace: Workspace, proposal: Revision | None, is_proposed: bool) -> list[str]:
    if proposal is None:
        return ["This draft has not been proposed for review yet."]
    if not is_proposed:
        return [
            f"The draft says something else than the open proposal, revision {proposal.number}; propose it again for review."
        ]
    found = standing(proposal, workspace)
    return [reviewing.missing_words(found)] if found.missing else []


def _only_approvals_miss(request: Any, workspace: Workspace, changed: bool, broken: bool, blocked: list[str]) -> bool:
    rushes = allows(request.role, "revision.emergency") and workspace.approvals_needed > 0
    return rushes and changed and not broken and bool(blocked)


def _rejected(workspace: Workspace, digest: str) -> dict[str, Any] | None:
    """The rejection that this very draft has had last."""
    last = workspace.revisions.filter(digest=digest, state=RevisionState.REJECTED).first()
    return {"revision": last, "review": standing(last, workspace).rejection} if last else None


def _publish(request: Any, workspace: Workspace) -> HttpResponse:
    form = PublishForm(request.POST)
    if not form.is_valid():
        return _show(request, workspace, form, 422)
    if form.cleaned_data["emergency"] and not allows(request.role, "revision.emergency"):
        raise PermissionDenied(f"Your role here, {request.role}, does not include publishing as an emergency.")
    if not form.cleaned_data["confirmed"] and (lost := _lost(workspace)):
        return confirming.ask(request, _publishing(workspace, form.cleaned_data, lost))
    try:
        revision = _publish_seen(workspace, form.cleaned_data, request.actor)
    except RoutingError as error:
        return _refused(request, workspace, form, error.message)
    if revision is None:
        return _refused(request, workspace, form, CHANGED)
    messages.success(request, f"Revision {revision.number} is live")
    return redirect("revision", workspace.name, revision.number)


def _lost(workspace: Workspace) -> list[str]:
    """What harnesses use now and would miss, each in a sentence; nothing of a draft that cannot be published anyway."""
    changes = diff(revisions.live_document(workspace), registry.working_document(workspace))
    return confirming.losses(workspace, changes)


def _publishing(workspace: Workspace, wanted: dict[str, Any], lost: list[str]) -> confirming.Confirmation:
    live = workspace.live_revision
    fields = {"message": wanted["message"], "seen": wanted["seen"], "confirmed": "on"}
    return confirming.Confirmation(
        title="Publish what stops something?",
        stops=lost,
        back=f"It comes back when revision {live.number} is restored and published." if live else "",
        action=reverse("publish", args=[workspace.name]),
        deed="Publish as an emergency" if wanted["emergency"] else "Publish",
        keep="Back to the draft",
        away=reverse("publish", args=[workspace.name]),
        fields=fields | ({"emergency": "on"} if wanted["emergency"] else {}),
    )


def _refused(request: Any, workspace: Workspace, form: PublishForm, why: str) -> HttpResponse:
    form.add_error(None, why)
    return _show(request, workspace, form, 409)


@transaction.atomic
def _publish_seen(workspace: Workspace, wanted: dict[str, Any], by: Any) -> Revision | None:
    """Publish exactly what the person looked at, or nothing."""
    registry.lock(workspace)
    if wanted["seen"] and wanted["seen"] != registry.draft_digest(workspace):
        return None
    return revisions.publish(workspace, message=wanted["message"], emergency=wanted["emergency"], by=by)


@require_POST
@may("draft.propose")
def propose(request: Any, workspace: Workspace) -> HttpResponse:
    """Freeze the draft that the person looked at as a proposal, for others to review."""
    form = PublishForm(request.POST)
    if not form.is_valid():
        return _show(request, workspace, form, 422)
    try:
        revision = _propose_seen(workspace, form.cleaned_data, request.actor)
    except RoutingError as error:
        return _refused(request, workspace, form, error.message)
    if revision is None:
        return _refused(request, workspace, form, CHANGED)
    if revision.state == RevisionState.LIVE:
        return _refused(request, workspace, form, "The draft is equal to the live revision.")
    messages.success(request, f"Proposed as revision {revision.number}; it waits for review")
    return redirect("publish", workspace.name)


@transaction.atomic
def _propose_seen(workspace: Workspace, wanted: dict[str, Any], by: Any) -> Revision | None:
    registry.lock(workspace)
    if wanted["seen"] and wanted["seen"] != registry.draft_digest(workspace):
        return None
    return registry.propose_draft(workspace, message=wanted["message"], by=by)


@require_http_methods(["GET", "HEAD", "POST"])
@may("draft.discard")
def discard(request: Any, workspace: Workspace) -> HttpResponse:
    """Drop the draft; asks before."""
    if request.method != "POST":
        return confirming.ask(request, _discarding(workspace))
    registry.discard_draft(workspace, by=request.actor)
    messages.success(request, "The draft is dropped; it equals the live revision again")
    return redirect("publish", workspace.name)


def _discarding(workspace: Workspace) -> confirming.Confirmation:
    number, live = registry.draft_change_count(workspace), workspace.live_revision
    people = list(dict.fromkeys(edit.by for edit in edits_of(workspace)))
    told = f"{number:,} {'change' if number == 1 else 'changes'}"
    by = f", made by {confirming.named(people)}," if people else ""
    return confirming.Confirmation(
        title=f"Discard {told}?",
        stops=[
            f"The draft becomes equal to {f'revision {live.number}' if live else 'an empty registry'} again: {told}{by} "
            f"{'is' if number == 1 else 'are'} gone.",
            "What harnesses get stays as it is.",
        ],
        back="The changes cannot be brought back, except those of an open proposal, which stays.",
        action=reverse("discard", args=[workspace.name]),
        deed="Discard draft",
        keep="Keep the draft",
        away=reverse("publish", args=[workspace.name]),
    )
