"""Edits of a capability's page, a new capability, and the end of one."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST

from control.access import may
from control.web import capabilities, noting, toasts
from control.web.confirming import Confirmation, ask, named
from control.web.editing import Edit, PartEditor
from control.web.forms.capabilities import DeprecationForm, LinesForm, NewForm, PreferForm
from control.web.forms.endpoints import TextForm
from control.web.merging import Document
from routing import working
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Workspace
from routing.services import entries, vocabulary


class CapabilityEditor(PartEditor):
    section = "capabilities"
    url = "capability"
    templates = "capabilities"
    subject = "capability"
    parts = {
        "description": "Description",
        "synonyms": "Synonyms",
        "keywords": "Keywords",
        "prefer": "Preferred endpoints",
        "deprecated": "Deprecation",
    }
    forms: ClassVar[dict[str, type[TextForm]]] = {
        "description": TextForm,
        "prefer": PreferForm,
        "deprecated": DeprecationForm,
    }

    def form(self, request: HttpRequest, edit: Edit, body: Document) -> Any:
        return self.forms.get(edit.part, LinesForm).posted(request.POST)

    def mark(self, body: Document, part: str, key: str = "") -> str:
        return capabilities.mark(body, part)

    def value(self, edit: Edit) -> Any:
        if edit.part == "deprecated":
            return [edit.form.value, edit.form.instead]
        return edit.form.value if edit.part == "description" else edit.form.lines()

    def held(self, body: Document, edit: Edit) -> Any:
        if edit.part == "deprecated":
            return capabilities.deprecation(body)
        return body.get(edit.part) or ("" if edit.part == "description" else [])

    def changes(self, body: Document, edit: Edit) -> Document:
        if edit.part == "deprecated":
            return {"deprecated": bool(edit.form.value) or None, "replaced_by": edit.form.instead or None}
        return super().changes(body, edit)

    def show(self, edit: Edit) -> None:
        if edit.part == "prefer":
            edit.form.values = list(edit.value)
        else:
            edit.form.value = "\n".join(edit.value)

    def page(self, request: HttpRequest, body: Document, edit: Edit, conflict: Any) -> Document:
        row = capabilities.find(request.workspace, body["name"])  # type: ignore[attr-defined]
        return capabilities.told(row, **{f"{edit.part}_form": edit.form, "conflicts": {edit.part: conflict}})

    def fragment(self, request: HttpRequest, body: Document, edit: Edit) -> Document:
        return capabilities.choices(request.workspace, body["name"])  # type: ignore[attr-defined]

    def _undo(self, edit: Edit, before: Any) -> Document:
        if edit.part == "prefer":
            fields = [("value", name) for name in before]
        elif edit.part == "deprecated":
            fields = list(zip(("value", "instead"), before, strict=True))
        else:
            fields = [("value", before if isinstance(before, str) else "\n".join(before))]
        return {"read": edit.form.read, "key": "", "fields": fields}

    def _answer(
        self, request: Any, body: Document, edit: Edit, *, status: int = 200, undo: Any = None, conflict: Any = None
    ) -> HttpResponse:
        if conflict and edit.part == "deprecated":
            conflict |= {side: _deprecation_words(conflict[side]) for side in ("theirs", "mine")}
        return super()._answer(request, body, edit, status=status, undo=undo, conflict=conflict)


def _deprecation_words(value: Any) -> str:
    deprecated, instead = value
    return (f"Deprecated, replaced by {instead}" if instead else "Deprecated") if deprecated else "Not deprecated"


EDITOR = CapabilityEditor()


@require_POST
@may("capability.edit")
def edit(request: HttpRequest, workspace: Workspace, name: str, part: str) -> HttpResponse:
    return EDITOR.post(request, workspace, name, part)


@require_http_methods(["GET", "HEAD", "POST"])
@may("capability.edit")
def create(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    """A new word; `?name=` fills in one that an endpoint carries already."""
    form = NewForm(request.POST) if request.method == "POST" else NewForm(initial={"name": request.GET.get("name", "")})
    if form.is_bound and form.is_valid() and _added(request, workspace, form):
        return redirect("capability", workspace.name, form.cleaned_data["name"])
    return render(request, "capabilities/new.html", {"form": form}, status=422 if form.is_bound else 200)


def _added(request: Any, workspace: Workspace, form: NewForm) -> bool:
    try:
        made = entries.add(workspace, "capabilities", form.document(), by=request.actor, message=noting.of(request))
    except InvalidRegistry as error:
        form.refuse(error.details)
        return False
    back = reverse("capabilities", args=[workspace.name])
    toasts.drafted(
        request, f"Capability {made['name']} is in the draft", about=f"capabilities[{made['name']}]", back=back
    )
    return True


@require_http_methods(["GET", "HEAD", "POST"])
@may("capability.edit")
def delete(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponse:
    """Refused, with the names of what uses it, while something does."""
    EDITOR.find(workspace, name)
    using = vocabulary.users(working.copy_of(workspace).document, name)
    if using:
        return _refused(request, workspace, name, using)
    if request.method != "POST":
        return ask(request, _question(workspace, name))
    try:
        vocabulary.remove(workspace, name, by=request.actor)  # type: ignore[attr-defined]
    except NotFound:
        raise Http404 from None
    except InvalidRegistry as error:
        return _refused(request, workspace, name, error.details[0].get("allowed", ()))
    back = reverse("capability", args=[workspace.name, name])
    toasts.drafted(request, f"Capability {name} is gone from the draft", about=f"capabilities[{name}]", back=back)
    return redirect("capabilities", workspace.name)


def _refused(request: HttpRequest, workspace: Workspace, name: str, using: Any) -> HttpResponse:
    messages.error(request, f"Capability {name} cannot be deleted: it is used by {named(using)}.")
    return redirect("capability", workspace.name, name)


def _question(workspace: Workspace, name: str) -> Confirmation:
    return Confirmation(
        title=f"Delete capability {name}?",
        stops=["Its synonyms and keywords lead nowhere any more.", "No endpoint carries it, so no endpoint changes."],
        back="What is live stays as it is until the draft is published. Discard the draft or restore a revision to get it back.",
        action=reverse("capability-delete", args=[workspace.name, name]),
        deed="Delete from the draft",
        keep="Keep it",
        away=reverse("capability", args=[workspace.name, name]),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@may("capability.edit")
def merge(request: Any, workspace: Workspace, name: str) -> HttpResponse:
    """Choose the other one (`into`), see what changes, and confirm."""
    EDITOR.find(workspace, name)
    given = request.POST if request.method == "POST" else request.GET
    into = given.get("into", "")
    others = capabilities.choices(workspace, name)["other_names"]
    if into not in others:
        context = {"name": name, "others": others, "into": into}
        return render(request, "capabilities/merge.html", context, status=422 if request.method == "POST" else 200)
    if request.method != "POST":
        return ask(request, _merging(workspace, name, into))
    try:
        read = given.get("read") or None
        vocabulary.merge(workspace, name, into, read=read, message=noting.of(request), by=request.actor)
    except NotFound:
        raise Http404 from None
    except StaleDraft as error:
        messages.error(request, f"{error.message} Look at what changes now.")
        return redirect(f"{reverse('capability-merge', args=[workspace.name, name])}?{urlencode({'into': into})}")
    except InvalidRegistry as error:
        messages.error(request, str(error))
        return redirect("capability", workspace.name, name)
    back = reverse("capability", args=[workspace.name, name])
    toasts.drafted(request, f"Capability {name} is merged into {into} in the draft", about="", back=back)
    return redirect("capability", workspace.name, into)


def _merging(workspace: Workspace, name: str, into: str) -> Confirmation:
    document = working.copy_of(workspace).document
    using = vocabulary.users(document, name)
    return Confirmation(
        title=f"Merge capability {name} into {into}?",
        stops=[
            f"{into} takes over the synonyms, keywords and preferred endpoints of {name}.",
            f"These name {into} instead: {named(using)}." if using else f"Nothing else names {name}.",
            f"{name} is gone from the draft.",
        ],
        back="What is live stays as it is until the draft is published. Discard the draft or restore a revision to get it back.",
        action=reverse("capability-merge", args=[workspace.name, name]),
        deed="Merge in the draft",
        keep="Keep both",
        away=reverse("capability", args=[workspace.name, name]),
        fields={"into": into, "read": vocabulary.mark(document, name, into)},
    )
