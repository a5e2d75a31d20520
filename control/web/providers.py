"""Decision providers: the list, and the page of one account with how it stands and what it came to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import provider_settings
from control.web.forms.provider import MoneyForm
from control.web.provider_settings import Line
from routing import snapshot, working
from routing.engine.policies import effective, known_policies
from routing.engine.registry import Provider
from routing.models import Workspace
from routing.services import inspections
from routing.services.providers import figures, settings
from routing.services.providers.accounts import breaker_of
from routing.services.providers.breakers import CLOSED, Standing
from routing.services.providers.figures import Summary

DAY, WEEKS = timedelta(hours=24), timedelta(days=30)
STATES = {"closed": "Closed", "open": "Open", "half_open": "Half-open"}
SHAPES = {"closed": "confident", "open": "no_match", "half_open": "ambiguous"}
FAILURES = {
    "credential": "credential not accepted",
    "payment": "no credit",
    "request": "request refused",
    "overload": "overloaded",
    "server": "fault of the server",
    "redirect": "redirect",
    "connection": "cannot be reached",
    "timeout": "not in time",
    "refused": "nothing was sent",
    "answer": "no decision",
    "open": "left alone, circuit open",
    "budget": "budget spent",
    "unconfigured": "credential cannot be read",
}


@require_safe
@may("registry.view")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    registry = working.copy_of(workspace).registry
    recent = figures.summaries(workspace.pk, timezone.now() - DAY)
    month = figures.summaries(workspace.pk, figures.month_began())
    asked_by, settled = users(workspace), settings.kept(workspace.pk)
    rows: list[dict[str, Any]] = [
        {
            "provider": entry,
            "users": asked_by.get(entry.name, []),
            "standing": standing_of(workspace, entry),
            "recent": recent.get(entry.name) or Summary(),
            "month": month[entry.name].cost if entry.name in month else 0.0,
            "settled": settled.get(entry.name, settings.NOTHING),
        }
        for entry in registry.providers
    ]
    for row in rows:
        row["is_spent"] = row["settled"].is_spent_by(row["month"])
    context = {"rows": rows, "local_users": asked_by.get("local", []), "alone": _is_alone(rows)}
    return render(request, "providers/list.html", context)


def _is_alone(rows: list[dict[str, Any]]) -> bool:
    """Whether the bus is away, so that what is shown of breakers is this process's own."""
    return any(row["standing"] is not None and not row["standing"]["shared"] for row in rows)


def standing_of(workspace: Workspace, entry: Provider) -> dict[str, Any] | None:
    """How its breaker stands, in words; None for a provider that has none."""
    if entry.kind == "local":
        return None
    found: Standing = breaker_of(workspace.pk, entry).standing()
    return {
        "state": found.state,
        "word": STATES[found.state],
        "shape": SHAPES[found.state],
        "failures": found.failures,
        "wait_s": round(found.wait_s),
        "kind": FAILURES.get(found.kind, found.kind),
        "shared": found.is_shared,
        "resets": found.state != CLOSED or found.failures > 0,
    }


def users(workspace: Workspace) -> dict[str, list[str]]:
    """Which policies of the draft ask a provider, by its name."""
    policies = working.copy_of(workspace).registry.policies
    found: dict[str, list[str]] = {}
    for name in known_policies(policies):
        for provider in effective(name, policies).router["providers"]:
            found.setdefault(provider, []).append(name)
    return found


# --- one account ------------------------------------------------------------------------------------------------------
@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponse:
    context = told(workspace, find(workspace, name))
    part = "#tested" if request.htmx else ""  # type: ignore[attr-defined]
    return render(request, f"providers/detail.html{part}", context)


def find(workspace: Workspace, name: str) -> dict[str, Any]:
    """The account as the draft has it. Raises Http404."""
    body = working.copy_of(workspace).entry("providers", name)
    if body is None:
        raise Http404
    return body


def told(workspace: Workspace, body: Mapping[str, Any], line: Line | None = None, **more: Any) -> dict[str, Any]:
    """Everything on the page. `line` is a field that was posted and has something to say; `more` replaces what is named."""
    name = body["name"]
    entry = entry_of(workspace, name)
    month = figures.by_day(workspace.pk, name, timezone.now() - WEEKS)
    whole = figures.summaries(workspace.pk, timezone.now() - WEEKS).get(name) or Summary()
    settled = settings.kept(workspace.pk).get(name, settings.NOTHING)
    spent = figures.spent(workspace.pk, name)
    look = inspections.newest(workspace, name, "provider")
    return {
        "provider": body,
        "entry": entry,
        "is_draft": working.live_of(workspace).get("providers", []) != [] and _differs(workspace, body),
        "is_live": any(one["name"] == name for one in working.live_of(workspace).get("providers", ())),
        "users": users(workspace).get(name, []),
        "lines": provider_settings.lines(body, line) if entry.kind != "local" else [],
        "standing": standing_of(workspace, entry),
        "recent": figures.summaries(workspace.pk, timezone.now() - DAY).get(name) or Summary(),
        "whole": whole,
        "failures": [(FAILURES.get(kind, kind), number) for kind, number in whole.failures.most_common()],
        "versions": sorted(whole.versions.values(), key=lambda one: one.last, reverse=True),
        "days": month[:14],
        "spent": spent,
        "is_spent": settled.is_spent_by(spent),
        "settled": settled,
        "compared": whole.shadow.get("agreed", 0) + whole.shadow.get("differed", 0),
        "agreed": whole.shadow.get("agreed", 0),
        "money": MoneyForm.of(settled),
        "look": look,
        "look_open": look is not None and look.state in inspections.OPEN and not inspections.is_lost(look),
        "look_lost": look is not None and inspections.is_lost(look),
        "scopes": sorted(snapshot.live(workspace.pk).catalog.scopes),
        "policies": sorted(known_policies(snapshot.live(workspace.pk).catalog.registry.policies)),
        "state": {"scope": "default", "policy": "default"},
    } | more


def entry_of(workspace: Workspace, name: str) -> Provider:
    """The account of the draft as a value. Raises Http404."""
    for entry in working.copy_of(workspace).registry.providers:
        if entry.name == name:
            return entry
    raise Http404


def _differs(workspace: Workspace, body: Mapping[str, Any]) -> bool:
    live = working.live_of(workspace).get("providers", ())
    return next((one for one in live if one["name"] == body["name"]), None) != body
