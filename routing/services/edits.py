"""Who changes the draft: noted with every change, kept with the revision that takes the changes over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from routing.engine.diff import Change, diff
from routing.models import Actor, Edit, Revision, Workspace
from routing.reviewing import edits_of, entry_of, proposal_of, touching

MOST_PATHS = 500  # beyond, entries are named instead of fields, and beyond again the whole document


def note(workspace: Workspace, changes: Sequence[Change], *, message: str, by: Actor) -> None:
    """Keep who made these changes. The same person at the same place again moves the time and adds no row."""
    paths = _bounded([change.path for change in changes])
    last = Edit.objects.filter(workspace=workspace, revision=None).order_by("-id").first()
    if last is not None and (last.by, last.message, last.paths) == (str(by), message, paths):
        Edit.objects.filter(pk=last.pk).update(at=timezone.now())
        return
    Edit.objects.create(
        workspace=workspace, person=by.person, by=str(by), at=timezone.now(), message=message, paths=paths
    )


def _bounded(paths: list[str]) -> list[str]:
    if len(paths) > MOST_PATHS:
        paths = list(dict.fromkeys(entry_of(path) for path in paths))
    return paths if len(paths) <= MOST_PATHS else [""]


def drop(workspace: Workspace) -> None:
    """The draft says again what is live: its edits are gone, except those that an open proposal is made of."""
    edits = Edit.objects.filter(workspace=workspace, revision=None)
    proposal = proposal_of(workspace)
    if proposal is None:
        edits.delete()
    else:
        edits.update(revision=proposal)


def settle(revision: Revision, document: Mapping[str, Any], draft: Mapping[str, Any]) -> None:
    """Give a published revision the edits that it is made of; those that still differ in the draft stay the draft's."""
    remaining = [change.path for change in diff(document, draft)]
    edits = edits_of(revision.workspace)
    left = {edit.pk for group in touching(remaining, edits).values() for edit in group}
    Edit.objects.filter(pk__in=[edit.pk for edit in edits if edit.pk not in left]).update(revision=revision)
