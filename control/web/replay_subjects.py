"""What a replay may be about: the draft, what is live without an endpoint or a tool, or what the draft does in one scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from routing import snapshot, working
from routing.models import Workspace
from routing.services import replays
from routing.services.replays import candidates

LAST, MOST = 2000, 20_000  # decisions of the draft's replay, and of thirty days
DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """`digest` is that of the candidate, where it may change while what is live stays; `page` is where the panel stands."""

    about: str
    title: str
    after: str  # head of the candidate's column
    untried: str  # what to say before the first replay
    stale: str
    address: str
    page: str
    candidate: Callable[[], Mapping[str, Any]]
    window: Callable[[], replays.Window]
    digest: Callable[[], str] | None = None
    by_itself: bool = False  # replayed as soon as its page is opened


def of_draft(workspace: Workspace, copy: working.WorkingCopy) -> Subject:
    return Subject(
        about=replays.DRAFT,
        title="What this would change",
        after="With this draft",
        untried="The draft has not been replayed yet.",
        stale="The draft changed since; this is about an earlier one.",
        address=reverse("replay-draft", args=[workspace.name]),
        page=reverse("publish", args=[workspace.name]),
        candidate=lambda: copy.document,
        window=lambda: replays.Window(last=LAST),
        digest=lambda: copy.digest,
        by_itself=True,
    )


def find(workspace: Workspace, what: str, name: str) -> Subject | None:
    """A replay about an endpoint, tool or scope of what is live; None for what is not there, or is off already."""
    makers = {"endpoint": _endpoint, "tool": _tool, "scope": _scope}
    return makers[what](workspace, name) if what in makers else None


def address_of(workspace: Workspace, what: str, name: str) -> str:
    """Where such a replay is started and looked at; empty for what none can be about."""
    subject = find(workspace, what, name)
    return f"{subject.page}#replay" if subject else ""


def _endpoint(workspace: Workspace, name: str) -> Subject | None:
    registry = snapshot.live(workspace.pk).catalog.registry
    if not any(one.name == name and one.enabled for one in registry.endpoints):
        return None
    return _without(
        workspace, "endpoint", name, lambda: candidates.without_endpoint(working.live_of(workspace), name), name
    )


def _tool(workspace: Workspace, public: str) -> Subject | None:
    catalog = snapshot.live(workspace.pk).catalog
    pair = catalog.pair(public)
    doc = catalog.tool(*pair) if pair else None
    if pair is None or doc is None or not catalog.is_available(doc):
        return None
    return _without(
        workspace,
        "tool",
        doc.public,
        lambda: candidates.without_tool(working.live_of(workspace), *pair),
        doc.public,
    )


def _without(
    workspace: Workspace, what: str, name: str, candidate: Callable[[], Mapping[str, Any]], page: str
) -> Subject:
    return Subject(
        about=f"{what} {name}",
        title="What would change without it",
        after="Switched off",
        untried=f"Decisions of the last {DAYS} days, made again as if it were switched off.",
        stale="What is live changed since.",
        address=reverse("replay-of", args=[workspace.name, what, name]),
        page=reverse(what, args=[workspace.name, page]),
        candidate=candidate,
        window=_recent,
    )


def _scope(workspace: Workspace, name: str) -> Subject | None:
    if name not in snapshot.live(workspace.pk).catalog.scopes:
        return None
    return Subject(
        about=f"scope {name}",
        title="What the draft would change here",
        after="With the draft",
        untried=f"Decisions of this scope in the last {DAYS} days, made again under the draft.",
        stale="The draft changed since; this is about an earlier one.",
        address=reverse("replay-of", args=[workspace.name, "scope", name]),
        page=reverse("scope", args=[workspace.name, name]),
        candidate=lambda: working.copy_of(workspace).document,
        window=lambda: _recent(name),
        digest=lambda: working.copy_of(workspace).digest,
    )


def _recent(*scopes: str) -> replays.Window:
    return replays.Window(last=MOST, since=timezone.now() - timedelta(days=DAYS), scopes=scopes or None)
