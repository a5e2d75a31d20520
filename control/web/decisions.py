"""Decisions: the list with its filters, and the page of one."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import figures, telling, views, words
from control.web.filters import NEWEST_FIRST, Filters, ends
from routing import listings
from routing.choices import DecisionType
from routing.models import Decision, Revision, ScopeRow, Workspace

FILTERS = ("q", "type", "status", "scope", "harness", "since")
SPANS = {"15m": timedelta(minutes=15), "1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
SPAN_WORDS = {"15m": "last 15 min", "1h": "last hour", "24h": "last 24 hours", "7d": "last 7 days"}
STATUSES = ("confident", "ambiguous", "no_match", "selected", "fallback", "queued", "running", "failed")
WORDS = {"q": "about", "status": "verdict", "since": ""}


@require_safe
@vary_on_headers("HX-Request")
@may("decision.view")
@views.kept("decisions")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    filters = Filters.read(request, reverse("decisions", args=[workspace.name]), FILTERS, ("time",))
    template = "decisions/list.html" + ("#list" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, _rows(request, workspace, filters))


def _rows(request: HttpRequest, workspace: Workspace, filters: Filters) -> dict[str, Any]:
    everything, upwards = listings.decisions(workspace), filters.sort == "time"
    rows = _filter(filters.chosen).apply(everything)
    after, before = _place(request.GET.get("after")), _place(request.GET.get("before"))
    page = listings.page_of(rows, key="pk", after=after, before=before, upwards=upwards)
    number, capped = listings.counted(rows)
    first = page.rows[0].pk if page.rows else None
    return {
        "filters": filters,
        "chosen": filters.chosen,
        "active": [_chip(filters, name) for name in filters.chosen],
        "heads": filters.heads([("time", "Time", "")], NEWEST_FIRST),
        "rows": [
            {
                "decision": row,
                "then": telling.then(row),
                "verdict": telling.verdict(row),
                "chance": telling.chance(row),
                "instead": telling.instead(row),
                "runner": _runner(row),
            }
            for row in page.rows
        ],
        "total": number,
        "capped": capped,
        "newer_count": listings.newer_than(rows, "pk", first) if first and (after or before) and not upwards else 0,
        "any": bool(page.rows) or everything.exists(),
        "pinned": bool(after or before),
        **ends(filters, page, upwards=upwards),
        **_choices(workspace, filters),
    }


def _filter(chosen: Mapping[str, str]) -> listings.DecisionFilter:
    exact = {name: chosen.get(name, "") for name in ("type", "status", "scope", "harness")}
    return listings.DecisionFilter(text=chosen.get("q", ""), since=_since(chosen.get("since")), **exact)


def _since(given: str | None) -> datetime | None:
    """A span of the list, or a moment in RFC 3339; anything else filters nothing."""
    if given in SPANS:
        return timezone.now() - SPANS[given]
    try:
        moment = datetime.fromisoformat(given or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else timezone.make_aware(moment)


def _place(given: str | None) -> uuid.UUID | None:
    try:
        return uuid.UUID(given or "")
    except ValueError:
        return None


def _chip(filters: Filters, name: str) -> dict[str, str]:
    value = filters.chosen[name]
    shown = (
        SPAN_WORDS.get(value, value)
        if name == "since"
        else words.badge(value).word.lower()
        if name == "status"
        else value
    )
    return {"name": name, "word": WORDS.get(name, name), "value": shown, "without": filters.address(**{name: ""})}


def _choices(workspace: Workspace, filters: Filters) -> dict[str, Any]:
    registered = ScopeRow.objects.filter(workspace=workspace).values_list("name", flat=True)
    return {
        "types": [(value, words.TYPE_WORDS.get(value, value)) for value in DecisionType.values],
        "statuses": [(status, words.badge(status).word) for status in STATUSES],
        "scopes": listings.scopes(workspace, registered),
        "harnesses": listings.harnesses(workspace),
        "spans": list(SPAN_WORDS.items()),
        "clear": filters.clear,
    }


def _runner(decision: Decision) -> str:
    others = [
        str(candidate["target"]) for candidate in decision.candidates if candidate.get("target") != decision.target
    ]
    return others[0] if others and decision.target else ""


# --- one decision ---------------------------------------------------------------------------------------------------
@require_safe
@vary_on_headers("HX-Request")
@may("decision.view")
def page(request: HttpRequest, workspace: Workspace, decision: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Decision.objects.filter(workspace=workspace).defer("content"), pk=decision)
    template = "decisions/detail.html" + ("#facts" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, _told(workspace, row))


def _told(workspace: Workspace, row: Decision) -> dict[str, Any]:
    events = listings.events_of(row)
    own = next((event for event in events if event.kind == "recommendation"), None)
    bars = figures.candidate_bars(row.candidates, by_field=row.type != "route")
    return {
        "decision": row,
        "short": _short(row),
        "verdict": telling.verdict(row),
        "shape": words.badge(telling.verdict(row)).shape,
        "say": telling.say(row),
        "chance": telling.chance(row),
        "reasons": telling.reasons(row),
        "track": telling.track(row, events),
        "events": events,
        "own": own,
        "data": own.data if own else {},
        "candidates": bars,
        "groups": [
            group
            for group in (*words.GROUP_ORDER, figures.ADJUSTMENTS)
            if any(part.shape == group[0] for bar in bars for part in bar.parts)
        ],
        "wide": telling.scales(row, figures.WIDE),
        "narrow": telling.scales(row, figures.NARROW),
        "route": row.answer or {},
        "answered_by": telling.answered_by(row),
        "revision_row": _revision(workspace, row.revision),
        "stream": _stream(workspace, row),
    }


def _revision(workspace: Workspace, number: int | None) -> Revision | None:
    return (
        None
        if number is None
        else Revision.objects.filter(workspace=workspace, number=number).defer("manifest").first()
    )


def _short(row: Decision) -> str:
    text = str(row.pk)
    return f"{text[:8]}-{text[-4:]}"


def _stream(workspace: Workspace, row: Decision) -> str:
    query = {"workspace": workspace.name, "scope": row.scope, "after": str(listings.newest_seq(workspace))}
    return f"{reverse('live-events')}?{urlencode(query)}"
