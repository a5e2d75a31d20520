"""The hint doctor's page: what was found in the draft or in what is live, each with the way to mend it or to leave it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import allows, may, must
from control.web import toasts, tools
from control.web.filters import Filters, number, turns
from routing import inventory, working
from routing.engine.doctor import SEVERITIES
from routing.errors import RoutingError
from routing.models import IgnoredFinding, Workspace
from routing.services import edits
from routing.services.doctor import examinations, ignoring, mending
from routing.services.doctor.examinations import Examined, Found

FILTERS = ("kind", "severity", "endpoint", "show", "of")
KINDS = {
    "hint_clash": "Hints that tie",
    "hint_outdone": "Hints that bring another tool",
    "hint_without_tool": "Hints on no tool",
    "hint_says_nothing": "Hints that say nothing",
    "word_for_everything": "Words that speak for everything",
    "tool_never_listed": "Tools that nothing finds",
    "tool_never_first": "Tools that never come first",
    "tool_in_no_scope": "Tools in no scope",
    "alike": "Tools that say the same",
    "no_description": "Empty descriptions",
    "capability_unused": "Capabilities that nobody has",
    "scope_empty": "Scopes that reach nothing",
    "rule_never": "Rules that never decide",
    "rule_idle": "Rules that change nothing",
}
WORDS = {"high": "Harm", "medium": "Doubt", "low": "Note"}
SHAPES = {"high": "failed", "medium": "partial", "low": "unknown"}
SHOW = {"": "Open", "ignored": "Ignored", "all": "All"}
EDITS = {
    "endpoints": "endpoint.edit",
    "capabilities": "capability.edit",
    "scopes": "scope.edit",
    "policies": "policy.edit",
}
ON_ENDPOINT = 5  # findings on the page of an endpoint
_CHIPS = {"of": "in", "show": "shown", "kind": "kind", "severity": "weight"}


# --- the list ---------------------------------------------------------------------------------------------------------
@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
def page(request: Any, workspace: Workspace) -> HttpResponse:
    filters = Filters.read(request, reverse("doctor", args=[workspace.name]), FILTERS)
    is_live = filters.chosen.get("of") == "live"
    digest = working.live_digest(workspace) if is_live else examinations.draft_digest(workspace)
    examined = examinations.of(workspace, digest)
    context: dict[str, Any] = {
        "filters": filters,
        "chosen": filters.chosen,
        "clear": filters.clear,
        "is_live": is_live,
        "here": filters.address(page=request.GET.get("page", "")),
        "examined": examined,
    }
    if examined is None:
        context["is_lost"] = not examinations.want(workspace.pk)
    else:
        context |= _told(request, workspace, filters, examined, is_live=is_live)
    return render(request, "doctor/list.html" + ("#list" if request.htmx else ""), context)


def _told(
    request: HttpRequest, workspace: Workspace, filters: Filters, examined: Examined, *, is_live: bool
) -> dict[str, Any]:
    ignored = ignoring.ignored(workspace)
    left = [one for one in examined.findings if one["key"] in ignored]
    shown = {"ignored": left, "all": examined.findings}.get(
        filters.chosen.get("show", ""), [one for one in examined.findings if one["key"] not in ignored]
    )
    found = [one for one in shown if _fits(one, filters.chosen)]
    cut = inventory.cut(found, number(request))
    role = request.role  # type: ignore[attr-defined]
    edits_here = not is_live and not workspace.is_read_only
    return {
        "active": _chips(filters),
        "rows": [_row(workspace, one, ignored, role if edits_here else None) for one in cut.rows],
        "total": len(shown),
        "open": ignoring.open_in(workspace, examined),
        "left": len(left),
        "weights": [(WORDS[one], sum(finding["severity"] == one for finding in shown)) for one in SEVERITIES],
        "kinds": _choices(KINDS, Counter(one["code"] for one in shown)),
        "severities": list(WORDS.items()),
        "endpoints": sorted({name for one in shown for name in endpoints_of(one)}),
        "shows": list(SHOW.items()),
        "more": [(KINDS[code], count) for code, count in examined.more.items()],
    } | turns(filters, cut)


def _choices(words: Mapping[str, str], counted: Mapping[str, int]) -> list[tuple[str, str, int]]:
    return [(value, word, counted[value]) for value, word in words.items() if counted.get(value)]


def _chips(filters: Filters) -> list[dict[str, str]]:
    words = {"kind": KINDS, "severity": WORDS, "show": SHOW}
    return [
        chip | {"value": words.get(chip["name"], {}).get(chip["value"], chip["value"])}
        for chip in filters.chips(_CHIPS)
    ]


def _fits(finding: Found, chosen: Mapping[str, str]) -> bool:
    return (
        chosen.get("kind", finding["code"]) == finding["code"]
        and chosen.get("severity", finding["severity"]) == finding["severity"]
        and ("endpoint" not in chosen or chosen["endpoint"] in endpoints_of(finding))
    )


def endpoints_of(finding: Found) -> set[str]:
    """The endpoints that a finding is about."""
    if finding["section"] != "endpoints":
        return set()
    return {finding["name"], *(other.partition("__")[0] for other in finding["others"])}


def _row(
    workspace: Workspace, finding: Found, ignored: Mapping[str, IgnoredFinding], role: str | None
) -> dict[str, Any]:
    """A finding for the page; `role` is None where nothing is edited."""
    suggestion = finding["suggestion"]
    may_edit = allows(role, EDITS[suggestion["section"]])
    return {
        "finding": finding,
        "kind": KINDS[finding["code"]],
        "shape": SHAPES[finding["severity"]],
        "weight": WORDS[finding["severity"]],
        "links": list(_links(workspace, finding)),
        "ignored": ignored.get(finding["key"]),
        "shown_by": _shown_by(workspace, finding),
        "edit": edit_address(workspace, suggestion) if may_edit else "",
        "applies": may_edit and suggestion["changes"] is not None,
    }


def _shown_by(workspace: Workspace, finding: Found) -> str:
    """The playground with what shows a finding, behind the # as its links have it."""
    if not finding.get("query"):
        return ""
    return f"{reverse('playground', args=[workspace.name])}#{urlencode({'q': finding['query'], 'scope': finding['scope']})}"


