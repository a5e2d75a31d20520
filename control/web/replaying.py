"""What a change would have done to recorded decisions: a panel that has a worker replay them, shows how far it is, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from control.access import allows, may
from control.web import replay_subjects, replay_words
from control.web.replay_subjects import Subject
from routing import snapshot, working
from routing.choices import DecisionState
from routing.errors import NotFound, RoutingError
from routing.models import Replay, Workspace
from routing.services import replays
from routing.services.recordings import keeping

OPEN = (DecisionState.QUEUED, DecisionState.RUNNING)
SHOWN = 50  # groups at first


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One replay as a page shows it, whatever it is about."""

    subject: Subject
    row: Replay | None
    records: bool
    is_stale: bool = False
    may_run: bool = False
    starts: bool = False  # by itself, as soon as the page is there
    is_stopped: bool = False  # somebody stopped what would start
    problem: str = ""
    kind: str = ""  # of change, that alone is listed
    groups: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.row is not None and self.row.state in OPEN

    @property
    def is_done(self) -> bool:
        return self.row is not None and self.row.state == DecisionState.FINISHED

    @property
    def result(self) -> dict[str, Any]:
        return (self.row.result or {}) if self.row else {}

    @property
    def counts(self) -> Mapping[str, int]:
        """By kind of change."""
        return self.result.get("kinds") or {}

    @property
    def changed(self) -> int:
        return sum(self.counts.values())

    @property
    def kinds(self) -> list[dict[str, Any]]:
        return [
            {"kind": kind, "word": word, "means": means, "count": self.counts.get(kind, 0), "here": kind == self.kind}
            for kind, (word, means) in replay_words.KINDS.items()
        ]

    @property
    def listed(self) -> list[dict[str, Any]]:
        return [group for group in self.groups if not self.kind or group["kind"] == self.kind][:SHOWN]

    @property
    def unlisted(self) -> int:
        wanted = self.counts.get(self.kind, 0) if self.kind else self.changed
        listed: int = sum(group["count"] for group in self.listed)
        return max(0, wanted - listed)


def of_draft(request: Any, workspace: Workspace, copy: working.WorkingCopy) -> Panel:
    """The panel of the review page."""
    return _panel(request, workspace, replay_subjects.of_draft(workspace, copy))


def of(request: Any, workspace: Workspace, what: str, name: str) -> Panel | None:
    """The panel of an endpoint's, a tool's or a scope's page; None where there is nothing to try."""
    subject = replay_subjects.find(workspace, what, name)
    return None if subject is None else _panel(request, workspace, subject)


def _panel(request: Any, workspace: Workspace, subject: Subject, problem: str = "") -> Panel:
    row = replays.newest(workspace, subject.about)
    live = snapshot.live(workspace.pk)
    is_stale = row is not None and not _is_current(row, subject, live.revision)
    stopped = replays.stopped(workspace, subject.about)
    is_stopped = stopped is not None and _is_current(stopped, subject, live.revision)
    records, may_run = workspace.record_queries or keeping.records(live), allows(request.role, "replay.run")
    wanted = request.GET.get("kind", "")
    return Panel(
        subject=subject,
        row=row,
        records=records,
        is_stale=is_stale,
        may_run=may_run,
        starts=subject.by_itself and records and may_run and not (problem or is_stopped) and (row is None or is_stale),
        is_stopped=is_stopped,
        problem=problem,
        kind=wanted if wanted in replay_words.KINDS else "",
        groups=[replay_words.told(group) for group in (row.result or {}).get("groups", ())] if row else [],
    )


def _is_current(row: Replay, subject: Subject, live: int) -> bool:
    return row.against == live and (subject.digest is None or row.digest == subject.digest())


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@vary_on_headers("HX-Request")
@may("registry.view", posts="replay.run")
def draft(request: Any, workspace: Workspace) -> HttpResponse:
    """The panel alone, as it stands; POST has the draft replayed."""
    return _answered(request, workspace, replay_subjects.of_draft(workspace, working.copy_of(workspace)))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@vary_on_headers("HX-Request")
@may("registry.view", posts="replay.run")
def about(request: Any, workspace: Workspace, what: str, name: str) -> HttpResponse:
    """The same for an endpoint, a tool or a scope."""
    subject = replay_subjects.find(workspace, what, name)
    if subject is None:
        raise Http404
    return _answered(request, workspace, subject)


def _answered(request: Any, workspace: Workspace, subject: Subject) -> HttpResponse:
    problem = _start(workspace, subject, request.actor) if request.method == "POST" else ""
    if not request.htmx:
        return redirect(f"{subject.page}#replay")
    return render(request, "replays/_panel.html", {"panel": _panel(request, workspace, subject, problem)})


def _start(workspace: Workspace, subject: Subject, by: Any) -> str:
    """Ask for a replay, unless the very same is under way; answers what kept it from being asked for."""
    row = replays.newest(workspace, subject.about)
    if row is not None and row.state in OPEN and _is_current(row, subject, snapshot.live(workspace.pk).revision):
        return ""
    try:
        replays.request(
            workspace,
            subject.candidate(),
            window=subject.window(),
            about=subject.about,
            who=str(by),
            is_canonical=True,
        )
    except RoutingError as error:
        return error.message
    return ""


@require_POST
@never_cache
@may("replay.run")
def stop(request: Any, workspace: Workspace, replay: UUID) -> HttpResponse:
    """Stop a replay that is under way, and go back to where it is shown."""
    try:
        replays.cancel(workspace, replay)
    except NotFound:
        raise Http404 from None
    back = request.POST.get("back", "")
    known = url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith("/")
    return redirect(back if known else reverse("publish", args=[workspace.name]))
