"""Writing values as a document: fields in the order of the document, those equal to their default left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from routing.engine.policies import BLOCKS, Setting
from routing.engine.registry import Endpoint, EndpointCapability, Policy, Provider, Registry, Scope
from routing.engine.validation.scopes import DEFAULT_CREDENTIAL, PROVIDER_DEFAULTS


def to_document(registry: Registry) -> dict[str, Any]:
    """The shortest document that parses to these values."""
    document: dict[str, Any] = {"version": 1}
    document.update(_plain(registry))
    return document


def entry_document(value: Any) -> dict[str, Any]:
    """One endpoint, scope, policy … as it stands in a document."""
    entry: dict[str, Any] = _plain(value)
    return entry


def _plain(value: Any) -> Any:
    if isinstance(value, EndpointCapability) and value == EndpointCapability(name=value.name):
        return value.name
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: _plain(content) for key, content in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(content) for content in value]
    return value


def _fields(value: Any) -> dict[str, Any]:
    usual = _usual(value)
    written: dict[str, Any] = {}
    for spec in fields(value):
        content = getattr(value, spec.name)
        default = usual.get(spec.name, spec.default_factory() if spec.default_factory is not MISSING else spec.default)
        if _same(content, default):
            continue
        if isinstance(value, Policy) and spec.name in BLOCKS:
            content = _settings(content, BLOCKS[spec.name]) if value.extends is None else content
            if not content:
                continue
        if is_dataclass(content) and not (content := _fields(content)):
            continue
        written[spec.name] = _plain(content)
    return written


def _same(content: Any, default: Any) -> bool:
    """Equal in the document: 30 and 30.0 are, 1 and true are not, and nothing equals a default that there is not."""
    return content == default and isinstance(content, bool) == isinstance(default, bool)


def _usual(value: Any) -> dict[str, Any]:
    """Defaults that depend on other fields."""
    match value:
        case Provider():
            credential = None if value.kind == "local" else DEFAULT_CREDENTIAL
            return {"url": None, "path": None, **PROVIDER_DEFAULTS.get(value.kind, {}), "credential": credential}
        case Endpoint():
            return {"effective_context": value.context_window}
        case Scope():
            return {"policies": None if value.policies != (value.policy,) else value.policies}
        case Policy() if value.extends is not None:
            return {"routing": None}
        case _:
            return {}


def _settings(given: Mapping[str, Any], settings: tuple[Setting, ...]) -> dict[str, Any]:
    """A block without what is the default anyway. Only for policies that extend nothing: below a parent, the default
    written out may be what brings it back."""
    written: dict[str, Any] = {}
    for setting in settings:
        if setting.name not in given:
            continue
        content = given[setting.name]
        if setting.type == "block":
            content = _settings(content, setting.settings)
            if not content:
                continue
        elif _plain(content) == _plain(setting.default):
            continue
        written[setting.name] = content
    return written
