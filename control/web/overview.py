"""The first page: verdicts, rate, latency, what came of the advice, and the live tail. Panels fetch themselves again."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from control.access import allows, may
from control.web import breakdown, canary_state, figures, telling, words
from routing import listings, panels
from routing.models import Schedule, ScopeRow, ShadowPolicy, Workspace
from routing.services import schedules
from routing.services.shadow_policies import telling as shadow_telling

TAIL_ROWS = 12
MARKS_NAMED = 3
RESULT_STATUSES = {
    "": ("confident", "selected", "ambiguous", "no_match", "fallback"),
    "invocation": ("started",),
    "transport_outcome": ("ok", "error", "timeout", "unknown"),
    "domain_outcome": ("success", "partial", "failure", "unknown"),
}


@require_safe
@may("overview.view")
def overview(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    chosen = _filters(request.GET)
    context = _figures(request, workspace, chosen) | _tail(workspace, chosen) | _choices(workspace, chosen)
    return render(
        request,
        "overview/index.html",
        context
        | {
            "stream": _stream(workspace, chosen),
            "schedule": _scheduled(request, workspace),
            "shadows": _shadows(request, workspace),
        },
    )


def _scheduled(request: Any, workspace: Workspace) -> Schedule | None:
    return schedules.waiting_for(workspace) if allows(request.role, "revision.view") else None


def _shadows(request: Any, workspace: Workspace) -> list[ShadowPolicy]:
    return shadow_telling.running(workspace) if allows(request.role, "registry.view") else []


@require_safe
@may("overview.view")
def figures_panel(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    return render(request, "overview/index.html#figures", _figures(request, workspace, _filters(request.GET)))


@require_safe
@may("overview.view")
def tail_panel(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    return render(
        request, "overview/index.html#tail", _tail(workspace, _filters(request.GET), seen=request.GET.get("seen", ""))
    )


def _filters(query: QueryDict) -> dict[str, str]:
    window = query.get("window", "1h")
    kind = query.get("kind", "")
    return {
        "window": window if window in words.WINDOWS else "1h",
        "scope": query.get("scope", "")[:64],
        "status": query.get("status", "")[:32],
        "kind": kind if kind in dict(words.KIND_CHOICES) else "",
    }


def address(workspace: Workspace, name: str, chosen: dict[str, str], **changes: Any) -> str:
    """A page's address with its filters; those at their default are left out."""
    wanted = {key: value for key, value in {**chosen, **changes}.items() if value and (key, value) != ("window", "1h")}
    return reverse(name, args=[workspace.name]) + (f"?{urlencode(wanted)}" if wanted else "")


def _choices(workspace: Workspace, chosen: dict[str, str]) -> dict[str, Any]:
    registered = ScopeRow.objects.filter(workspace=workspace).values_list("name", flat=True)
    active = [(key, word, chosen[key]) for key, word in (("scope", "scope"), ("status", "status")) if chosen[key]]
    return {
        "chosen": chosen,
        "windows": [
            (label, address(workspace, "overview", chosen, window=key), key)
            for key, (_, label) in words.WINDOWS.items()
        ],
        "kinds": words.KIND_CHOICES,
        "scopes": listings.scopes(workspace, registered),
        "statuses": [(status, words.badge(status).word) for status in RESULT_STATUSES[chosen["kind"]]],
        "active": [(word, value, address(workspace, "overview", chosen, **{key: ""})) for key, word, value in active],
    }


def _figures(request: Any, workspace: Workspace, chosen: dict[str, str]) -> dict[str, Any]:
    minutes, label = words.WINDOWS[chosen["window"]]
    window = panels.Window(minutes=minutes, end=timezone.now())
    seen = panels.figures(workspace, window, scope=chosen["scope"] or None)
    return {
        "figures": seen,
        "window_label": f"last {label.removeprefix('1 ')}",
        "split": figures.split(seen.counts),
        "keys": figures.split_keys(seen.counts),
        "series": _series(seen),
        "points": [telling.point(point, list(_statuses(seen))) for point in seen.points],
        "funnel": figures.funnel(seen.facts),
        "publications": _publications(request, workspace, window),
        "canary": canary_state.banner(workspace) if allows(request.role, "revision.view") else None,
        "breakdowns": breakdown.of(workspace, seen, window=chosen["window"], scope=chosen["scope"]),
        "figures_address": address(workspace, "panel-figures", {key: chosen[key] for key in ("window", "scope")}),
        "figures_interval": 1000 if minutes <= 60 else 15000,
        "nothing_yet": not listings.newest_seq(workspace),
    }


def _publications(request: Any, workspace: Workspace, window: panels.Window) -> dict[str, Any]:
    """What went live in the window, newest first: all of it as moments on the chart, the last few by name."""
    rows = listings.publications(workspace, since=window.start) if allows(request.role, "revision.view") else []
    return {
        "shown": rows[:MARKS_NAMED],
        "more": len(rows) - MARKS_NAMED if len(rows) > MARKS_NAMED else 0,
        "moments": " ".join(str(int(row.published_at.timestamp())) for row in rows if row.published_at),
    }


def _statuses(seen: panels.Figures) -> tuple[str, ...]:
    return tuple(key.status for key in figures.split_keys(seen.counts))


def _series(seen: panels.Figures) -> list[dict[str, str]]:
    return [
        {"status": status, "shape": words.badge(status).shape, "word": words.badge(status).word}
        for status in _statuses(seen)
    ]


def _tail(workspace: Workspace, chosen: dict[str, str], seen: str = "") -> dict[str, Any]:
    kind = chosen["kind"] or "recommendation"
    rows = listings.tail(workspace, kind=kind, scope=chosen["scope"], status=chosen["status"], size=TAIL_ROWS)
    newest = rows[0].event.seq if rows else 0
    known = int(seen) if seen.isdecimal() else newest
    return {
        "tail": [telling.tail_row(row, fresh=row.event.seq > known) for row in rows],
        "tail_rows": TAIL_ROWS,
        "tail_kind": kind,
        "tail_address": address(workspace, "panel-tail", chosen, window="", seen=newest),
        "tail_filtered": bool(chosen["scope"] or chosen["status"]),
    }


def _stream(workspace: Workspace, chosen: dict[str, str]) -> dict[str, str]:
    # The decision tail also shows what became of its rows, so it listens to every kind; other tails to their own.
    wanted = {
        key: chosen[key]
        for key in ("scope", "status", "kind")
        if chosen[key] and (key == "kind" or chosen["kind"] or key == "scope")
    }
    query = {"workspace": workspace.name, **wanted, "after": str(listings.newest_seq(workspace))}
    return {"address": f"{reverse('live-events')}?{urlencode(query)}", "counts": chosen["kind"] or "recommendation"}
