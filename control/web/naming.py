"""Who names an endpoint, told with links: on its page, and when it cannot be removed for that."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from routing import mentions, working
from routing.engine.errors import RegistryError
from routing.engine.naming import EndpointNames, ToolNames
from routing.models import Workspace

PAGES = {"scope": "scope", "policy": "policy", "capability": "capability"}


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Something that names an endpoint, where it does so, and its page if it has one."""

    noun: str
    name: str
    places: tuple[str, ...]
    address: str


def users(workspace: Workspace, endpoint: str) -> list[User]:
    """What in the draft names this endpoint or one of its tools, each once."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in mentions.of_endpoints(working.copy_of(workspace).registry, [endpoint]):
        place = one.place if one.target == endpoint else f"{one.place} ({one.target})"
        found.setdefault((one.noun, one.name), {})[place] = True
    return [
        User(noun=noun, name=name, places=tuple(places), address=_address(workspace, noun, name))
        for (noun, name), places in found.items()
    ]


def users_of_tools(workspace: Workspace, endpoint: str, wires: Collection[str]) -> list[str]:
    """What in the draft names one of these tools, each in a sentence."""
    copy = working.copy_of(workspace)
    known = (copy.entry("endpoints", endpoint) or {}).get("tools", ())
    names = ToolNames({endpoint: EndpointNames(endpoint, [tool["name"] for tool in known])}.get)
    found = [
        one
        for one in mentions.of_endpoints(copy.registry, [endpoint])
        if (pair := names.pair(one.target)) is not None and pair[1] in wires
    ]
    return [f"{one.who[:1].upper()}{one.who[1:]} names {one.target} {one.place}." for one in found]


def holds(workspace: Workspace, endpoint: str) -> bool:
    """Whether the draft needs this endpoint: something names it that may name only what is there."""
    try:
        working.copy_of(workspace).without_entries("endpoints", [endpoint])
    except RegistryError:
        return True
    return False


def _address(workspace: Workspace, noun: str, name: str) -> str:
    return reverse(PAGES[noun], args=[workspace.name, name]) if noun in PAGES else ""
