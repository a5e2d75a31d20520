"""Expectations: the list, with how each stands on what is live and in the draft."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import expecting, suggesting, views
from control.web.expecting import Line
from control.web.filters import Filters, number, turns
from routing import inventory
from routing.models import Workspace

COLUMNS = (("name", "Expectation", ""), ("scope", "Scope", ""))
FILTERS = ("q", "scope", "endpoint", "live", "draft", "change")
WORDS = {"q": "about", "live": "on live", "draft": "in the draft", "change": "draft"}
STATES = (("met", "Met"), ("missed", "Not met"))
CHANGES = (("new", "New"), ("changed", "Changed"), ("removed", "Removed"))


@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
@views.kept("expectations")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    filters = Filters.read(
        request, reverse("expectations", args=[workspace.name]), FILTERS, tuple(key for key, _, _ in COLUMNS)
    )
    standing = expecting.standing(request, workspace)
    found = [line for line in standing.lines if _fits(line, filters.chosen)]
    page = inventory.cut(_ordered(found, filters.sort), number(request))
    context = {
        "filters": filters,
        "chosen": filters.chosen,
        "active": [_worded(chip) for chip in filters.chips(WORDS)],
        "clear": filters.clear,
        "heads": filters.heads(COLUMNS, ""),
        "rows": page.rows,
        "total": len(standing.lines),
        "is_known": standing.is_known,
        "counts": [_count(standing.lines, side) for side in ("live", "draft")] if standing.is_known else [],
        "scopes": sorted({line.scope for line in standing.lines}),
        "endpoints": sorted({line.endpoint for line in standing.lines} - {""}),
        "states": STATES,
        "changes": CHANGES,
        "suggestions": suggesting.suggestions(workspace, standing.lines) if not filters.chosen else [],
    } | turns(filters, page)
    return render(request, "expectations/list.html" + ("#list" if request.htmx else ""), context)  # type: ignore[attr-defined]


def _fits(line: Line, chosen: Mapping[str, str]) -> bool:
    needle = chosen.get("q", "").casefold()
    texts = (line.name, line.asks, line.expects, str(line.body.get("note") or ""))
    exact = {
        "scope": line.scope,
        "endpoint": line.endpoint,
        "live": line.said("live"),
        "draft": line.said("draft"),
        "change": line.change,
    }
    return (not needle or any(needle in text.casefold() for text in texts)) and all(
        value == exact[name] for name, value in chosen.items() if name in exact
    )


def _ordered(lines: list[Line], sort: str) -> list[Line]:
    """As the document has them, or by name or scope."""
    if not sort:
        return lines
    key = sort.removeprefix("-")
    return sorted(lines, key=lambda line: (str(getattr(line, key)).casefold(), line.name), reverse=sort.startswith("-"))


def _worded(chip: Mapping[str, str]) -> dict[str, str]:
    words = dict(STATES) | dict(CHANGES) if chip["name"] in ("live", "draft", "change") else {}
    return {**chip, "value": words.get(chip["value"], chip["value"]).lower() if words else chip["value"]}


def _count(lines: Sequence[Line], side: str) -> dict[str, Any]:
    told = Counter(line.said(side) for line in lines)
    return {"side": side, "met": told["met"], "asked": told["met"] + told["missed"], "missed": told["missed"]}
