"""Capabilities: the vocabulary of the draft, the page of one word, and which endpoint is good for what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import merging, views
from control.web.filters import Filters, number, turns
from control.web.forms.capabilities import DeprecationForm, LinesForm, PreferForm
from control.web.forms.endpoints import TextForm
from routing import inventory, mapping
from routing.models import CapabilityRow, EndpointRow, Workspace

COLUMNS = (("capability", "Capability", ""), ("endpoints", "Endpoints", "num"), ("tools", "Tools", "num"))
USES = {"yes": "In use", "no": "Not in use", "deprecated": "Deprecated"}
WIDE = 30  # endpoints on one page of the map
SHOWN = 3  # synonyms in a row of the list


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """An endpoint that says it is good for something."""

    endpoint: str
    enabled: bool
    level: float
    provenance: str
    tools: int

    @property
    def width(self) -> float:
        return round(88 * self.level, 2)

    @property
    def heat(self) -> int:
        """How dark its place on the map is, from 1 to 3."""
        return 1 + (self.level > 1 / 3) + (self.level > 2 / 3)


def carriers(workspace: Workspace) -> dict[str, list[Carrier]]:
    """Of every capability that is named, the endpoints of the draft that carry it, the best ones first."""
    found: dict[str, list[Carrier]] = defaultdict(list)
    rows = EndpointRow.objects.filter(workspace=workspace).annotate(number=Count("tools")).order_by("name")
    for name, enabled, listed, tools in rows.values_list("name", "enabled", "capabilities", "number"):
        for item in listed:
            body = {"name": item} if isinstance(item, str) else item
            found[body["name"]].append(
                Carrier(
                    endpoint=name,
                    enabled=enabled,
                    level=float(body.get("level", 1.0)),
                    provenance=body.get("provenance", "declared"),
                    tools=tools,
                )
            )
    return {name: sorted(those, key=lambda one: (-one.level, one.endpoint)) for name, those in found.items()}


# --- the list -------------------------------------------------------------------------------------------------------
@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
@views.kept("capabilities")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    filters = Filters.read(
        request,
        reverse("capabilities", args=[workspace.name]),
        ("q", "use"),
        tuple(key for key, _, _ in COLUMNS),
    )
    used = carriers(workspace)
    everything = [_line(row, used.get(row.name, [])) for row in CapabilityRow.objects.filter(workspace=workspace)]
    found = [line for line in everything if _fits(line, filters.chosen)]
    page = inventory.cut(_ordered(found, filters.sort or "capability"), number(request))
    known = {line["name"] for line in everything}
    context = {
        "filters": filters,
        "chosen": filters.chosen,
        "active": _chips(filters),
        "clear": filters.clear,
        "heads": filters.heads(COLUMNS, "capability"),
        "rows": page.rows,
        "total": len(everything),
        "uses": list(USES.items()),
        "strangers": [{"name": name, "carriers": used[name]} for name in sorted(used) if name not in known],
    } | turns(filters, page)
    template = "capabilities/list.html" + ("#list" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, context)


def _chips(filters: Filters) -> list[dict[str, str]]:
    chips = filters.chips({"q": "about"})
    return [
        chip | {"value": USES.get(chip["value"], chip["value"])} if chip["name"] == "use" else chip for chip in chips
    ]


def _line(row: CapabilityRow, those: Sequence[Carrier]) -> dict[str, Any]:
    synonyms, keywords = row.details.get("synonyms", []), row.details.get("keywords", [])
    return {
        "name": row.name,
        "description": row.description,
        "deprecated": row.deprecated,
        "synonyms": synonyms,
        "shown": synonyms[:SHOWN],
        "more": len(synonyms[SHOWN:]),
        "keywords": keywords,
        "endpoints": len(those),
        "tools": sum(one.tools for one in those),
        "prefer": row.details.get("prefer", []),
    }


def _fits(line: Mapping[str, Any], chosen: Mapping[str, str]) -> bool:
    needle, use = chosen.get("q", "").casefold(), chosen.get("use")
    texts = (line["name"], line["description"], *line["synonyms"], *line["keywords"])
    if not any(needle in text.casefold() for text in texts):
        return False
    wanted = {"yes": bool(line["endpoints"]), "no": not line["endpoints"], "deprecated": bool(line["deprecated"])}
    return wanted.get(use or "", True)


def _ordered(lines: Iterable[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    by_name = sorted(lines, key=lambda line: line["name"], reverse=sort == "-capability")
    key = sort.removeprefix("-")
    return by_name if key == "capability" else sorted(by_name, key=lambda line: line[key], reverse=sort.startswith("-"))


# --- the map --------------------------------------------------------------------------------------------------------
@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
def coverage(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    """Capabilities down, endpoints across; both are cut into pages, since either may be many."""
    filters = Filters.read(request, reverse("coverage", args=[workspace.name]), ("q",))
    used = carriers(workspace)
    known = set(CapabilityRow.objects.filter(workspace=workspace).values_list("name", flat=True))
    names = sorted(name for name in known | set(used) if filters.chosen.get("q", "").casefold() in name)
    columns = sorted({one.endpoint for name in names for one in used.get(name, ())})
    down = inventory.cut(names, number(request))
    across = inventory.cut(columns, number(request, "across"), WIDE)
    here = across.number if across.number > 1 else ""
    context = {
        "filters": filters,
        "chosen": filters.chosen,
        "active": filters.chips({"q": "about"}),
        "clear": filters.clear,
        "columns": across.rows,
        "rows": [_row(name, used.get(name, []), across.rows, known) for name in down.rows],
        "total": len(known | set(used)),
        "sideways": turns(filters, across, "across", page=down.number if down.number > 1 else "")
        | {"first": (across.number - 1) * WIDE + 1, "last": (across.number - 1) * WIDE + len(across.rows)},
        "silent": EndpointRow.objects.filter(workspace=workspace, capabilities=[]).count(),
    } | turns(filters, down, across=here)
    template = "capabilities/coverage.html" + ("#list" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, context)


def _row(name: str, those: Sequence[Carrier], columns: Sequence[str], known: set[str]) -> dict[str, Any]:
    by_endpoint = {one.endpoint: one for one in those}
    return {
        "name": name,
        "known": name in known,
        "cells": [by_endpoint.get(column) for column in columns],
        "every": len(those),
    }


# --- one capability -------------------------------------------------------------------------------------------------
@require_safe
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponse:
    return render(request, "capabilities/detail.html", told(find(workspace, name)))


def find(workspace: Workspace, name: str) -> CapabilityRow:
    row: CapabilityRow | None = CapabilityRow.objects.filter(workspace=workspace, name=name).first()
    if row is None:
        raise Http404
    return row


def mark(body: Mapping[str, Any], part: str) -> str:
    """A mark of one part of a capability as somebody reads it."""
    value: Any = body.get(part) or ("" if part == "description" else [])
    if part == "deprecated":
        value = " ".join(deprecation(body))
    return merging.mark("capabilities", body["name"], part, value)


def deprecation(body: Mapping[str, Any]) -> list[str]:
    """Whether it is deprecated ("yes" or nothing), and what is to be used instead."""
    return ["yes" if body.get("deprecated") else "", body.get("replaced_by") or ""]


def choices(workspace: Workspace, name: str) -> dict[str, Any]:
    """What the fields of the page offer: endpoints to prefer, and other capabilities."""
    others = CapabilityRow.objects.filter(workspace=workspace).exclude(name=name).order_by("name")
    return {
        "endpoint_names": EndpointRow.objects.filter(workspace=workspace)
        .order_by("name")
        .values_list("name", flat=True),
        "other_names": others.values_list("name", flat=True),
    }


def told(row: CapabilityRow, **forms: Any) -> dict[str, Any]:
    """Everything on the page. `forms` replaces a form by one that was posted and has something to say."""
    body = mapping.capability_document(row)
    those = carriers(row.workspace).get(row.name, [])
    return {
        "capability": row,
        "synonyms": body.get("synonyms", []),
        "keywords": body.get("keywords", []),
        "prefer": body.get("prefer", []),
        "replaced_by": body.get("replaced_by"),
        "description_form": TextForm(value=row.description, read=mark(body, "description")),
        "synonyms_form": LinesForm(value="\n".join(body.get("synonyms", [])), read=mark(body, "synonyms")),
        "keywords_form": LinesForm(value="\n".join(body.get("keywords", [])), read=mark(body, "keywords")),
        "prefer_form": PreferForm(value="", values=body.get("prefer", []), read=mark(body, "prefer")),
        "deprecated_form": DeprecationForm(
            value=deprecation(body)[0], instead=deprecation(body)[1], read=mark(body, "deprecated")
        ),
        **choices(row.workspace, row.name),
        "carriers": those,
        "tools": sum(one.tools for one in those),
        "back": reverse("capability", args=[row.workspace.name, row.name]),
    } | forms
