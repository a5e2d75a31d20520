"""Edits of an expectation: a new one, also from a decision or from the playground, its form, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from control.access import may
from control.web import expecting, noting, suggesting, toasts
from control.web.confirming import Confirmation, ask
from control.web.forms import expectations as forms
from control.web.forms.expectations import WORDS, ExpectationForm
from control.web.merging import Document
from control.web.whole import WholeEditor
from routing import snapshot, working
from routing.engine.errors import RegistryError
from routing.engine.expectations import Finding, find
from routing.engine.validation.expectations import read_expectation
from routing.engine.validation.problems import Problems
from routing.errors import InvalidRegistry
from routing.models import Workspace
from routing.services import compiling, entries

SECTION = "expectations"
PATIENCE_S = 2.0  # how long a try waits for a draft that is being compiled


class ExpectationWhole(WholeEditor):
    section = SECTION

    def form_of(self, body: Document) -> ExpectationForm:
        return ExpectationForm.of(body)

    def label(self, name: str) -> str:
        return WORDS[name]

    def words(self, name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return expecting.expects(value) if name == "expect" else expecting.asks({name: value})
        return super().words(name, value)


WHOLE = ExpectationWhole()


@require_http_methods(["GET", "HEAD", "POST"])
@may("expectation.edit")
def create(request: Any, workspace: Workspace) -> HttpResponse:
    """A new expectation. A form may come filled in from elsewhere; it is saved by its own button alone."""
    if request.method != "POST":
        return _shown(request, workspace, None, _begun(request, workspace))
    form, wanted = ExpectationForm.posted(request.POST), request.POST.get("do", "")
    if not wanted:
        form.keep_graph()
    if wanted == "recorded":
        decision = suggesting.decision_of(workspace, request.GET.get("decision", ""))
        suggesting.fill_in_text(request, workspace, decision, form)
    if wanted != "save" or not form.check(is_new=True):
        return _shown(request, workspace, None, form, status=200 if wanted != "save" else 422)
    name = form.texts["name"].strip()
    body = {"name": name, **{key: value for key, value in form.given().items() if value is not None}}
    try:
        entries.add(workspace, SECTION, body, by=request.actor, message=noting.of(request))
    except InvalidRegistry as error:
        form.refuse(error.details)
        return _shown(request, workspace, None, form, status=422)
    messages.success(request, f"Expectation “{name}” is in the draft")
    return redirect("expectations", workspace.name)


def _begun(request: HttpRequest, workspace: Workspace) -> ExpectationForm:
    """What a new one begins with: an endpoint, a copy of another, or what a decision came to."""
    if like := request.GET.get("like"):
        form = ExpectationForm.of(find_body(workspace, like))
        form.texts["name"] = ""
        return form
    decision = suggesting.decision_of(workspace, request.GET.get("decision", ""))
    if decision is not None:
        return suggesting.begun(decision)
    return ExpectationForm.blank(endpoint=request.GET.get("endpoint", "")[:64])


@require_http_methods(["GET", "HEAD", "POST"])
@may("expectation.edit")
def edit(request: Any, workspace: Workspace, mark: str) -> HttpResponse:
    if request.method != "POST":
        body = find_body(workspace, mark)
        return _shown(request, workspace, body, WHOLE.opened(body))
    form, wanted = ExpectationForm.posted(request.POST), request.POST.get("do", "")
    try:
        body = find_body(workspace, mark)
    except Http404:
        if not form.meeting.read:
            raise  # nobody has ever opened it
        form.note(
            "It was removed or renamed while you edited it. Nothing of yours is lost: saved now, it is made anew."
        )
        return _shown(request, workspace, None, form, status=409)
    form.texts["name"] = form.texts["name"].strip() or body["name"]
    if wanted == "try" or not form.check():
        return _shown(request, workspace, body, form, status=200 if wanted == "try" else 422)
    return _saved(request, workspace, body, form)


def find_body(workspace: Workspace, mark: str) -> Document:
    """The draft's expectation of this mark."""
    found = (
        one for one in working.copy_of(workspace).document.get(SECTION, ()) if expecting.mark_of(one["name"]) == mark
    )
    body: Document | None = next(found, None)
    if body is None:
        raise Http404
    return body


