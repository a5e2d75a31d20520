"""Tools over all endpoints: the list, and the page of one, as the live revision has them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import schemas, telling, views
from control.web.filters import Filters, number, turns
from routing import inventory, listings, mapping, snapshot
from routing.engine import load_registry
from routing.engine.catalog import Catalog
from routing.engine.parts import ToolDoc
from routing.models import EndpointRow, ToolRow, Workspace

FILTERS = ("q", "endpoint", "category", "risk", "effect", "provenance")
COLUMNS = (
    ("tool", "Tool", ""),
    ("endpoint", "Endpoint", "hide-lg"),
    ("category", "Category", ""),
    ("risk", "Risk", ""),
    ("effect", "Effect", ""),
)
SPAN = timedelta(days=30)
SHOWN = 10  # decisions on the page of a tool


@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
@views.kept("tools")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    live = snapshot.live(workspace.pk)
    filters = Filters.read(request, reverse("tools", args=[workspace.name]), FILTERS, tuple(inventory.SORTS))
    docs = live.catalog.index.docs
    found = inventory.ordered(chosen(filters).apply(docs), filters.sort or "tool")
    page = inventory.cut(found, number(request))
    context = {
        "filters": filters,
        "chosen": filters.chosen,
        "active": filters.chips({"q": "about", "provenance": "known as"}),
        "clear": filters.clear,
        "heads": filters.heads(COLUMNS, "tool"),
        "rows": _rows(workspace, live.catalog, page.rows),
        "total": len(docs),
        "endpoints": sorted(endpoint.name for endpoint in live.catalog.registry.endpoints),
        "categories": sorted({doc.traits.category for doc in docs}),
        "risks": inventory.RISKS,
        "effects": inventory.EFFECTS,
        "provenances": inventory.PROVENANCES,
        "revision": live.revision,
        "waiting": not docs and ToolRow.objects.filter(endpoint__workspace=workspace).exists(),
    } | turns(filters, page)
    return render(request, "tools/list.html" + ("#list" if request.htmx else ""), context)  # type: ignore[attr-defined]


def chosen(filters: Filters) -> inventory.ToolFilter:
    exact = {name: filters.chosen.get(name, "") for name in FILTERS[1:]}
    return inventory.ToolFilter(text=filters.chosen.get("q", ""), **exact)


def address(workspace: Workspace, public: str) -> str:
    """The page of a tool. Published names may hold any character, slashes included, and stay one piece of the address."""
    return f"{reverse('tools', args=[workspace.name])}/{quote(public, safe='')}"


def _rows(workspace: Workspace, catalog: Catalog, docs: Any) -> list[dict[str, Any]]:
    recommended = _recommended(workspace, [doc.public for doc in docs])
    return [line(workspace, catalog, doc) | {"recommended": recommended.get(doc.public, 0)} for doc in docs]


def line(workspace: Workspace, catalog: Catalog, doc: ToolDoc) -> dict[str, Any]:
    """A tool as a row of a table."""
    return {"doc": doc, "address": address(workspace, doc.public), "available": catalog.is_available(doc)}


def _recommended(workspace: Workspace, names: list[str]) -> dict[str, int]:
    """Decisions of the last days by the tool that they named."""
    return dict(_recent(workspace).filter(target__in=names).order_by().values_list("target").annotate(n=Count("pk")))


def _recent(workspace: Workspace) -> Any:
    return listings.decisions(workspace).filter(created_at__gte=timezone.now() - SPAN)


# --- one tool -------------------------------------------------------------------------------------------------------
@require_safe
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace, public: str) -> HttpResponse:
    catalog = snapshot.live(workspace.pk).catalog
    pair = catalog.pair(public)
    doc = catalog.tool(*pair) if pair else None
    context = _told(workspace, catalog, doc, is_live=True) if doc else _of_draft(workspace, public)
    return render(request, "tools/detail.html", context)


def _of_draft(workspace: Workspace, public: str) -> dict[str, Any]:
    """A tool that is nowhere but in the draft: its endpoint is compiled by itself."""
    row = (
        EndpointRow.objects.filter(workspace=workspace, name=public.partition("__")[0])
        .prefetch_related("tools")
        .first()
    )
    if row is None:
        raise Http404
    catalog = load_registry({"version": 1, "endpoints": [mapping.endpoint_document(row)]})
    pair = catalog.pair(public)
    doc = catalog.tool(*pair) if pair else None
    if doc is None:
        raise Http404
    return _told(workspace, catalog, doc, is_live=False)


def _told(workspace: Workspace, catalog: Catalog, doc: ToolDoc, *, is_live: bool) -> dict[str, Any]:
    recent = _recent(workspace).filter(target=doc.public)
    total, capped = listings.counted(recent)
    return {
        "doc": doc,
        "tool": doc.tool,
        "is_live": is_live,
        "available": catalog.is_available(doc),
        "off": [word for word, on in (("its endpoint", doc.endpoint.enabled), ("it", doc.tool.enabled)) if not on],
        "in_draft": _in_draft(workspace, doc),
        "traits": [
            {"name": name, "value": getattr(doc.traits, name), "provenance": doc.traits.provenance[name]}
            for name in inventory.TRAITS
        ],
        "annotations": sorted((str(key), str(value)) for key, value in doc.tool.annotations.items()),
        "inputs": schemas.told(doc.tool.input_schema),
        "outputs": schemas.told(doc.tool.output_schema) if doc.tool.output_schema else None,
        "reach": [_reached(one) for one in inventory.scopes_of(catalog, doc)] if is_live else None,
        "decisions": [
            {"decision": row, "verdict": telling.verdict(row), "chance": telling.chance(row)}
            for row in recent.order_by("-pk")[:SHOWN]
        ],
        "decided": total,
        "capped": capped,
    }


def _in_draft(workspace: Workspace, doc: ToolDoc) -> bool:
    rows: Any = ToolRow.objects.filter(endpoint__workspace=workspace, endpoint__name=doc.endpoint.name, name=doc.wire)
    return bool(rows.exists())


def _reached(reach: inventory.Reach) -> dict[str, Any]:
    if not reach.permitted:
        shape, word = "no_match", "Not reached"
    elif not reach.available:
        shape, word = "ambiguous", "Permitted, but off"
    else:
        shape, word = "confident", "Reached"
    return {"scope": reach.scope, "shape": shape, "word": word, "pinned": reach.permitted and reach.pinned}
