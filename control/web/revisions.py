"""Revisions: the list, the page of one with its changes, its review and its document, and any two compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import allows, may
from control.web import canary_state, confirming, diffing, exporting, remarking, reviewing, views
from control.web.filters import NEWEST_FIRST, Filters, ends
from control.web.forms.publish import CommentForm, RestoreForm, ReviewForm
from routing import listings, working
from routing.choices import RevisionState
from routing.engine.diff import diff
from routing.errors import NotFound, RoutingError
from routing.manifests import thaw
from routing.models import Revision, Workspace
from routing.reviewing import edits_of
from routing.services import registry, reviews, schedules
from routing.services import revisions as service


@require_safe
@vary_on_headers("HX-Request")
@may("revision.view")
@views.kept("revisions")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    filters = Filters.read(request, reverse("revisions", args=[workspace.name]), ("q", "state"), ("time",))
    everything, upwards = listings.revisions(workspace), filters.sort == "time"
    rows = listings.RevisionFilter(text=filters.chosen.get("q", ""), state=filters.chosen.get("state", ""))
    after, before = _number(request.GET.get("after")), _number(request.GET.get("before"))
    page = listings.page_of(rows.apply(everything), key="number", after=after, before=before, upwards=upwards)
    context = {
        "filters": filters,
        "chosen": filters.chosen,
        "active": filters.chips({"q": "about"}),
        "clear": filters.clear,
        "heads": filters.heads([("time", "Number", "num")], NEWEST_FIRST),
        "rows": page.rows,
        "total": everything.count(),
        "schedule": schedules.waiting_for(workspace),
        "canary": canary_state.banner(workspace),
        "canaries": canary_state.of_revisions(page.rows),
        "states": RevisionState.values,
        **ends(filters, page, upwards=upwards),
    }
    template = "revisions/list.html" + ("#list" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, context)


def _number(given: str | None) -> int | None:
    return int(given) if given and given.isascii() and given.isdecimal() and len(given) < 10 else None


@require_safe
@may("revision.view")
def page(request: HttpRequest, workspace: Workspace, number: int) -> HttpResponse:
    return _show(request, workspace, _find(workspace, number))


def _show(request: Any, workspace: Workspace, revision: Revision, status: int = 200, **more: Any) -> HttpResponse:
    """The record of a revision, and what it changed for whoever may see the registry."""
    wanted = more.pop("asked", None)
    context: dict[str, Any] = {
        "revision": revision,
        "schedule": revision.schedules.first(),
        "own_canary": revision.canaries.first(),
        **(_changed(request, workspace, revision, wanted) if allows(request.role, "registry.view") else {}),
        **reviewing.told(request, workspace, revision, more.pop("review_form", None)),
        **more,
    }
    return render(request, "revisions/detail.html", context, status=status)


def _changed(request: Any, workspace: Workspace, revision: Revision, wanted: remarking.Asked | None) -> dict[str, Any]:
    changes = diff(_base(workspace, revision), working.frozen(revision))
    cut, number = remarking.page_of(request, changes, wanted), revision.number
    place = {"open": revision.state in OPEN_TO_REMARKS, "page_of": number, "revision": number}
    edits, threads = edits_of(workspace, revision), remarking.of(workspace, revision)
    return {"tally": diffing.tally(changes), **remarking.told(request, cut, edits, threads, place, wanted)}


def show_again(request: Any, workspace: Workspace, number: int, asked: remarking.Asked, status: int) -> HttpResponse:
    """The page with a remark that was not taken in its field."""
    return _show(request, workspace, _find(workspace, number), status, asked=asked)


OPEN_TO_REMARKS = (RevisionState.PROPOSED, RevisionState.APPROVED, RevisionState.CANARY, RevisionState.LIVE)


def _find(workspace: Workspace, number: int) -> Revision:
    try:
        return service.find(workspace, number)
    except NotFound:
        raise Http404 from None


def _base(workspace: Workspace, revision: Revision) -> dict[str, Any]:
    base = (
        Revision.objects.filter(workspace=workspace, number=revision.base_number).first()
        if revision.base_number
        else None
    )
    return working.frozen(base)


@require_safe
@may("registry.view")
def export(request: HttpRequest, workspace: Workspace, number: int, form: str) -> HttpResponse:
    revision = _find(workspace, number)
    return exporting.document(thaw(revision), form, f"{workspace.name}-revision-{number}")


# --- reviews ----------------------------------------------------------------------------------------------------------
@require_POST
@may("revision.review")
def review(request: Any, workspace: Workspace, number: int) -> HttpResponse:
    """Approve or reject a proposal. What was written stays in its field when that is refused."""
    revision, form = _find(workspace, number), ReviewForm(request.POST)
    if not form.is_valid():
        return _show(request, workspace, revision, 422, review_form=form)
    try:
        _review(workspace, number, form.cleaned_data, request.actor)
    except RoutingError as error:
        form.add_error(None, error.message)
        return _show(request, workspace, _find(workspace, number), 409, review_form=form)
    done = {"approve": "approved", "reject": "rejected; its changes stay in the draft"}[form.cleaned_data["verdict"]]
    messages.success(request, f"Revision {number} {done}")
    return _back(request, workspace, number)


def _review(workspace: Workspace, number: int, given: dict[str, str], by: Any) -> None:
    seen = given["seen"] or None
    if given["verdict"] == "approve":
        reviews.approve(workspace, number, comment=given["comment"], seen=seen, by=by)
    else:
        reviews.reject(workspace, number, reason=given["comment"], seen=seen, by=by)


@require_POST
@may("draft.propose")
def comment(request: Any, workspace: Workspace, number: int) -> HttpResponse:
    revision, form = _find(workspace, number), CommentForm(request.POST)
    if not form.is_valid():
        return _show(request, workspace, revision, 422, review_form=form)
    try:
        reviews.comment(workspace, number, text=form.cleaned_data["comment"], by=request.actor)
    except RoutingError as error:
        form.add_error(None, error.message)
        return _show(request, workspace, _find(workspace, number), 409, review_form=form)
    messages.success(request, "Comment added")
    return _back(request, workspace, number)


def _back(request: HttpRequest, workspace: Workspace, number: int) -> HttpResponse:
    """To the page that the form was on."""
    if request.POST.get("from") == "publish":
        return redirect("publish", workspace.name)
    return redirect("revision", workspace.name, number)


@require_http_methods(["GET", "HEAD", "POST"])
@may("revision.restore")
def restore(request: Any, workspace: Workspace, number: int) -> HttpResponse:
    """Propose the document of a revision anew; it goes live as every proposal does. Asks before."""
    revision, form = _find(workspace, number), RestoreForm(request.POST or None)
    asked = _restoring(workspace, revision)
    if request.method != "POST":
        return confirming.ask(request, asked, form=form)
    form = RestoreForm(request.POST)
    if not form.is_valid():
        return confirming.ask(request, asked, form=form, status=422)
    try:
        proposed, _, _ = registry.restore(workspace, number, message=form.cleaned_data["message"], by=request.actor)
    except RoutingError as error:
        form.add_error(None, error.message)
        return confirming.ask(request, asked, form=form, status=409)
    if proposed.state == RevisionState.LIVE:
        messages.success(request, f"The draft equals revision {proposed.number}, which is live")
    else:
        messages.success(request, f"Revision {number} is proposed anew as revision {proposed.number}")
    return redirect("publish", workspace.name)


def _restoring(workspace: Workspace, revision: Revision) -> confirming.Confirmation:
    """What restoring does now, and what would stop once it is published."""
    lost = confirming.losses(workspace, diff(working.live_of(workspace), working.frozen(revision)))
    drafted = registry.draft_change_count(workspace)
    told = [
        f"The draft becomes what revision {revision.number} says and is proposed. Harnesses notice nothing until then."
    ]
    if drafted:
        told.append(
            f"The draft has {drafted:,} {'change' if drafted == 1 else 'changes'}: yours give way, those of others stay."
        )
    if lost:
        told += ["Once it is published, this stops:", *lost]
    return confirming.Confirmation(
        title=f"Restore revision {revision.number} as a new revision?",
        stops=told,
        back="Every revision stays; whatever is live now can be restored in the same way.",
        action=reverse("restore", args=[workspace.name, revision.number]),
        deed="Restore as a new revision",
        keep="Leave it",
        away=reverse("revision", args=[workspace.name, revision.number]),
        harmless=not lost,
    )


# --- compare ----------------------------------------------------------------------------------------------------------
CHOICES = 200  # newest revisions that the pickers suggest; any other number may be typed


@require_safe
@may("registry.view")
def compare(request: Any, workspace: Workspace) -> HttpResponse:
    """Any revision against any other, or against the draft."""
    sides = [_side(request, workspace, name) for name in ("from", "to")]
    ready = all(side.document is not None for side in sides)
    changes = diff(sides[0].document or {}, sides[1].document or {}) if ready else []
    newest = Revision.objects.filter(workspace=workspace).defer("manifest")[:CHOICES]
    cut = remarking.page_of(request, changes)
    turn = f"?{urlencode({'from': sides[0].typed, 'to': sides[1].typed})}&page="
    context = {
        "before": sides[0],
        "after": sides[1],
        "ready": ready,
        "blocks": diffing.blocks(cut.rows, whole=request.GET.getlist("whole")),
        "cut": cut,
        "previous": f"{turn}{cut.number - 1}" if cut.number > 1 else "",
        "next": f"{turn}{cut.number + 1}" if cut.number < cut.pages else "",
        "tally": diffing.tally(changes),
        "choices": newest,
    }
    return render(request, "revisions/compare.html", context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two documents that are compared: what was typed, and what it names."""

    typed: str
    revision: Revision | None = None
    document: Mapping[str, Any] | None = None
    problem: str = ""

    @property
    def title(self) -> str:
        return f"revision {self.revision.number}" if self.revision else "the draft"


def _side(request: Any, workspace: Workspace, name: str) -> Side:
    typed = request.GET.get(name, "").strip()
    if not typed:
        return Side(typed="")
    if typed == "draft":
        return Side(typed=typed, document=working.copy_of(workspace).document)
    live = workspace.live_revision
    number = live.number if typed == "live" and live else _number(typed)
    revision = Revision.objects.filter(workspace=workspace, number=number).first() if number is not None else None
    if revision is None:
        return Side(typed=typed[:40], problem="There is no such revision; give the number of one.")
    return Side(typed=typed, revision=revision, document=working.frozen(revision))
