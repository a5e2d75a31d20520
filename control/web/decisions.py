"""Decisions: the list with its filters, and the page of one."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.templatetags.console import moment_words
from control.web import canary_state, figures, labels, policy_rules, telling, views, words
from control.web.filters import NEWEST_FIRST, Filters, ends
from routing import listings
from routing.choices import DecisionType
from routing.errors import NotFound
from routing.models import Decision, Label, Revision, ScopeRow, Workspace
from routing.services.recordings import reading

FILTERS = (
    "q",
    "type",
    "status",
    "scope",
    "harness",
    "source",
    "fallback_reason",
    "reason_code",
    "agreement",
    "label",
    "paid",
    "since",
    "until",
    "revision",
    "outcome",
)
SPANS = {"15m": timedelta(minutes=15), "1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
SPAN_WORDS = {"15m": "last 15 min", "1h": "last hour", "24h": "last 24 hours", "7d": "last 7 days"}
STATUSES = ("confident", "ambiguous", "no_match", "selected", "fallback", "queued", "running", "failed")
WORDS = {
    "q": "about", "status": "verdict", "since": "", "source": "answered by", "fallback_reason": "handed back",
    "reason_code": "because", "agreement": "then", "label": "", "paid": "cost", "until": "until", "revision": "revision", "outcome": "came of it",
}  # fmt: skip


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
    rows = _filter(workspace, filters.chosen).apply(everything)
    after, before = _place(request.GET.get("after")), _place(request.GET.get("before"))
    page = listings.page_of(rows, key="pk", after=after, before=before, upwards=upwards)
    number, capped = listings.counted(rows, listings.FILTERED_CAP) if filters.chosen else listings.counted(rows)
    first = page.rows[0].pk if page.rows else None
    own = _labels(request, page.rows)
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
                "label": own.get(row.pk),
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


def _labels(request: Any, rows: Sequence[Decision]) -> dict[uuid.UUID, Label]:
    """What this person says of decisions."""
    own = Label.objects.filter(decision__in=[row.pk for row in rows], person=request.actor.person)
    return {label.decision_id: label for label in own}


def _filter(workspace: Workspace, chosen: Mapping[str, str]) -> listings.DecisionFilter:
    names = ("type", "status", "scope", "harness", "source", "fallback_reason", "reason_code", "agreement", "label")
    exact: dict[str, Any] = {name: chosen.get(name, "") for name in names}
    return listings.DecisionFilter(
        text=chosen.get("q", ""),
        since=_since(chosen.get("since")),
        until=_since(chosen.get("until")),
        revision=_number(chosen.get("revision")),
        outcome=chosen.get("outcome", ""),
        paid="paid" in chosen,
        workspace=workspace.pk,
        **exact,
    )


def _number(given: str | None) -> int | None:
    return int(given) if given and given.isascii() and given.isdecimal() and len(given) < 10 else None


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
    told = {
        "since": SPAN_WORDS,
        "source": words.SOURCE_WORDS,
        "agreement": words.AGREEMENT_WORDS,
        "label": words.LABEL_WORDS,
        "paid": {value: "known"},
        "outcome": words.OUTCOME_WORDS,
        "status": {value: words.badge(value).word.lower()},
    }
    shown = told.get(name, {}).get(value) or _moment(name, value) or value
    return {"name": name, "word": WORDS.get(name, name), "value": shown, "without": filters.address(**{name: ""})}


def _moment(name: str, value: str) -> str:
    """A moment that the list is bounded by, in words."""
    found = _since(value) if name in ("since", "until") else None
    return "" if found is None else f"since {moment_words(found)}" if name == "since" else moment_words(found)


def _choices(workspace: Workspace, filters: Filters) -> dict[str, Any]:
    registered = ScopeRow.objects.filter(workspace=workspace).values_list("name", flat=True)
    return {
        "types": [(value, words.TYPE_WORDS.get(value, value)) for value in DecisionType.values],
        "statuses": [(status, words.badge(status).word) for status in STATUSES],
        "scopes": listings.scopes(workspace, registered),
        "harnesses": listings.harnesses(workspace),
        "sources": [(value, word.capitalize()) for value, word in words.SOURCE_WORDS.items()],
        "fallbacks": words.FALLBACKS,
        "codes": list(words.REASONS),
        "agreements": list(words.AGREEMENT_WORDS.items()),
        "labellings": list(words.LABEL_WORDS.items()),
        "spans": list(SPAN_WORDS.items()),
        "moment": since if (since := filters.chosen.get("since", "")) not in SPANS else "",
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
    row = _find(workspace, decision)
    template = "decisions/detail.html" + ("#facts" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, told(request, workspace, row))


@require_POST
@never_cache
@vary_on_headers("HX-Request")
@may("query.read")
def text(request: Any, workspace: Workspace, decision: uuid.UUID) -> HttpResponse:
    """Show the text that was recorded; the audit log is told that somebody read it."""
    row = _find(workspace, decision)
    try:
        words = reading.read(workspace, row.pk, by=request.actor)
    except NotFound:
        raise Http404 from None
    template = "decisions/detail.html" + ("#recorded" if request.htmx else "")
    return render(request, template, told(request, workspace, row) | {"text": words})


def _find(workspace: Workspace, decision: uuid.UUID) -> Decision:
    return get_object_or_404(Decision.objects.filter(workspace=workspace).defer("content"), pk=decision)


def told(request: Any, workspace: Workspace, row: Decision) -> dict[str, Any]:
    events = listings.events_of(row)
    own = next((event for event in events if event.kind == "recommendation"), None)
    recording = reading.of(row)
    # What a search weighed has a page of its own.
    bars = [] if row.type == "search" else figures.candidate_bars(row.candidates, by_field=row.type != "route")
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
        "rule": policy_rules.rule_of(row),
        "answered_by": telling.answered_by(row),
        "revision_row": _revision(workspace, row.revision),
        "canary": canary_state.of_decision(row),
        "recording": recording,
        "has_text": reading.has_text(recording),
        "stream": _stream(workspace, row),
        "labels": labels.told(row, request.actor.person),
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
