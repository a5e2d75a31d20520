"""What a process answers from: the compiled live catalog of every workspace, in memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import DatabaseError

from routing.engine import Catalog, load_registry, rank
from routing.engine.calibration import SHIPPED, Calibration, Correction
from routing.engine.policy import shipped_fit
from routing.errors import NotFound
from routing.generation import Watched
from routing.manifests import EMPTY, thaw
from routing.models import CalibrationRow, Revision, Workspace

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A workspace's live revision, compiled."""

    workspace_id: Any
    workspace: str
    revision: int
    digest: str
    catalog: Catalog


Snapshot = Mapping[Any, Live]  # by workspace id


def _load(previous: Snapshot | None) -> Snapshot:
    rows = Workspace.objects.select_related("live_revision").all()
    learnt = _calibrations()
    found = {row.pk: _live_or_last(row, learnt.get(row.pk, SHIPPED), (previous or {}).get(row.pk)) for row in rows}
    return {key: live for key, live in found.items() if live is not None}


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
    revision: Revision | None = row.live_revision
    digest = revision.digest if revision else ""
    if previous is not None and previous.digest == digest and previous.workspace == row.name:
        return _renumbered(_recalibrated(previous, calibration), revision.number if revision else 0)
    document = thaw(revision) if revision else EMPTY
    catalog = compiled(document, previous.catalog if previous else None).calibrated(calibration)
    return Live(
        workspace_id=row.pk,
        workspace=row.name,
        revision=revision.number if revision else 0,
        digest=digest,
        catalog=catalog,
    )


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


def _renumbered(previous: Live, number: int) -> Live:
    if previous.revision == number:
        return previous
    return Live(
        workspace_id=previous.workspace_id,
        workspace=previous.workspace,
        revision=number,
        digest=previous.digest,
        catalog=previous.catalog,
    )


_snapshot: Watched[Snapshot] = Watched(_load)


def every() -> Snapshot:
    """All of them, by workspace id."""
    return _snapshot.get()


def live(workspace_id: Any) -> Live:
    """The live catalog of a workspace; no database is asked where the watcher runs."""
    found = _snapshot.get().get(workspace_id)
    if found is None:
        raise NotFound()
    return found
