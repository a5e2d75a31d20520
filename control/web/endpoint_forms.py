"""Endpoints as a whole: make one, copy one, change any field, switch it on or off, remove it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from control.access import may
from control.web import confirming, going, naming, noting, replay_subjects, stakes, toasts
from control.web.forms.endpoint import EndpointForm, document, words
from control.web.forms.endpoint_fields import ANEW, FIELDS, LISTS
from control.web.merging import Document
from control.web.whole import WholeEditor
from routing import working
from routing.errors import InvalidRegistry, NotFound
from routing.models import Workspace
from routing.services import entries, targets

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
    given = {key: value for key, value in document(form.given(), {}).items() if value is not None}
    tools: dict[str, Any] = (
        {key: source[key] for key in ("tools", "use_when", "tool_use_when") if key in source} if source else {}
    )
    entry = {"name": form.values.get("name", ""), **given, **tools}
    if form.problems:
        form.refuse(entries.refusals(workspace, "endpoints", None, entry))
        return _form(request, form, source, 422)
    try:
        saved = entries.add(workspace, "endpoints", entry, by=request.actor, message=noting.of(request))
    except InvalidRegistry as error:
        form.refuse(error.details)
        return _form(request, form, source, 422)
    toasts.drafted(
        request,
        f"Endpoint {saved['name']} added to the draft",
        about=f"endpoints[{saved['name']}]",
        back=reverse("endpoints", args=[workspace.name]),
    )
    _remark(request, given)
    return redirect("endpoint", workspace.name, saved["name"])


class EndpointWhole(WholeEditor):
    section = "endpoints"
    entered = ANEW
    lists = LISTS
    meant_for: ClassVar[Mapping[str, str]] = dict.fromkeys(ANEW, "url")

    def form_of(self, body: Document) -> EndpointForm:
        return EndpointForm.of(body)

    def label(self, name: str) -> str:
        return FIELDS[name].label

    def path(self, name: str) -> str:
        return FIELDS[name].path

    def changes(self, given: Mapping[str, Any], body: Document) -> Document:
        return document(given, body.get("features", {}))

    def words(self, name: str, value: Any) -> Any:
        return words(name, value)


WHOLE = EndpointWhole()


@METHODS
@may("endpoint.edit")
def change(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    body = _find(workspace, name)
    if request.method != "POST":
        return _form(request, WHOLE.opened(body))
    form = EndpointForm.posted(request.POST, body)
    given = form.given()
    if form.problems:
        form.refuse(entries.refusals(workspace, "endpoints", name, WHOLE.changes(given, body)))
        return _form(request, form, status=422)
    saved, status = WHOLE.attempt(request, workspace, body, form)
    if saved is None:
        return _form(request, form, status=status)
    back = reverse("endpoint", args=[workspace.name, name])
    WHOLE.tell(request, saved, f"Endpoint {name}", back=back)
    _remark(request, given)
    return redirect("endpoint", workspace.name, name)


def _remark(request: Any, given: dict[str, Any]) -> None:
    if said := targets.remark("endpoints", given):
        messages.warning(request, said)


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
        return going.to(request, reverse("endpoint", args=[workspace.name, name]))
    wanted, was = request.POST.get("enabled") == "yes", body.get("enabled", True)
    if wanted != was:
        saved = entries.edit(
            workspace, "endpoints", name, {"enabled": wanted}, by=request.actor, message=noting.of(request)
        )
        undo = {"read": entries.version(saved), "fields": [("enabled", "yes" if was else "no")]}
        action = reverse("endpoint-switch", args=[workspace.name, name])
        toasts.saved(request, f"{name} is switched {'on' if wanted else 'off'} in the draft", action=action, undo=undo)
    return going.to(request, reverse("endpoint", args=[workspace.name, name]))


def _switching_off(workspace: Workspace, name: str) -> confirming.Confirmation:
    address = reverse("endpoint-switch", args=[workspace.name, name])
    return confirming.Confirmation(
        title=f"Switch {name} off?",
        stops=stakes.of_endpoints(workspace, [name]) or ["Nothing that is live uses it."],
        back="It is a change of the draft: nothing stops before the draft is published, and it can be switched on again.",
        action=address,
        deed="Switch off",
        keep="Keep it on",
        away=reverse("endpoint", args=[workspace.name, name]),
        fields={"enabled": "no"},
        look=replay_subjects.address_of(workspace, "endpoint", name),
    )


@METHODS
@may("endpoint.edit")
def remove(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """Take an endpoint out of the draft; asks before. While something names it, it stays, and the answer says what does."""
    _find(workspace, name)
    if naming.holds(workspace, name):
        return _named(request, workspace, name)
    if request.method != "POST":
        return confirming.ask(request, _removing(workspace, name))
    try:
        entries.remove(workspace, "endpoints", [name], by=request.actor, message=noting.of(request))
    except InvalidRegistry:  # somebody named it just now
        return _named(request, workspace, name)
    except NotFound:
        raise Http404 from None
    back = reverse("endpoint", args=[workspace.name, name])
    toasts.drafted(request, f"Endpoint {name} removed from the draft", about=f"endpoints[{name}]", back=back)
    return redirect("endpoints", workspace.name)


def _named(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    context = {"endpoint": name, "users": naming.users(workspace, name), "asks": request.method != "POST"}
    template = "endpoints/_named.html" if request.htmx else "endpoints/named.html"
    return render(request, template, context, status=200 if context["asks"] or request.htmx else 409)


def _removing(workspace: Workspace, name: str) -> confirming.Confirmation:
    return confirming.Confirmation(
        title=f"Remove {name}?",
        stops=stakes.of_endpoints(workspace, [name]) or ["Nothing that is live uses it."],
        back="It is a change of the draft: discarding the draft, or restoring a revision, brings it back.",
        action=reverse("endpoint-remove", args=[workspace.name, name]),
        deed="Remove",
        keep="Keep it",
        away=reverse("endpoint", args=[workspace.name, name]),
        look=replay_subjects.address_of(workspace, "endpoint", name),
    )
