"""What a process answers from: the compiled live catalog of every workspace, in memory."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import DatabaseError

from routing.audience import Audience
from routing.choices import CanaryState
from routing.engine import Catalog, load_registry, rank
from routing.engine.calibration import SHIPPED, Calibration, Correction
from routing.engine.policies import EffectivePolicy, known_policies
from routing.engine.policy import shipped_fit
from routing.engine.shadow_policy import blocks_of
from routing.errors import NotFound
from routing.generation import Watched
from routing.manifests import EMPTY, thaw
from routing.models import CalibrationRow, CanaryRow, Revision, ShadowPolicy, Workspace

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """A shadow policy that scores decisions made by the values `beside`."""

    id: Any
    beside: EffectivePolicy
    scopes: frozenset[str]  # empty: all
    share: float
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A workspace's live revision, compiled; or, as the `live` of its canary, the revision that answers some instead."""

    workspace_id: Any
    workspace: str
    revision: int
    digest: str
    catalog: Catalog
    allow_private: tuple[str, ...] = ()  # private destinations that the workspace's calls may reach
    record_queries: bool = False  # whether the workspace keeps what it takes to make its decisions again
    shadows: Mapping[str, Shadow] = field(default_factory=dict)  # shadow policies that score, by the policy's name
    canary: Canary | None = None  # what answers some instead, while one runs
    is_canary: bool = False  # answers some, and not all


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A revision that answers its audience before it answers everybody."""

    id: Any
    audience: Audience
    live: Live


Snapshot = Mapping[Any, Live]  # by workspace id


def _load(previous: Snapshot | None) -> Snapshot:
    rows = Workspace.objects.select_related("live_revision").all()
    learnt, canaries, shadows = _calibrations(), _running_canaries(), _shadows()
    found = {}
    for row in rows:
        calibration, last = learnt.get(row.pk, SHIPPED), (previous or {}).get(row.pk)
        live = _live_or_last(row, calibration, last)
        if live is not None:
            beside = _beside(live, shadows.get(row.pk, ()))
            found[row.pk] = _with_canary(beside, row, canaries.get(row.pk), calibration, last)
    return found


def _shadows() -> dict[Any, list[ShadowPolicy]]:
    found = defaultdict(list)
    for row in ShadowPolicy.objects.filter(ended_at=None).defer("counts", "unjudged", "values"):
        found[row.workspace_id].append(row)
    return found


def _beside(live: Live, rows: Iterable[ShadowPolicy]) -> Live:
    """With the shadow policies that are about the values that are live now; the others are about to end."""
    known, found = known_policies(live.catalog.registry.policies), {}
    for row in rows:
        policy = live.catalog.policy(row.policy) if row.policy in known else None
        if policy is not None and blocks_of(policy) == row.base:
            scopes = frozenset(row.scopes)
            found[row.policy] = Shadow(id=row.pk, beside=policy, scopes=scopes, share=row.share, until=row.until)
    return live if live.shadows == found else replace(live, shadows=found)


def _running_canaries() -> dict[Any, CanaryRow]:
    rows = CanaryRow.objects.filter(state=CanaryState.RUNNING).select_related("revision")
    return {row.workspace_id: row for row in rows}


def _calibrations() -> dict[Any, Calibration]:
    """The newest calibration of each workspace, as far as it corrects the fit that ships now."""
    rows = CalibrationRow.objects.filter(fit=shipped_fit()).order_by("version")
    return {
        row.workspace_id: Calibration(
            match=Correction(intercept=row.match_intercept, slope=row.match_slope),
            right=Correction(intercept=row.right_intercept, slope=row.right_slope),
            version=row.version,
        )
        for row in rows
    }


def _live_or_last(row: Workspace, calibration: Calibration, last: Live | None) -> Live | None:
    """A workspace whose revision cannot be compiled goes on with its last one, and holds up no other workspace."""
    try:
        return _live(row, calibration, last)
    except DatabaseError:
        raise
    except Exception:
        logger.exception("the live revision of workspace %s cannot be compiled; the one before stays in use", row.name)
        return last


def _live(row: Workspace, calibration: Calibration, previous: Live | None) -> Live:
    known = [previous, previous.canary.live if previous.canary else None] if previous else []
    found = _of(row, row.live_revision, calibration, [one for one in known if one is not None])
    return replace(found, is_canary=False) if found.is_canary else found


def _of(row: Workspace, revision: Revision | None, calibration: Calibration, known: Sequence[Live]) -> Live:
    """A revision compiled; what is known already is taken as it is, or lends what stayed the same."""
    digest = revision.digest if revision else ""
    settings: dict[str, Any] = {"allow_private": tuple(row.allow_private), "record_queries": row.record_queries}
    for one in known:
        if one.digest == digest and one.workspace == row.name:
            return _renumbered(_settled(_recalibrated(one, calibration), settings), revision.number if revision else 0)
    document = thaw(revision) if revision else EMPTY
    catalog = compiled(document, known[0].catalog if known else None).calibrated(calibration)
    return Live(
        workspace_id=row.pk,
        workspace=row.name,
        revision=revision.number if revision else 0,
        digest=digest,
        catalog=catalog,
        **settings,
    )


def _with_canary(
    live: Live, row: Workspace, running: CanaryRow | None, calibration: Calibration, last: Live | None
) -> Live:
    """A canary that cannot be compiled answers nobody: its audience is answered from what is live."""
    if running is None or running.revision.digest == live.digest:
        return live if live.canary is None else replace(live, canary=None)
    before = last.canary if last else None
    try:
        known = [before.live, live] if before else [live]
        ahead = _as_canary(_of(row, running.revision, calibration, known))
    except DatabaseError:
        raise
    except Exception:
        logger.exception("the canary of workspace %s cannot be compiled; nobody is answered by it", row.name)
        return replace(live, canary=None)
    if live.canary is not None and live.canary.id == running.pk and live.canary.live is ahead:
        return live
    return replace(live, canary=Canary(id=running.pk, audience=audience_of(running), live=ahead))


def _as_canary(live: Live) -> Live:
    return live if live.is_canary and live.canary is None else replace(live, is_canary=True, canary=None)


def audience_of(row: CanaryRow) -> Audience:
    """Whom a canary answers."""
    return Audience(salt=row.revision.digest, scopes=frozenset(row.scopes), percent=row.percent or 0)


def try_out(workspace_id: Any, document: Mapping[str, Any]) -> Catalog:
    """Compile a document as every process will once it is live; raises whatever stands in the way."""
    last = _snapshot.get().get(workspace_id)
    return compiled(document, last.catalog if last else None)


def compiled(document: Mapping[str, Any], previous: Catalog | None) -> Catalog:
    """The catalog of a document, with every scope's view made before the first request needs it."""
    catalog = load_registry(document, previous=previous)
    for scope in catalog.scopes:
        catalog.view(scope)
        catalog.revision(scope)
        rank(catalog, "warm the index", scope=scope, limit=1)
    return catalog


