"""The tools that a route chooses among: what a provider sees of each, and what the policies ask about it.

Traits and texts of a tool do not change, and harnesses bring the same tools again and again, so both are kept for a while.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import orjson

from routing.engine import Catalog
from routing.engine.inference import Traits, describe_traits
from routing.engine.models import HarnessState, RiskLevel, ToolDescriptor
from routing.engine.parts import ToolDoc
from routing.engine.policies import EffectivePolicy
from routing.engine.registry import Tool
from routing.engine.toolset import ToolSet
from routing.providers.local import recent_ranking

T = TypeVar("T")
BROUGHT, PUBLISHED = 128, 8192  # lists of tools, and tools of catalogs, that a process keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A tool on offer."""

    descriptor: ToolDescriptor
    traits: Traits
    endpoint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Tools by name. `scope`: that of the catalog they are of; None where the caller brought them."""

    tools: Mapping[str, Offered]
    scope: str | None = None

    @cached_property
    def descriptors(self) -> Sequence[ToolDescriptor]:
        """As the router takes them: a set that is made once, where the names are some."""
        listed = [offered.descriptor for offered in self.tools.values()]
        try:
            return ToolSet(listed)
        except ValueError:  # no matter where the planner decides; everybody else refused such a list
            return listed


def from_scope(catalog: Catalog, scope: str, state: HarnessState, policy: EffectivePolicy) -> Offer:
    """The scope's best candidates for the goal and what was seen last, by public name."""
    tier = catalog.policy(catalog.scope(scope).policy).resolver["tier"]
    ranking = recent_ranking(catalog, scope, state, limit=policy.router["candidates"], tier=tier)
    return Offer(tools={one.doc.public: _published(one.doc) for one in ranking.candidates}, scope=scope)


def brought(given: Sequence[Mapping[str, Any]]) -> Offer:
    """The tools of a caller, in its order."""
    told = hashlib.blake2b(orjson.dumps(given), digest_size=16).digest()
    return _brought.get(
        told, lambda: Offer(tools={tool["name"]: _offered(tool["name"], _declared(tool)) for tool in given})
    )


def _published(doc: ToolDoc) -> Offered:
    # A tool of a catalog is told by its being the very same; the one that is kept keeps its identity from being another's.
    found = _docs.get(id(doc), lambda: (doc, _offered(doc.public, doc.tool, doc.endpoint.name)))
    return found[1]


class _Kept(Generic[T]):
    """So many things, those that were not asked for longest going first; safe to share between threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


_brought: _Kept[Offer] = _Kept(BROUGHT)
_docs: _Kept[tuple[ToolDoc, Offered]] = _Kept(PUBLISHED)


def _declared(tool: Mapping[str, Any]) -> Tool:
    return Tool(
        name=tool["name"],
        title=tool.get("title"),
        description=tool.get("description") or "",
        annotations=tool.get("annotations") or {},
        category=tool.get("category"),
        risk=tool.get("risk"),
    )


def _offered(name: str, tool: Tool, endpoint: str | None = None) -> Offered:
    traits = describe_traits(tool)
    words = " ".join(filter(None, (tool.title, tool.description))) or tool.name
    descriptor = ToolDescriptor(
        name=name,
        description=words,
        category=traits.category,
        risk=RiskLevel(traits.risk),
        schema=tool.input_schema,
        effect=traits.effect,
    )
    return Offered(descriptor=descriptor, traits=traits, endpoint=endpoint)
