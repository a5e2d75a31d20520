"""Scopes: the list, and the page of one, which answers what a harness can reach through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.models import HarnessKey
from control.web import replaying, scope_edits, tools, views
from control.web.filters import Filters, number, turns
from routing import inventory, mapping, snapshot
from routing.engine.catalog import Catalog
from routing.engine.registry import Registry, Scope
from routing.engine.validation import to_document
from routing.models import ScopeRow, Workspace

COLUMNS = (("scope", "Scope", ""), ("endpoints", "Endpoints reached", "num"), ("tools", "Tools reached", "num"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """A list of a scope in one of its three states."""

    state: str  # all | none | these
    names: Sequence[str] = ()

    @classmethod
    def of(cls, names: Sequence[str] | None) -> Allowed:
        return cls(state="all") if names is None else cls(state="these" if names else "none", names=names)


@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
@views.kept("scopes")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    filters = Filters.read(
        request, reverse("scopes", args=[workspace.name]), ("q", "policy"), ("scope", "endpoints", "tools")
    )
    everything = _lines(workspace, snapshot.live(workspace.pk).catalog)
    found = [line for line in everything if _fits(line, filters.chosen)]
    page = inventory.cut(_ordered(found, filters.sort or "scope"), number(request))
    context = {
        "filters": filters,
        "chosen": filters.chosen,
        "active": filters.chips({"q": "about"}),
        "clear": filters.clear,
        "heads": filters.heads(COLUMNS, "scope"),
        "rows": page.rows,
        "total": len(everything),
        "policies": sorted({line["scope"].policy for line in everything}),
        "alone": len(everything) == 1,
    } | turns(filters, page)
    return render(request, "scopes/list.html" + ("#list" if request.htmx else ""), context)  # type: ignore[attr-defined]


def _lines(workspace: Workspace, catalog: Catalog) -> list[dict[str, Any]]:
    """The live scopes, then those that only the draft has."""
    drafted, keys = _drafted(workspace), _keys(workspace)
    lines = [
        _line(scope, keys[name]) | dict(zip(("endpoints", "tools"), inventory.sizes(catalog, name), strict=True))
        for name, scope in catalog.scopes.items()
    ]
    return lines + [
        _line(_scope(body), keys[name]) | {"endpoints": None, "tools": None}
        for name, body in drafted.items()
        if name not in catalog.scopes
    ]


def _line(scope: Scope, keys: int) -> dict[str, Any]:
    lists = {"allowed_endpoints": Allowed.of(scope.endpoints), "allowed_tools": Allowed.of(scope.tools)}
    return {"scope": scope, "name": scope.name, "keys": keys} | lists


def _fits(line: Mapping[str, Any], chosen: Mapping[str, str]) -> bool:
    return chosen.get("q", "").casefold() in line["name"] and chosen.get("policy", line["scope"].policy) == (
        line["scope"].policy
    )


def _ordered(lines: list[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    """By name, `default` among the others; what is not live reaches nothing and comes first of all sizes."""
    key = sort.removeprefix("-")
    by_name = sorted(lines, key=lambda line: line["name"], reverse=sort == "-scope")
    if key == "scope":
        return by_name
    return sorted(by_name, key=lambda line: -1 if line[key] is None else line[key], reverse=sort.startswith("-"))


def _drafted(workspace: Workspace) -> dict[str, dict[str, Any]]:
    return {row.name: mapping.scope_document(row) for row in ScopeRow.objects.filter(workspace=workspace)}


def _scope(body: Mapping[str, Any]) -> Scope:
    fields: dict[str, Any] = {key: tuple(held) if isinstance(held, list) else held for key, held in body.items()}
    return Scope(**fields)


def _keys(workspace: Workspace) -> Counter[str]:
    """Keys that let a harness in now, by their scope."""
    valid = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    rows = HarnessKey.objects.filter(valid, workspace=workspace, revoked_at__isnull=True)
    return Counter(rows.order_by().values_list("scope", flat=True))


# --- one scope ------------------------------------------------------------------------------------------------------
@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponse:
    live = snapshot.live(workspace.pk)
    body = _drafted(workspace).get(name)
    scope = live.catalog.scopes.get(name) or (_scope(body) if body else None)
    if scope is None:
        raise Http404
    is_live = name in live.catalog.scopes
    context = {"scope": scope, "is_live": is_live, "revision": live.revision} | _rules(live.catalog, scope)
    if is_live:
        context |= _reach(request, workspace, live.catalog, name)
    if request.htmx and is_live:  # type: ignore[attr-defined]
        return render(request, "scopes/detail.html#reached", context)
    context |= {"keys": _keys(workspace)[name], "is_draft": is_live and _differs(scope, body)}
    context |= {
        "panel": replaying.of(request, workspace, "scope", name),
        "in_draft": body is not None,
        "has_entry": body is not None or name == "default",
    }
    if context["is_draft"] or not is_live:
        context["changes"] = scope_edits.reach_changes(workspace, live.catalog, name)
    return render(request, "scopes/detail.html", context)


def _rules(catalog: Catalog, scope: Scope) -> dict[str, Any]:
    gateway = catalog.registry.gateway
    return {
        "lists": (
            ("Endpoints", Allowed.of(scope.endpoints), "every endpoint"),
            ("Tools", Allowed.of(scope.tools), "every tool of these endpoints"),
        ),
        "groups": {f"group:{name}": ", ".join(members) for name, members in catalog.registry.groups.items()},
        "pins": scope.pins if scope.pins is not None else gateway.pins,
        "pins_inherited": scope.pins is None,
        "expose": scope.expose or gateway.expose,
        "expose_inherited": scope.expose is None,
        "policies": [name for name in scope.policies or () if name != scope.policy],
        "zones": None if scope.data_zones is None else Allowed.of(scope.data_zones),
    }


def _reach(request: HttpRequest, workspace: Workspace, catalog: Catalog, name: str) -> dict[str, Any]:
    filters = Filters.read(request, reverse("scope", args=[workspace.name, name]), ("q", "endpoint", "effect"))
    reached = catalog.tools(name)
    endpoints = inventory.by_endpoint(catalog, name, reached)
    page = inventory.cut(tools.chosen(filters).apply(reached), number(request))
    seen = [one for one in endpoints if one.permitted]
    effects = Counter(doc.traits.effect for doc in reached)
    return {
        "filters": filters,
        "chosen": filters.chosen,
        "active": filters.chips({"q": "about"}),
        "clear": filters.clear,
        "rows": [tools.line(workspace, catalog, doc) | {"pinned": catalog.is_pinned(name, doc)} for doc in page.rows],
        "reached": len(reached),
        "every": len(catalog.index.docs),
        "off": sum(one.permitted - one.seen for one in endpoints),
        "seen": seen,
        "reached_endpoints": sum(1 for one in seen if one.seen),
        "hidden": [one.name for one in endpoints if not one.permitted],
        "effects": inventory.EFFECTS,
        "by_effect": [(effect, effects[effect]) for effect in inventory.EFFECTS if effects[effect]],
    } | turns(filters, page)


def _differs(scope: Scope, body: Mapping[str, Any] | None) -> bool:
    """Whether the draft says something else of a live scope. `default` is there without being written down."""
    live = to_document(Registry(scopes=(scope,)))["scopes"][0]
    return bool(live != (body if body is not None else {"name": "default"}))
