"""Endpoints: the list, and the page of one as the draft has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import endpoint_forms, views
from control.web.filters import Filters, number, turns
from control.web.forms.endpoints import ListForm, TextForm
from routing import inventory, mapping, snapshot, working
from routing.engine.inference import describe_traits
from routing.engine.naming import public_fragments
from routing.engine.registry import Tool
from routing.models import Decision, EndpointRow, Workspace
from routing.services import entries, inspections

FILTERS = ("q", "kind", "enabled", "tag")
COLUMNS = (
    ("endpoint", "Endpoint", ""),
    ("kind", "Kind", ""),
    ("tools", "Tools", "num"),
    ("hints", "Hints", "num"),
    ("decided", "Decisions, 24 h", "num"),
)
SORTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "endpoint": lambda line: line["endpoint"].name,
    "kind": lambda line: line["endpoint"].kind,
    "tools": lambda line: line["endpoint"].tool_count,
    "hints": lambda line: line["hints"],
    "decided": lambda line: line["decided"],
}
RECENT = timedelta(hours=24)
SHOWN = 6  # decisions on the page of an endpoint


@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
@views.kept("endpoints")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    filters = Filters.read(request, reverse("endpoints", args=[workspace.name]), FILTERS, tuple(SORTS))
    everything = EndpointRow.objects.filter(workspace=workspace)
    rows = _filtered(everything.annotate(tool_count=Count("tools")), filters.chosen)
    decided = _decided(workspace)
    lines = [{"endpoint": row, "hints": _hints(row), "decided": decided[row.name]} for row in rows]
    context = {
        "filters": filters,
        "chosen": filters.chosen,
        "heads": {head["key"]: head for head in filters.heads(COLUMNS, "endpoint")},
        "rows": _ordered(lines, filters.sort or "endpoint"),
        "total": everything.count(),
        "kinds": sorted(set(everything.values_list("kind", flat=True))),
        "tags": sorted({tag for tags in everything.values_list("tags", flat=True) for tag in tags}),
        "active": filters.chips({"q": "about"}),
        "clear": filters.clear,
    }
    template = "endpoints/list.html" + ("#list" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, context)


def _filtered(rows: QuerySet[Any], chosen: Mapping[str, str]) -> list[Any]:
    if "q" in chosen:
        rows = rows.filter(Q(name__icontains=chosen["q"]) | Q(description__icontains=chosen["q"]))
    if "kind" in chosen:
        rows = rows.filter(kind=chosen["kind"])
    if chosen.get("enabled") in ("yes", "no"):
        rows = rows.filter(enabled=chosen["enabled"] == "yes")
    found = list(rows.order_by("name"))
    # JSON lists are searched here: SQLite cannot look into them, and a registry has at most some hundred endpoints.
    return [row for row in found if chosen["tag"] in row.tags] if "tag" in chosen else found


def _hints(row: EndpointRow) -> int:
    return len(row.use_when) + sum(len(hints) for hints in row.tool_use_when.values())


def _decided(workspace: Workspace) -> Counter[str]:
    """Decisions of the last day by the endpoint that they named."""
    recent = Decision.objects.filter(workspace=workspace, created_at__gte=timezone.now() - RECENT, target__isnull=False)
    totals: Counter[str] = Counter()
    for target, many in recent.order_by().values_list("target").annotate(many=Count("pk")):
        totals[target.split("__")[0]] += many
    return totals


def _ordered(lines: list[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    """By one of SORTS, downwards with a minus; those that are equal in it stay in the order of their names."""
    key, down = sort.removeprefix("-"), sort.startswith("-")
    by_name = sorted(lines, key=SORTS["endpoint"], reverse=down and key == "endpoint")
    return by_name if key == "endpoint" else sorted(by_name, key=SORTS[key], reverse=down)


# --- one endpoint ---------------------------------------------------------------------------------------------------
@require_safe
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponse:
    return render(request, "endpoints/detail.html", told(request, find(workspace, name)))


def find(workspace: Workspace, name: str) -> EndpointRow:
    row: EndpointRow | None = (
        EndpointRow.objects.filter(workspace=workspace, name=name).prefetch_related("tools").first()
    )
    if row is None:
        raise Http404
    return row


def mark(body: Mapping[str, Any], part: str, tool: str = "") -> str:
    """A mark of one part of an endpoint as somebody reads it. Parts are apart, so that two people may edit two of them."""
    value = (body.get(part) or {}).get(tool) if tool else body.get(part)
    return entries.version({"section": "endpoints", "name": body["name"], "part": [part, tool], "value": value or None})


def told(request: HttpRequest, row: EndpointRow, **forms: Any) -> dict[str, Any]:
    """Everything on the page. `forms` replaces a form by one that was posted and has something to say."""
    body = mapping.endpoint_document(row)
    posted: Posted | None = forms.pop("posted", None)
    rows = list(row.tools.all())
    cut = _cut(request, rows, posted, body)
    tools = _tools(row, rows, cut, body, posted)
    filters = Filters(path=reverse("endpoint", args=[row.workspace.name, row.name]), names=(), chosen={})
    return (
        {
            "endpoint": row,
            "description_form": TextForm(value=row.description, read=mark(body, "description")),
            "tags_form": TextForm(value=", ".join(row.tags), read=mark(body, "tags")),
            "hint_form": ListForm.of(row.use_when, mark(body, "use_when")),
            "tools": tools,
            "tool_count": len(rows),
            "effects": dict(Counter(tool["traits"].effect for tool in tools)) if cut.pages <= 1 else {},
            "capabilities": [_capability(item) for item in row.capabilities],
            "facts": _facts(row),
            "reach": _reach(request, row),
            "users": [(word, names) for word, names in endpoint_forms.users(row.workspace, row.name) if names],
            "decided": endpoint_forms.recent(row.workspace, row.name).count(),
            "decisions": list(endpoint_forms.recent(row.workspace, row.name).order_by("-pk")[:SHOWN]),
            "looks": [
                look
                for kind in ("test", "discover")
                if (look := inspections.newest(row.workspace, row.name, kind)) is not None
            ],
            "is_draft": _differs(request, row, body),
            "back": reverse("endpoint", args=[row.workspace.name, row.name]),
        }
        | (turns(filters, cut) if cut.pages > 1 else {})
        | forms
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A form for one tool's hints that was posted and has something to say."""

    tool: str
    form: ListForm
    conflict: Any = None


