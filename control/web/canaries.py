"""A canary: a revision that answers some first. Start it with the draft, see what the two groups get, promote or stop it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import allows, may, must
from control.web import canary_state, confirming, publish
from control.web.forms.canaries import CanaryForm, StopForm
from routing import working
from routing.engine.canary import BEYOND, WAITING, Reading
from routing.engine.diff import diff
from routing.errors import InvalidRequest, NotFound, RoutingError, StaleDraft
from routing.events import timestamp
from routing.models import CanaryRow, Workspace
from routing.models.actor import SYSTEM
from routing.services import revisions
from routing.services.canaries import counting, ending, starting, telling

WORDS = {
    "no_match": ("No match", "of resolves and advice"),
    "fallback": ("Fallback", "of routes and searches"),
    "failure": ("Failure", "of reported outcomes"),
}
_LISTED = {"no_match": {"status": "no_match"}, "fallback": {"status": "fallback"}, "failure": {"outcome": "failed"}}


@require_POST
@may("revision.publish")
def start(request: Any, workspace: Workspace) -> HttpResponse:
    """Publish the draft that the person looked at to some first."""
    form = CanaryForm(request.POST, known=canary_state.scopes_of(workspace))
    if not form.is_valid():
        return publish.show_form(request, workspace, form, 422)
    if form.cleaned_data["override"]:
        must(request, "expectation.override", "publishing what is not met")
    wanted = form.cleaned_data
    try:
        row = starting.start(
            workspace,
            form.terms(),
            message=wanted["message"],
            override=wanted["reason"] if wanted["override"] else "",
            seen=wanted["seen"] or None,
            by=request.actor,
        )
    except StaleDraft:
        return publish.refused(request, workspace, form, publish.CHANGED)
    except InvalidRequest as error:
        form.take(error.details, error.message)
        return publish.show_form(request, workspace, form, 422)
    except RoutingError as error:
        return publish.refused(request, workspace, form, error.message)
    messages.success(request, f"Revision {row.revision.number} answers {canary_state.audience_words(row)}")
    return redirect("canary", workspace.name, row.revision.number)


# --- the page ---------------------------------------------------------------------------------------------------------
@require_safe
@never_cache
@vary_on_headers("HX-Request")
@may("revision.view")
def page(request: HttpRequest, workspace: Workspace, number: int) -> HttpResponse:
    return _show(request, workspace, _find(workspace, number))


def _find(workspace: Workspace, number: int) -> CanaryRow:
    try:
        return telling.find(workspace, number)
    except NotFound:
        raise Http404 from None


def _show(
    request: Any, workspace: Workspace, row: CanaryRow, form: StopForm | None = None, status: int = 200
) -> HttpResponse:
    groups = counting.kept_groups(row)
    judgement = counting.judged(row, groups)
    context = {
        "row": row,
        "revision": row.revision,
        "number": row.revision.number,
        "audience": canary_state.audience_words(row),
        "keys": [] if row.scopes else canary_state.held_keys(row),
        "canary_group": groups[0],
        "live_group": groups[1],
        "canary_list": _decisions(workspace, row, row.revision.number),
        "live_list": _decisions(workspace, row, row.live_number),
        "lines": [_line(workspace, row, reading) for reading in judgement.readings],
        "by_itself": row.ended_by == str(SYSTEM),
        "capped": max(group.decisions for group in groups) >= counting.MOST,
        "most": counting.MOST,
        "stop_form": form,
    }
    template = "canaries/page.html" + ("#canary" if request.htmx else "")
    response = render(request, template, context, status=status)
    if request.htmx and not row.is_running:
        response["HX-Refresh"] = "true"  # it ended while somebody looked: the whole page says something else
    return response


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measure as the page shows it. Places are along a drawing that is 200 wide."""

    word: str
    among: str
    reading: Reading
    canary_list: str
    live_list: str
    standing: str  # a status of the badges, and its word
    said: str
    zero: float
    bound: float
    low: float | None = None
    high: float | None = None
    middle: float | None = None


