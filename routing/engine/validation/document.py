"""Reading a whole registry document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from routing.engine.errors import RegistryError
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
    return Parsed(registry=registry, warnings=problems.warnings)


def with_endpoint(registry: Registry, endpoint: Mapping[str, Any]) -> Registry:
    """The registry with this endpoint in place of the one of its name, or behind all others; nothing else is read again.

    Raises RegistryError when the endpoint breaks a rule, or what refers to it would.
    """
    problems = Problems()
    known = [one.name for one in registry.endpoints]
    name = endpoint.get("name")
    place = known.index(name) if name in known else len(known)
    read = read_endpoint(endpoint, item("endpoints", place), problems)
    problems.raise_if_any()
    if read is None:
        raise RegistryError(({"path": item("endpoints", place), "message": "is no endpoint"},))
    found = replace(registry, endpoints=(*registry.endpoints[:place], read, *registry.endpoints[place + 1 :]))
    lists = ("endpoints", "capabilities", "scopes", "policies", "expectations")
    places = {one: [item(one, number) for number in range(len(getattr(found, one)))] for one in lists}
    check_references(found, places, problems)
    problems.raise_if_any()
    return found


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
