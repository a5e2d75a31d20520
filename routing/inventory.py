"""Lists over a compiled catalog: its tools filtered, sorted and cut into pages, and what a scope reaches.

A catalog lies in memory and never changes, so these need no database. What a scope reaches is asked of the catalog's own
view of that scope, the one from which harnesses are answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from routing.engine import Catalog
from routing.engine.catalog import DEFAULT
from routing.engine.inference import Traits, describe_traits
from routing.engine.naming import EndpointNames, ToolNames
from routing.engine.parts import TEXT_LIMIT, ToolDoc
from routing.engine.permission import rules
from routing.engine.registry import TRAITS, Endpoint, Registry, Scope, Tool

PAGE = 50
Listed = Any  # a tool as lists show it: a ToolDoc of what is live, or a DraftedTool
RISKS = ("low", "medium", "high", "critical")
EFFECTS = ("read", "write", "execute", "erase")  # from harmless to harmful
PROVENANCES = ("declared", "annotation", "inferred", "overridden")
SORTS: dict[str, Callable[[Listed], Any]] = {
    "tool": lambda doc: doc.public,
    "endpoint": lambda doc: doc.endpoint.name,
    "category": lambda doc: doc.traits.category,
    "risk": lambda doc: _place(RISKS, doc.traits.risk),
    "effect": lambda doc: _place(EFFECTS, doc.traits.effect),
}


def _place(order: Sequence[str], value: str) -> int:
    return order.index(value) if value in order else len(order)


@dataclass(frozen=True, kw_only=True)
class DraftedTool:
    """A tool that the draft alone has: what lists show of one, without what it takes to recommend it."""

    endpoint: Endpoint
    tool: Tool
    public: str

    @property
    def wire(self) -> str:
        return self.tool.name

    @property
    def title(self) -> str:
        return self.tool.title or ""

    @cached_property
    def traits(self) -> Traits:
        return describe_traits(self.tool)


def only_drafted(draft: Registry, live: Catalog) -> list[DraftedTool]:
    """The tools of the draft that are not live."""
    known = {(doc.endpoint.name, doc.wire) for doc in live.index.docs}
    return [one for endpoint in draft.endpoints for one in _missing(endpoint, known)]


def _missing(endpoint: Endpoint, known: Container[tuple[str, str]]) -> list[DraftedTool]:
    fresh = [tool for tool in endpoint.tools if (endpoint.name, tool.name) not in known]
    if not fresh:
        return []
    names = EndpointNames(endpoint.name, [tool.name for tool in endpoint.tools])
    return [DraftedTool(endpoint=endpoint, tool=tool, public=names.public(tool.name)) for tool in fresh]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFilter:
    """What is asked of a list of tools; an empty field asks for nothing."""

    text: str = ""  # part of the public name, the published name, the title or the description
    endpoint: str = ""
    category: str = ""
    risk: str = ""
    effect: str = ""
    provenance: str = ""  # how one of the traits came to be known; with a trait that is asked for, how that one did

    def apply(self, docs: Iterable[Listed]) -> list[Listed]:
        needle = self.text.casefold()
        found = [doc for doc in docs if self._fits(doc)]
        return [doc for doc in found if _says(doc, needle)] if needle else found

    def _fits(self, doc: Listed) -> bool:
        if self.endpoint and doc.endpoint.name != self.endpoint:
            return False
        asks = self.category or self.risk or self.effect or self.provenance
        return not asks or self._is(doc.traits)

    def _is(self, traits: Traits) -> bool:
        return (
            (not self.category or traits.category == self.category)
            and (not self.risk or traits.risk == self.risk)
            and (not self.effect or traits.effect == self.effect)
            and (not self.provenance or any(traits.provenance[name] == self.provenance for name in self._asked()))
        )

    def _asked(self) -> Sequence[str]:
        return [name for name in TRAITS if getattr(self, name)] or TRAITS


def _says(doc: Listed, needle: str) -> bool:
    texts = (doc.public, doc.wire, doc.tool.title or "", doc.tool.description[:TEXT_LIMIT])
    return any(needle in text.casefold() for text in texts)


def ordered(docs: Iterable[Listed], sort: str) -> list[Listed]:
    """By one of SORTS, downwards with a minus before its name; tools that are equal in it stay in the order of their names."""
    name = sort.removeprefix("-")
    by_name = sorted(docs, key=SORTS["tool"], reverse=sort == "-tool")
    return by_name if name == "tool" else sorted(by_name, key=SORTS[name], reverse=sort.startswith("-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One page of a list. Pages count from 1; a number past the end means the last page."""

    rows: Sequence[Any]
    number: int
    pages: int
    total: int
    size: int = PAGE

    @property
    def first(self) -> int:
        """Place of the first row in the whole list, from 1; 0 in an empty list."""
        return (self.number - 1) * self.size + 1 if self.rows else 0

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1 if self.rows else 0


