"""The form of a tool's traits: saved into the draft, merged with what others said of the tool meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.http import Http404, QueryDict

from control.web import noting
from control.web.merging import Document
from control.web.whole import Meeting, WholeEditor
from routing.engine.registry import TRAITS
from routing.errors import StaleDraft
from routing.models import Workspace
from routing.services import edits, tools


@dataclass(slots=True, kw_only=True)
class TraitsForm:
    """Traits that are sent, None for what the tool says of itself."""

    values: dict[str, str | None]
    meeting: Meeting = field(default_factory=Meeting)

    @classmethod
    def of(cls, tool: Mapping[str, Any]) -> TraitsForm:
        return cls(values={name: tool.get(name) for name in TRAITS})

    @classmethod
    def posted(cls, query: QueryDict) -> TraitsForm:
        """All fields, or the one that is taken back by its button."""
        infer = query.get("infer")
        sent = (
            {infer: ""} if infer in TRAITS else {name: query.get(name, "").strip() for name in TRAITS if name in query}
        )
        return cls(values={name: text or None for name, text in sent.items()}, meeting=Meeting.posted(query))

    def given(self) -> Document:
        return dict(self.values)

    def take(self, name: str, other: TraitsForm) -> None:
        self.values[name] = other.values[name]


class TraitsEditor(WholeEditor):
    """`find` gives the tool as the draft has it, None when it is gone; `step` is the edit that was made, to take it back."""

    section = "endpoints"

    def __init__(self, endpoint: str, wire: str, find: Callable[[], Document | None]) -> None:
        self.endpoint, self.wire, self.find = endpoint, wire, find
        self.changed: Document = {}
        self.step: Any = None

    def form_of(self, body: Document) -> TraitsForm:
        return TraitsForm.of(body)

    def label(self, name: str) -> str:
        return name

    def place(self, name: str) -> str:
        return f"endpoints[{self.endpoint}].tools[{self.wire}]"

    def words(self, name: str, value: Any) -> Any:
        return value or "As it says of itself"

    def write(self, request: Any, workspace: Workspace, body: Document, changes: Document) -> Document:
        workspace.refresh_from_db(fields=["draft_version"])
        seen, present = workspace.draft_version, self.find()
        if present is None:
            raise Http404
        if present != body:
            raise StaleDraft("Somebody changed this tool.", [{"value": present}])
        try:
            with transaction.atomic():
                pair, why = (self.endpoint, self.wire), noting.of(request)
                tools.edit(workspace, [pair], changes, by=request.actor, seen=seen, message=why)
                self.changed, self.step = changes, edits.latest(workspace, request.actor.person)
        except StaleDraft as error:
            raise StaleDraft(error.message, [{"value": self.find() or present}]) from None
        return self.find() or present