def _line(workspace: Workspace, row: CanaryRow, reading: Reading) -> Line:
    word, among = WORDS[reading.measure]
    listed = _LISTED[reading.measure]
    at, interval = _scale(reading), reading.interval
    standing, said = _standing(row, reading)
    return Line(
        word=word,
        among=among,
        reading=reading,
        canary_list=_decisions(workspace, row, row.revision.number, **listed),
        live_list=_decisions(workspace, row, row.live_number, **listed),
        standing=standing,
        said=said,
        zero=at(0),
        bound=at(reading.bound),
        low=at(interval.low) if interval else None,
        high=at(interval.high) if interval else None,
        middle=at(reading.rise) if reading.rise is not None else None,
    )


def _scale(reading: Reading) -> Callable[[float], float]:
    found = reading.interval
    least = min(-0.05, -reading.bound, found.low if found else 0)
    most = max(0.05, 2 * reading.bound, found.high if found else 0)
    return lambda value: round(4 + 192 * (value - least) / (most - least), 1)


def _standing(row: CanaryRow, reading: Reading) -> tuple[str, str]:
    if reading.standing == BEYOND:
        return "failed", "Beyond its bound"
    if reading.standing == WAITING:
        left = row.minimum - min(reading.canary.whole, reading.live.whole)
        return "unknown", f"Not judged yet, {left:,} to go" if row.is_running else "Too few to judge"
    return "confident", "Within its bound"


def _decisions(workspace: Workspace, row: CanaryRow, revision: int, **more: str) -> str:
    """The list of the decisions behind a figure."""
    until = {"until": timestamp(row.ended_at)} if row.ended_at else {}
    query: dict[str, Any] = {"revision": revision, **more, "since": timestamp(row.started_at), **until}
    return f"{reverse('decisions', args=[workspace.name])}?{urlencode(query)}"


# --- deciding ---------------------------------------------------------------------------------------------------------
@require_POST
@may("revision.publish")
def stop(request: Any, workspace: Workspace, number: int) -> HttpResponse:
    row, form = _find(workspace, number), StopForm(request.POST)
    if not form.is_valid():
        return _show(request, workspace, row, form, 422)
    try:
        ending.stop_revision(workspace, number, reason=form.cleaned_data["reason"], by=request.actor)
    except RoutingError as error:
        messages.error(request, error.message)
    else:
        messages.success(
            request, f"Revision {number} answers nobody any more; it can be compared and restored like any other"
        )
    return redirect("canary", workspace.name, number)


@require_http_methods(["GET", "HEAD", "POST"])
@may("revision.publish")
def promote(request: Any, workspace: Workspace, number: int) -> HttpResponse:
    """Publish it to everybody; asks before, with what would stop."""
    row = _find(workspace, number)
    if request.method != "POST":
        return confirming.ask(request, _promoting(workspace, row))
    override = row.override if allows(request.role, "expectation.override") else ""
    try:
        if not row.is_running:
            raise InvalidRequest(f"This canary has ended: it was {row.state}.")
        revisions.publish_revision(workspace, number, message="", override=override, by=request.actor)
    except RoutingError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"Revision {number} is live")
    return redirect("canary", workspace.name, number)


def _promoting(workspace: Workspace, row: CanaryRow) -> confirming.Confirmation:
    number, groups = row.revision.number, counting.kept_groups(row)
    lost = confirming.losses(workspace, diff(working.live_of(workspace), working.frozen(row.revision)))
    judgement = counting.judged(row, groups)
    told = f"It has answered {canary_state.audience_words(row)}: {groups[0].decisions:,} decisions."
    if not judgement.is_judged:
        told += f" That is too few to judge it by: {row.minimum:,} of a kind are needed in both groups."
    return confirming.Confirmation(
        title=f"Promote revision {number} to everybody?",
        stops=[told, *(["For all others this stops:", *lost] if lost else [])],
        back=f"It comes back when revision {row.live_number} is restored and published.",
        action=reverse("canary-promote", args=[workspace.name, number]),
        deed="Promote to everybody",
        keep="Not yet",
        away=reverse("canary", args=[workspace.name, number]),
        harmless=not lost,
    )
