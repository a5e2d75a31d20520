"""Several endpoints or tools of the draft at once, in one step that is taken back as one.

Switching off asks first, with what stops. So does whatever was chosen from a draft that somebody changed since: nobody
changes rows that they did not see.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from control.access import may
from control.web import confirming, going, replay_subjects, stakes, toasts
from control.web.confirming import named
from control.web.forms.bulk import MOST, Chosen
from control.web.session import own_path
from routing import inventory, working
from routing.engine.naming import EndpointNames, ToolNames
from routing.engine.registry import TRAITS
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Workspace
from routing.services import edits, entries, tools
from routing.working import WorkingCopy

Document = dict[str, Any]
CHANGED = "Somebody changed the draft since you chose these. This is about what it says now."
SAME = "Nothing to change: what you chose says so already."
SAFE = "It is a change of the draft: nothing happens to harnesses before it is published, and it can be undone."


@dataclass(frozen=True, slots=True)
class Deed:
    """What can be done: as a question, as what became of the rows, and whether it takes what the form's fields say."""

    asks: str
    done: str
    takes: bool = False


class Bulk(ABC):
    """What can be done to the rows of one list. A pick is the name of a row that is in the draft."""

    noun: ClassVar[str]
    listing: ClassVar[str]  # name of the list's address; deeds are posted to `<listing>-bulk`
    deeds: ClassVar[Mapping[str, Deed]]
    fields: ClassVar[Sequence[str]] = ()

    # --- what a list says for itself -----------------------------------------------------------------------------------
    @abstractmethod
    def present(self, copy: WorkingCopy, picks: Sequence[str]) -> dict[str, str]:
        """Those picks that are in the draft, each with the name that people read."""

    @abstractmethod
    def lacks(self, chosen: Chosen) -> str:
        """What the form does not say though the deed needs it, in a sentence; empty when nothing."""

    @abstractmethod
    def stops(self, workspace: Workspace, picks: Sequence[str]) -> list[str]:
        """What stops working when these are switched off."""

    @abstractmethod
    def save(self, request: Any, chosen: Chosen, picks: Sequence[str]) -> int:
        """Do it; returns how many rows say something else now. Raises as `entries.edit_many`."""

    # --- what all share -------------------------------------------------------------------------------------------------
    def post(self, request: Any, workspace: Workspace) -> HttpResponse:
        home = reverse(self.listing, args=[workspace.name])
        back = own_path(request, request.POST.get("back") or home)
        deed = self.deeds.get(request.POST.get("do", ""))
        chosen = Chosen.posted(request.POST, self.fields if deed and deed.takes else (), back=back)
        present = self.present(working.copy_of(workspace), chosen.picks)
        if problem := self._problem(chosen, present):
            return self._refused(request, chosen, problem)
        if len(present) < len(chosen.picks):
            return self._ask(request, chosen, present, f"{_gone(chosen, present)} not in the draft, so left out.")
        if chosen.do == "disable" and not chosen.confirmed:
            return self._ask(request, chosen, present)
        try:
            with transaction.atomic():
                number = self.save(request, chosen, list(present))
                step = edits.latest(workspace, request.actor.person) if number else None
        except (StaleDraft, NotFound):
            workspace.refresh_from_db(fields=["draft_version"])
            return self._ask(request, chosen, self.present(working.copy_of(workspace), chosen.picks), CHANGED)
        except InvalidRegistry as error:
            said = f"{error.details[0]['message']}" if error.details else error.message
            return self._refused(request, chosen, f"Nothing was saved: what you gave {said}.")
        if number:
            toasts.stepped(request, self._told(chosen, present, number), step, back=chosen.back)
        else:
            messages.info(request, SAME)
        return going.to(request, chosen.back)

    def _problem(self, chosen: Chosen, present: Mapping[str, str]) -> str:
        if chosen.do not in self.deeds:
            return "Choose what should be done."
        if not chosen.picks:
            return f"Choose at least one {self.noun}."
        if len(chosen.picks) > MOST:
            return f"At most {MOST:,} {self.noun}s are changed in one step."
        if not present:
            return "What you chose is not in the draft, so nothing was changed."
        return self.lacks(chosen)

    def _refused(self, request: Any, chosen: Chosen, problem: str) -> HttpResponse:
        messages.error(request, problem)
        return going.to(request, chosen.back)

    def _ask(self, request: Any, chosen: Chosen, present: Mapping[str, str], note: str = "") -> HttpResponse:
        workspace, picks = request.workspace, list(present)
        question = self.deeds[chosen.do].asks
        off = chosen.do == "disable"
        stops = (self.stops(workspace, picks) or ["Nothing that is live uses what you chose."]) if off else []
        one = next(iter(present.values())) if off and len(present) == 1 else ""
        who = [named(present.values(), 12) + "."] if len(present) > 1 else []
        confirmation = confirming.Confirmation(
            title=f"{question} {self._many(present)}?",
            stops=[*([note] if note else []), *who, *stops],
            back=SAFE,
            action=reverse(f"{self.listing}-bulk", args=[workspace.name]),
            deed=question,
            keep="Leave as it is",
            away=chosen.back,
            fields=chosen.fields(picks, workspace.draft_version),
            harmless=not off,
            look=replay_subjects.address_of(workspace, self.noun, one) if one else "",
        )
        return confirming.ask(request, confirmation)

    def _told(self, chosen: Chosen, present: Mapping[str, str], number: int) -> str:
        who = next(iter(present.values())) if len(present) == 1 else f"{number:,} {self.noun}{'s' * (number != 1)}"
        values = ", ".join(chosen.said.values())
        return f"{who}: {self.deeds[chosen.do].done}{f' {values}' if values else ''} in the draft"

    def _many(self, present: Mapping[str, str]) -> str:
        return next(iter(present.values())) if len(present) == 1 else f"{len(present):,} {self.noun}s"


