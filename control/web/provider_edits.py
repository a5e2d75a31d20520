"""What is done on a provider's page: edit a field, lead it elsewhere, test its key, close its circuit, bound its cost, preview."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from control.access import may
from control.web import confirming, provider_settings, providers, toasts
from control.web.editing import Edit, PartEditor
from control.web.forms.policies import SettingForm
from control.web.forms.provider import MoneyForm, PlaceForm
from control.web.merging import Document
from routing import snapshot
from routing.engine.errors import RouterConfigurationError
from routing.engine.models import HarnessState
from routing.errors import InvalidRegistry, InvalidRequest, NotFound, StaleDraft
from routing.models import Workspace
from routing.services import entries, inspections, targets
from routing.services.providers import settings
from routing.services.providers.accounts import close_breaker
from routing.services.providers.previews import preview as previewed

METHODS = require_http_methods(["GET", "HEAD", "POST"])
LONGEST_STATE = 16_384


class ProviderEditor(PartEditor):
    section = "providers"
    url = "provider"
    templates = "providers"
    subject = "provider"
    parts = {name: name.replace("_", " ").removesuffix(" s").capitalize() for name in provider_settings.SETTINGS}

    def mark(self, body: Document, part: str, key: str = "") -> str:
        return provider_settings.mark(body, part)

    def form(self, request: HttpRequest, edit: Edit, body: Document) -> Any:
        form = SettingForm.posted(request.POST)
        form.value = "\n".join(value.strip() for value in request.POST.getlist("value"))[:4096].strip()
        return form

    def value(self, edit: Edit) -> Any:
        return provider_settings.read(edit.part, edit.form.value)

    def held(self, body: Document, edit: Edit) -> Any:
        return body.get(edit.part)

    def changes(self, body: Document, edit: Edit) -> Document:
        return {edit.part: edit.value}

    def show(self, edit: Edit) -> None:
        edit.form.value = "\n".join(map(str, edit.value))

    def page(self, request: HttpRequest, body: Document, edit: Edit, conflict: Any) -> Document:
        line = provider_settings.line(body, edit.part, edit.form, conflict)
        return providers.told(request.workspace, body, line)  # type: ignore[attr-defined]

    def fragment(self, request: HttpRequest, body: Document, edit: Edit) -> Document:
        return {"line": provider_settings.line(body, edit.part, edit.form)}

    def posted(self, before: Any) -> list[tuple[str, str]]:
        values = before if isinstance(before, list) else ["" if before is None else f"{before}"]
        return [("value", str(value)) for value in values]

    def _answer(
        self, request: Any, body: Document, edit: Edit, *, status: int = 200, undo: Any = None, conflict: Any = None
    ) -> HttpResponse:
        if conflict:
            usual = provider_settings.SETTINGS[edit.part].default
            sides = {side: usual if conflict[side] is None else conflict[side] for side in ("theirs", "mine")}
            conflict |= {side: provider_settings.told(value) for side, value in sides.items()}
        return super()._answer(request, body, edit, status=status, undo=undo, conflict=conflict)


EDITOR = ProviderEditor()


@require_POST
@may("provider.edit")
def edit(request: HttpRequest, workspace: Workspace, name: str, part: str) -> HttpResponse:
    return EDITOR.post(request, workspace, name, part)


# --- a whole account --------------------------------------------------------------------------------------------------
@METHODS
@may("provider.edit")
def create(request: Any, workspace: Workspace) -> HttpResponse:
    if request.method != "POST":
        return _form(request, PlaceForm.of(None))
    form = PlaceForm.posted(request.POST, None)
    try:
        saved = entries.add(workspace, "providers", form.body(), by=request.actor)
    except InvalidRegistry as error:
        form.refuse(error.details)
        return _form(request, form, 422)
    back = reverse("providers", args=[workspace.name])
    toasts.drafted(
        request, f"Provider {saved['name']} added to the draft", about=f"providers[{saved['name']}]", back=back
    )
    _remark(request, form.body())
    return redirect("provider", workspace.name, saved["name"])


@METHODS
@may("provider.edit")
def change(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    body = providers.find(workspace, name)
    if request.method != "POST":
        return _form(request, PlaceForm.of(body, entries.version(body)))
    form = PlaceForm.posted(request.POST, body)
    changes = form.changes()
    try:
        saved = entries.edit(workspace, "providers", name, changes, by=request.actor, read=form.read)
    except InvalidRegistry as error:
        form.refuse(error.details)
        return _form(request, form, 422)
    except StaleDraft:
        form.read = entries.version(body)
        form.general.append(
            "Somebody changed this provider since you opened it. What you wrote is kept here. Look at it again, then save."
        )
        return _form(request, form, 409)
    except NotFound:
        raise Http404 from None
    if saved == body:
        messages.info(request, f"Provider {name} says so already")
    else:
        back = reverse("provider", args=[workspace.name, name])
        toasts.drafted(request, f"Provider {name} saved to the draft", about=f"providers[{name}]", back=back)
    _remark(request, changes)
    return redirect("provider", workspace.name, name)


def _form(request: Any, form: PlaceForm, status: int = 200) -> HttpResponse:
    return render(request, "providers/form.html", {"form": form}, status=status)


def _remark(request: Any, given: Document) -> None:
    if said := targets.remark("providers", given):
        messages.warning(request, said)


@METHODS
@may("provider.edit")
def remove(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """Take an account out of the draft; asks before, and names the policies that still ask it."""
    providers.find(workspace, name)
    if request.method != "POST":
        return confirming.ask(request, _removing(workspace, name))
    try:
        entries.remove(workspace, "providers", [name], by=request.actor)
    except InvalidRegistry as error:
        said = "; ".join(f"{detail['path']} {detail['message']}" for detail in error.details[:6])
        messages.error(request, f"{error.message} {said}")
        return redirect("provider", workspace.name, name)
    except NotFound:
        raise Http404 from None
    back = reverse("provider", args=[workspace.name, name])
    toasts.drafted(request, f"Provider {name} removed from the draft", about=f"providers[{name}]", back=back)
    return redirect("providers", workspace.name)


def _removing(workspace: Workspace, name: str) -> confirming.Confirmation:
    asking = providers.users(workspace).get(name, [])
    return confirming.Confirmation(
        title=f"Remove {name}?",
        stops=[f"Policies {confirming.named(asking)} ask it and have to be changed first."]
        if asking
        else ["No policy of the draft asks it."],
        back="It is a change of the draft: discarding the draft, or restoring a revision, brings it back.",
        action=reverse("provider-remove", args=[workspace.name, name]),
        deed="Remove",
        keep="Keep it",
        away=reverse("provider", args=[workspace.name, name]),
    )


# --- what holds at once -----------------------------------------------------------------------------------------------
@require_POST
@may("provider.test")
def test(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """Have a worker ask it one harmless question with its key."""
    try:
        inspections.request(workspace, name, "provider", by=request.actor)
    except NotFound:
        raise Http404 from None
    except InvalidRequest as error:
        messages.error(request, error.message)
    return redirect(f"{reverse('provider', args=[workspace.name, name])}#tested")


@require_POST
@may("provider.reset")
def reset(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """Close its circuit: the next request is sent at once."""
    entry = providers.entry_of(workspace, name)
    if close_breaker(workspace, entry, by=request.actor):
        messages.success(request, f"The circuit of {name} is closed; the next request is sent")
    else:
        messages.error(request, "The bus is away, so only this process heard of it. Try again when it is back.")
    return redirect("provider", workspace.name, name)


@require_POST
@may("provider.settle")
def settle(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """Budget, price and shadow; they hold at once, beside draft and revisions."""
    body = providers.find(workspace, name)
    form = MoneyForm.posted(request.POST)
    given = form.settings()
    if not form.problems:
        try:
            settings.settle(workspace, name, given, by=request.actor)
        except InvalidRequest as error:
            form.refuse(error.details)
    if form.problems:
        return render(request, "providers/detail.html", providers.told(workspace, body, money=form), status=422)
    messages.success(request, f"Settings of {name} saved; they hold at once")
    return redirect("provider", workspace.name, name)


@require_POST
@may("registry.try")
def preview(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """The very bytes that would leave for a state that somebody enters; nothing is sent or kept."""
    body, entry = providers.find(workspace, name), providers.entry_of(workspace, name)
    typed = {key: request.POST.get(key, "")[:LONGEST_STATE] for key in ("goal", "observation", "scope", "policy")}
    shown: Document = {"state": typed}
    state = HarnessState(goal=typed["goal"], observation=typed["observation"] or None)
    try:
        found = previewed(snapshot.live(workspace.pk), entry, typed["policy"], typed["scope"], state)
        shown["preview"] = {"address": found.address, "bodies": [_body(one) for one in found.bodies]}
    except (RouterConfigurationError, KeyError) as problem:
        words = "There is no such scope or policy." if isinstance(problem, KeyError) else f"{problem}."
        shown["preview_problem"] = words
    return render(request, "providers/detail.html", providers.told(workspace, body, **shown))


def _body(content: bytes) -> Document:
    text = content.decode(errors="replace")
    return {"size": len(content), "bytes": text, "readable": json.dumps(json.loads(text), ensure_ascii=False, indent=2)}
