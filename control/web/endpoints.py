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
from control.web import doctor, expecting, merging, naming, replaying, stakes, tools, views
from control.web.filters import Filters, number, turns
from control.web.forms.endpoint import FieldForm, value_of, words
from control.web.forms.endpoint_fields import ALONE, ANEW, FIELDS, GROUPS, LISTS, Field
from control.web.forms.endpoints import ListForm, TextForm
from routing import inventory, mapping, snapshot, working
from routing.engine.inference import Traits, describe_traits
from routing.engine.naming import EndpointNames, public_fragments
from routing.engine.registry import TRAITS, Tool
from routing.models import Decision, EndpointRow, Workspace
from routing.services import inspections

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
        "seen": workspace.draft_version,
        "back": request.get_full_path(),
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
    row = find(workspace, name)
    context = told(request, row, posted=_opened(request, row))
    return render(
        request, "endpoints/detail.html", context | {"panel": replaying.of(request, workspace, "endpoint", name)}
    )


def _opened(request: HttpRequest, row: EndpointRow) -> Posted | None:
    """The form for the hints of the tool that the address names, open and with the cursor in it."""
    body, fragment = mapping.endpoint_document(row), request.GET.get("hints", "").partition("__")[2]
    names = EndpointNames(row.name, [tool.name for tool in row.tools.all()])
    wire = names.wire(fragment) if fragment else None
    if wire is None:
        return None
    key = hint_key(body, wire, names.fragments[wire])
    hints = body.get("tool_use_when", {}).get(key, [])
    form = ListForm.of(hints or [""], mark(body, "tool_use_when", key))
    form.focus = 0
    return Posted(tool=key, form=form)


def find(workspace: Workspace, name: str) -> EndpointRow:
    row: EndpointRow | None = (
        EndpointRow.objects.filter(workspace=workspace, name=name).prefetch_related("tools").first()
    )
    if row is None:
        raise Http404
    return row


def mark(body: Mapping[str, Any], part: str, tool: str = "") -> str:
    """A mark of one part of an endpoint as somebody reads it. What is entered for a URL is marked together with it."""
    value = (body.get(part) or {}).get(tool) if tool else body.get(part)
    if part in ANEW:
        value = {"is": value, "for": body.get("url")}
    elif part in LISTS:
        value = alone(body, part)
    elif part in ("use_when", "tool_use_when"):
        value = value or []
    elif part in FIELDS and FIELDS[part].kind == "known":
        value = FIELDS[part].shown(body)
    return merging.mark("endpoints", body["name"], part, value if isinstance(value, list) else value or None, tool)


def alone(body: Mapping[str, Any], part: str) -> Any:
    """A field as its form has it; of lists nothing is an empty one."""
    value = value_of(part, body)
    return [] if value is None and part in LISTS else value


