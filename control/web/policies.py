"""Policies: the list of the draft's, and the page of one with every setting and the layer that gave it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import policy_rules, policy_settings
from control.web.filters import Filters, number, turns
from control.web.forms.policies import INHERITED, SettingForm, shown
from control.web.policy_settings import Layers, Place
from routing import inventory, working
from routing.engine.policies import IMPLIED, ROUTINGS, known_policies
from routing.engine.validation import entry_document
from routing.models import Workspace
from routing.services.shadow_policies import running, telling
from routing.working import WorkingCopy

COLUMNS = (("policy", "Policy", ""),)
PARTS = (*policy_settings.TITLES, "extends", "routing")
TOP = {"extends": "Extends", "routing": "Routing"}


@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    filters = Filters.read(request, reverse("policies", args=[workspace.name]), ("q",), ("policy",))
    copy, shadows = working.copy_of(workspace), telling.running(workspace)
    known = known_policies(copy.registry.policies)
    needle = filters.chosen.get("q", "").casefold()
    names = sorted((name for name in known if needle in name), reverse=filters.sort == "-policy")
    page = inventory.cut(names, number(request))
    context = {
        "filters": filters,
        "chosen": filters.chosen,
        "active": filters.chips({"q": "about"}),
        "clear": filters.path,
        "heads": filters.heads(COLUMNS, "policy"),
        "rows": [_line(copy, name) for name in page.rows],
        "shadowed": [row.policy for row in shadows],
        "total": len(known),
    } | turns(filters, page)
    return render(request, "policies/list.html" + ("#list" if request.htmx else ""), context)  # type: ignore[attr-defined]


def _line(copy: WorkingCopy, name: str) -> dict[str, Any]:
    layers = Layers(name, copy.registry.policies)
    own, router = layers.chain[0], layers.effective.router
    return {
        "name": name,
        "implied": name not in {policy.name for policy in copy.registry.policies},
        "extends": own.extends,
        "direct": router["direct_execution_threshold"],
        "fallback": router["fallback_threshold"],
        "confident": layers.effective.resolver["confident_at"],
        "rules": len(layers.effective.execution["rules"]),
        "own": sum(len(getattr(own, block)) for block in policy_settings.TITLES),
        "scopes": scopes_of(copy, name),
    }


def scopes_of(copy: WorkingCopy, name: str) -> list[str]:
    """Scopes of the draft that decide by this policy or let a request choose it."""
    scopes = {scope.name: {scope.policy, *(scope.policies or ())} for scope in copy.registry.scopes}
    return [scope for scope, names in ({"default": {"default"}} | scopes).items() if name in names]


def users(copy: WorkingCopy, name: str) -> list[str]:
    """What refers to a policy, each in words."""
    extending = [policy.name for policy in copy.registry.policies if policy.extends == name]
    return [f"scope {scope}" for scope in scopes_of(copy, name)] + [f"policy {one}" for one in extending]


# --- one policy -----------------------------------------------------------------------------------------------------
@require_safe
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponse:
    return render(request, "policies/detail.html", told(workspace, find(working.copy_of(workspace), name)))


def find(copy: WorkingCopy, name: str) -> dict[str, Any]:
    """A policy as a document: the draft's, or one that is there without being written down. Raises Http404."""
    body = copy.entry("policies", name)
    if body is not None:
        return body
    if name not in IMPLIED:
        raise Http404
    return entry_document(IMPLIED[name])


def held(body: Mapping[str, Any], part: str, key: str) -> Any:
    """What the policy itself says of one setting, or INHERITED."""
    return body.get(part, INHERITED) if part in TOP else policy_settings.held(body, part, key)


def mark(body: Mapping[str, Any], part: str, key: str) -> str:
    return policy_settings.mark(body, part, key, held(body, part, key))


