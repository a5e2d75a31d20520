"""Where a canary stands, as pages that are about something else say it, and what may be chosen for a new one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from control.web import confirming
from control.web.forms.canaries import CanaryForm
from routing import snapshot
from routing.audience import Audience, least_percent
from routing.choices import CanaryState
from routing.models import CanaryRow, Decision, Revision, Workspace
from routing.models.actor import SYSTEM
from routing.services.canaries import starting

REMINDED_AFTER = timedelta(days=1)
TOLD_FOR = timedelta(days=3)  # a stop that nobody made
SHARES = (5, 10, 25, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """The canary that runs, or the last one where it was stopped by itself and nothing went live since."""

    row: CanaryRow
    audience: str
    waits: bool  # it runs for long, and nobody has decided

    @property
    def runs(self) -> bool:
        return self.row.is_running


def banner(workspace: Workspace) -> Banner | None:
    row = CanaryRow.objects.select_related("revision").defer("revision__manifest").filter(workspace=workspace).first()
    if row is None or not (row.is_running or _is_news(workspace, row)):
        return None
    waits = row.until is None and timezone.now() - row.started_at > REMINDED_AFTER
    return Banner(row=row, audience=audience_words(row), waits=row.is_running and waits)


def _is_news(workspace: Workspace, row: CanaryRow) -> bool:
    if row.state != CanaryState.STOPPED or row.ended_by != str(SYSTEM) or row.ended_at is None:
        return False
    live = workspace.live_revision
    overtaken = live is not None and live.published_at is not None and live.published_at > row.ended_at
    return not overtaken and timezone.now() - row.ended_at < TOLD_FOR


def audience_words(row: CanaryRow) -> str:
    if row.scopes:
        return f"{'scope' if len(row.scopes) == 1 else 'scopes'} {confirming.named(row.scopes)}"
    return f"{row.percent} % of the keys"


def of_revisions(revisions: Iterable[Revision]) -> dict[Any, CanaryRow]:
    """The canaries of some revisions, by the revision's id."""
    return {row.revision_id: row for row in CanaryRow.objects.filter(revision__in=[one.pk for one in revisions])}


def of_decision(decision: Decision) -> CanaryRow | None:
    """The canary that made a decision."""
    if decision.revision is None:
        return None
    row = CanaryRow.objects.filter(
        workspace=decision.workspace_id, revision__number=decision.revision, started_at__lte=decision.created_at
    ).first()
    return row if row is not None and (row.ended_at is None or decision.created_at < row.ended_at) else None


def held_keys(row: CanaryRow) -> list[str]:
    """The names of the keys that a canary answers, as far as they can be used today."""
    return sorted(snapshot.audience_of(row).among(starting.keys_of(row.workspace_id)))


def choices(workspace: Workspace, digest: str, form: Any) -> dict[str, Any]:
    """What the form of a new canary offers: the scopes that are live, and how many keys each share holds."""
    keys = starting.keys_of(workspace.pk)
    least = least_percent(digest, [name for _, name in keys])
    return {
        "canary_form": form if isinstance(form, CanaryForm) else None,
        "canary_scopes": scopes_of(workspace),
        "canary_keys": len(keys),
        "canary_shares": [
            (share, len(Audience(salt=digest, percent=share).among(keys))) for share in SHARES if keys and digest
        ],
        "canary_least": least if least is not None and least <= starting.MOST_PERCENT else None,
    }


def scopes_of(workspace: Workspace) -> list[str]:
    return list(snapshot.live(workspace.pk).catalog.scopes)