def told(request: HttpRequest, row: EndpointRow, **forms: Any) -> dict[str, Any]:
    """Everything on the page. `forms` replaces a form by one that was posted and has something to say."""
    body = mapping.endpoint_document(row)
    posted: Posted | None = forms.pop("posted", None)
    rows = list(row.tools.all())
    cut = _cut(request, rows, posted, body)
    lines = _tools(row, rows, cut, body, posted)
    recent = stakes.recent(row.workspace).filter(target__begins=f"{row.name}__")
    filters = Filters(path=reverse("endpoint", args=[row.workspace.name, row.name]), names=(), chosen={})
    return (
        {
            "endpoint": row,
            "description_form": TextForm(value=row.description, read=mark(body, "description")),
            "tags_form": TextForm(value=", ".join(row.tags), read=mark(body, "tags")),
            "hint_form": ListForm.of(row.use_when, mark(body, "use_when")),
            "tools": lines,
            "effects": dict(Counter(tool["traits"].effect for tool in lines)) if cut.pages <= 1 else {},
            "capabilities": carried(body),
            "head": head(row.workspace, body),
            "facts": _facts(body, forms.pop("field_form", None), forms.pop("field_conflict", None)),
            "reach": _reach(row),
            "users": naming.users(row.workspace, row.name),
            "guarding": expecting.guarding(row.workspace, row.name),
            "decided": recent.count(),
            "decisions": list(recent.order_by("-pk")[:SHOWN]),
            "looks": [
                look
                for kind in ("test", "discover")
                if (look := inspections.newest(row.workspace, row.name, kind)) is not None
            ],
            "back": reverse("endpoint", args=[row.workspace.name, row.name]),
            "doctor": doctor.of_endpoint(request, row.workspace, row.name),
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
        | {"address": tools.address(row.workspace, f"{row.name}__{fragments[tool.name]}")}
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
        "traits": traits(document),
        "hints": hints,
        "form": own.form if own else ListForm.of(hints, mark(body, "tool_use_when", key)),
        "conflict": own.conflict if own else None,
        "open": own is not None,
    }


def hint_key(body: Mapping[str, Any], wire: str, fragment: str) -> str:
    """The key under which a tool's hints lie: as the registry spells it, else the name that the endpoint publishes."""
    return next((key for key in (wire, fragment) if key in body.get("tool_use_when", {})), wire)


def traits(document: Mapping[str, Any]) -> Traits:
    """Those of a tool as its document has it."""
    given = {key: document[key] for key in ("name", "title", "description", "annotations", *TRAITS) if key in document}
    return describe_traits(Tool(**given, overridden=tuple(document.get("overridden", ()))))


def head(workspace: Workspace, body: Mapping[str, Any]) -> dict[str, Any]:
    """What the head of the page says of an endpoint as the draft has it."""
    live = next((one for one in working.live_of(workspace).get("endpoints", ()) if one["name"] == body["name"]), None)
    return {
        "title": body.get("title"),
        "kind": body.get("kind"),
        "url": body.get("url"),
        "enabled": body.get("enabled", True),
        "tool_count": len(body.get("tools", ())),
        "is_draft": live != body,
    }


def carried(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Its capabilities with what is known of each."""
    return [_capability(item) for item in body.get("capabilities", ())]


def _capability(item: Any) -> dict[str, Any]:
    body = {"name": item} if isinstance(item, str) else item
    level = float(body.get("level", 1.0))
    return {
        "name": body["name"],
        "level": level,
        "width": round(88 * level, 2),
        "provenance": body.get("provenance", "declared"),
    }


def _facts(body: Mapping[str, Any], posted: FieldForm | None, conflict: Any) -> list[dict[str, Any]]:
    """Fields that are edited one at a time, in their groups."""
    groups = [(title, [one for one in group if one.key in ALONE]) for title, group in GROUPS]
    return [{"title": title, "facts": [_fact(body, one, posted, conflict) for one in group]} for title, group in groups]


def _fact(body: Mapping[str, Any], one: Field, posted: FieldForm | None, conflict: Any) -> dict[str, Any]:
    own = posted if posted and posted.key == one.key else None
    return {
        "key": one.key,
        "field": one,
        "now": now(one.key, body),
        "form": own or FieldForm.of(one.key, body, mark(body, one.key)),
        "conflict": conflict if own else None,
        "open": own is not None,
    }


def now(key: str, body: Mapping[str, Any]) -> str:
    """What a field is, on one line; empty where it is not given."""
    said = words(key, value_of(key, body))
    if FIELDS[key].kind in ("switch", "choice") and not said:
        said = FIELDS[key].shown(body)
    return ", ".join(said if isinstance(said, list) else said.split("\n"))


def _reach(row: EndpointRow) -> dict[str, Any]:
    """Which scopes reach it in the live revision and how much of it, beside that in the draft; in the draft alone while it
    is not live."""
    live = inventory.reach_of(snapshot.live(row.workspace.pk).catalog.registry, row.name)
    draft = inventory.reach_of(working.copy_of(row.workspace).registry, row.name) or {}
    shown, other = (draft, {}) if live is None else (live, draft)
    return {
        "is_live": live is not None,
        "lines": [_reached(scope, shown.get(scope), other.get(scope)) for scope in dict.fromkeys([*shown, *other])],
        "differs": live is not None and live != draft,
    }


def _reached(scope: str, shown: tuple[int, int] | None, draft: tuple[int, int] | None) -> dict[str, Any]:
    seen, every = shown or (0, 0)
    shape, word = (
        ("confident", "Full") if seen == every and every else ("ambiguous", "Part") if seen else ("no_match", "None")
    )
    return {"scope": scope, "seen": seen, "every": every, "shape": shape, "word": word, "shown": shown, "draft": draft}