def _gone(chosen: Chosen, present: Mapping[str, str]) -> str:
    gone = [pick for pick in chosen.picks if pick not in present]
    return f"{named(gone)} {'is' if len(gone) == 1 else 'are'}"


class EndpointBulk(Bulk):
    noun, listing, fields = "endpoint", "endpoints", ("tags",)
    deeds = {
        "enable": Deed("Switch on", "switched on"),
        "disable": Deed("Switch off", "switched off"),
        "tag": Deed("Tag", "tagged", takes=True),
        "untag": Deed("Take tags from", "no longer tagged", takes=True),
    }

    def present(self, copy: WorkingCopy, picks: Sequence[str]) -> dict[str, str]:
        known = {one.name for one in copy.registry.endpoints}
        return {pick: pick for pick in picks if pick in known}

    def lacks(self, chosen: Chosen) -> str:
        return "Write the tag that you mean." if chosen.do in ("tag", "untag") and not _tags(chosen) else ""

    def stops(self, workspace: Workspace, picks: Sequence[str]) -> list[str]:
        return stakes.of_endpoints(workspace, picks)

    def save(self, request: Any, chosen: Chosen, picks: Sequence[str]) -> int:
        def change(body: Document) -> Document:
            if chosen.do in ("enable", "disable"):
                wanted = chosen.do == "enable"
                return {} if body.get("enabled", True) == wanted else {"enabled": None if wanted else False}
            known, given = body.get("tags", []), _tags(chosen)
            tags = list(dict.fromkeys([*known, *given])) if chosen.do == "tag" else [x for x in known if x not in given]
            return {} if tags == known else {"tags": tags or None}

        return entries.edit_many(request.workspace, "endpoints", picks, change, by=request.actor, seen=chosen.seen)


def _tags(chosen: Chosen) -> list[str]:
    parts = (part.strip() for part in chosen.said.get("tags", "").split(","))
    return list(dict.fromkeys(part for part in parts if part))


class ToolBulk(Bulk):
    """A pick is `<endpoint>__<tool>`, the tool as its endpoint publishes it."""

    noun, listing, fields = "tool", "tools", TRAITS
    deeds = {
        "enable": Deed("Switch on", "switched on"),
        "disable": Deed("Switch off", "switched off"),
        "set": Deed("Set traits of", "set to", takes=True),
        "infer": Deed("Take back the traits of", "back to what their words say"),
    }

    def present(self, copy: WorkingCopy, picks: Sequence[str]) -> dict[str, str]:
        names = spellings(copy, picks)
        return {pick: names.public(pick) for pick in picks if names.pair(pick)}

    def lacks(self, chosen: Chosen) -> str:
        if chosen.do != "set":
            return ""
        for trait, allowed in (("risk", inventory.RISKS), ("effect", inventory.EFFECTS)):
            if chosen.said.get(trait, allowed[0]) not in allowed:
                return f"A tool's {trait} is one of {', '.join(allowed)}."
        return "" if chosen.said else "Choose a category, a risk or an effect to set."

    def stops(self, workspace: Workspace, picks: Sequence[str]) -> list[str]:
        return stakes.of_tools(workspace, _pairs(working.copy_of(workspace), picks))

    def save(self, request: Any, chosen: Chosen, picks: Sequence[str]) -> int:
        pairs = _pairs(working.copy_of(request.workspace), picks)
        changes: dict[str, Document] = {
            "enable": {"enabled": True},
            "disable": {"enabled": False},
            "set": dict(chosen.said),
            "infer": dict.fromkeys(TRAITS),
        }
        return tools.edit(request.workspace, pairs, changes[chosen.do], by=request.actor, seen=chosen.seen)


def spellings(copy: WorkingCopy, names: Sequence[str]) -> ToolNames:
    """The names of those endpoints of the draft that some names of tools are about."""
    wanted = {name.partition("__")[0] for name in names}
    found = [one for one in copy.registry.endpoints if one.name in wanted]
    return ToolNames({one.name: EndpointNames(one.name, [tool.name for tool in one.tools]) for one in found}.get)


def _pairs(copy: WorkingCopy, picks: Sequence[str]) -> list[tuple[str, str]]:
    names = spellings(copy, picks)
    return [pair for pick in picks if (pair := names.pair(pick)) is not None]


ENDPOINTS, TOOLS = EndpointBulk(), ToolBulk()


@require_POST
@may("endpoint.edit")
def endpoints(request: Any, workspace: Workspace) -> HttpResponse:
    return ENDPOINTS.post(request, workspace)


@require_POST
@may("endpoint.edit")
def of_tools(request: Any, workspace: Workspace) -> HttpResponse:
    return TOOLS.post(request, workspace)
