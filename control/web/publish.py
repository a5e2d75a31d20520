"""Review what the draft changes, propose it, publish it with a message, or drop it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from control.access import allows, may, must
from control.web import canary_state, checking, confirming, diffing, doctor, remarking, replaying, reviewing
from control.web.forms.publish import PublishForm
from routing import working
from routing.choices import RevisionState
from routing.engine.diff import diff
from routing.engine.errors import RegistryError
from routing.engine.registry import Registry
from routing.errors import RoutingError, StaleDraft
from routing.models import CanaryRow, Edit, Revision, Workspace
from routing.reviewing import changes_since, edits_of, proposal_of, standing
from routing.services import checks, registry, revisions
from routing.services.canaries import ending
from routing.working import WorkingCopy

CHANGED = "The draft changed after you opened this page. Look at the changes again, then go on."


@require_http_methods(["GET", "HEAD", "POST"])
@may("registry.view", posts="revision.publish")
def page(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    return _publish(request, workspace) if request.method == "POST" else _show(request, workspace)


def _show(
    request: HttpRequest, workspace: Workspace, form: PublishForm | None = None, status: int = 200, **more: Any
) -> HttpResponse:
    return render(request, "publish/index.html", _told(request, workspace, form, **more), status=status)


def show_again(request: Any, workspace: Workspace, asked: remarking.Asked, status: int) -> HttpResponse:
    """The page with a remark that was not taken in its field."""
    return _show(request, workspace, None, status, asked=asked)


def show_form(request: Any, workspace: Workspace, form: PublishForm, status: int) -> HttpResponse:
    """The page with a form that was not taken."""
    return _show(request, workspace, form, status)


def show_conflicts(request: Any, workspace: Workspace, conflicts: Sequence[Mapping[str, Any]]) -> HttpResponse:
    """The page with both sides of what could not be taken back."""
    told = [{"path": one["path"], "now": words(one.get("value")), "was": words(one.get("before"))} for one in conflicts]
    return _show(request, workspace, None, 409, conflicts=told)


def words(value: Any) -> str:
    return "\n".join(diffing.texts(value))[:2000]


def _told(request: Any, workspace: Workspace, form: PublishForm | None, **more: Any) -> dict[str, Any]:
    copy, problems = _draft(workspace)
    draft = copy.document
    changes = diff(working.live_of(workspace), draft)
    seen = copy.digest if not problems else ""
    proposal = proposal_of(workspace)
    is_proposed = proposal is not None and bool(changes) and proposal.digest == seen
    edits = edits_of(workspace)
    checked = None if problems else checking.of_draft(request, workspace, copy)
    failing = len(checked.outcome.broken) if checked else 0
    rejected = revisions.rejection_of(workspace, seen) if changes and not is_proposed else None
    running = ending.running_in(workspace)
    is_canary = running is not None and bool(changes) and running.revision.digest == seen
    waits = _waits_for(running, workspace, seen) if changes else ""
    blocked = _blocked(request, workspace, bool(changes), bool(problems), proposal, is_proposed, rejected, is_canary)
    blocked += [waits] if waits else []
    overridable = bool(failing) and not blocked and allows(request.role, "expectation.override")
    if failing and not overridable:
        blocked.append(_unmet(failing))
    wanted = more.pop("asked", None)
    cut = remarking.page_of(request, changes, wanted)
    threads = remarking.of(workspace, None) + (remarking.of(workspace, proposal) if proposal else [])
    return {
        "form": form
        or PublishForm(
            initial={"message": _message(proposal if is_proposed else None, running if is_canary else None)}
        ),
        "tally": diffing.tally(changes),
        "people": list(dict.fromkeys(edit.by for edit in edits)) if changes else [],
        "problems": problems,
        "checked": checked,
        "doctor": doctor.summary(workspace) if checked else None,
        "seen": seen,
        **checking.sizes(draft),
        "next_number": revisions.next_number(workspace, seen),
        "blocked": blocked,
        "proposal": proposal,
        "is_proposed": is_proposed,
        "may_propose": bool(changes)
        and not problems
        and not (is_proposed or is_canary)
        and allows(request.role, "draft.propose"),
        "unmet": _unmet(failing) if overridable else "",
        "may_rush": rejected is None
        and _may_rush(request, workspace, bool(changes), bool(problems), blocked, bool(waits)),
        "may_plan": bool(changes) and not (blocked or failing),
        "canary": canary_state.banner(workspace),
        "is_canary": is_canary,
        **_canary(workspace, seen, form, offered=bool(changes) and not (blocked or running)),
        "schedule": proposal.schedules.first() if proposal else None,
        "undoable": _undoable(request, edits) if changes and not workspace.is_read_only else {},
        "rejected": {"revision": rejected, "review": standing(rejected, workspace).rejection} if rejected else None,
        **remarking.told(request, cut, edits, threads, {"open": bool(changes)}, wanted),
        **reviewing.told(request, workspace, proposal if is_proposed else None),
        "panel": replaying.of_draft(request, workspace, copy) if changes and not problems else None,
        **more,
    }


def _draft(workspace: Workspace) -> tuple[WorkingCopy, list[Any]]:
    """The draft, and what breaks its rules: nothing that the console or the API wrote does."""
    try:
        return working.copy_of(workspace), []
    except RegistryError as error:
        return WorkingCopy(document=registry.working_document(workspace), registry=Registry()), list(error.problems)


def _undoable(request: Any, edits: list[Edit]) -> dict[str, Edit]:
    """The last edit of the draft, and this person's own last one."""
    mine = [edit for edit in edits if edit.person == request.actor.person and edit.step is not None]
    last = edits[-1] if edits and edits[-1].step is not None else None
    own = mine[-1] if mine else None
    told = {"own": own, "others": last if last is not None and last != own else None}
    return {name: edit for name, edit in told.items() if edit is not None}


