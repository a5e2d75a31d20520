"""Take back a change of the draft: exactly, where nobody changed the same field since, and not at all otherwise."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction

from routing import mapping, working
from routing.engine.errors import RegistryError
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Actor, Edit, Workspace
from routing.services import registry
from routing.services.entries import NOUNS
from routing.working import WorkingCopy

logger = logging.getLogger(__name__)
Document = dict[str, Any]
Entry = tuple[str, str]  # section, name
_MISSING: Any = object()


@transaction.atomic
def undo(workspace: Workspace, edit_id: UUID, *, by: Actor) -> Edit:
    """Take one edit of the draft back, as a change of the draft of its own; returns the edit that is gone.

    Raises NotFound when it is no edit of the draft (any more) or is too old to be taken back, StaleDraft with both sides
    of each field in `details` when something of it was changed since, and InvalidRegistry when what others did since
    needs it.
    """
    registry.lock(workspace)
    edit = Edit.objects.filter(workspace=workspace, revision=None, pk=edit_id).first()
    if edit is None or edit.step is None:
        raise NotFound("This change is no longer in the draft, or it cannot be taken back.")
    step = orjson.loads(zlib.decompress(bytes(edit.step)))
    present = working.copy_of(workspace)
    following = _written(workspace, present, step)
    said = f"{edit.by}: {', '.join(edit.paths[:5])}"[:400]
    registry.note_change(workspace, present, following, action="draft.undone", target=said, undoes=edit, by=by)
    logger.info("an edit of %s in the draft of %s taken back by %s", edit.by, workspace.name, by)
    return edit


def _written(workspace: Workspace, present: WorkingCopy, step: Document) -> WorkingCopy:
    """Both sides are compared first, so that nothing is written when one field cannot be taken back."""
    conflicts: list[Document] = []
    bodies = {
        (section, name): _entry(present, section, name, before, after, conflicts)
        for section, name, before, after in step["entries"]
    }
    for key, (before, after) in step["rest"].items():
        _same(key, present.document.get(key), after, before, conflicts)
    if conflicts:
        raise StaleDraft("What this would take back was changed since; nothing was undone.", conflicts)
    try:
        if not step["rest"] and not step["orders"] and all(section in NOUNS for section, _ in bodies):
            return _edited(workspace, present, bodies)
        following = registry.copy_for(_whole(present.document, step, bodies))
        mapping.replace(workspace, following.document)
    except RegistryError as error:
        raise InvalidRegistry("What was changed since needs this; nothing was undone.", error.problems) from None
    return following


def _entry(
    present: WorkingCopy, section: str, name: str, before: Any, after: Any, conflicts: list[Document]
) -> Document | None:
    """The entry as it should be: as before the edit, with what others changed in its other fields since."""
    theirs = present.entry(section, name)
    if theirs == after:
        return dict(before) if before is not None else None
    if before is None or after is None or theirs is None:
        _same(f"{section}[{name}]", theirs, after, before, conflicts)
        return theirs
    merged = dict(theirs)
    for field in dict.fromkeys([*before, *after]):
        mine = before.get(field, _MISSING)
        if mine == after.get(field, _MISSING):
            continue
        _same(f"{section}[{name}].{field}", theirs.get(field), after.get(field), before.get(field), conflicts)
        merged.pop(field, None)
        if mine is not _MISSING:
            merged[field] = mine
    return merged


def _same(path: str, theirs: Any, after: Any, before: Any, conflicts: list[Document]) -> None:
    if theirs != after:
        conflicts.append({"path": path, "message": "changed since", "value": theirs, "before": before})


def _edited(workspace: Workspace, present: WorkingCopy, bodies: Mapping[Entry, Document | None]) -> WorkingCopy:
    """Only fields of entries that stay where they are: no more rows are written than these have."""
    following = present
    for section in dict.fromkeys(section for section, _ in bodies):
        fresh = [body for (place, _), body in bodies.items() if place == section and body is not None]
        following = following.with_entries(section, fresh)
        mapping.update(workspace, section, [following.entry(section, body["name"]) or body for body in fresh])
    return following


def _whole(document: Mapping[str, Any], step: Document, bodies: Mapping[Entry, Document | None]) -> Document:
    told = {key: value for key, value in document.items() if key not in step["rest"]}
    told |= {key: before for key, (before, _) in step["rest"].items() if before is not None}
    for section in dict.fromkeys([*(section for section, _ in bodies), *step["orders"]]):
        fresh = {name: body for (place, name), body in bodies.items() if place == section}
        told[section] = _list(told.get(section, ()), fresh, step["orders"].get(section))
    return {key: value for key, value in told.items() if value}


def _list(
    present: Iterable[Document], fresh: Mapping[str, Document | None], order: Sequence[str] | None
) -> list[Document]:
    known = {one["name"]: one for one in present} | {name: body for name, body in fresh.items() if body is not None}
    kept = {name: body for name, body in known.items() if fresh.get(name, body) is not None}
    if order is None:
        return list(kept.values())
    places = {name: place for place, name in enumerate(order)}
    # What others added since stays behind what was there before.
    return sorted(kept.values(), key=lambda body: places.get(body["name"], len(places)))
