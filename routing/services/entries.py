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
from routing.models import Actor, Workspace
from routing.sealing import keyed_digest
from routing.services import registry, targets
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


@transaction.atomic
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
    registry.lock(workspace)
    present = working.copy_of(workspace)
    before = _found(present, section, name)
    if read is not None and read != version(before):
        raise StaleDraft(
            f"Somebody changed this {NOUNS[section]} since you opened it.",
            [{"path": name, "message": "changed", "value": before}],
        )
    after = _changed(before, changes)
    if section == "endpoints":
        targets.check(workspace, before, after, changes)
    following = _write(workspace, present, section, [after], by=by, message=message)
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
    message: str = "",
) -> int:
    """Change several entries in one step, all or none; `change` is given each entry and says which fields change how.

    Returns how many say something else now. Raises NotFound for a name that is not there, and InvalidRegistry with paths
    from the document's root.
    """
    registry.lock(workspace)
    present = working.copy_of(workspace)
    known = {name: _found(present, section, name) for name in dict.fromkeys(names)}
    changes = {name: change(dict(body)) for name, body in known.items()}
    bodies = [_changed(body, changes[name]) for name, body in known.items()]
    if section == "endpoints":
        for body in bodies:
            targets.check(workspace, known[body["name"]], body, changes[body["name"]])
    different = [body for body in bodies if body != known[body["name"]]]
    if different:
        _write(workspace, present, section, different, by=by, message=message)
    return len(different)


@transaction.atomic
def add(workspace: Workspace, section: str, body: Mapping[str, Any], *, by: Actor, message: str = "") -> Document:
    """A new entry behind all others. Raises InvalidRegistry with paths below it, also when its name is taken."""
    registry.lock(workspace)
    present = working.copy_of(workspace)
    name = str(body.get("name", ""))
    if present.entry(section, name) is not None:
        taken = {"path": "name", "message": f"is the name of another {NOUNS[section]} already", "value": name}
        raise InvalidRegistry(f"There is a {NOUNS[section]} {name} already; nothing was saved.", [taken])
    if section == "endpoints":
        targets.check(workspace, None, body, body)
    following = _write(workspace, present, section, [body], by=by, verb="added", message=message)
    return dict(_found(following, section, name))


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
) -> WorkingCopy:
    try:
        following = present.with_entries(section, bodies)
    except RegistryError as error:
        problems = _placed(present, section, bodies, error.problems)
        raise InvalidRegistry("This change breaks a rule of the registry; nothing was saved.", problems) from None
    names = [body["name"] for body in bodies]
    mapping.update(workspace, section, [_found(following, section, name) for name in names])
    _note(workspace, present, following, section, names, verb=verb, by=by, message=message)
    return following


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
