"""Bring an imported document into one that exists, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from routing.engine.registry import Gateway
from routing.formats.rewriting import rename_entries

STRATEGIES = ("update", "skip", "rename", "refuse")
SECTIONS = {
    "providers": "provider", "endpoints": "endpoint", "capabilities": "capability", "scopes": "scope", "policies": "policy",
    "expectations": "expectation",
}  # fmt: skip
_LISTS = ("task_rules", "contracts")
_ORDER = (
    "version", "gateway", "groups", "providers", "endpoints", "capabilities", "scopes", "policies", "task_rules", "contracts", "expectations",
)  # fmt: skip


Choices = Mapping[tuple[str, str], str]  # (kind, name) -> strategy
_Chosen = Callable[[str, str], str]


@dataclass(slots=True)
class Merged:
    document: dict[str, Any]
    actions: dict[tuple[str, str], str] = field(
        default_factory=dict
    )  # (kind, name) -> added | updated | skipped | renamed | refused


def merge(
    present: Mapping[str, Any],
    imported: Mapping[str, Any],
    *,
    strategy: str = "update",
    choices: Choices | None = None,
    keep_tools: bool = False,
    gateway: Mapping[str, Any] | None = None,
    assumed: Mapping[str, Any] | None = None,
) -> Merged:
    """What `present` says, with what `imported` adds. Where both have an entry of one name the strategy decides:
    take the imported one, keep the present one, take both under two names, or refuse. Equal entries are left alone.
    `choices` names another strategy for single entries, by their names in the import.

    `keep_tools` keeps an endpoint's known tools when the import does not list any. `gateway` holds the settings that the
    import itself states (by default those of its document), `assumed` those that it means where there is nothing yet.
    """
    if keep_tools:
        imported = _with_known_tools(present, imported)
    picked = choices or {}

    def chosen(kind: str, name: str) -> str:
        return picked.get((kind, name), strategy)

    renamed: set[tuple[str, str]] = set()
    if "rename" in {strategy, *picked.values()}:
        imported, renamed = _rename_clashes(present, imported, chosen)
    merged = Merged(document=dict(present))
    stated = imported.get("gateway", {}) if gateway is None else gateway
    is_new = not present.get("gateway") and not present.get("endpoints")
    _merge_gateway(merged, {**(assumed or {}), **stated} if is_new else stated, strategy)
    _merge_groups(merged, imported, chosen, renamed)
    for section, kind in SECTIONS.items():
        _merge_section(merged, imported, section, kind, chosen, renamed)
    for section in _LISTS:
        known = list(present.get(section, ()))
        merged.document[section] = known + [one for one in imported.get(section, ()) if one not in known]
    document = merged.document
    merged.document = {key: document[key] for key in _ORDER if key in document and document[key] not in ([], {})}
    return merged


def _merge_gateway(merged: Merged, stated: Mapping[str, Any], strategy: str) -> None:
    """Setting by setting: what is not stated stays. One setting cannot stand under two names, so `rename` keeps it too."""
    settings = dict(merged.document.get("gateway", {}))
    usual = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(Gateway()).items()}
    for key, value in stated.items():
        if settings.get(key, usual.get(key)) == value:
            continue
        action = "updated" if key not in settings else _action(settings[key], value, strategy.replace("rename", "skip"))
        if action == "updated":
            settings[key] = value
        merged.actions["gateway", key] = action
    merged.document["gateway"] = settings


def _merge_groups(merged: Merged, imported: Mapping[str, Any], chosen: _Chosen, renamed: set[tuple[str, str]]) -> None:
    groups = dict(merged.document.get("groups", {}))
    for name, members in imported.get("groups", {}).items():
        action = _action(groups.get(name), members, chosen("group", name))
        if action in ("added", "updated"):
            groups[name] = list(members)
        merged.actions["group", name] = "renamed" if ("group", name) in renamed else action
    merged.document["groups"] = groups


def _merge_section(
    merged: Merged, imported: Mapping[str, Any], section: str, kind: str, chosen: _Chosen, renamed: set[tuple[str, str]]
) -> None:
    entries = list(merged.document.get(section, ()))
    places = {entry["name"]: place for place, entry in enumerate(entries)}
    for entry in imported.get(section, ()):
        name = entry["name"]
        place = places.get(name)
        action = _action(None if place is None else entries[place], entry, chosen(kind, name))
        if place is None:
            entries.append(entry)
        elif action == "updated":
            entries[place] = entry
        merged.actions[kind, name] = "renamed" if (kind, name) in renamed else action
    merged.document[section] = entries


def _action(known: Any, entry: Any, strategy: str) -> str:
    if known is None:
        return "added"
    if known == entry or strategy == "skip":
        return "skipped"
    return "refused" if strategy == "refuse" else "updated"


def _with_known_tools(present: Mapping[str, Any], imported: Mapping[str, Any]) -> dict[str, Any]:
    tools = {endpoint["name"]: endpoint["tools"] for endpoint in present.get("endpoints", ()) if "tools" in endpoint}
    endpoints = [
        {**endpoint, "tools": tools[endpoint["name"]]}
        if "tools" not in endpoint and endpoint["name"] in tools
        else endpoint
        for endpoint in imported.get("endpoints", ())
    ]
    return {**imported, "endpoints": endpoints}


def _rename_clashes(
    present: Mapping[str, Any], imported: Mapping[str, Any], chosen: _Chosen
) -> tuple[dict[str, Any], set[tuple[str, str]]]:
    """The imported document with new names for entries that differ from present ones, and which those are."""
    names: dict[str, dict[str, str]] = {}
    renamed: set[tuple[str, str]] = set()
    for section, kind in {**SECTIONS, "groups": "group"}.items():
        known, new = _by_name(present, section), _by_name(imported, section)
        clashes = [
            name for name in new if name in known and known[name] != new[name] and chosen(kind, name) == "rename"
        ]
        taken = set(known) | set(new)
        names[section] = {}
        for name in clashes:
            names[section][name] = unused = _unused(name, taken)
            taken.add(unused)
            renamed.add((kind, unused))
    return rename_entries(imported, names), renamed


def _by_name(document: Mapping[str, Any], section: str) -> dict[str, Any]:
    entries = document.get(section, {})
    return dict(entries) if isinstance(entries, Mapping) else {entry["name"]: entry for entry in entries}


def _unused(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name[:58]}-{number}" in taken:
        number += 1
    return f"{name[:58]}-{number}"
