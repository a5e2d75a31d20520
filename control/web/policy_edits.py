"""Edits of a policy's page, a new policy, and the end of one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from control.access import may
from control.web import noting, policies, policy_rules, policy_settings, toasts
from control.web.confirming import Confirmation, ask, named
from control.web.editing import Edit, PartEditor
from control.web.forms.endpoints import sentence
from control.web.forms.policies import FACTS, INHERITED, RulesForm, SettingForm, read_value, shown
from control.web.merging import Document
from control.web.policy_settings import Layers
from routing import working
from routing.engine.policies import known_policies
from routing.errors import InvalidRegistry, NotFound
from routing.models import Workspace
from routing.services import entries


class PolicyEditor(PartEditor):
    section = "policies"
    url = "policy"
    templates = "policies"
    subject = "policy"
    parts = {part: title for part, (title, _) in policy_settings.TITLES.items()} | policies.TOP

    def find(self, workspace: Workspace, name: str) -> Document:
        return policies.find(working.copy_of(workspace), name)

    def mark(self, body: Document, part: str, key: str = "") -> str:
        return policies.mark(body, part, key)

    def form(self, request: HttpRequest, edit: Edit, body: Document) -> Any:
        if (edit.part, edit.key) == ("execution", "rules"):
            return self._rules(RulesForm.posted(request), request, body)
        if edit.part not in policies.TOP and policy_settings.place(edit.part, edit.key) is None:
            raise Http404
        return SettingForm.posted(request.POST)

    def _rules(self, form: RulesForm, request: HttpRequest, body: Document) -> RulesForm:
        """What a policy does not say itself and leaves as it is inherited, and an empty list over nothing, is inherited."""
        copy = working.copy_of(request.workspace)  # type: ignore[attr-defined]
        above = [dict(rule) for rule in policy_rules.above(Layers(body["name"], copy.registry.policies))]
        own = policies.held(body, "execution", "rules") != INHERITED
        form.inherit |= form.cleaned() == above and not (own and above)
        return form

    def value(self, edit: Edit) -> Any:
        if edit.key == "rules":
            return INHERITED if edit.form.inherit else edit.form.cleaned()
        if not edit.form.value:
            return INHERITED
        at = policy_settings.place(edit.part, edit.key)
        return read_value(edit.form.value, at.setting) if at else edit.form.value

    def held(self, body: Document, edit: Edit) -> Any:
        return policies.held(body, edit.part, edit.key)

    def show(self, edit: Edit) -> None:
        if edit.key == "rules":
            edit.form.rules = RulesForm.of(edit.value, edit.form.read).rules
        else:
            edit.form.value = shown(edit.value)

    def changes(self, body: Document, edit: Edit) -> Document:
        value = edit.value
        if edit.part in policies.TOP:
            return {edit.part: None if value == INHERITED else value}
        missing = INHERITED if value == INHERITED else object()
        return {edit.part: policy_settings.put(body.get(edit.part) or {}, edit.key, value, missing) or None}

    def page(self, request: HttpRequest, body: Document, edit: Edit, conflict: Any) -> Document:
        posted = {"part": edit.part, "key": edit.key, "form": edit.form, "conflict": conflict}
        return policies.told(request.workspace, body, posted)  # type: ignore[attr-defined]

    def fragment(self, request: HttpRequest, body: Document, edit: Edit) -> Document:
        copy = working.copy_of(request.workspace)  # type: ignore[attr-defined]
        return policies.only(copy, body, {"part": edit.part, "key": edit.key, "form": edit.form})

    def posted(self, before: Any) -> list[tuple[str, str]]:
        if isinstance(before, list) and (not before or isinstance(before[0], dict)):
            return [(fact, str(rule.get(fact, ""))) for rule in before for fact in FACTS]
        if before == INHERITED:
            return [("do", "inherit")]
        return [("value", shown(before))]

    def said(self, body: Document, edit: Edit) -> str:
        at = policy_settings.place(edit.part, edit.key)
        what = "Execution rules" if edit.key == "rules" else at.label.capitalize() if at else self.parts[edit.part]
        return f"{what} of {body['name']} saved to the draft"

    def _answer(
        self, request: Any, body: Document, edit: Edit, *, status: int = 200, undo: Any = None, conflict: Any = None
    ) -> HttpResponse:
        if conflict:
            conflict |= {side: _words(conflict[side]) for side in ("theirs", "mine")}
        return super()._answer(request, body, edit, status=status, undo=undo, conflict=conflict)

    def _written(self, request: Any, workspace: Workspace, body: Document, edit: Edit) -> Document:
        """A policy that is there without being written down is written down by its first edit."""
        if working.copy_of(workspace).entry("policies", body["name"]) is not None:
            return super()._written(request, workspace, body, edit)
        given = {key: one for key, one in {**body, **self.changes(body, edit)}.items() if one is not None}
        return entries.add(workspace, "policies", given, by=request.actor, message=edit.why)


def _words(value: Any) -> Any:
    """A value as the two sides of a conflict show it."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [policy_settings.rule_words(rule) for rule in value]
    return value if value == INHERITED else policy_settings.told(value)


