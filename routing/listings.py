"""Lists of decisions, events, revisions and audit entries: filters in plain words, and pages that hold still while rows arrive.

A page is named by the row that it starts after (`after`, going on, usually to older rows) or ends before (`before`, going
back), so that a page keeps its content however many rows come in above it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from routing.choices import DecisionState, DomainStatus, TransportStatus
from routing.models import AuditEntry, Decision, Event, Label, Revision, Workspace

PAGE = 50
NEWER_CAP = 1000
FILTERED_CAP = 3_000  # a filter has to look at rows to count them
ID_MARGIN = timedelta(hours=1)  # an id may be older than the decision that it is given to
_STATES = (DecisionState.QUEUED, DecisionState.RUNNING, DecisionState.FAILED, DecisionState.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    rows: Sequence[Any]
    previous: str | None = None  # name of the first row, when there are some before it
    next: str | None = None  # name of the last row, when there are some after it


AGREEMENTS = {
    "same": Q(agreed=True),
    "other": Q(agreed=False),
    "not_called": Q(target__isnull=False, invoked=False),
}


_JUDGED = Q(domain__in=(DomainStatus.SUCCESS, DomainStatus.FAILURE, DomainStatus.PARTIAL))
OUTCOMES = {
    # Of whose outcome something is known: whether it did the job, or at least whether it came back.
    "reported": _JUDGED | Q(transport__in=(TransportStatus.OK, TransportStatus.ERROR, TransportStatus.TIMEOUT)),
    # What did not do the job, or did not come back while nobody says that it did the job.
    "failed": Q(domain__in=(DomainStatus.FAILURE, DomainStatus.PARTIAL))
    | (
        Q(transport__in=(TransportStatus.ERROR, TransportStatus.TIMEOUT))
        & (Q(domain__isnull=True) | Q(domain=DomainStatus.UNKNOWN))
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilter:
    text: str = ""  # part of a target, an endpoint's name, or an id
    type: str = ""
    status: str = ""
    scope: str = ""
    harness: str = ""
    source: str = ""
    fallback_reason: str = ""
    reason_code: str = ""
    agreement: str = ""  # one of AGREEMENTS
    label: str = ""  # right | wrong, as somebody says, or none; in the workspace
    workspace: Any = None
    paid: bool = False  # only those of which a cost is known
    since: datetime | None = None
    until: datetime | None = None
    revision: int | None = None
    outcome: str = ""  # one of OUTCOMES

    def apply(self, rows: QuerySet[Decision]) -> QuerySet[Decision]:
        exact = {name: getattr(self, name) for name in ("type", "scope", "harness") if getattr(self, name)}
        rows = rows.filter(AGREEMENTS.get(self.agreement, Q()), **exact)
        if self.source:
            # A source has most of all rows: beside a scope, which may have few, its index must not be the one that is read.
            rows = rows.alias(by=Coalesce("source", Value("")) if self.scope else F("source")).filter(by=self.source)
        if self.label:
            rows = rows.filter(_labelled(self.workspace, self.label))
        if self.fallback_reason:
            rows = rows.filter(fallback_reason=self.fallback_reason)
        if self.reason_code:
            rows = rows.filter(reason_codes__has_word=self.reason_code)
        if self.paid:
            rows = rows.filter(cost__isnull=False)
        if self.status:
            rows = rows.filter(state=self.status) if self.status in _STATES else rows.filter(status=self.status)
        if self.revision is not None:
            rows = rows.filter(revision=self.revision)
        if self.outcome in OUTCOMES:
            rows = rows.filter(OUTCOMES[self.outcome])
        if self.until:
            rows = rows.filter(created_at__lt=self.until)
        if self.since:
            rows = rows.filter(created_at__gte=self.since, pk__gte=_earliest_id(self.since - ID_MARGIN))
        return rows.filter(_about(self.text)) if self.text else rows


def _earliest_id(moment: datetime) -> uuid.UUID:
    """Below every id that was made from this moment on: UUIDv7 begin with their milliseconds, so an index is read from here."""
    return uuid.UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)


def _labelled(workspace_id: Any, verdict: str) -> Q:
    """Few decisions are labelled: they are found by their labels, those without by looking at each."""
    if verdict == "none":
        return ~Q(Exists(Label.objects.filter(decision=OuterRef("pk"))))
    return Q(pk__in=Label.objects.filter(workspace=workspace_id, verdict=verdict).order_by().values("decision"))


def _about(text: str) -> Q:
    known = _as_id(text)
    return Q(pk=known) if known else Q(target__icontains=text)


def _as_id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def decisions(workspace: Workspace) -> QuerySet[Decision]:
    """A workspace's decisions without what a list never shows."""
    return Decision.objects.filter(workspace=workspace).defer("content", "answer", "execution")


