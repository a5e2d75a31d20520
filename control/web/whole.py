"""The full form of an entry: saved into the draft, merged with what others wrote there since it was opened.

What all nouns share stands in `WholeEditor`; a noun says which fields its form has and how they are written. The editor of
one part at a time is `editing.PartEditor`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from django.contrib import messages
from django.http import Http404, QueryDict

from control.web import merging, noting, toasts
from control.web.merging import TRIES, Document, Merged
from routing import reviewing
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Workspace
from routing.services import entries, registry

CHOICE = "choose-"


@dataclass(slots=True, kw_only=True)
class Sides:
    """A field that both changed, for the page: both values in words, and the mark of theirs as the person sees it now."""

    theirs: Any
    mine: Any
    mark: str
    who: str


@dataclass(slots=True, kw_only=True)
class Meeting:
    """What a posted form says of the entry as it was read, and what was found beside it."""

    read: str = ""  # marks of all fields
    choices: dict[str, tuple[str, str]] = field(
        default_factory=dict
    )  # field → mine or theirs, and the mark it was seen with
    conflicts: dict[str, Sides] = field(default_factory=dict)
    taken: str = ""  # what only they changed, in words

    @classmethod
    def posted(cls, query: QueryDict) -> Meeting:
        chosen = {
            key.removeprefix(CHOICE): value.partition(":")[::2]
            for key, value in query.items()
            if key.startswith(CHOICE) and isinstance(value, str)
        }
        known = {key: (side, seen) for key, (side, seen) in chosen.items() if side in ("mine", "theirs")}
        return cls(read=query.get("read", "")[: merging.LONGEST], choices=known)


class WholeForm(Protocol):
    """What `WholeEditor` needs of a form."""

    meeting: Meeting

    def given(self) -> Document:
        """What was sent, field by field as the document has it, None for a default; without what was not touched."""

    def take(self, name: str, other: Any) -> None:
        """Show in this field what another form of the same kind has there."""


class TellingForm(WholeForm, Protocol):
    """A form that tells itself what stands against it."""

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        """Put each problem beside the field that it is about."""

    def note(self, problem: str) -> None:
        """Keep a problem of the form as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    body: Document  # the entry as the draft has it now
    before: Document
    also: str  # what others changed since the form was opened, as a sentence, or nothing