def told(workspace: Workspace, body: Mapping[str, Any], posted: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Everything on the page. `posted` is the form of one setting that was posted: its part, key, form and conflict."""
    copy = working.copy_of(workspace)
    layers = Layers(body["name"], copy.registry.policies)
    posted = posted or {}
    blocks = [_block(layers, body, block, posted) for block in policy_settings.TITLES]
    return (
        {
            "policy": body,
            "implied": copy.entry("policies", body["name"]) is None,
            "chain": [one.name for one in layers.chain],
            "users": users(copy, body["name"]),
            "scopes": scopes_of(copy, body["name"]),
            "blocks": blocks,
            "tops": [_top(copy, layers, body, part, posted) for part in TOP],
            "back": reverse("policy", args=[workspace.name, body["name"]]),
            "shadow": telling.newest(workspace, body["name"]),
            "scorable": running.differs(workspace, body["name"]),
        }
        | summary(layers)
        | policy_rules.told(copy, layers, body, posted)
    )


def summary(layers: Layers) -> dict[str, Any]:
    return {
        "bars": policy_settings.bars(layers),
        "risks": policy_settings.risks(layers),
        "fallback": layers.effective.router["fallback_threshold"],
    }


def _block(layers: Layers, body: Mapping[str, Any], block: str, posted: Mapping[str, Any]) -> dict[str, Any]:
    title, about = policy_settings.TITLES[block]
    lines = [line(layers, body, at, posted) for at in policy_settings.places(block)]
    return {"name": block, "title": title, "about": about, "lines": lines, "own": sum(one["own"] for one in lines)}


def line(layers: Layers, body: Mapping[str, Any], at: Place, posted: Mapping[str, Any]) -> dict[str, Any]:
    """One setting as a row of the page."""
    own = held(body, at.block, at.key) != INHERITED
    mine = (posted.get("part"), posted.get("key")) == (at.block, at.key)
    value = layers.value(at)
    form = SettingForm(value=shown(value), read=mark(body, at.block, at.key))
    return {
        "at": at,
        "setting": at.setting,
        "id": at.id,
        "part": at.block,
        "key": at.key,
        "value": policy_settings.told(value),
        "inherited": policy_settings.told(layers.inherited(at)),
        "default": policy_settings.told(at.setting.default),
        "bounds": policy_settings.bounds(at.setting),
        "layer": layers.layer_words(at),
        "own": own,
        "wide": at.setting.type in policy_settings.WIDE,
        "form": posted["form"] if mine and not (posted["form"].saved and not own) else form,
        "conflict": posted.get("conflict") if mine else None,
    }


def _top(
    copy: WorkingCopy, layers: Layers, body: Mapping[str, Any], part: str, posted: Mapping[str, Any]
) -> dict[str, Any]:
    mine = posted.get("part") == part
    value = body.get("extends", "") if part == "extends" else layers.effective.routing
    parents = sorted(set(known_policies(copy.registry.policies)) - _children(copy, body["name"]))
    return {
        "part": part,
        "word": TOP[part],
        "id": part,
        "choices": parents if part == "extends" else ROUTINGS,
        "form": posted["form"] if mine else SettingForm(value=value, read=mark(body, part, "")),
        "conflict": posted.get("conflict") if mine else None,
    }


def _children(copy: WorkingCopy, name: str) -> set[str]:
    """The policy and all that extend it: it cannot extend one of them."""
    found = {name}
    while more := {one.name for one in copy.registry.policies if one.extends in found} - found:
        found |= more
    return found


def only(copy: WorkingCopy, body: Mapping[str, Any], posted: Mapping[str, Any]) -> dict[str, Any]:
    """What the answer to an edit of one setting shows."""
    layers = Layers(body["name"], copy.registry.policies)
    if posted["key"] == "rules":
        return policy_rules.told(copy, layers, body, posted) | summary(layers)
    at = policy_settings.place(posted["part"], posted["key"])
    return ({"line": line(layers, body, at, posted)} if at else {}) | summary(layers)
