"""Who changes the draft: noted with every change, kept with the revision that takes the changes over."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.db.models import Q
from django.utils import timezone

from routing.choices import RevisionState
from routing.engine.diff import Change, diff
from routing.mapping import ENTRIES
from routing.models import Actor, Edit, Remark, Revision, Workspace
from routing.reviewing import edits_of, entry_of, proposal_of, touching

MOST_BYTES = 4_000_000  # deflated; a larger change can be discarded with the draft, but not taken back by itself
MOST_PATHS = 500  # beyond, entries are named instead of fields, and beyond again the whole document


def note(
    workspace: Workspace,
    changes: Sequence[Change],
    *,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    message: str,
    by: Actor,
) -> None:
    """Keep who made these changes, and both sides of the entries that they are in, so that they can be taken back."""
    Edit.objects.create(
        workspace=workspace,
        person=by.person,
        by=str(by),
        at=timezone.now(),
        message=message,
        paths=_bounded([change.path for change in changes]),
        step=_step(before, after),
    )


def _step(before: Mapping[str, Any], after: Mapping[str, Any]) -> bytes | None:
    """Entries with both their sides, the order that lists had, and both sides of all else; nothing when that is too much."""
    entries: list[list[Any]] = []
    orders: dict[str, list[str]] = {}
    rest: dict[str, list[Any]] = {}
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if key in ENTRIES:
            mine, theirs = ({one["name"]: one for one in side or ()} for side in (old, new))
            names = dict.fromkeys([*mine, *theirs])
            entries += [[key, n, mine.get(n), theirs.get(n)] for n in names if mine.get(n) != theirs.get(n)]
            if list(mine) != list(theirs):
                orders[key] = list(mine)
        else:
            rest[key] = [old, new]
    step = zlib.compress(orjson.dumps({"entries": entries, "orders": orders, "rest": rest}), 1)
    return step if len(step) <= MOST_BYTES else None


def _bounded(paths: list[str]) -> list[str]:
    if len(paths) > MOST_PATHS:
        paths = list(dict.fromkeys(entry_of(path) for path in paths))
    return paths if len(paths) <= MOST_PATHS else [""]


def latest(workspace: Workspace, person: str) -> Edit | None:
    """The last change of the draft that this person made; None when it left the draft as what is live."""
    return Edit.objects.filter(workspace=workspace, revision=None, person=person).order_by("-id").first()


def take_back(edit: Edit) -> str:
    """Forget an edit whose change is undone; returns whose edit is the last one then."""
    edit.delete()
    last = Edit.objects.filter(workspace_id=edit.workspace_id, revision=None).order_by("-id").first()
    return last.by if last else edit.by


def drop(workspace: Workspace) -> None:
    """The draft says again what is live: its edits are gone, except those that an open proposal or a canary is made of."""
    Remark.objects.filter(workspace=workspace, revision=None).delete()
    edits = Edit.objects.filter(workspace=workspace, revision=None)
    proposal = proposal_of(workspace) or workspace.revisions.filter(state=RevisionState.CANARY).first()
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


def hand_on(revision: Revision, before: Revision | None) -> None:
    """Give a new proposal what was said about the draft, and what is unresolved of the proposal that it follows."""
    said = Remark.objects.filter(workspace=revision.workspace)
    said.filter(revision=None).update(revision=revision)
    if before is not None:
        open_ones = list(said.filter(revision=before, answers=None, resolved_at=None).values_list("pk", flat=True))
        said.filter(Q(pk__in=open_ones) | Q(answers__in=open_ones)).update(revision=revision)
