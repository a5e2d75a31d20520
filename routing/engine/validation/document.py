"""Reading a whole registry document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from routing.engine.execution_review import review_rules
from routing.engine.registry import JsonObject, Registry
from routing.engine.validation.endpoints import read_endpoint
from routing.engine.validation.expectations import read_expectation
from routing.engine.validation.policies import check_policies, read_policy
from routing.engine.validation.problems import Problems, child, item
from routing.engine.validation.reader import Read, Reader, items, json_value, kind_of
from routing.engine.validation.references import check_references
from routing.engine.validation.scopes import read_capability, read_gateway, read_groups, read_provider, read_scope

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    registry: Registry
    warnings: tuple[Mapping[str, str], ...] = ()


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_HasName)


def parse_document(document: Mapping[str, Any]) -> Parsed:
    """The document as values, with warnings. Raises RegistryError with every problem when it breaks a rule."""
    problems = Problems()
    r = Reader(document, "", problems)
    _check_version(r)
    places: dict[str, list[str]] = {}
    registry = Registry(
        gateway=read_gateway(r.raw("gateway", {}), "gateway", problems),
        groups=read_groups(r.raw("groups", {}), "groups", problems),
        providers=_named(r, "providers", read_provider, places),
        endpoints=_named(r, "endpoints", read_endpoint, places),
        capabilities=_named(r, "capabilities", read_capability, places),
        scopes=_named(r, "scopes", read_scope, places),
        policies=_named(r, "policies", read_policy, places),
        task_rules=r.listed("task_rules", _read_object),
        contracts=r.listed("contracts", _read_object),
        expectations=_named(r, "expectations", read_expectation, places),
    )
    r.close()
    accounts = [provider.name for provider in registry.providers]
    check_policies(list(zip(places["policies"], registry.policies, strict=True)), accounts, problems)
    check_references(registry, places, problems)
    problems.raise_if_any()
    _warn_of_rules(registry, places["policies"], problems)
    return Parsed(registry=registry, warnings=problems.warnings)


def _warn_of_rules(registry: Registry, paths: Iterable[str], problems: Problems) -> None:
    """Execution rules that never decide or say nothing new: warnings, since a tool may come that they are meant for."""
    places = dict(zip((policy.name for policy in registry.policies), paths, strict=True))
    for note in review_rules(registry):
        problems.warn(f"{places[note.policy]}.execution.{note.rule}", note.message)


# What one entry of each list is read with, where a change of one must not cost the reading of all others.
_READERS: dict[str, Read[Any]] = {
    "providers": read_provider,
    "endpoints": read_endpoint,
    "capabilities": read_capability,
    "scopes": read_scope,
    "policies": read_policy,
    "expectations": read_expectation,
}
SECTIONS = tuple(_READERS)


def with_endpoint(registry: Registry, endpoint: Mapping[str, Any]) -> Registry:
    """The registry with this endpoint in place of the one of its name; see `with_entries`."""
    return with_entries(registry, "endpoints", [endpoint])


def with_entries(registry: Registry, section: str, bodies: Iterable[Mapping[str, Any]]) -> Registry:
    """The registry with these entries in place of those of their names, or behind all others; no other entry is read again.

    `section` is one of SECTIONS. Raises RegistryError when an entry breaks a rule, or what refers to it would.
    """
    problems = Problems()
    found = {one.name: one for one in getattr(registry, section)}
    places = {name: place for place, name in enumerate(found)}
    for body in bodies:
        path = item(section, places.setdefault(str(body.get("name")), len(places)))
        read = _READERS[section](body, path, problems)
        if read is None:
            problems.add(path, "cannot be read")
        else:
            found[read.name] = read
    problems.raise_if_any()
    return _agreed(_with(registry, section, found.values()))


def without_entries(registry: Registry, section: str, names: Iterable[str]) -> Registry:
    """The registry without these entries. Raises RegistryError when something that stays refers to one of them."""
    gone = set(names)
    return _agreed(_with(registry, section, (one for one in getattr(registry, section) if one.name not in gone)))


def _with(registry: Registry, section: str, entries: Iterable[Any]) -> Registry:
    changed: dict[str, Any] = {section: tuple(entries)}
    return replace(registry, **changed)


def _agreed(registry: Registry) -> Registry:
    """The same registry, once what its entries say of each other holds."""
    problems = Problems()
    places = {one: [item(one, place) for place in range(len(getattr(registry, one)))] for one in SECTIONS}
    accounts = [provider.name for provider in registry.providers]
    check_policies(list(zip(places["policies"], registry.policies, strict=True)), accounts, problems)
    check_references(registry, places, problems)
    problems.raise_if_any()
    return registry


def _check_version(r: Reader) -> None:
    version = r.raw("version")
    if not r.given("version"):
        if r.readable:
            r.wrong("version", "is required", allowed=[VERSION])
    elif isinstance(version, bool) or version != VERSION:
        r.wrong("version", "is a version that is not known", value=version, allowed=[VERSION])


def _named(r: Reader, key: str, read: Read[T], places: dict[str, list[str]]) -> tuple[T, ...]:
    """A list of things with unique names; notes the path of each that could be read."""
    found: list[T] = []
    first_at: dict[str, str] = {}
    places[key] = []

    def placed(value: object, path: str, problems: Problems) -> None:
        answer = read(value, path, problems)
        if answer is None:
            return
        if answer.name in first_at:
            problems.add(child(path, "name"), f"is the name of {first_at[answer.name]} too", value=answer.name)
            return
        first_at[answer.name] = path
        found.append(answer)
        places[key].append(path)

    items(r.raw(key, ()), key, r.problems, placed)
    return tuple(found)


def _read_object(value: object, path: str, problems: Problems) -> JsonObject | None:
    if isinstance(value, Mapping):
        copy: JsonObject = json_value(value, path, problems)
        return copy
    problems.add(path, f"must be a mapping, not {kind_of(value)}", value=value)
    return None
