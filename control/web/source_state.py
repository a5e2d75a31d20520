"""How the file that a registry is kept in stands, as every page of the registry says it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.http import HttpRequest

from routing import sources
from routing.choices import SourceState
from routing.models import SourceCheck, Workspace

WORDS = {
    SourceState.IN_SYNC: ("confident", "In sync"),
    SourceState.DRIFTED: ("ambiguous", "Drifted"),
    SourceState.UNREADABLE: ("denied", "Unreadable"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a workspace's file stands, as pages show it."""

    file: str
    read_only: bool
    state: str = ""  # empty before the first look
    since: datetime | None = None
    why: str = ""

    @property
    def shape(self) -> str:
        return WORDS[SourceState(self.state)][0] if self.state else "unknown"

    @property
    def word(self) -> str:
        return WORDS[SourceState(self.state)][1] if self.state else "Not looked at yet"

    @property
    def is_amiss(self) -> bool:
        return self.state in (SourceState.DRIFTED, SourceState.UNREADABLE)


def of(workspace: Workspace) -> Standing | None:
    """What the last look found, held against what is live by now; None where no file is named."""
    if not workspace.source_file:
        return None
    about = Standing(file=sources.short(workspace.source_file), read_only=workspace.is_read_only)
    last = SourceCheck.objects.filter(workspace=workspace).first()
    if last is None:
        return about
    live, state = workspace.live_revision, SourceState(last.state)
    if state != SourceState.UNREADABLE:
        state = SourceState.IN_SYNC if live and live.digest == last.digest else SourceState.DRIFTED
    return replace(about, state=state, since=last.since if state == last.state else None, why=last.why)


_REGISTRY = ("endpoint", "inspection", "tool", "capabilit", "coverage", "scope", "polic", "publish", "import")


def place_of(request: HttpRequest) -> str:
    """Whether this page is one of the registry, the overview, or none that says how the file stands."""
    name: Any = getattr(request.resolver_match, "url_name", None) or ""
    return "registry" if name.startswith(_REGISTRY) else "overview" if name == "overview" else ""
