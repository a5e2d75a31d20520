"""Endpoints as a whole: make one, copy one, change any field, switch it on or off, remove it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from control.access import may
from control.web import confirming, toasts
from control.web.forms.endpoint import EndpointForm
from routing import snapshot, working
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Decision, Workspace
from routing.services import entries

SPAN = timedelta(days=30)
METHODS = require_http_methods(["GET", "HEAD", "POST"])


@METHODS
@may("endpoint.edit")
def create(request: Any, workspace: Workspace) -> HttpResponse:
    """A new endpoint; with `from` in the address, filled in as a copy of that one without its credential."""
    source = working.copy_of(workspace).entry("endpoints", request.GET.get("from", "")[:64])
    if request.method != "POST":
        copied = {**source, "name": f"{source['name'][:59]}-copy"} if source else None
        return _form(request, EndpointForm.of(copied, is_new=True), source)
    form = EndpointForm.posted(request.POST, None)
    given = {key: value for key, value in form.body().items() if value is not None}
    if form.problems:
        return _form(request, form, source, 422)
    tools: dict[str, Any] = (
        {key: source[key] for key in ("tools", "use_when", "tool_use_when") if key in source} if source else {}
    )
    try:
        saved = entries.add(workspace, "endpoints", {"name": form.values["name"], **given, **tools}, by=request.actor)
    except InvalidRegistry as error:
        form.refuse(error.details)
        return _form(request, form, source, 422)
    messages.success(request, f"Endpoint {saved['name']} added to the draft")
    return redirect("endpoint", workspace.name, saved["name"])


@METHODS
@may("endpoint.edit")
def change(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    body = _find(workspace, name)
    if request.method != "POST":
        return _form(request, EndpointForm.of(body, read=entries.version(body)))
    form = EndpointForm.posted(request.POST, body)
    changes = form.changes()
    if form.problems:
        return _form(request, form, status=422)
    try:
        entries.edit(workspace, "endpoints", name, changes, by=request.actor, read=form.read)
    except InvalidRegistry as error:
        form.refuse(error.details)
        return _form(request, form, status=422)
    except StaleDraft:
        form.read = entries.version(body)
        differ = ", ".join(sorted(changes)) or "nothing"
        form.general.append(
            f"Somebody changed this endpoint since you opened it. What you wrote is kept here and differs from theirs in: "
            f"{differ}. Look at it again, then save."
        )
        return _form(request, form, status=409)
    except NotFound:
        raise Http404 from None
    messages.success(request, f"Endpoint {name} saved to the draft")
    return redirect("endpoint", workspace.name, name)


def _form(request: Any, form: EndpointForm, source: Any = None, status: int = 200) -> HttpResponse:
    return render(request, "endpoints/form.html", {"form": form, "source": source}, status=status)


def _find(workspace: Workspace, name: str) -> dict[str, Any]:
    body = working.copy_of(workspace).entry("endpoints", name)
    if body is None:
        raise Http404
    return body


@METHODS
@may("endpoint.edit")
def switch(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """On or off; asks before it is switched off."""
    body = _find(workspace, name)
    if request.method != "POST":
        return confirming.ask(request, _switching_off(workspace, name))
    if request.POST.get("read") and request.POST["read"] != entries.version(body):
        messages.error(request, f"{name} was changed since, so it was left as it is")
        return _whole(request, redirect("endpoint", workspace.name, name))
    wanted, was = request.POST.get("enabled") == "yes", body.get("enabled", True)
    if wanted != was:
        saved = entries.edit(workspace, "endpoints", name, {"enabled": wanted}, by=request.actor)
        undo = {"read": entries.version(saved), "fields": [("enabled", "yes" if was else "no")]}
        action = reverse("endpoint-switch", args=[workspace.name, name])
        toasts.saved(request, f"{name} is switched {'on' if wanted else 'off'} in the draft", action=action, undo=undo)
    answer = redirect("endpoint", workspace.name, name)
    return _whole(request, answer)


def _whole(request: Any, answer: HttpResponse) -> HttpResponse:
    """A redirect that htmx takes as a new page too."""
    if request.htmx:
        moved = HttpResponse(status=204)
        moved["HX-Redirect"] = answer["Location"]
        return moved
    return answer


def _switching_off(workspace: Workspace, name: str) -> confirming.Confirmation:
    address = reverse("endpoint-switch", args=[workspace.name, name])
    return confirming.Confirmation(
        title=f"Switch {name} off?",
        stops=stakes(workspace, name) or ["Nothing that is live uses it."],
        back="It is a change of the draft: nothing stops before the draft is published, and it can be switched on again.",
        action=address,
        deed="Switch off",
        keep="Keep it on",
        away=reverse("endpoint", args=[workspace.name, name]),
        fields={"enabled": "no"},
    )


@METHODS
@may("endpoint.edit")
def remove(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """Take an endpoint out of the draft; asks before, and names what still refers to it."""
    _find(workspace, name)
    if request.method != "POST":
        return confirming.ask(request, _removing(workspace, name))
    try:
        entries.remove(workspace, "endpoints", [name], by=request.actor)
    except InvalidRegistry as error:
        told = "; ".join(f"{detail['path']} {detail['message']}" for detail in error.details[:6])
        messages.error(request, f"{error.message} {told}")
        return redirect("endpoint", workspace.name, name)
    except NotFound:
        raise Http404 from None
    messages.success(request, f"Endpoint {name} removed from the draft")
    return redirect("endpoints", workspace.name)


def _removing(workspace: Workspace, name: str) -> confirming.Confirmation:
    return confirming.Confirmation(
        title=f"Remove {name}?",
        stops=stakes(workspace, name) or ["Nothing that is live uses it."],
        back="It is a change of the draft: discarding the draft, or restoring a revision, brings it back.",
        action=reverse("endpoint-remove", args=[workspace.name, name]),
        deed="Remove",
        keep="Keep it",
        away=reverse("endpoint", args=[workspace.name, name]),
    )


def stakes(workspace: Workspace, name: str) -> list[str]:
    """Who loses what without this endpoint, each in a sentence: live scopes, what names it, recent decisions."""
    catalog = snapshot.live(workspace.pk).catalog
    live = next((one for one in catalog.registry.endpoints if one.name == name), None)
    scopes = [
        scope
        for scope in catalog.scopes
        if live and any(catalog.permits(scope, name, tool.name) for tool in live.tools)
    ]
    number = recent(workspace, name).count()
    sentences = (
        [f"{'Scope' if len(scopes) == 1 else 'Scopes'} {confirming.named(scopes)}: its tools are reached no more."]
        if scopes
        else []
    )
    sentences += [
        f"{word} {confirming.named(names)} {'names' if len(names) == 1 else 'name'} it."
        for word, names in users(workspace, name)
        if names
    ]
    if number:
        sentences.append(
            f"{number:,} {'decision' if number == 1 else 'decisions'} of the last 30 days recommended one of its tools."
        )
    return sentences


def recent(workspace: Workspace, name: str) -> Any:
    since = timezone.now() - SPAN
    return Decision.objects.filter(workspace=workspace, created_at__gte=since, target__startswith=f"{name}__")


def users(workspace: Workspace, name: str) -> list[tuple[str, list[str]]]:
    """What in the draft names this endpoint or one of its tools, by kind."""
    document = working.copy_of(workspace).document
    pinned = [one["name"] for one in document.get("scopes", ()) if _names(one.get("pins"), name)]
    scopes = [
        one["name"]
        for one in document.get("scopes", ())
        if _names(one.get("endpoints"), name) or _names(one.get("tools"), name)
    ]
    preferred = [one["name"] for one in document.get("capabilities", ()) if name in one.get("prefer", ())]
    expected = [
        one["name"]
        for one in document.get("expectations", ())
        if _names([str(one.get("expect", {}).get("recommendation", ""))], name)
    ]
    return [("Scopes", scopes), ("Pins of scopes", pinned), ("Capabilities", preferred), ("Expectations", expected)]


def _names(words: Any, name: str) -> bool:
    return any(word == name or str(word).startswith(f"{name}__") for word in words or ())