def _blocked(
    request: Any,
    workspace: Workspace,
    changed: bool,
    broken: bool,
    proposal: Revision | None,
    is_proposed: bool,
    rejected: Revision | None,
    is_canary: bool,
) -> list[str]:
    """Everything but expectations that still keeps this person from publishing, each in a sentence."""
    found = []
    if not allows(request.role, "revision.publish"):
        found.append(f"Your role here, {request.role}, does not publish; a reviewer or an administrator does.")
    if not changed:
        return [*found, "The draft is equal to the live revision."]
    if broken:
        found.append("The draft breaks rules of the registry; mend them first.")
    if rejected:
        found.append("It was rejected. Change it, or propose it again for review, before it goes live.")
    if workspace.approvals_needed and not is_canary:
        found += _unapproved(workspace, proposal, is_proposed)
    return found


def _unmet(failing: int) -> str:
    return (
        f"{failing} {'expectation is' if failing == 1 else 'expectations are'} not met, see the checks: mend the draft, or "
        "the expectation where it is what is wrong."
    )


def _unapproved(workspace: Workspace, proposal: Revision | None, is_proposed: bool) -> list[str]:
    if proposal is None:
        return ["This draft has not been proposed for review yet."]
    if not is_proposed:
        return [
            f"The draft says something else than the open proposal, revision {proposal.number}; propose it again for review."
        ]
    found = standing(proposal, workspace)
    return [reviewing.missing_words(found)] if found.missing else []


def _message(proposal: Revision | None, running: CanaryRow | None) -> str:
    """What was said already of what would be published."""
    return proposal.message if proposal else running.revision.message if running else ""


def _waits_for(running: CanaryRow | None, workspace: Workspace, seen: str) -> str:
    """Why a draft waits for the canary that runs; nothing where it is the canary's own, or goes back to what was live."""
    if running is None or running.revision.digest == seen or ending.goes_back(workspace, seen):
        return ""
    return f"A canary of revision {running.revision.number} runs. Promote it to everybody or stop it, then publish this draft."


def _canary(workspace: Workspace, seen: str, form: Any, *, offered: bool) -> dict[str, Any]:
    """What may be chosen to publish to some first, where that is offered: something has to be live for the others."""
    may = offered and workspace.live_revision is not None
    return {"may_canary": may} | (canary_state.choices(workspace, seen, form) if may else {})


def _may_rush(request: Any, workspace: Workspace, changed: bool, broken: bool, blocked: list[str], waits: bool) -> bool:
    """Whether an emergency would help: approvals or a canary are what is in the way. It goes past expectations too."""
    rushes = allows(request.role, "revision.emergency") and (workspace.approvals_needed > 0 or waits)
    return rushes and changed and not broken and bool(blocked)


def _publish(request: Any, workspace: Workspace) -> HttpResponse:
    form = PublishForm(request.POST)
    if not form.is_valid():
        return _show(request, workspace, form, 422)
    if form.cleaned_data["emergency"]:
        must(request, "revision.emergency", "publishing as an emergency")
    if form.cleaned_data["override"]:
        must(request, "expectation.override", "publishing what is not met")
    if not form.cleaned_data["confirmed"] and (lost := _lost(workspace)):
        return confirming.ask(request, _publishing(workspace, form.cleaned_data, lost))
    wanted = form.cleaned_data
    try:
        revision = revisions.publish(
            workspace,
            message=wanted["message"],
            emergency=wanted["emergency"],
            override=wanted["reason"] if wanted["override"] else "",
            seen=wanted["seen"] or None,
            by=request.actor,
        )
    except StaleDraft:
        return refused(request, workspace, form, CHANGED)
    except RoutingError as error:
        return refused(request, workspace, form, error.message)
    messages.success(request, f"Revision {revision.number} is live")
    return redirect("revision", workspace.name, revision.number)


def _lost(workspace: Workspace) -> list[str]:
    """What harnesses use now and would miss, each in a sentence; nothing of a draft that cannot be published anyway."""
    changes = diff(working.live_of(workspace), working.copy_of(workspace).document)
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
        fields=fields
        | ({"emergency": "on"} if wanted["emergency"] else {})
        | ({"override": "on", "reason": wanted["reason"]} if wanted["override"] else {}),
    )


def refused(request: Any, workspace: Workspace, form: PublishForm, why: str) -> HttpResponse:
    form.add_error(None, why)
    seen = form.cleaned_data.get("seen", "")
    since = changes_since(workspace, seen) if why == CHANGED and seen else []
    return _show(request, workspace, form, 409, since=since)


@require_safe
@may("registry.view")
def checks_panel(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    """The checks of a large draft, which the page fetches when it is there."""
    copy, problems = _draft(workspace)
    checked = None if problems else checks.of(workspace.pk, copy.document, copy.digest)
    told = {"checked": checked, "problems": problems, "doctor": doctor.summary(workspace) if checked else None}
    return render(request, "publish/_checks.html", told | checking.sizes(copy.document))


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
        return refused(request, workspace, form, error.message)
    if revision is None:
        return refused(request, workspace, form, CHANGED)
    if revision.state == RevisionState.LIVE:
        return refused(request, workspace, form, "The draft is equal to the live revision.")
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
