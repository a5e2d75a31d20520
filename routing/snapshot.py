"""What a process answers from: the compiled live catalog of every workspace, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from routing.engine import Catalog, load_registry, rank
from routing.errors import NotFound
from routing.generation import Watched
from routing.manifests import EMPTY, thaw
from routing.models import Revision, Workspace


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
    return {row.pk: _live(row, (previous or {}).get(row.pk)) for row in rows}


def _live(row: Workspace, previous: Live | None) -> Live:
    revision: Revision | None = row.live_revision
    digest = revision.digest if revision else ""
    if previous is not None and previous.digest == digest and previous.workspace == row.name:
        return _renumbered(previous, revision.number if revision else 0)
    document = thaw(revision) if revision else EMPTY
    catalog = _warm(load_registry(document, previous=previous.catalog if previous else None))
    return Live(
        workspace_id=row.pk,
        workspace=row.name,
        revision=revision.number if revision else 0,
        digest=digest,
        catalog=catalog,
    )


def _warm(catalog: Catalog) -> Catalog:
    """Make every scope's view before the first request needs it."""
    for scope in catalog.scopes:
        catalog.view(scope)
        catalog.revision(scope)
        rank(catalog, "warm the index", scope=scope, limit=1)
    return catalog


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


def live(workspace_id: Any) -> Live:
    """The live catalog of a workspace; no database is asked where the watcher runs."""
    found = _snapshot.get().get(workspace_id)
    if found is None:
        raise NotFound()
    return found
