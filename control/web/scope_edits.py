"""Edits of a scope, with what they change in reach; a new scope, and the end of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from control.access import may
from control.models import HarnessKey
from control.web import noting, toasts
from control.web.confirming import Confirmation, ask, named
from control.web.finding import Named, Query
from control.web.forms.endpoints import sentence
from control.web.forms.scopes import HARNESS, WORDS, ScopeForm, document
from control.web.merging import Document
from control.web.whole import WholeEditor
from routing import inventory, working
from routing.engine.catalog import Catalog
from routing.engine.policies import known_policies
from routing.errors import InvalidRegistry
from routing.models import Workspace
from routing.services import entries

FOUND = 20
SHOWN = 12


@require_http_methods(["GET", "HEAD", "POST"])
@may("scope.edit")
def edit(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponse:
    body = _find(workspace, name)
    if request.method != "POST":
        return _shown(request, workspace, body, WHOLE.opened(body))
    form = ScopeForm.posted(request.POST)
    if request.POST.get("do", "").partition(":")[0] in ("find", "add"):
        return _shown(request, workspace, body, form)
    return _saved(request, workspace, body, form)


class ScopeWhole(WholeEditor):
    section = "scopes"
    lists = ("deny",)

    def form_of(self, body: Document) -> ScopeForm:
        return ScopeForm.of(body)

    def label(self, name: str) -> str:
        return WORDS[name]

    def path(self, name: str) -> str:
        return name.replace(HARNESS, "harness.")

    def changes(self, given: Mapping[str, Any], body: Document) -> Document:
        return document(given, body.get("harness") or {})

    def words(self, name: str, value: Any) -> Any:
        if value is None:
            return UNSET[name]
        if value is True:
            return "Yes"
        return "None" if value == [] and name in ("endpoints", "tools", "data_zones") else super().words(name, value)

    def write(self, request: Any, workspace: Workspace, body: Document, changes: Document) -> Document:
        """The scope default is there without being written down, and is written down by its first edit."""
        if working.copy_of(workspace).entry("scopes", body["name"]) is not None:
            return super().write(request, workspace, body, changes)
        given = {key: value for key, value in {**body, **changes}.items() if value is not None}
        return entries.add(workspace, "scopes", given, by=request.actor, message=noting.of(request))


UNSET = {
    "endpoints": "All",
    "tools": "All of these endpoints",
    "deny": "Nothing",
    "pins": "As the gateway has them",
    "mode": "Calls pass through the gateway",
    "expose": "As the gateway has it",
    "policy": "default",
    "policies": "Its own policy alone",
    "data_zones": "Any",
    "tool_schema_budget_bytes": "No limit",
    "default_endpoint": "None",
    "harness_type": "Not told",
    "harness_path": "Not told",
    "harness_disabled": "No",
}
WHOLE = ScopeWhole()


def _find(workspace: Workspace, name: str) -> dict[str, Any]:
    body = working.copy_of(workspace).entry("scopes", name)
    if body is None and name != "default":
        raise Http404
    return body or {"name": "default"}


def _saved(request: Any, workspace: Workspace, body: Document, form: ScopeForm) -> HttpResponse:
    name = body["name"]
    if form.refuse_states():
        return _shown(request, workspace, body, form, status=422)
    saved, status = WHOLE.attempt(request, workspace, body, form)
    if saved is None:
        return _shown(request, workspace, body, form, status=status)
    WHOLE.tell(request, saved, f"Scope {name}", back=reverse("scope", args=[workspace.name, name]))
    return redirect("scope", workspace.name, name)


def _shown(
    request: HttpRequest,
    workspace: Workspace,
    body: Mapping[str, Any],
    form: ScopeForm,
    *,
    status: int = 200,
) -> HttpResponse:
    copy = working.copy_of(workspace)
    context = {
        "name": body["name"],
        "form": form,
        "policies": sorted(known_policies(copy.registry.policies)),
        "found": _found(workspace, form.find),
        "sides": form.meeting.conflicts,
    }
    return render(request, "scopes/edit.html", context, status=status)


def _found(workspace: Workspace, text: str) -> list[dict[str, str]]:
    """Endpoints and tools of the draft by name, best first."""
    if not text:
        return []
    registry = working.copy_of(workspace).registry
    things = [Named.of(one.name, "endpoints") for one in registry.endpoints]
    things += [Named.of(f"{one.name}__{tool.name}", "tools") for one in registry.endpoints for tool in one.tools]
    return [{"name": one.name, "to": one.thing} for one in Query(text).best(things, FOUND)]


# --- what the draft changes in reach --------------------------------------------------------------------------------
def reach_changes(workspace: Workspace, live: Catalog, name: str) -> dict[str, Any] | None:
    """Tools that a scope reaches in the draft and not live, and the other way round; None when the draft cannot have it."""
    draft = Catalog(working.copy_of(workspace).registry, previous=live)
    if name not in draft.scopes:
        return None
    now = {doc.public for doc in live.tools(name)} if name in live.scopes else set()
    then = {doc.public for doc in draft.tools(name)}
    more, less = sorted(then - now), sorted(now - then)
    return {
        "more": len(more),
        "less": len(less),
        "more_names": more[:SHOWN],
        "less_names": less[:SHOWN],
        "total": len(then),
        "endpoints": inventory.sizes(draft, name)[0],
    }


# --- a new one, and the end of one ----------------------------------------------------------------------------------
@require_http_methods(["GET", "HEAD", "POST"])
@may("scope.edit")
def create(request: Any, workspace: Workspace) -> HttpResponse:
    """A new scope that reaches nothing, or a copy of another."""
    given = request.POST if request.method == "POST" else request.GET
    copy = working.copy_of(workspace)
    context: dict[str, Any] = {"name": given.get("name", "")[:200].strip(), "like": given.get("like", "")}
    context["known"] = sorted({"default", *(one.name for one in copy.registry.scopes)})
    if request.method != "POST":
        return render(request, "scopes/new.html", context)
    base = _find(workspace, context["like"]) if context["like"] else {"endpoints": []}
    try:
        made = entries.add(
            workspace, "scopes", {**base, "name": context["name"]}, by=request.actor, message=noting.of(request)
        )
    except InvalidRegistry as error:
        context["problem"] = " ".join(sentence("It", detail) for detail in error.details)
        return render(request, "scopes/new.html", context, status=422)
    back = reverse("scopes", args=[workspace.name])
    toasts.drafted(request, f"Scope {made['name']} is in the draft", about=f"scopes[{made['name']}]", back=back)
    return redirect("scope-edit", workspace.name, made["name"])


@require_http_methods(["GET", "HEAD", "POST"])
@may("scope.edit")
def delete(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """Asked first, with the keys that would be refused; refused while an expectation refers to it."""
    if working.copy_of(workspace).entry("scopes", name) is None:
        raise Http404
    if request.method != "POST":
        return ask(request, _question(workspace, name))
    try:
        entries.remove(workspace, "scopes", [name], by=request.actor, message=noting.of(request))
    except InvalidRegistry as error:
        using = named(str(detail.get("path", "")).split(".")[0] for detail in error.details)
        messages.error(request, f"Scope {name} cannot be deleted: it is used by {using}.")
        return redirect("scope", workspace.name, name)
    back = reverse("scope", args=[workspace.name, name])
    toasts.drafted(request, f"Scope {name} is gone from the draft", about=f"scopes[{name}]", back=back)
    return redirect("scopes", workspace.name)


def _question(workspace: Workspace, name: str) -> Confirmation:
    keys = HarnessKey.objects.filter(workspace=workspace, scope=name, revoked_at__isnull=True)
    held = list(keys.order_by("name").values_list("name", flat=True))
    if name == "default":
        stops = ["Without an entry, default reaches every endpoint and every tool."]
    elif held:
        stops = [f"Once published, these keys are refused: {named(held)}."]
    else:
        stops = ["No key reaches it now."]
    return Confirmation(
        title=f"Delete scope {name}?",
        stops=stops,
        back="What is live stays as it is until the draft is published. Discard the draft or restore a revision to get it back.",
        action=reverse("scope-delete", args=[workspace.name, name]),
        deed="Delete from the draft",
        keep="Keep it",
        away=reverse("scope", args=[workspace.name, name]),
    )
