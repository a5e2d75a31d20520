"""Entries of the draft: change one or many, add one, remove some.

An entry is an endpoint, capability, scope, policy, provider or expectation; `section` names its list in the document. Each
change is checked against the whole document and lands in the draft alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import transaction

from routing import mapping, working
from routing.engine.canonical import canonical_json
from routing.engine.errors import RegistryError
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Actor, Edit, Workspace
from routing.reviewing import touching
from routing.sealing import keyed_digest
from routing.services import audit, registry, targets
from routing.working import WorkingCopy

logger = logging.getLogger(__name__)
Document = dict[str, Any]
NOUNS = {
    "providers": "provider",
    "endpoints": "endpoint",
    "capabilities": "capability",
    "scopes": "scope",
    "policies": "policy",
    "expectations": "expectation",
}


def version(body: Mapping[str, Any]) -> str:
    """A mark of an entry, or of a part of one, as somebody read it, to notice that somebody else changed it since."""
    return keyed_digest("entry-version", canonical_json(body).decode())[:16]


def edit(
    workspace: Workspace,
    section: str,
    name: str,
    changes: Mapping[str, Any],
    *,
    by: Actor,
    read: str | None = None,
    message: str = "",
) -> Document:
    """Change fields of one entry; `None` drops a field back to its default. Returns the entry as the draft has it now.

    Raises NotFound, StaleDraft (with the present entry in `details`) when `read` is given and is no longer its version,
    and InvalidRegistry with paths below the entry.
    """
    found = targets.look_up(section, changes)
    with transaction.atomic():
        return _edit(workspace, section, name, changes, found, by=by, read=read, message=message)


def _edit(
    workspace: Workspace,
    section: str,
    name: str,
    changes: Mapping[str, Any],
    found: Sequence[Any],
    *,
    by: Actor,
    read: str | None,
    message: str,
) -> Document:
    registry.lock(workspace)
    present = working.copy_of(workspace)
    before = _found(present, section, name)
    if read is not None and read != version(before):
        registry.refuse_where_a_file_is_the_source(workspace)  # to merge would lead nowhere
        raise StaleDraft(
            f"Somebody changed this {NOUNS[section]} since you opened it.",
            [{"path": name, "message": "changed", "value": before}],
        )
    after = _changed(before, changes)
    refused = targets.refusals(section, workspace, before, after, changes, found)
    following = _write(workspace, present, section, [after], by=by, message=message, refused=refused)
    logger.info(
        "%s %s of %s edited by %s: %s", NOUNS[section], name, workspace.name, by, ", ".join(sorted(map(str, changes)))
    )
    return dict(_found(following, section, name))


@transaction.atomic
def edit_many(
    workspace: Workspace,
    section: str,
    names: Sequence[str],
    change: Callable[[Document], Mapping[str, Any]],
    *,
    by: Actor,
    seen: int | None = None,
    message: str = "",
) -> int:
    """Change several entries in one step, all or none; `change` is given each entry and says which fields change how.

    Returns how many say something else now. Raises NotFound for a name that is not there, StaleDraft when `seen` is given
    and is no longer the draft's version, and InvalidRegistry with paths from the document's root.
    """
    registry.lock(workspace)
    if seen is not None and seen != Workspace.objects.values_list("draft_version", flat=True).get(pk=workspace.pk):
        raise StaleDraft("The draft changed since this was looked at.")
    present = working.copy_of(workspace)
    known = {name: _found(present, section, name) for name in dict.fromkeys(names)}
    changes = {name: change(dict(body)) for name, body in known.items()}
    bodies = [_changed(body, changes[name]) for name, body in known.items()]
    for body in bodies:
        refused = targets.refusals(section, workspace, known[body["name"]], body, changes[body["name"]])
        if refused:
            raise InvalidRegistry("This change was not saved.", refused)
    different = [body for body in bodies if body != known[body["name"]]]
    if different:
        _write(workspace, present, section, different, by=by, message=message)
    return len(different)


def add(workspace: Workspace, section: str, body: Mapping[str, Any], *, by: Actor, message: str = "") -> Document:
    """A new entry behind all others. Raises InvalidRegistry with paths below it, also when its name is taken."""
    found = targets.look_up(section, body)
    with transaction.atomic():
        return _add(workspace, section, body, found, by=by, message=message)


def _add(
    workspace: Workspace, section: str, body: Mapping[str, Any], found: Sequence[Any], *, by: Actor, message: str
) -> Document:
    registry.lock(workspace)
    present = working.copy_of(workspace)
    refused = _unfit(workspace, present, section, body, found)
    following = _write(workspace, present, section, [body], by=by, verb="added", message=message, refused=refused)
    return dict(_found(following, section, str(body["name"])))


def _unfit(
    workspace: Workspace, present: WorkingCopy, section: str, body: Mapping[str, Any], found: Sequence[Any]
) -> list[Mapping[str, Any]]:
    """What a new entry is refused for beside the rules of the document."""
    name = str(body.get("name", ""))
    taken = {"path": "name", "message": f"is the name of another {NOUNS[section]} already", "value": name}
    misled = targets.refusals(section, workspace, None, body, body, found)
    return [taken, *misled] if present.entry(section, name) is not None else misled


def refusals(
    workspace: Workspace, section: str, name: str | None, given: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """All that an edit of an entry, or without a name a new one, would be refused for; nothing is written."""
    found = targets.look_up(section, given)
    present = working.copy_of(workspace)
    if name is None:
        body, refused = dict(given), _unfit(workspace, present, section, given, found)
    else:
        before = _found(present, section, name)
        body = _changed(before, given)
        refused = targets.refusals(section, workspace, before, body, given, found)
    return _tried(present, section, [body], refused)[1]


@transaction.atomic
def remove(workspace: Workspace, section: str, names: Sequence[str], *, by: Actor, message: str = "") -> None:
    """Take entries out of the draft. Raises NotFound, and InvalidRegistry that names what still refers to one of them."""
    registry.lock(workspace)
    present = working.copy_of(workspace)
    for name in names:
        _found(present, section, name)
    try:
        following = present.without_entries(section, names)
    except RegistryError as error:
        raise InvalidRegistry("Something else still refers to this; nothing was removed.", error.problems) from None
    mapping.remove(workspace, section, names)
    _note(workspace, present, following, section, names, verb="removed", by=by, message=message)


@transaction.atomic
def rename(workspace: Workspace, section: str, name: str, to: str, *, by: Actor, message: str = "") -> Document:
    """Give an entry to which nothing else refers another name; it stands behind all others then. Raises NotFound, and
    InvalidRegistry when the name is taken or is none, or when something refers to the entry."""
    registry.lock(workspace)
    present = working.copy_of(workspace)
    body = {**_found(present, section, name), "name": to}
    if refused := _unfit(workspace, present, section, body, targets.look_up(section, body)):
        raise InvalidRegistry("This name was not saved.", refused)
    try:
        less = present.without_entries(section, [name])
    except RegistryError as error:
        raise InvalidRegistry("Something else still refers to this; it was not renamed.", error.problems) from None
    following, problems = _tried(less, section, [body], ())
    if following is None:
        raise InvalidRegistry("This change breaks a rule of the registry; nothing was saved.", problems)
    mapping.remove(workspace, section, [name])
    mapping.update(workspace, section, [_found(following, section, to)])
    _note(workspace, present, following, section, [to], verb="renamed", by=by, message=message)
    return dict(_found(following, section, to))


@transaction.atomic
def explain(workspace: Workspace, section: str, name: str, path: str, note: str, *, by: Actor) -> bool:
    """Say why of the draft's last change, when it was one's own and of this path. Returns whether it was."""
    registry.lock(workspace)
    last = Edit.objects.filter(workspace=workspace, revision=None).order_by("-id").first()
    if last is None or last.person != by.person or not touching([path], [last])[path]:
        return False
    before, last.message = {"message": last.message}, note
    last.save(update_fields=["message"])
    noun = NOUNS[section]
    audit.record(workspace.pk, f"{noun}.explained", f"{noun} {name}", by=by, before=before, message=note)
    return True


def _found(present: WorkingCopy, section: str, name: str) -> Document:
    body = present.entry(section, name)
    if body is None:
        raise NotFound(f"There is no {NOUNS[section]} {name} in this workspace.")
    return body


def _changed(body: Mapping[str, Any], changes: Mapping[str, Any]) -> Document:
    return {key: value for key, value in {**body, **changes}.items() if value is not None}


def _write(
    workspace: Workspace,
    present: WorkingCopy,
    section: str,
    bodies: Sequence[Mapping[str, Any]],
    *,
    by: Actor,
    verb: str = "changed",
    message: str = "",
    refused: Sequence[Mapping[str, Any]] = (),
) -> WorkingCopy:
    following, problems = _tried(present, section, bodies, refused)
    if following is None:
        raise InvalidRegistry("This change breaks a rule of the registry; nothing was saved.", problems)
    names = [body["name"] for body in bodies]
    mapping.update(workspace, section, [_found(following, section, name) for name in names])
    _note(workspace, present, following, section, names, verb=verb, by=by, message=message)
    return following


def _tried(
    present: WorkingCopy,
    section: str,
    bodies: Sequence[Mapping[str, Any]],
    refused: Sequence[Mapping[str, Any]],
) -> tuple[WorkingCopy | None, Sequence[Mapping[str, Any]]]:
    """The working copy with these entries; or None and all problems at once, those of the document behind `refused`."""
    try:
        following = present.with_entries(section, bodies)
    except RegistryError as error:
        return None, [*refused, *_placed(present, section, bodies, error.problems)]
    return (None if refused else following), refused


def _placed(
    present: WorkingCopy, section: str, bodies: Sequence[Mapping[str, Any]], problems: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Problems of a single entry with paths below it."""
    if len(bodies) != 1:
        return list(problems)
    known = [one["name"] for one in present.document.get(section, ())]
    name = bodies[0].get("name")
    prefix = f"{section}[{known.index(name) if name in known else len(known)}]."
    return [{**problem, "path": problem["path"].removeprefix(prefix)} for problem in problems]


def _note(
    workspace: Workspace,
    present: WorkingCopy,
    following: WorkingCopy,
    section: str,
    names: Sequence[str],
    *,
    verb: str,
    by: Actor,
    message: str,
) -> None:
    noun = NOUNS[section]
    target = f"{noun} {names[0]}" if len(names) == 1 else f"{len(names)} {section}"
    registry.note_change(workspace, present, following, action=f"{noun}.{verb}", target=target, message=message, by=by)
