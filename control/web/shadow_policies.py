"""The shadow policy of a policy: what its drafted values would have made of live decisions, which nobody acts by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from control.access import allows, may
from control.web import policy_settings
from control.web import shadow_words as words
from control.web.filters import Filters, ends
from routing import listings
from routing.engine import lab
from routing.engine.shadow_policy import KINDS, SAME
from routing.errors import NotFound, RoutingError
from routing.models import ShadowDifference, ShadowPolicy, Workspace
from routing.services.shadow_policies import running, telling

FILTERS = ("kind", "scope", "run")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """The form that begins one, as it was filled in; every scope where none is named."""

    days: str = str(running.USUAL_DAYS)
    percent: str = "100"
    scopes: Sequence[str] = ()
    problem: str = ""


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request", "HX-Target")
@may("registry.view", posts="policy.edit")
def page(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """What a shadow policy found so far; POST begins one with what the draft says now."""
    if _nowhere(workspace, name):
        raise Http404
    if request.method == "POST":
        return _begin(request, workspace, name)
    part = {"state": "#state", "list": "#list"}.get(request.htmx.target or "", "") if request.htmx else ""
    return render(request, f"policies/shadow.html{part}", _told(request, workspace, name, Wish()))


def _nowhere(workspace: Workspace, name: str) -> bool:
    there = (running.drafted(workspace, name), running.lived(workspace, name), telling.newest(workspace, name))
    return all(one is None for one in there)


def _begin(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    sent = request.POST
    wish = Wish(
        days=sent.get("days", Wish.days)[:10],
        percent=sent.get("percent", Wish.percent)[:10],
        scopes=sent.getlist("scope")[:500],
    )
    try:
        days, share = _whole(wish.days, "Days"), _whole(wish.percent, "The share of the decisions") / 100
        running.start(workspace, name, days=days, share=share, scopes=wish.scopes, by=request.actor)
    except NotFound:
        raise Http404 from None
    except (RoutingError, ValueError) as error:
        wish = Wish(days=wish.days, percent=wish.percent, scopes=wish.scopes, problem=_sentence(error))
        return render(request, "policies/shadow.html", _told(request, workspace, name, wish), status=422)
    messages.success(request, f"The shadow policy of {name} scores live decisions")
    return redirect("policy-shadow", workspace.name, name)


def _whole(text: str, what: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{what} must be a whole number.")
    return int(text)


_PATHS = {"days": "Days", "share": "The share of the decisions"}


def _sentence(error: Exception) -> str:
    details = getattr(error, "details", ())
    if not details:
        return str(error)
    path, message = details[0]["path"], details[0]["message"]
    if path == "share":
        message = f"must be {running.LEAST_SHARE:.0%} to 100 %".replace("1%", "1")
    word = _PATHS.get(path, f"Scope {details[0].get('value', '')}")
    return f"{word} {message}."


@require_POST
@may("policy.edit")
def stop(request: Any, workspace: Workspace, name: str, shadow: UUID) -> HttpResponse:
    try:
        if running.find(workspace, shadow).policy != name:
            raise Http404
        running.stop(workspace, shadow, by=request.actor)
    except NotFound:
        raise Http404 from None
    messages.success(request, f"The shadow policy of {name} scores no more")
    return redirect("policy-shadow", workspace.name, name)


# --- the page -----------------------------------------------------------------------------------------------------------
def _told(request: Any, workspace: Workspace, name: str, wish: Wish) -> dict[str, Any]:
    filters = Filters.read(request, reverse("policy-shadow", args=[workspace.name, name]), FILTERS)
    rows = telling.of_policy(workspace, name)
    row = _chosen(rows, filters.chosen.get("run", ""))
    draft, live = running.drafted(workspace, name), running.lived(workspace, name)
    differs = running.differs(workspace, name)
    may_start = allows(request.role, "policy.edit") and not any(one.is_running for one in rows)
    return {
        "name": name,
        "row": row,
        "filters": filters,
        "in_draft": draft is not None,
        "is_live": live is not None,
        "differs": differs,
        "may_start": may_start and differs,
        "wish": wish,
        "days_most": running.MOST_DAYS,
        "scopes": running.scopes_of(workspace, name),
        "drafted": changed(live or {}, draft) if draft is not None and live is not None else [],
        "earlier": [_earlier(filters, one) for one in rows if one is not row],
    } | (_found(request, filters, row, draft, live) if row else {})


def _chosen(rows: Sequence[ShadowPolicy], run: str) -> ShadowPolicy | None:
    return next((one for one in rows if str(one.pk) == run), rows[0] if rows else None)


def _earlier(filters: Filters, row: ShadowPolicy) -> dict[str, Any]:
    return {"row": row, "sums": telling.sums(row), "address": f"{filters.path}?run={row.pk}"}


def _found(request: Any, filters: Filters, row: ShadowPolicy, draft: Any, live: Any) -> dict[str, Any]:
    sums = telling.sums(row)
    return {
        "sums": sums,
        "left": words.left(row.until, timezone.now()) if row.is_running else "",
        "ended": words.ended(row, with_these=live == row.values),
        "kinds": _kinds(filters, row, sums),
        "fewest": lab.FEWEST,
        "unjudged": [(words.WHY_NOT.get(why, why), number) for why, number in sorted(sums.unjudged.items())],
        "by_scope": _by_scope(sums),
        "values": changed(row.base, row.values),
        "draft_changed": draft != row.values,
        "address": filters.address(),
        "clear": filters.address(kind="", scope=""),
    } | _listed(request, filters, row)


def _kinds(filters: Filters, row: ShadowPolicy, sums: telling.Sums) -> list[dict[str, Any]]:
    known = telling.known(row)
    return [
        {
            "kind": kind,
            "word": words.KINDS[kind][0],
            "means": words.KINDS[kind][1],
            "count": sums.kinds.get(kind, 0),
            "known": known[kind],
            "address": filters.address(kind=kind),
        }
        for kind in KINDS
        if sums.kinds.get(kind)
    ]


def _by_scope(sums: telling.Sums) -> list[dict[str, Any]]:
    lines = [(scope, sum(counts.values()), counts.get(SAME, 0)) for scope, counts in sums.scopes.items()]
    return [{"scope": scope, "judged": judged, "different": judged - same} for scope, judged, same in lines]


def _listed(request: Any, filters: Filters, row: ShadowPolicy) -> dict[str, Any]:
    chosen = {name: filters.chosen[name] for name in ("kind", "scope") if name in filters.chosen}
    rows = ShadowDifference.objects.filter(shadow=row, **chosen)
    found = listings.page_of(
        rows, key="pk", after=_place(request.GET.get("after")), before=_place(request.GET.get("before"))
    )
    return {
        "rows": [_line(one) for one in found.rows],
        "chosen": filters.chosen,
        "active": [_chip(filters, name) for name in chosen],
        "kind_choices": [
            (kind, words.KINDS[kind][0]) for kind in KINDS if any(kind in one for one in row.counts.values())
        ],
        "scope_choices": sorted(row.counts),
        "any": bool(found.rows) or ShadowDifference.objects.filter(shadow=row).exists(),
        **ends(filters, found, upwards=False),
    }


def _place(given: str | None) -> int | None:
    text = given or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _chip(filters: Filters, name: str) -> dict[str, str]:
    value = filters.chosen[name]
    word = {"kind": "difference"}.get(name, name)
    told = words.KINDS[value][0].lower() if name == "kind" and value in words.KINDS else value
    return {"name": name, "word": word, "value": told, "without": filters.address(**{name: ""})}


def _line(one: ShadowDifference) -> dict[str, Any]:
    return {
        "difference": one,
        "word": words.KINDS.get(one.kind, (one.kind, ""))[0],
        "live": words.side(one.live),
        "other": words.side(one.other),
    }


def changed(base: Mapping[str, Any], values: Mapping[str, Any]) -> list[dict[str, str]]:
    """The settings of which two policies have different values, each with both in words."""
    return [
        {"name": f"{block} {path.replace('_', ' ')}", "live": _words(before), "shadow": _words(after)}
        for block, settings in values.items()
        for path, before, after in _different(base.get(block, {}), settings)
    ]


def _different(base: Mapping[str, Any], values: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    for name in dict.fromkeys([*values, *base]):
        before, after = base.get(name), values.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += [(f"{name}: {inner}", *both) for inner, *both in _different(before, after)]
        elif before != after:
            found.append((name, before, after))
    return found


def _words(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], Mapping):  # rules
        return " ".join(map(policy_settings.rule_words, value))
    return policy_settings.told(value)