def page_of(
    rows: QuerySet[Any], *, key: str, after: Any = None, before: Any = None, size: int = PAGE, upwards: bool = False
) -> Page:
    """One page, newest first, or oldest first when `upwards`. `key` orders the rows and names the page's edges."""
    onward, back = ("gt", "lt") if upwards else ("lt", "gt")
    order, against = (key, f"-{key}") if upwards else (f"-{key}", key)
    if before is not None:
        turned = list(rows.filter(**{f"{key}__{back}": before}).order_by(against)[: size + 1])
        more, shown = len(turned) > size, turned[:size][::-1]
        return Page(
            rows=shown, previous=_name(shown[:1], key) if more else None, next=_name(shown[-1:], key) or str(before)
        )
    found = list((rows if after is None else rows.filter(**{f"{key}__{onward}": after})).order_by(order)[: size + 1])
    shown = found[:size]
    return Page(
        rows=shown,
        previous=(_name(shown[:1], key) or str(after)) if after is not None else None,
        next=_name(shown[-1:], key) if len(found) > size else None,
    )


def _name(rows: Sequence[Any], key: str) -> str | None:
    return str(getattr(rows[0], key)) if rows else None


def newer_than(rows: QuerySet[Any], key: str, first: Any) -> int:
    """How many rows have come in above a page, counted up to a bound."""
    return len(rows.filter(**{f"{key}__gt": first}).values_list("pk")[: NEWER_CAP + 1])


def counted(rows: QuerySet[Any], cap: int = 100_000) -> tuple[int, bool]:
    """How many rows there are, and whether the count stopped at the cap."""
    number = rows.order_by().values("pk")[: cap + 1].count()
    return min(number, cap), number > cap


def harnesses(workspace: Workspace, among: int = 5000) -> list[str]:
    """Harnesses of the newest decisions, for a filter's choices."""
    newest = Decision.objects.filter(workspace=workspace).values_list("harness", flat=True)[:among]
    return sorted({name for name in newest if name})


def scopes(workspace: Workspace, registered: Iterable[str]) -> list[str]:
    """Scopes to choose from: those of the registry, `default` first."""
    return ["default", *sorted({*registered} - {"default"})]


# --- the live tail --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class TailRow:
    """A ledger row with the decision that it belongs to, whose later facts it shows."""

    event: Event
    decision: Decision | None


def tail(workspace: Workspace, *, kind: str, scope: str = "", status: str = "", size: int = 12) -> list[TailRow]:
    rows = Event.objects.filter(workspace=workspace, kind=kind)
    if scope:
        rows = rows.filter(scope=scope)
    if status:
        rows = rows.filter(status=status)
    events = list(rows.order_by("-seq")[:size])
    wanted = [known for event in events if (known := _as_id(event.decision_id or ""))]
    found = {str(row.pk): row for row in decisions(workspace).filter(pk__in=wanted)}
    return [TailRow(event=event, decision=found.get(event.decision_id or "")) for event in events]


def newest_seq(workspace: Workspace) -> int:
    return Event.objects.filter(workspace=workspace).order_by("-seq").values_list("seq", flat=True).first() or 0


# --- one decision, one revision ---------------------------------------------------------------------------------------
def events_of(decision: Decision) -> list[Event]:
    """What the ledger says about a decision, oldest first, from its own scope only."""
    rows = Event.objects.filter(workspace_id=decision.workspace_id, decision_id=str(decision.pk), scope=decision.scope)
    return list(rows.order_by("seq"))


def revisions(workspace: Workspace) -> QuerySet[Revision]:
    return Revision.objects.filter(workspace=workspace).defer("manifest")


def publications(workspace: Workspace, *, since: datetime) -> list[Revision]:
    """What went live from a moment on, newest first."""
    return list(revisions(workspace).filter(published_at__gte=since).order_by("-published_at"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFilter:
    text: str = ""  # part of a message, of who published or proposed it, or of its digest
    state: str = ""

    def apply(self, rows: QuerySet[Revision]) -> QuerySet[Revision]:
        if self.state:
            rows = rows.filter(state=self.state)
        names = ("message", "published_by", "created_by", "digest")
        about = reduce(or_, (Q(**{f"{name}__icontains": self.text}) for name in names))
        return rows.filter(about) if self.text else rows


# --- the audit log ------------------------------------------------------------------------------------------------------
# Entries that tell of no change: to see what was changed, these are left out.
NO_CHANGE = ("access.denied", "audit.exported", "audit.read", "audit.verified", "right.used")
CHANGES = "changes"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    text: str = ""  # part of an actor or a target, or a request's id
    actor: str = ""
    action: str = ""  # one action, or `changes`
    target: str = ""  # part of a target
    result: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def apply(self, rows: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        exact = {name: getattr(self, name) for name in ("actor", "result") if getattr(self, name)}
        rows = rows.filter(**exact)
        if self.action == CHANGES:
            rows = rows.exclude(action__in=NO_CHANGE).exclude(action__startswith="session.")
        elif self.action:
            rows = rows.filter(action=self.action)
        if self.target:
            rows = rows.filter(target__icontains=self.target)
        if self.since:
            rows = rows.filter(at__gte=self.since)
        if self.until:
            rows = rows.filter(at__lt=self.until)
        about = Q(actor__icontains=self.text) | Q(target__icontains=self.text) | Q(request_id=self.text)
        return rows.filter(about) if self.text else rows


def audit_entries(workspace: Workspace) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(workspace=workspace)


def audit_choices(workspace: Workspace, among: int = 5000) -> tuple[list[str], list[str]]:
    """Actors and actions of the newest entries, for a filter's choices."""
    newest = list(audit_entries(workspace).order_by("-seq").values_list("actor", "action")[:among])
    return sorted({actor for actor, _ in newest}), sorted({action for _, action in newest})
