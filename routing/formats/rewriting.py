"""Give entries of a valid document other names, wherever these are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from routing.engine.naming import EndpointNames, public_name, split_name
from routing.engine.validation.expectations import TOOL_LISTS, TOP_LISTS

GROUP = "group:"
Names = Mapping[str, Mapping[str, str]]  # section -> old name -> new name


def rename_entries(document: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """The document with `names` applied to entries and to everything that refers to them."""
    rewrite = _Rewrite(document, names)
    renamed = dict(document)
    if "gateway" in document:
        renamed["gateway"] = _with(document["gateway"], {"pins": _each(rewrite.target)})
    if "groups" in document:
        renamed["groups"] = {
            rewrite.named("groups", group): _each(rewrite.target)(members)
            for group, members in document["groups"].items()
        }
    for section, fields in rewrite.fields().items():
        if section in document:
            own = {"name": lambda name, section=section: rewrite.named(section, name)}
            renamed[section] = [
                _with(entry, {**own, **fields}) if isinstance(entry, Mapping) else entry for entry in document[section]
            ]
    if "endpoints" in document:
        renamed["endpoints"] = [
            rewrite.hints(old, new) for old, new in zip(document["endpoints"], renamed["endpoints"], strict=True)
        ]
    return renamed


class _Rewrite:
    def __init__(self, document: Mapping[str, Any], names: Names) -> None:
        self._names = names
        self._spellings = {
            endpoint["name"]: EndpointNames(endpoint["name"], [tool["name"] for tool in endpoint.get("tools", ())])
            for endpoint in document.get("endpoints", ())
        }

    def named(self, section: str, name: str) -> str:
        return self._names.get(section, {}).get(name, name)

    def target(self, name: str) -> str:
        """An endpoint, `endpoint__*`, a tool in either spelling, or `group:NAME`."""
        if name.startswith(GROUP):
            return GROUP + self.named("groups", name.removeprefix(GROUP))
        parts = split_name(name)
        if parts is None:
            return self.named("endpoints", name)
        endpoint, tool = parts
        wire = self._spellings[endpoint].wire(tool) if endpoint in self._spellings else None
        new = self.named("endpoints", endpoint)
        # Under another endpoint a fragment may mean another tool; the wire name never does.
        return name if new == endpoint else public_name(new, wire or tool)

    def hints(self, endpoint: Mapping[str, Any], renamed: Mapping[str, Any]) -> Mapping[str, Any]:
        """Keys of an endpoint's `tool_use_when` that carry its own name; what is a tool's published name stays."""
        keyed = endpoint.get("tool_use_when")
        if not keyed or renamed["name"] == endpoint["name"]:
            return renamed
        return {
            **renamed,
            "tool_use_when": {self._hint_key(endpoint["name"], key): hints for key, hints in keyed.items()},
        }

    def _hint_key(self, endpoint: str, key: str) -> str:
        parts = split_name(key)
        is_own = parts is not None and parts[0] == endpoint and self._spellings[endpoint].wire(key) is None
        return self.target(key) if is_own else key

    def fields(self) -> dict[str, dict[str, Callable[[Any], Any]]]:
        """For each section, how the fields that name something are rewritten."""
        targets, target = _each(self.target), self.target
        return {
            "providers": {},
            "endpoints": {"capabilities": _each(self._capability), "adapters": _each(self._of_capability)},
            "task_rules": {"capability": self._capability, "endpoint": target},
            "capabilities": {"prefer": targets, "replaced_by": lambda name: self.named("capabilities", name)},
            "scopes": {
                "endpoints": targets, "tools": targets, "deny": targets, "pins": targets, "default_endpoint": target,
                "policy": self._policy, "policies": _each(self._policy),
            },
            "policies": {
                "extends": self._policy,
                "router": lambda block: _with(block, {"providers": _each(lambda name: self.named("providers", name))}),
                "selection": lambda block: _with(block, {"fallback_endpoints": targets}),
                "turns": lambda block: _with(block, {"summarizer": target}),
                "execution": lambda block: _with(block, {"rules": _each(lambda rule: _with(rule, {"endpoint": target, "tool": target}))}),
            },
            "expectations": {
                "scope": lambda name: self.named("scopes", name), "offline": targets, "endpoint": target, "expect": self._expect,
            },
        }  # fmt: skip

    def _policy(self, name: str) -> str:
        return self.named("policies", name)

    def _capability(self, capability: Any) -> Any:
        if isinstance(capability, Mapping):
            return _with(capability, {"name": lambda name: self.named("capabilities", name)})
        return self.named("capabilities", capability)

    def _of_capability(self, adapter: Any) -> Any:
        return _with(adapter, {"capability": self._capability}) if isinstance(adapter, Mapping) else adapter

    def _expect(self, expect: Mapping[str, Any]) -> dict[str, Any]:
        lists = dict.fromkeys(TOOL_LISTS, _each(self.target))
        tops = dict.fromkeys(TOP_LISTS, lambda top: _with(top, {"tools": _each(self.target)}))
        return _with(expect, {"recommendation": self.target, **lists, **tops})


def _each(rewrite: Callable[[Any], Any]) -> Callable[[Iterable[Any]], list[Any]]:
    return lambda values: [rewrite(value) for value in values]


def _with(entry: Mapping[str, Any], rewrites: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """The entry with some of its fields rewritten, where it has them."""
    return {
        key: rewrites[key](value) if key in rewrites and value is not None else value for key, value in entry.items()
    }
