"""Tools over all endpoints: the list as the live revision has them, with what the draft says otherwise and has besides."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import views
from control.web.context import draft_count
from control.web.filters import Filters, number, turns
from routing import inventory, listings, snapshot, working
from routing.engine.catalog import Catalog
from routing.engine.inference import describe_traits
from routing.engine.registry import TRAITS, Endpoint, Registry, Tool
from routing.models import Workspace

FILTERS = ("q", "endpoint", "category", "risk", "effect", "provenance")
COLUMNS = (
    ("tool", "Tool", ""),
    ("endpoint", "Endpoint", "hide-lg"),
    ("category", "Category", ""),
    ("risk", "Risk", ""),
    ("effect", "Effect", ""),
)
SPAN = timedelta(days=30)
MOST_DRAFTED = 1_000  # tools that the draft alone has, whose categories are offered as filters


@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
@views.kept("tools")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    live = snapshot.live(workspace.pk)
    filters = Filters.read(request, reverse("tools", args=[workspace.name]), FILTERS, tuple(inventory.SORTS))
    draft = working.copy_of(workspace).registry if draft_count(workspace) else None
    drafted = inventory.only_drafted(draft, live.catalog) if draft else []
    docs: list[inventory.Listed] = [*live.catalog.index.docs, *drafted]
    found = inventory.ordered(chosen(filters).apply(docs), filters.sort or "tool")
    page = inventory.cut(found, number(request))
    context: dict[str, Any] = {
        "filters": filters,
        "chosen": filters.chosen,
        "active": filters.chips({"q": "about", "provenance": "known as"}),
        "clear": filters.clear,
        "heads": filters.heads(COLUMNS, "tool"),
        "rows": _rows(workspace, live.catalog, draft, page.rows),
        "total": len(docs),
        "drafted": len(drafted),
        "endpoints": sorted(
            {endpoint.name for endpoint in live.catalog.registry.endpoints} | {one.endpoint.name for one in drafted}
        ),
        "categories": sorted({doc.traits.category for doc in docs[: len(live.catalog.index.docs) + MOST_DRAFTED]}),
        "risks": inventory.RISKS,
        "effects": inventory.EFFECTS,
        "provenances": inventory.PROVENANCES,
        "revision": live.revision,
        "seen": workspace.draft_version,
        "back": request.get_full_path(),
    } | turns(filters, page)
    return render(request, "tools/list.html" + ("#list" if request.htmx else ""), context)  # type: ignore[attr-defined]


def chosen(filters: Filters) -> inventory.ToolFilter:
    exact = {name: filters.chosen.get(name, "") for name in FILTERS[1:]}
    return inventory.ToolFilter(text=filters.chosen.get("q", ""), **exact)


def address(workspace: Workspace, public: str) -> str:
    """The page of a tool. Published names may hold any character, slashes included, and stay one piece of the address."""
    return f"{reverse('tools', args=[workspace.name])}/{quote(public, safe='')}"


def _rows(workspace: Workspace, catalog: Catalog, draft: Registry | None, docs: Any) -> list[dict[str, Any]]:
    recommended = _recommended(workspace, [doc.public for doc in docs])
    drafted = _drafted(draft, docs)
    return [
        line(workspace, catalog, doc)
        | {"recommended": recommended.get(doc.public, 0), "pick": f"{doc.endpoint.name}__{doc.wire}"}
        | _draft_of(doc, drafted.get((doc.endpoint.name, doc.wire)))
        for doc in docs
    ]


def _drafted(draft: Registry | None, docs: Any) -> dict[tuple[str, str], tuple[Endpoint, Tool]]:
    """These tools as the draft has them; without one it says what is live."""
    if draft is None:
        return {(doc.endpoint.name, doc.wire): (doc.endpoint, doc.tool) for doc in docs}
    wanted = {(doc.endpoint.name, doc.wire) for doc in docs}
    names = {endpoint for endpoint, _ in wanted}
    return {
        (endpoint.name, tool.name): (endpoint, tool)
        for endpoint in draft.endpoints
        if endpoint.name in names
        for tool in endpoint.tools
        if (endpoint.name, tool.name) in wanted
    }


def _draft_of(doc: inventory.Listed, drafted: tuple[Endpoint, Tool] | None) -> dict[str, Any]:
    """What the draft says otherwise of a tool, in words, and whether it has it at all."""
    if isinstance(doc, inventory.DraftedTool):
        return {"in_draft": True, "draft": ["in the draft only"]}
    if drafted is None:
        return {"in_draft": False, "draft": ["not in the draft"]}
    endpoint, tool = drafted
    was, will = doc.endpoint.enabled and doc.tool.enabled, endpoint.enabled and tool.enabled
    words = [] if was == will else [f"switched {'on' if will else 'off'} in the draft"]
    if tool != doc.tool:
        traits = describe_traits(tool)
        changed = [
            f"{one} {getattr(traits, one)}" for one in TRAITS if getattr(traits, one) != getattr(doc.traits, one)
        ]
        words += [f"{', '.join(changed)} in the draft"] if changed else []
    return {"in_draft": True, "draft": words}


def line(workspace: Workspace, catalog: Catalog, doc: inventory.Listed) -> dict[str, Any]:
    """A tool as a row of a table."""
    is_live = not isinstance(doc, inventory.DraftedTool)
    available = is_live and catalog.is_available(doc)
    return {"doc": doc, "address": address(workspace, doc.public), "available": available, "is_live": is_live}


def _recommended(workspace: Workspace, names: list[str]) -> dict[str, int]:
    """Decisions of the last days by the tool that they named."""
    return dict(recent(workspace).filter(target__in=names).order_by().values_list("target").annotate(n=Count("pk")))


def recent(workspace: Workspace) -> Any:
    return listings.decisions(workspace).filter(created_at__gte=timezone.now() - SPAN)