class WholeEditor(ABC):
    """How the full form of one kind of entry is merged and saved."""

    section: ClassVar[str]
    entered: ClassVar[Collection[str]] = ()
    meant_for: ClassVar[Mapping[str, str]] = {}
    lists: ClassVar[Collection[str]] = ()  # fields of which nothing is an empty list

    @abstractmethod
    def form_of(self, body: Document) -> Any:
        """The form filled in from an entry; what it gives is what the draft says, field by field."""

    @abstractmethod
    def label(self, name: str) -> str:
        """A field in words."""

    def changes(self, given: Mapping[str, Any], body: Document) -> Document:
        """Fields of the form as fields of the document."""
        return dict(given)

    def path(self, name: str) -> str:
        """Where a field of the form lies below the entry."""
        return name

    def place(self, name: str) -> str:
        """Where the entry lies in the document."""
        return f"{self.section}[{name}]"

    def words(self, name: str, value: Any) -> Any:
        """A value as the two sides of a conflict show it: a text, or a list of texts."""
        return list(map(str, value)) if isinstance(value, list) else str(value) if value is not None else []

    # --- what all share ----------------------------------------------------------------------------------------------
    def opened(self, body: Document) -> Any:
        """The form as somebody opens it now, with the marks of what it shows."""
        form = self.form_of(body)
        form.meeting.read = merging.written(self._marks(body["name"], form.given()))
        return form

    def save(self, request: Any, workspace: Workspace, body: Document, form: WholeForm) -> Saved | None:
        """Save what was changed. None when fields have to be chosen first, which `form.meeting` then names.

        Raises InvalidRegistry and NotFound as `entries.edit` does, and StaleDraft when others save all the time.
        """
        for _ in range(TRIES):
            merged = self._merge(body, form)
            if merged.conflicts:
                registry.refuse_where_a_file_is_the_source(workspace)  # neither side could be saved
                self._ask(request, workspace, body, form, merged)
                return None
            also = self._also(request, workspace, body["name"], [*merged.kept, *merged.joined])
            try:
                after = (
                    self.write(request, workspace, body, self.changes(merged.changes, body)) if merged.changes else body
                )
            except StaleDraft as error:
                body = error.details[0]["value"]
            else:
                return Saved(body=after, before=body, also=also)
        raise StaleDraft("Somebody changes this at this moment.")

    def attempt(
        self, request: Any, workspace: Workspace, body: Document, form: TellingForm
    ) -> tuple[Saved | None, int]:
        """The same, with the status of the answer: what stands against it is noted in the form. Raises Http404."""
        try:
            saved = self.save(request, workspace, body, form)
        except InvalidRegistry as error:
            form.refuse(error.details)
            return None, 422
        except StaleDraft as error:
            form.note(f"{error.message} Save again.")
            return None, 409
        except NotFound:
            raise Http404 from None
        return saved, 200 if saved else 409

    def tell(self, request: Any, saved: Saved, what: str, *, back: str) -> None:
        """Say that it was saved, with what takes the step back."""
        also = f". Also kept: {saved.also}" if saved.also else ""
        if saved.body == saved.before:
            messages.info(request, f"{what} says so already{also}")
        else:
            toasts.drafted(request, f"{what} saved to the draft{also}", about=self.place(saved.body["name"]), back=back)

    def write(self, request: Any, workspace: Workspace, body: Document, changes: Document) -> Document:
        read, why = entries.version(body), noting.of(request)
        return entries.edit(workspace, self.section, body["name"], changes, by=request.actor, read=read, message=why)

    def _marks(self, name: str, given: Mapping[str, Any]) -> dict[str, str]:
        return {key: self._mark(name, key, value) for key, value in given.items()}

    def _mark(self, name: str, key: str, value: Any) -> str:
        value = [] if value is None and key in self.lists else value
        return merging.mark(self.section, self.place(name), key, value)

    def _merge(self, body: Document, form: WholeForm) -> Merged:
        base, mine = merging.read(form.meeting.read), form.given()
        for key, (side, seen) in form.meeting.choices.items():
            base[key] = seen  # they have seen it and decided
            if side == "theirs":
                mine.pop(key, None)
        return merging.merge(
            base,
            self.form_of(body).given(),
            mine,
            lambda key, value: self._mark(body["name"], key, value),
            entered=self.entered,
            meant_for=self.meant_for,
            lists=self.lists,
        )

    def _ask(self, request: Any, workspace: Workspace, body: Document, form: WholeForm, merged: Merged) -> None:
        """Bring the form up to the draft in all fields but those that a person has to choose."""
        theirs, mine, meeting = self.form_of(body), form.given(), form.meeting
        values = theirs.given()
        marks, read = self._marks(body["name"], values), merging.read(meeting.read)
        authors = self._authors(request, workspace, body["name"], [*merged.conflicts, *merged.kept])
        meeting.conflicts = {
            key: Sides(
                theirs=self.words(key, values[key]),
                mine=self.words(key, mine.get(key)),
                mark=marks[key],
                who=authors[key],
            )
            for key in merged.conflicts
        }
        for key in merged.kept:
            form.take(key, theirs)
        meeting.taken = self._sentence(authors, merged.kept)
        # Lists that come together stay as they were written, beside what was read, and do so once more.
        apart = [*merged.conflicts, *merged.joined]
        old = {key: read[key] for key in apart if key in read}
        meeting.read = merging.written({key: one for key, one in marks.items() if key not in apart} | old)

    def _also(self, request: Any, workspace: Workspace, name: str, kept: Collection[str]) -> str:
        return self._sentence(self._authors(request, workspace, name, kept), kept) if kept else ""

    def _sentence(self, authors: Mapping[str, str], kept: Iterable[str]) -> str:
        """ "what Ada changed in title, tags; what Ben changed in owner" """
        groups: dict[str, list[str]] = {}
        for key in kept:
            groups.setdefault(authors[key], []).append(self.label(key).lower())
        return "; ".join(f"what {who} changed in {', '.join(labels)}" for who, labels in groups.items())

    def _authors(self, request: Any, workspace: Workspace, name: str, keys: Collection[str]) -> dict[str, str]:
        paths = {key: f"{self.place(name)}.{self.path(key)}" for key in keys}
        last = reviewing.last_edits(workspace, paths.values())
        return {key: who(last.get(path), request.actor) for key, path in paths.items()}


def who(edit: Any, reader: Any) -> str:
    if edit is None:
        return "somebody"
    return "you (elsewhere)" if edit.person == reader.person else str(edit.by)