def _cut(request: HttpRequest, rows: list[Any], posted: Posted | None, body: Mapping[str, Any]) -> inventory.Cut:
    """The tools of one page; that of the tool which a form was posted for, when one was."""
    if posted is None:
        return inventory.cut(rows, number(request))
    fragments = public_fragments(body["name"], [tool.name for tool in rows])
    keys = [hint_key(body, tool.name, fragments[tool.name]) for tool in rows]
    place = keys.index(posted.tool) if posted.tool in keys else 0
    return inventory.cut(rows, place // inventory.PAGE + 1)


def _tools(
    row: EndpointRow, rows: list[Any], cut: inventory.Cut, body: Mapping[str, Any], posted: Posted | None
) -> list[dict[str, Any]]:
    fragments = public_fragments(row.name, [tool.name for tool in rows])
    documents = {tool["name"]: tool for tool in body.get("tools", ())}
    return [
        tool_line(documents[tool.name], fragments[tool.name], body, place, posted)
        for place, tool in enumerate(cut.rows, cut.first - 1)
    ]


def tool_line(
    document: Mapping[str, Any],
    fragment: str,
    body: Mapping[str, Any],
    place: int,
    posted: Posted | None = None,
) -> dict[str, Any]:
    key = hint_key(body, document["name"], fragment)
    hints = body.get("tool_use_when", {}).get(key, [])
    own = posted if posted and posted.tool == key else None
    return {
        "name": document["name"],
        "key": key,
        "place": place,
        "place_text": str(place),
        "public": f"{body['name']}__{fragment}",
        "title": document.get("title") or "",
        "description": document.get("description", ""),
        "enabled": document.get("enabled", True),
        "traits": _traits(document),
        "hints": hints,
        "form": own.form if own else ListForm.of(hints, mark(body, "tool_use_when", key)),
        "conflict": own.conflict if own else None,
        "open": own is not None,
    }


def hint_key(body: Mapping[str, Any], wire: str, fragment: str) -> str:
    """The key under which a tool's hints lie: as the registry spells it, else the name that the endpoint publishes."""
    return next((key for key in (wire, fragment) if key in body.get("tool_use_when", {})), wire)


def _traits(document: Mapping[str, Any]) -> Any:
    given = {
        key: document[key]
        for key in ("name", "title", "description", "annotations", "category", "risk", "effect")
        if key in document
    }
    return describe_traits(Tool(**given))


def _capability(item: Any) -> dict[str, Any]:
    body = {"name": item} if isinstance(item, str) else item
    level = float(body.get("level", 1.0))
    return {
        "name": body["name"],
        "level": level,
        "width": round(88 * level, 2),
        "provenance": body.get("provenance", "declared"),
    }


def _facts(row: EndpointRow) -> list[tuple[str, str]]:
    details = row.details or {}
    shown = (
        ("Kind", row.kind),
        ("URL", row.url or ""),
        ("Transport", details.get("transport", "")),
        ("Credential", row.credential or ""),
        ("Model", details.get("model", "")),
        ("Context window", f"{details['context_window']:,} tokens" if details.get("context_window") else ""),
        ("Owner", details.get("owner") or ""),
        ("Note", details.get("note") or ""),
    )
    return [(name, str(value)) for name, value in shown if value]


def _reach(request: HttpRequest, row: EndpointRow) -> list[dict[str, Any]] | None:
    """Which scopes of the live revision reach it, and how much of it; None while it is not live."""
    catalog = snapshot.live(request.workspace.pk).catalog  # type: ignore[attr-defined]
    live = next((endpoint for endpoint in catalog.registry.endpoints if endpoint.name == row.name), None)
    if live is None:
        return None
    return [_reached(catalog, scope, live) for scope in catalog.scopes]


def _reached(catalog: Any, scope: str, endpoint: Any) -> dict[str, Any]:
    seen = sum(catalog.permits(scope, endpoint.name, tool.name) for tool in endpoint.tools)
    every = len(endpoint.tools)
    shape, word = (
        ("confident", "Full") if seen == every and every else ("ambiguous", "Part") if seen else ("no_match", "None")
    )
    return {"scope": scope, "seen": seen, "every": every, "shape": shape, "word": word}


def _differs(request: HttpRequest, row: EndpointRow, body: Mapping[str, Any]) -> bool:
    live = working.live_of(request.workspace)  # type: ignore[attr-defined]
    return next((one for one in live.get("endpoints", ()) if one["name"] == row.name), None) != body