EDITOR = PolicyEditor()


@require_POST
@may("policy.edit")
def edit(request: HttpRequest, workspace: Workspace, name: str, part: str) -> HttpResponse:
    return EDITOR.post(request, workspace, name, part)


@require_http_methods(["GET", "HEAD", "POST"])
@may("policy.edit")
def create(request: Any, workspace: Workspace) -> HttpResponse:
    """A new policy, which extends another or is a copy of it."""
    known = known_policies(working.copy_of(workspace).registry.policies)
    given = request.POST if request.method == "POST" else request.GET
    context: Document = {
        "name": given.get("name", "")[:200].strip(),
        "like": given.get("like", "default"),
        "how": given.get("how", "extend"),
        "known": sorted(known),
    }
    if request.method != "POST":
        return render(request, "policies/new.html", context)
    try:
        made = entries.add(
            workspace, "policies", _new(workspace, context), by=request.actor, message=noting.of(request)
        )
    except InvalidRegistry as error:
        context["problem"] = " ".join(sentence("It", detail) for detail in error.details)
        return render(request, "policies/new.html", context, status=422)
    back = reverse("policies", args=[workspace.name])
    toasts.drafted(request, f"Policy {made['name']} is in the draft", about=f"policies[{made['name']}]", back=back)
    return redirect("policy", workspace.name, made["name"])


def _new(workspace: Workspace, asked: Document) -> Document:
    if asked["how"] == "copy" and asked["like"] in asked["known"]:
        return policies.find(working.copy_of(workspace), asked["like"]) | {"name": asked["name"]}
    return {"name": asked["name"], "extends": asked["like"]}


@require_http_methods(["GET", "HEAD", "POST"])
@may("policy.edit")
def delete(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """Refused while something refers to it; one that comes with every workspace goes back to what it was."""
    copy = working.copy_of(workspace)
    if copy.entry("policies", name) is None:
        raise Http404
    using = [] if name in known_policies(()) else policies.users(copy, name)
    if using:
        messages.error(request, f"Policy {name} cannot be deleted: it is used by {named(using)}.")
        return redirect("policy", workspace.name, name)
    if request.method != "POST":
        return ask(request, _question(workspace, name))
    try:
        entries.remove(workspace, "policies", [name], by=request.actor, message=noting.of(request))
    except NotFound:
        raise Http404 from None
    except InvalidRegistry as error:
        messages.error(request, " ".join(sentence("It", detail) for detail in error.details))
        return redirect("policy", workspace.name, name)
    back = reverse("policy", args=[workspace.name, name])
    toasts.drafted(request, f"Policy {name} is gone from the draft", about=f"policies[{name}]", back=back)
    return redirect("policies", workspace.name)


def _question(workspace: Workspace, name: str) -> Confirmation:
    own = reverse("policy", args=[workspace.name, name])
    implied = name in known_policies(())
    return Confirmation(
        title=f"Delete policy {name}?",
        stops=[f"Its values are gone from the draft{', and it goes back to those that ship' if implied else ''}."],
        back="What is live stays as it is until the draft is published. Discard the draft or restore a revision to get it back.",
        action=reverse("policy-delete", args=[workspace.name, name]),
        deed="Delete from the draft",
        keep="Keep it",
        away=own,
    )
