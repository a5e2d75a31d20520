"""Review what the draft changes, propose it, publish it with a message, or drop it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from control.access import allows, may
from control.web import confirming, diffing, remarking, reviewing
from control.web.forms.publish import PublishForm
from routing import working
from routing.choices import RevisionState
from routing.engine.diff import diff
from routing.engine.errors import RegistryError
from routing.engine.registry import Registry
from routing.errors import RoutingError, StaleDraft
from routing.models import Edit, Revision, Workspace
from routing.reviewing import changes_since, edits_of, proposal_of, standing
from routing.services import checks, registry, revisions
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
    checked = None if problems else _checked(request, workspace, draft, seen)
    failing = len(checked.outcome.broken) if checked else 0
    blocked = _blocked(request, workspace, bool(changes), bool(problems), proposal, is_proposed, failing)
    wanted = more.pop("asked", None)
    cut = remarking.page_of(request, changes, wanted)
    threads = remarking.of(workspace, None) + (remarking.of(workspace, proposal) if proposal else [])
    return {
        "form": form or PublishForm(initial={"message": proposal.message if proposal and is_proposed else ""}),
        "tally": diffing.tally(changes),
        "people": list(dict.fromkeys(edit.by for edit in edits)) if changes else [],
        "problems": problems,
        "checked": checked,
        "seen": seen,
        **_sizes(draft),
        "next_number": revisions.next_number(workspace, seen),
        "blocked": blocked,
        "proposal": proposal,
        "is_proposed": is_proposed,
        "may_propose": bool(changes) and not problems and not is_proposed and allows(request.role, "draft.propose"),
        "may_rush": _only_a_rule_misses(request, workspace, bool(changes), bool(problems), blocked, failing),
        "may_plan": bool(changes) and not (blocked or failing),
        "schedule": proposal.schedules.first() if proposal else None,
        "undoable": _undoable(request, edits) if changes else {},
        "rejected": _rejected(workspace, seen) if changes and not is_proposed else None,
        **remarking.told(request, cut, edits, threads, {"open": bool(changes)}, wanted),
        **reviewing.told(request, workspace, proposal if is_proposed else None),
        **more,
    }


def _draft(workspace: Workspace) -> tuple[WorkingCopy, list[Any]]:
    """The draft, and what breaks its rules: nothing that the console or the API wrote does."""
    try:
        return working.copy_of(workspace), []
    except RegistryError as error:
        return WorkingCopy(document=registry.working_document(workspace), registry=Registry()), list(error.problems)


AT_ONCE = 2000  # tools; the checks of more are fetched by the page when it is there, since they take a while


def _checked(request: Any, workspace: Workspace, draft: dict[str, Any], digest: str) -> checks.Checked | None:
    if _sizes(draft)["tools_in_draft"] <= AT_ONCE or "checks" in request.GET or checks.is_known(workspace.pk, digest):
        return checks.of(workspace.pk, draft, digest)
    return None


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
    failing: int,
) -> list[str]:
    """Everything that still keeps this person from publishing, each in a sentence."""
    found = []
    if not allows(request.role, "revision.publish"):
        found.append(f"Your role here, {request.role}, does not publish; a reviewer or an administrator does.")
    if not changed:
        return [*found, "The draft is equal to the live revision."]
    if broken:
        found.append("The draft breaks rules of the registry; mend them first.")
    if failing:
        found.append(
            f"{failing} {'expectation is' if failing == 1 else 'expectations are'} not met, see the checks: mend the draft, or "
            "the expectation where it is what is wrong."
        )
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


def _only_a_rule_misses(
    request: Any, workspace: Workspace, changed: bool, broken: bool, blocked: list[str], failing: int
) -> bool:
    """Whether an emergency would help: approvals or expectations are what is in the way."""
    rushes = allows(request.role, "revision.emergency") and (workspace.approvals_needed > 0 or failing > 0)
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
    wanted = form.cleaned_data
    try:
        revision = revisions.publish(
            workspace,
            message=wanted["message"],
            emergency=wanted["emergency"],
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
        fields=fields | ({"emergency": "on"} if wanted["emergency"] else {}),
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
    return render(request, "publish/_checks.html", {"checked": checked, "problems": problems, **_sizes(copy.document)})


def _sizes(draft: Mapping[str, Any]) -> dict[str, int]:
    endpoints = draft.get("endpoints", ())
    return {
        "endpoints_in_draft": len(endpoints),
        "tools_in_draft": sum(len(one.get("tools", ())) for one in endpoints),
    }


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
