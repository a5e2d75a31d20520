"""Shortcuts of the keyboard: one list for the dialog, for the page, and for the test that tries each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from control.access import allows, may
from routing.models import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """Keys, and what they do; `then` says that the keys follow one another."""

    keys: Sequence[str]
    does: str
    then: bool = False
    needs: str = "overview.view"


GO = tuple(
    Shortcut(keys=("g", key), does=does, then=True, needs=needs)
    for key, does, needs in (
        ("o", "Overview", "overview.view"),
        ("d", "Decisions", "decision.view"),
        ("e", "Endpoints", "registry.view"),
        ("t", "Tools", "registry.view"),
        ("c", "Capabilities", "registry.view"),
        ("s", "Scopes", "registry.view"),
        ("p", "Review and publish", "registry.view"),
        ("r", "Revisions", "revision.view"),
        ("a", "Audit log", "audit.view"),
    )
)
EVERYWHERE = (
    Shortcut(keys=("Ctrl", "K"), does="Find anything, or do something (⌘ K on a Mac)"),
    Shortcut(keys=("/",), does="Jump to the search field of the page"),
    Shortcut(keys=("P",), does="Try a request in the playground", needs="registry.view"),
    Shortcut(keys=("z",), does="Undo what the message at the edge of the page tells of"),
    Shortcut(keys=("?",), does="This list"),
    Shortcut(keys=("Esc",), does="Close what is open; the focus goes back to where it was"),
)
LISTS = (
    Shortcut(keys=("j",), does="Next row"),
    Shortcut(keys=("k",), does="Row before"),
    Shortcut(keys=("Enter",), does="Open the row"),
    Shortcut(keys=("x",), does="Choose the row, where rows can be chosen", needs="endpoint.edit"),
)
PARTS = (
    Shortcut(keys=("n",), does="Next change, on a page that shows changes", needs="revision.view"),
    Shortcut(keys=("p",), does="Change before", needs="revision.view"),
    Shortcut(keys=("Space",), does="Pause and resume the live tail of the overview"),
    Shortcut(keys=("Alt", "↑"), does="Move a hint up", needs="endpoint.edit"),
    Shortcut(keys=("Alt", "↓"), does="Move a hint down", needs="endpoint.edit"),
)
GROUPS = (("Everywhere", EVERYWHERE), ("Go to", GO), ("In lists", LISTS), ("On single pages", PARTS))


def of(role: str | None) -> list[tuple[str, list[Shortcut]]]:
    """What works for a role, group by group."""
    return [(title, [one for one in group if allows(role, one.needs)]) for title, group in GROUPS]


@require_safe
@may("overview.view")
def page(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    context: dict[str, Any] = {"here": True}
    return render(request, "shortcuts/page.html", context)