def cut(rows: Sequence[Any], number: int, size: int = PAGE) -> Cut:
    pages = max(1, -(-len(rows) // size))
    number = min(max(number, 1), pages)
    return Cut(rows=rows[(number - 1) * size : number * size], number=number, pages=pages, total=len(rows), size=size)


# --- what a scope reaches ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How much of the registry, or of one endpoint, a scope reaches now."""

    name: str
    seen: int
    every: int
    permitted: int  # of them permitted, those included that are switched off or away


def sizes(catalog: Catalog, scope: str) -> tuple[int, int]:
    """How many endpoints and how many tools harnesses of a scope are answered from."""
    view = catalog.view(scope)
    return int(np.unique(view.index.endpoint_of[view.sees]).size), view.size


def by_endpoint(catalog: Catalog, scope: str, reached: Iterable[ToolDoc]) -> list[Reached]:
    """Every endpoint by name, with what a scope reaches of it; `reached` are the scope's tools, as the catalog has them."""
    seen = Counter(doc.endpoint.name for doc in reached)
    permitted = Counter(
        doc.endpoint.name for doc in catalog.index.docs if catalog.permits(scope, doc.endpoint.name, doc.wire)
    )
    return [
        Reached(
            name=endpoint.name,
            seen=seen[endpoint.name],
            every=len(endpoint.tools),
            permitted=permitted[endpoint.name],
        )
        for endpoint in sorted(catalog.registry.endpoints, key=lambda one: one.name)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What one tool is to a scope."""

    scope: str
    permitted: bool
    available: bool
    pinned: bool


def scopes_of(catalog: Catalog, doc: ToolDoc) -> list[Reach]:
    """Every scope, and whether it reaches this tool."""
    available = catalog.is_available(doc)
    return [
        Reach(
            scope=scope,
            permitted=catalog.permits(scope, doc.endpoint.name, doc.wire),
            available=available,
            pinned=catalog.is_pinned(scope, doc),
        )
        for scope in catalog.scopes
    ]


def reach_of(registry: Registry, endpoint: str) -> dict[str, tuple[int, int]] | None:
    """Of every scope: how many tools of one endpoint it permits that are switched on, and how many there are.

    Asked of the scopes' own rules, so that a draft need not be compiled. None when the registry has no such endpoint.
    """
    known = next((one for one in registry.endpoints if one.name == endpoint), None)
    if known is None:
        return None
    names = ToolNames({endpoint: EndpointNames(endpoint, (tool.name for tool in known.tools))}.get)
    on = [tool.name for tool in known.tools if tool.enabled and known.enabled]
    scopes = {DEFAULT: Scope(name=DEFAULT), **{scope.name: scope for scope in registry.scopes}}
    permits = {name: rules(scope, registry.groups, names) for name, scope in scopes.items()}
    return {name: (sum(rule.permit(endpoint, wire) for wire in on), len(known.tools)) for name, rule in permits.items()}