def _links(workspace: Workspace, finding: Found) -> Iterable[tuple[str, str]]:
    """(name, address) of what a finding is about."""
    section = finding["section"]
    if section != "endpoints":
        door = {"capabilities": "capability", "scopes": "scope", "policies": "policy"}[section]
        yield finding["name"], reverse(door, args=[workspace.name, finding["name"]])
        return
    for name in dict.fromkeys([finding["tool"] or finding["name"], *finding["others"]]):
        is_tool = "__" in name
        yield name, tools.address(workspace, name) if is_tool else reverse("endpoint", args=[workspace.name, name])


def edit_address(workspace: Workspace, suggestion: Mapping[str, Any]) -> str:
    """Where the form of a suggested edit stands open."""
    section, name, part = suggestion["section"], suggestion["name"], suggestion["part"]
    if section == "endpoints":
        own = reverse("endpoint", args=[workspace.name, name])
        if part == "tool_use_when" and suggestion["tool"]:
            return f"{own}?{urlencode({'hints': suggestion['tool']})}"  # a fragment would keep the cursor out
        return own + {"use_when": "#h-hint", "description": "#h-desc"}.get(part, "#h-tools")
    if section == "scopes":
        return reverse("scope-edit", args=[workspace.name, name]) if name else reverse("scopes", args=[workspace.name])
    return reverse({"capabilities": "capability", "policies": "policy"}[section], args=[workspace.name, name])


# --- what other pages show --------------------------------------------------------------------------------------------
def of_endpoint(request: Any, workspace: Workspace, name: str) -> dict[str, Any]:
    """The open findings about an endpoint of the draft, for its page; empty while nobody has looked."""
    examined = examinations.of(workspace, examinations.draft_digest(workspace))
    if examined is None:
        return {"rows": [], "more": 0}
    ignored = ignoring.ignored(workspace)
    found = [one for one in examined.findings if name in endpoints_of(one) and one["key"] not in ignored]
    role = None if workspace.is_read_only else request.role
    return {
        "rows": [_row(workspace, one, ignored, role) for one in found[:ON_ENDPOINT]],
        "more": max(0, len(found) - ON_ENDPOINT),
        "address": f"{reverse('doctor', args=[workspace.name])}?{urlencode({'endpoint': name})}",
    }


def summary(workspace: Workspace) -> dict[str, Any] | None:
    """How many findings the draft has, and how many of them what is live has not; None while nobody has looked."""
    examined = examinations.of(workspace, examinations.draft_digest(workspace))
    if examined is None:
        examinations.want(workspace.pk)
        return None
    ignored = ignoring.ignored(workspace)
    live = examinations.of(workspace, working.live_digest(workspace))
    keys = [one["key"] for one in examined.findings if one["key"] not in ignored]
    fresh = sum(key not in live.by_key for key in keys) if live else None
    return {"open": len(keys) + sum(examined.more.values()), "fresh": fresh, "left": len(examined.findings) - len(keys)}


# --- acts -------------------------------------------------------------------------------------------------------------
@require_POST
@may("finding.ignore")
def ignore(request: Any, workspace: Workspace, key: str) -> HttpResponse:
    """Leave a finding as it is, with a reason, or take that back."""
    try:
        if request.POST.get("do") == "heed":
            ignoring.heed(workspace, key, by=request.actor)
            messages.success(request, "The finding is open again")
        else:
            ignoring.ignore(workspace, key, request.POST.get("reason", "")[:2000], by=request.actor)
            messages.success(request, "Left as it is; the reason stands beside it under “Ignored”")
    except RoutingError as error:  # also of a finding that somebody else dealt with meanwhile
        messages.error(request, error.message)
    return redirect(_back(request, workspace))


@require_POST
@may("endpoint.edit")
def mend(request: Any, workspace: Workspace, key: str) -> HttpResponse:
    """Make the suggested edit in the draft."""
    try:
        suggestion = ignoring.find(workspace, key)["suggestion"]
        must(request, EDITS[suggestion["section"]], "this")
        mending.mend(workspace, key, by=request.actor)
    except RoutingError as error:
        messages.error(request, error.message)
    else:
        step = edits.latest(workspace, request.actor.person)
        toasts.stepped(request, f"{suggestion['name']}: mended in the draft", step, back=_back(request, workspace))
    return redirect(_back(request, workspace))


def _back(request: HttpRequest, workspace: Workspace) -> str:
    own, given = reverse("doctor", args=[workspace.name]), request.POST.get("back", "")
    return given if given == own or given.startswith(f"{own}?") else own
