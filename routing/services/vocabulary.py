"""The draft's vocabulary: what uses a word, the end of one that nothing uses, and two made one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from routing import mapping, working
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.formats.rewriting import rename_entries
from routing.models import Actor, Workspace
from routing.services import entries, registry

Document = dict[str, Any]


def users(document: Mapping[str, Any], name: str) -> list[str]:
    """What refers to a capability, each in words: endpoints, capabilities that it replaces, and task rules."""
    return [
        *(f"endpoint {one['name']}" for one in document.get("endpoints", ()) if name in named_by(one)),
        *(f"capability {one['name']}" for one in document.get("capabilities", ()) if one.get("replaced_by") == name),
        *(f"task rule {n}" for n, one in enumerate(document.get("task_rules", ()), 1) if one.get("capability") == name),
    ]


def named_by(endpoint: Mapping[str, Any]) -> set[str]:
    """The capabilities that an endpoint names: those it carries, and those of its adapters."""
    carried = {one if isinstance(one, str) else one["name"] for one in endpoint.get("capabilities", ())}
    return carried | {adapter["capability"] for adapter in endpoint.get("adapters", ())}


@transaction.atomic
def remove(workspace: Workspace, name: str, *, by: Actor) -> None:
    """Take a capability out of the draft. Raises NotFound, and InvalidRegistry with the names of what uses it."""
    registry.lock(workspace)
    using = users(working.copy_of(workspace).document, name)
    if using:
        problem = {"path": "name", "message": "is still in use", "value": name, "allowed": using}
        raise InvalidRegistry("Something still uses this capability; nothing was removed.", [problem])
    entries.remove(workspace, "capabilities", [name], by=by)


@transaction.atomic
def merge(workspace: Workspace, name: str, into: str, *, read: str | None = None, message: str = "", by: Actor) -> None:
    """Let one capability be another, in one step: whatever names it names the other, which takes over its words.

    `read` is the mark of what the person saw of both. Raises NotFound, StaleDraft when that is no longer what is there,
    and InvalidRegistry when both are the same. It is one edit, of capability `name`, and is taken back as one.
    """
    registry.lock(workspace)
    before = working.copy_of(workspace)
    document = before.document
    if not {name, into} <= {one["name"] for one in document.get("capabilities", ())}:
        raise NotFound("There is no such capability in this workspace.")
    if name == into:
        raise InvalidRegistry("A capability is not merged into itself.", [{"path": "into", "message": "is the same"}])
    if read is not None and read != mark(document, name, into):
        raise StaleDraft(f"Somebody changed {name}, {into} or what names them since you looked.")
    after = registry.copy_for(merged(document, name, into))
    _write(workspace, document, after.document, name)
    target = f"capability {name} into {into}"
    registry.note_change(workspace, before, after, action="capability.merged", target=target, message=message, by=by)


def mark(document: Mapping[str, Any], name: str, into: str) -> str:
    """A mark of two capabilities and of everything that a merge of them changes."""
    known = [one for one in document.get("capabilities", ()) if one["name"] in (name, into)]
    return entries.version({"pair": known, "users": users(document, name)})


def _write(workspace: Workspace, before: Mapping[str, Any], after: Mapping[str, Any], gone: str) -> None:
    """No more rows than differ; task rules have no name to be found by, so they are written as a whole."""
    if before.get("task_rules") != after.get("task_rules"):
        return mapping.replace(workspace, after)
    for section in ("endpoints", "capabilities"):
        known = {one["name"]: one for one in before.get(section, ())}
        mapping.update(workspace, section, [one for one in after.get(section, ()) if one != known[one["name"]]])
    return mapping.remove(workspace, "capabilities", [gone])


def merged(document: Mapping[str, Any], name: str, into: str) -> Document:
    """The document after a merge."""
    known = {one["name"]: one for one in document["capabilities"]}
    joined = _joined(known[name], known[into])
    rest = [joined if one["name"] == into else one for one in document["capabilities"] if one["name"] != name]
    renamed = rename_entries({**document, "capabilities": rest}, {"capabilities": {name: into}})
    renamed["endpoints"] = [_carrying_once(one) for one in renamed.get("endpoints", ())]
    return {key: value for key, value in renamed.items() if value}


def _joined(gone: Mapping[str, Any], kept: Mapping[str, Any]) -> Document:
    lists = {
        key: list(dict.fromkeys((*kept.get(key, ()), *gone.get(key, ())))) for key in ("synonyms", "keywords", "prefer")
    }
    joined = {**kept, **{key: value for key, value in lists.items() if value}}
    return {key: value for key, value in joined.items() if (key, value) != ("replaced_by", gone["name"])}


def _carrying_once(endpoint: Document) -> Document:
    """Of two that became the same the higher level stays."""
    best: dict[str, Any] = {}
    for one in endpoint.get("capabilities", ()):
        body = {"name": one} if isinstance(one, str) else one
        held = best.get(body["name"])
        if held is None or body.get("level", 1.0) > held.get("level", 1.0):
            best[body["name"]] = body
    return {**endpoint, "capabilities": list(best.values())} if best else endpoint
