"""Publish a revision to some first: everything is checked as for a publication, and whom it is for besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from routing import snapshot, working
from routing.audience import Audience, least_percent
from routing.choices import CanaryEnd, RevisionState
from routing.engine.canary import MEASURES
from routing.engine.diff import diff
from routing.errors import CanaryRunning, InvalidRequest, Superseded
from routing.manifests import thaw
from routing.models import Actor, CanaryRow, Revision, Workspace
from routing.services import audit, revisions, waiting
from routing.services.canaries import counting, ending

USUAL_BOUND, WIDEST_BOUND = 0.05, 0.5
USUAL_MINIMUM, LEAST_MINIMUM, MOST_MINIMUM = 100, 10, 100_000
MOST_PERCENT = 50
LONGEST = timedelta(days=90)
_keys: list[Callable[[Any], list[tuple[str, str]]]] = []


def ask(keys: Callable[[Any], list[tuple[str, str]]]) -> None:
    """Which keys there are is for the doors to say: `keys(workspace id)` gives (scope, name) of those that are good."""
    _keys[:] = [keys]


def keys_of(workspace_id: Any) -> list[tuple[str, str]]:
    return [one for keys in _keys for one in keys(workspace_id)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Whom a canary is for and what ends it. Either `scopes`, or `percent` of the keys, 1 to 50.

    `bounds` says by how much each share may rise, 0.05 for five percentage points; `minimum` is how much of each must be
    counted in both groups before it is judged. After `lasts` it ends as `at_end` says; None: it goes on until somebody decides.
    """

    scopes: tuple[str, ...] = ()
    percent: int | None = None
    bounds: Mapping[str, float] = field(default_factory=dict)
    minimum: int = USUAL_MINIMUM
    lasts: timedelta | None = None
    at_end: str = CanaryEnd.STOP.value

    def bound(self, measure: str) -> float:
        return self.bounds.get(measure, USUAL_BOUND)


def start(
    workspace: Workspace, terms: Terms, *, message: str, override: str = "", seen: str | None = None, by: Actor
) -> CanaryRow:
    """Freeze the working copy and have it answer some. Raises as `revisions.publish`, and as `start_revision`."""
    with revisions.told_when_refused(workspace, "draft", message, by, action="canary.started"):
        draft = revisions.draft_to_publish(workspace, seen)
        revision = revisions.propose(workspace, draft.document, message=message, by=by)
        return _start(workspace, revision.number, terms, message=message, override=override, by=by)


def start_revision(
    workspace: Workspace, number: int, terms: Terms, *, message: str, override: str = "", by: Actor
) -> CanaryRow:
    """Have a proposed revision answer some first. Every process does so within a second.

    Raises as `revisions.publish_revision`, CanaryRunning while another canary runs, and InvalidRequest for an audience that is
    nobody or everybody, or for what lies outside its limits.
    """
    with revisions.told_when_refused(workspace, f"revision {number}", message, by, action="canary.started"):
        return _start(workspace, number, terms, message=message, override=override, by=by)


def _start(workspace: Workspace, number: int, terms: Terms, *, message: str, override: str, by: Actor) -> CanaryRow:
    locked = Workspace.objects.select_for_update().get(pk=workspace.pk)
    revision, running = revisions.find(workspace, number), ending.running_in(workspace)
    if running is not None:
        raise CanaryRunning(
            f"A canary of revision {running.revision.number} runs. Promote it or stop it, then start another."
        )
    if revision.state == RevisionState.LIVE or locked.live_revision is None:
        raise Superseded(f"Revision {number} has nothing to run beside: it is live, or nothing else is.")
    found, broken = revisions.cleared(locked, revision, emergency=False, override=override)
    _check(locked, revision, terms)
    Revision.objects.filter(pk=revision.pk).update(
        state=RevisionState.CANARY, message=message or revision.message, approvals_needed=found.needed
    )
    waiting.give_up(workspace, f"Revision {number} was published to some first.", by=by)
    row = _kept(locked, revision, terms, override, by)
    audit.record(
        workspace.pk,
        "canary.started",
        f"revision {number}",
        by=by,
        before={"live_revision": row.live_number},
        after=facts(row)
        | ({"expectations_failed": [one.name for one in broken], "override_reason": override} if broken else {}),
        changes=diff(working.live_of(locked), thaw(revision)),
        message=message or revision.message,
    )
    ending.changed(row)
    return row