def _saved(request: Any, workspace: Workspace, body: Document, form: ExpectationForm) -> HttpResponse:
    name = form.texts["name"]
    try:
        with transaction.atomic():  # a name that is refused leaves the other fields as they were too
            saved, status = WHOLE.attempt(request, workspace, body, form)
            if saved is not None and name != body["name"]:
                entries.rename(workspace, SECTION, body["name"], name, by=request.actor, message=noting.of(request))
    except InvalidRegistry as error:
        form.refuse(error.details)
        return _shown(request, workspace, body, form, status=422)
    if saved is None:
        return _shown(request, workspace, body, form, status=status)
    action = reverse("expectation-edit", args=[workspace.name, expecting.mark_of(name)])
    undo = {
        "read": WHOLE.opened({**saved.body, "name": name}).meeting.read,
        "key": "",
        "fields": ExpectationForm.of(saved.before).fields(),
    }
    said = f"Expectation “{name}” saved to the draft" + (f". Also kept: {saved.also}" if saved.also else "")
    toasts.saved(request, said, action=action, undo=undo)
    return redirect("expectations", workspace.name)


def _shown(
    request: HttpRequest,
    workspace: Workspace,
    body: Mapping[str, Any] | None,
    form: ExpectationForm,
    *,
    status: int = 200,
) -> HttpResponse:
    registry = working.copy_of(workspace).registry
    decision = suggesting.decision_of(workspace, request.GET.get("decision", ""))
    context = {
        "body": body,
        "mark": expecting.mark_of(body["name"]) if body else "",
        "form": form,
        "texts": form.texts,
        "sides": form.meeting.conflicts,
        "scopes": sorted({"default", form.texts["scope"], *(one.name for one in registry.scopes)} - {""}),
        "endpoints": sorted(one.name for one in registry.endpoints),
        "kinds": forms.KINDS,
        "statuses": forms.STATUSES,
        "confidences": forms.CONFIDENCES,
        "recommends": forms.RECOMMENDS,
        "yes_no": forms.YES_NO,
        "from_decision": decision,
        "has_text": suggesting.has_text(request, decision),
        "tried": _tried(workspace, body, form) if request.POST.get("do") == "try" else None,
    }
    return render(request, "expectations/edit.html", context, status=status)


# --- asked before it is saved -------------------------------------------------------------------------------------------
def _tried(workspace: Workspace, body: Mapping[str, Any] | None, form: ExpectationForm) -> list[dict[str, Any]] | None:
    """What would come out now, live and in the draft; None while the form says something that cannot be asked."""
    given = {key: value for key, value in form.given().items() if value is not None}
    named = body["name"] if body else form.texts["name"].strip() or "a new one"
    problems = Problems()
    asked = read_expectation({"name": named, **given}, "", problems)
    form.check()
    try:
        problems.raise_if_any()
    except RegistryError as error:
        form.refuse(error.problems)
    if asked is None or form.problems:
        return None
    live = compiling.live(workspace, offline=asked.offline, scope=asked.scope)
    draft = compiling.draft(workspace, offline=asked.offline, scope=asked.scope)
    number = snapshot.live(workspace.pk).revision
    sides = ((f"Live, revision {number}" if number else "Live", live), ("Draft", draft))
    return [_side(word, compiling.within(wanted, PATIENCE_S), asked) for word, wanted in sides]


def _side(word: str, catalog: Any, asked: Any) -> dict[str, Any]:
    if catalog is None:
        return {"word": word, "finding": None, "why": "This draft is being compiled; ask again in a moment."}
    if asked.scope not in catalog.scopes:
        return {"word": word, "finding": None, "why": f"There is no scope {asked.scope} here."}
    finding: Finding = find(asked, catalog)
    return {
        "word": word,
        "finding": finding,
        "keys": expecting.expects({k: asked.expect[k] for k in finding.differs if k in asked.expect}),
    }


# --- the end of one -----------------------------------------------------------------------------------------------------
@require_http_methods(["GET", "HEAD", "POST"])
@may("expectation.edit")
def remove(request: Any, workspace: Workspace, mark: str) -> HttpResponse:
    name = find_body(workspace, mark)["name"]
    if request.method != "POST":
        return ask(request, _question(workspace, name))
    entries.remove(workspace, SECTION, [name], by=request.actor, message=noting.of(request))
    messages.success(request, f"Expectation “{name}” is gone from the draft")
    return redirect("expectations", workspace.name)


def _question(workspace: Workspace, name: str) -> Confirmation:
    return Confirmation(
        title="Remove this expectation?",
        stops=[f"“{name[:120]}” is no longer asked before a publication."],
        back="What is live keeps it until the draft is published. Undo the change or restore a revision to get it back.",
        action=reverse("expectation-remove", args=[workspace.name, expecting.mark_of(name)]),
        deed="Remove from the draft",
        keep="Keep it",
        away=reverse("expectations", args=[workspace.name]),
    )
