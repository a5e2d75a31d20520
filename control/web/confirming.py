"""Ask before something stops working: what that is, and how it comes back. A dialog, and a page of its own without script.

A view whose deed needs a confirmation answers GET with `ask` and does the deed on POST. A link to it opens the dialog
when it says `hx-get="<address>" hx-target="#confirm"` beside its `href`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from control.models import HarnessKey
from control.web import trail
from routing.engine.diff import Change
from routing.models import Workspace

MOST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What is asked. Every text is plain; each of `stops` is a sentence."""

    title: str
    stops: Sequence[str]  # what will stop working or be gone
    back: str  # how it comes back, or that it does not
    action: str  # address that the deed is posted to
    deed: str  # word of the button that does it
    keep: str  # word of the safe choice, which has the focus
    away: str  # address of the safe choice
    fields: Mapping[str, str | Sequence[str]] = field(default_factory=dict)  # hidden, posted along; lists one by one
    harmless: bool = False  # nothing stops by it
    look: str = ""  # address of what is known of its effect: recorded decisions, made again without it

    @property
    def hidden(self) -> list[tuple[str, str]]:
        lists = {name: [value] if isinstance(value, str) else value for name, value in self.fields.items()}
        return [(name, value) for name, values in lists.items() for value in values]


def ask(request: HttpRequest, confirmation: Confirmation, *, form: Any = None, status: int = 200) -> HttpResponse:
    """The question, as a dialog's content for htmx and as a page for everybody else; `form` has fields to fill in."""
    template = "shared/_confirm.html" if request.htmx else "shared/confirm.html"  # type: ignore[attr-defined]
    context = {"confirmation": confirmation, "form": form, "trail": trail.to(confirmation.away)}
    return render(request, template, context, status=status)


def named(names: Iterable[str], most: int = MOST) -> str:
    """ "a, b and 3 more"."""
    known = list(names)
    more = len(known) - most
    return (
        f"{', '.join(known[:most])} and {more:,} more"
        if more > 0
        else " and ".join(part for part in (", ".join(known[:-1]), known[-1] if known else "") if part)
    )


def losses(workspace: Workspace, changes: Iterable[Change]) -> list[str]:
    """What stops working when these changes go live, each in a sentence; empty when nothing does."""
    changes = list(changes)
    gone = [change for change in changes if change.action == "removed"]
    sentences = [_endpoints(gone), _tools(gone), _switched_off(changes), *_scopes(workspace, gone), _policies(gone)]
    return [sentence for sentence in sentences if sentence]


def _of(gone: Sequence[Change], section: str) -> list[str]:
    """Names of whole entries of a section that are gone."""
    heads = (change.path.removeprefix(f"{section}[") for change in gone if change.path.startswith(f"{section}["))
    return [head[:-1] for head in heads if head.endswith("]") and "]." not in head]


def _endpoints(gone: Sequence[Change]) -> str:
    names = _of(gone, "endpoints")
    tools = sum(
        len(change.before.get("tools", ()))
        for change in gone
        if isinstance(change.before, dict) and change.path.startswith("endpoints[") and "]." not in change.path
    )
    told = f" with {tools:,} {'tool' if tools == 1 else 'tools'}" if tools else ""
    return (
        f"{_many(names, 'Endpoint', 'Endpoints')} {named(names)}{told}: recommended and called no more."
        if names
        else ""
    )


def _tools(gone: Sequence[Change]) -> str:
    parts = [
        change.path.removeprefix("endpoints[").split("].tools[")
        for change in gone
        if change.path.startswith("endpoints[") and "].tools[" in change.path and change.path.endswith("]")
    ]
    names = [
        f"{endpoint}__{tool[:-1]}"
        for endpoint, tool in (part for part in parts if len(part) == 2)
        if "]" not in tool[:-1]
    ]
    return f"{_many(names, 'Tool', 'Tools')} {named(names)}: recommended and called no more." if names else ""


def _switched_off(changes: Sequence[Change]) -> str:
    heads = [
        change.path.removeprefix("endpoints[").removesuffix("].enabled").replace("].tools[", "__")
        for change in changes
        if change.path.startswith("endpoints[") and change.path.endswith("].enabled") and change.after is False
    ]
    return f"{named(heads)}: switched off, so recommended and called no more." if heads else ""


def _scopes(workspace: Workspace, gone: Sequence[Change]) -> list[str]:
    names = _of(gone, "scopes")
    rows = HarnessKey.objects.filter(workspace=workspace, scope__in=names, revoked_at__isnull=True)
    keys = Counter(rows.values_list("scope", flat=True)) if names else Counter()
    return [
        f"Scope {name}: {keys[name]:,} {'key that reaches it is' if keys[name] == 1 else 'keys that reach it are'} refused."
        if keys[name]
        else f"Scope {name}: no key reaches it now."
        for name in names[:MOST]
    ]


def _policies(gone: Sequence[Change]) -> str:
    names = _of(gone, "policies")
    return (
        f"{_many(names, 'Policy', 'Policies')} {named(names)}: {_many(names, 'decides', 'decide')} no more."
        if names
        else ""
    )


def _many(names: Sequence[str], one: str, many: str) -> str:
    return one if len(names) == 1 else many