def _kept(locked: Workspace, revision: Revision, terms: Terms, override: str, by: Actor) -> CanaryRow:
    now, scopes = timezone.now(), sorted({*terms.scopes})
    assert locked.live_revision is not None
    before = counting.told(counting.groups_before(locked.pk, scopes, now)) if scopes else None
    return CanaryRow.objects.create(
        workspace=locked,
        revision=revision,
        live_number=locked.live_revision.number,
        scopes=scopes,
        percent=None if scopes else terms.percent,
        bounds={measure: terms.bound(measure) for measure in MEASURES},
        minimum=terms.minimum,
        until=None if terms.lasts is None else now + terms.lasts,
        at_end=terms.at_end,
        override=override,
        actor_kind=by.kind,
        actor=by.name,
        acts_as=by.acts_as,
        started_at=now,
        before=before,
    )


def facts(row: CanaryRow) -> dict[str, object]:
    """What was agreed on, as the audit log tells it."""
    audience = {"scopes": row.scopes} if row.scopes else {"percent_of_keys": row.percent}
    ends = {"until": row.until.isoformat(), "at_end": row.at_end} if row.until else {}
    return {"state": "running", **audience, "bounds": row.bounds, "minimum": row.minimum, **ends}


# --- whom it is for ---------------------------------------------------------------------------------------------------
def _check(workspace: Workspace, revision: Revision, terms: Terms) -> None:
    problems = [*_limits(terms), *_audience(workspace, revision, terms)]
    if problems:
        raise InvalidRequest(f"{problems[0]['path']}: {problems[0]['message']}", problems)


def _limits(terms: Terms) -> list[dict[str, Any]]:
    found = [
        _problem(measure, "must lie between 0 and 50 percentage points", terms.bound(measure))
        for measure in MEASURES
        if not 0 <= terms.bound(measure) <= WIDEST_BOUND
    ]
    if not LEAST_MINIMUM <= terms.minimum <= MOST_MINIMUM:
        found.append(_problem("minimum", f"must lie between {LEAST_MINIMUM} and {MOST_MINIMUM:,}", terms.minimum))
    if terms.lasts is not None and not timedelta(minutes=1) <= terms.lasts <= LONGEST:
        found.append(_problem("hours", f"must be at most {LONGEST.days} days", terms.lasts.total_seconds() / 3600))
    if terms.lasts is None and terms.at_end == CanaryEnd.PROMOTE:
        found.append(_problem("hours", "must be given for it to be promoted when its time is over", None))
    return found


def _audience(workspace: Workspace, revision: Revision, terms: Terms) -> list[dict[str, Any]]:
    if bool(terms.scopes) == (terms.percent is not None):
        return [_problem("scopes", "choose scopes or a share of the keys, one of the two", list(terms.scopes))]
    return (
        _scopes(workspace, revision, terms.scopes) if terms.scopes else _share(workspace, revision, terms.percent or 0)
    )


def _scopes(workspace: Workspace, revision: Revision, scopes: tuple[str, ...]) -> list[dict[str, Any]]:
    live = set(snapshot.live(workspace.pk).catalog.scopes)
    known = live & {"default", *(one.get("name") for one in thaw(revision).get("scopes") or ())}
    unknown = sorted({*scopes} - known)
    if unknown:
        return [
            _problem(
                "scopes", f"{', '.join(unknown)[:200]} is no scope of both revisions", unknown, allowed=sorted(known)
            )
        ]
    if {*scopes} >= live:
        return [
            _problem("scopes", "these are all scopes; leave one on what is live, or choose a share of the keys", scopes)
        ]
    return []


def _share(workspace: Workspace, revision: Revision, percent: int) -> list[dict[str, Any]]:
    if not 1 <= percent <= MOST_PERCENT:
        return [_problem("percent", f"must lie between 1 and {MOST_PERCENT}", percent)]
    keys = keys_of(workspace.pk)
    held = Audience(salt=revision.digest, percent=percent).among(keys)
    if not held:
        least = least_percent(revision.digest, [name for _, name in keys])
        more = f"; {least} % is the least that holds one" if least is not None and least <= MOST_PERCENT else ""
        return [
            _problem("percent", f"none of the {len(keys)} keys falls into {percent} %{more}, or choose scopes", percent)
        ]
    if len(held) == len(keys):
        return [
            _problem("percent", "every key falls into it, so nothing is left to compare with; choose scopes", percent)
        ]
    return []


def _problem(path: str, message: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"path": path, "message": message, "value": value, **more}