def _recalibrated(previous: Live, calibration: Calibration) -> Live:
    if previous.catalog.calibration == calibration:
        return previous
    return replace(previous, catalog=previous.catalog.calibrated(calibration))


def _settled(previous: Live, settings: Mapping[str, Any]) -> Live:
    same = all(getattr(previous, name) == value for name, value in settings.items())
    return previous if same else replace(previous, **settings)


def _renumbered(previous: Live, number: int) -> Live:
    return previous if previous.revision == number else replace(previous, revision=number)


_snapshot: Watched[Snapshot] = Watched(_load, takes_long=True)


def every() -> Snapshot:
    """All of them, by workspace id."""
    return _snapshot.get()


def each() -> Iterator[Live]:
    """Everything that anybody is answered from: the live catalogs, each followed by its canary's."""
    for live in every().values():
        yield live
        if live.canary is not None:
            yield live.canary.live


def answering(workspace_id: Any, scope: str, harness: str | None = None) -> Live:
    """What a harness of a scope is answered from: the canary's catalog where it is of its audience, else the live one.

    Every door that decides comes here. Nobody in particular (no `harness`) is of no share of the keys. A scope that the canary's revision does not have is answered from what is live.
    """
    found = live(workspace_id)
    ahead = found.canary
    if ahead is None or scope not in ahead.live.catalog.scopes or not ahead.audience.holds(scope, harness):
        return found
    return ahead.live


def live(workspace_id: Any) -> Live:
    """The live catalog of a workspace; no database is asked where the watcher runs."""
    found = _snapshot.get().get(workspace_id)
    if found is None:
        raise NotFound()
    return found
