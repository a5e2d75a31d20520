"""The draft's vocabulary: what uses a word, and the end of one that nothing uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from routing import working
from routing.errors import InvalidRegistry
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
