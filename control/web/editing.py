"""Edits of one part of an entry at a time: into the draft, with undo, and with both sides shown on a conflict.

What all nouns share stands in `PartEditor`; a noun's own editor says which parts it has, which form each has, and what
its page shows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from control.web import joining, merging, noting, toasts
from control.web.context import draft_count
from control.web.merging import TRIES, Document
from control.web.whole import who
from routing import reviewing, working
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Workspace
from routing.services import entries, registry


@dataclass(slots=True, kw_only=True)
class Edit:
    """One post: the part, what in it the post is about (a tool's name, or nothing), and the form."""

    part: str
    form: Any
    key: str = ""
    value: Any = None  # what the part should be
    before: Any = None  # what the draft had there
    also: str = ""  # who else changed the part meanwhile, where both sides are kept
    why: str = ""  # a note to the change
    noted: bool = False  # whether it was kept


class PartEditor(ABC):
    """How the parts of one kind of entry are edited. `form.read` is the mark of the part as the person read it."""

    section: ClassVar[str]
    url: ClassVar[str]  # name of the page's address; edits are at `<url>-edit`
    templates: ClassVar[str]  # folder with detail.html and _part.html
    subject: ClassVar[str]  # what the templates call the entry
    parts: ClassVar[Mapping[str, str]]  # each part with the word for it

    # --- what a noun says for itself ---------------------------------------------------------------------------------
    @abstractmethod
    def form(self, request: HttpRequest, edit: Edit, body: Document) -> Any:
        """The posted form of a part. Raises Http404 when there is no such part."""

    @abstractmethod
    def value(self, edit: Edit) -> Any:
        """What the form says the part should be; something empty when the part should go back to its default."""

    @abstractmethod
    def held(self, body: Document, edit: Edit) -> Any:
        """What the draft has there now, of the type that `value` has."""

    def changes(self, body: Document, edit: Edit) -> Document:
        return {edit.part: edit.value or None}

    @abstractmethod
    def page(self, request: HttpRequest, body: Document, edit: Edit, conflict: Any) -> Document:
        """Context of the whole page, with the posted form in its place."""

    def fragment(self, request: HttpRequest, body: Document, edit: Edit) -> Document:
        """What the part's own template needs besides the usual."""
        return {}

    def posted(self, before: Any) -> list[tuple[str, str]]:
        """A value as its form posts it, field by field: for undo."""
        return [("value", before)]

    def show(self, edit: Edit) -> None:
        """Show in the form what `edit.value` became, when it was brought together with what others wrote."""
        edit.form.value = edit.value

    def said(self, body: Document, edit: Edit) -> str:
        return f"{self.parts[edit.part]} of {body['name']} saved to the draft"

    # --- what all share ----------------------------------------------------------------------------------------------
    def mark(self, body: Document, part: str, key: str = "") -> str:
        """A mark of one part as somebody reads it. Parts are apart, so that two people may edit two of them."""
        value = (body.get(part) or {}).get(key) if key else body.get(part)
        return merging.mark(self.section, body["name"], part, value or None, key)

    def find(self, workspace: Workspace, name: str) -> Document:
        body = working.copy_of(workspace).entry(self.section, name)
        if body is None:
            raise Http404
        return body

    def post(self, request: HttpRequest, workspace: Workspace, name: str, part: str) -> HttpResponse:
        if part not in self.parts:
            raise Http404
        body = self.find(workspace, name)
        edit = Edit(part=part, form=None, key=request.POST.get("key", ""), why=noting.of(request))
        edit.form = self.form(request, edit, body)
        edit.before = self.held(body, edit)
        if getattr(edit.form, "is_unreadable", False):
            return self._answer(request, body, edit, status=422)
        edit.value = self.value(edit)
        if edit.before == edit.value:
            edit.form.read = self._mark(body, edit)  # whatever was read, both sides agree
            edit.noted = bool(edit.why) and self._explained(request, workspace, body, edit)
            return self._answer(request, body, edit)
        if edit.form.read != self._mark(body, edit) and not self._joined(request, workspace, body, edit):
            return self._conflict(request, body, edit)
        return self._save(request, workspace, body, edit)

    def _mark(self, body: Document, edit: Edit) -> str:
        return self.mark(body, edit.part, edit.key)

    def _joined(self, request: Any, workspace: Workspace, body: Document, edit: Edit) -> bool:
        """Whether both sides can be kept, of a list of which each changed other elements; they are then."""
        held = self.held(body, edit)
        joined = joining.join(edit.form.read, held, edit.value)
        if joined is None:
            return False
        path = f"{self.section}[{body['name']}].{edit.part}"
        edit.also = who(reviewing.last_edits(workspace, [path]).get(path), request.actor)
        edit.value, edit.before, edit.form.read = joined, held, self._mark(body, edit)
        return True

    def _save(self, request: HttpRequest, workspace: Workspace, body: Document, edit: Edit) -> HttpResponse:
        try:
            saved = self._written(request, workspace, body, edit)
        except InvalidRegistry as error:
            edit.form.refuse(error.details)
            return self._answer(request, body, edit, status=422)
        except StaleDraft:
            return self._conflict(request, self.find(workspace, body["name"]), edit)
        except NotFound:
            raise Http404 from None  # somebody removed it meanwhile
        edit.form.saved, edit.noted = True, bool(edit.why)
        edit.form.read = self._mark(saved, edit)
        if edit.also:
            self.show(edit)
        return self._answer(request, saved, edit, undo=edit.before)

    def _explained(self, request: Any, workspace: Workspace, body: Document, edit: Edit) -> bool:
        """A note that comes after its change, as of somebody who thinks of it when the field was saved by itself."""
        path = f"{self.section}[{body['name']}].{edit.part}"
        return entries.explain(workspace, self.section, body["name"], path, edit.why, by=request.actor)

    def _written(self, request: Any, workspace: Workspace, body: Document, edit: Edit) -> Document:
        """Save; when somebody changed another part meanwhile, go on from what they left."""
        for _ in range(TRIES):
            read, changes = entries.version(body), self.changes(body, edit)
            try:
                return entries.edit(
                    workspace, self.section, body["name"], changes, by=request.actor, read=read, message=edit.why
                )
            except StaleDraft as error:
                body = error.details[0]["value"]
                if edit.form.read != self._mark(body, edit) and not self._joined(request, workspace, body, edit):
                    raise
        raise StaleDraft("Somebody changes this at this moment.")

    def _conflict(self, request: Any, body: Document, edit: Edit) -> HttpResponse:
        registry.refuse_where_a_file_is_the_source(request.workspace)  # neither side could be saved
        conflict = {
            "theirs": self.held(body, edit),
            "mine": edit.value,
            "read": self._mark(body, edit),
            "part": edit.part,
            "key": edit.key,
        }
        return self._answer(request, body, edit, status=409, conflict=conflict)

    def _answer(
        self, request: Any, body: Document, edit: Edit, *, status: int = 200, undo: Any = None, conflict: Any = None
    ) -> HttpResponse:
        if request.htmx:
            # What htmx swaps in is an answer, not a failure: browsers would report any other status in the console.
            context = self._part(request, body, edit, undo) | {"conflict": conflict}
            answer = render(request, f"{self.templates}/_part.html", context)
            if edit.noted or edit.form.saved:
                answer["HX-Trigger"] = "noted" if edit.noted else "kept"
            return answer
        if status == 200:
            if edit.form.saved:
                said, action = self._told(body, edit), self._action(request, body, edit)
                toasts.saved(request, said, action=action, undo=self._taking_back(edit, undo))
            elif edit.noted:
                messages.success(request, self._told(body, edit))
            if edit.form.saved or getattr(edit.form, "focus", None) is None:
                return redirect(self.url, request.workspace.name, body["name"])
        return render(request, f"{self.templates}/detail.html", self.page(request, body, edit, conflict), status=status)

    def _part(self, request: Any, body: Document, edit: Edit, undo: Any) -> Document:
        names = [request.workspace.name, body["name"]]
        context: Document = {
            self.subject: body,
            "part": edit.part,
            "key": edit.key,
            "form": edit.form,
            "oob": True,
            "back": reverse(self.url, args=names),
            "action": self._action(request, body, edit),
        } | self.fragment(request, body, edit)
        if edit.noted and not edit.form.saved:
            context |= {"toast": self._told(body, edit)}
        if edit.form.saved:
            context |= {
                "toast": self._told(body, edit),
                "undo": self._taking_back(edit, undo),
                "draft_count": draft_count(request.workspace),
            }
        return context

    def _action(self, request: Any, body: Document, edit: Edit) -> str:
        return reverse(f"{self.url}-edit", args=[request.workspace.name, body["name"], edit.part])

    def _told(self, body: Document, edit: Edit) -> str:
        if not edit.form.saved:
            return f"The note is kept with the change: {edit.why}"
        said = self.said(body, edit) + (f", beside what {edit.also} changed there" if edit.also else "")
        return f"{said}: {edit.why}" if edit.why else said

    def _taking_back(self, edit: Edit, before: Any) -> Document:
        """Undo is a change too, and says of which it is."""
        undo = self._undo(edit, before)
        return undo | {"fields": [*undo["fields"], ("why", f"Undo: {edit.why}")]} if edit.why else undo

    def _undo(self, edit: Edit, before: Any) -> Document:
        return {"read": edit.form.read, "key": edit.key, "fields": self.posted(before)}
