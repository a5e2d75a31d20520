"""A set of tools made once: checked, with its digest, and with the texts that a provider is told of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from routing.engine.decision_table import category_of, group_of, validate_tools
from routing.engine.models import FALLBACK, ToolDescriptor

if TYPE_CHECKING:
    from routing.engine.catalog import Catalog

NOTHING_FITS = "Nothing here fits; let the planner act."
NAMES_OF_A_CATEGORY = 6  # that stand for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What is put to a provider in one request: labels and the text of each, `FALLBACK` last.

    `size` counts the characters of all labels and texts but the fallback's.
    """

    tools: Mapping[str, ToolDescriptor]
    criteria: dict[str, str]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """The tools by category, and the request that chooses among the categories. `largest` is the size of the largest."""

    offers: Mapping[str, Offer]
    criteria: dict[str, str]
    size: int
    largest: int


class ToolSet(Sequence[ToolDescriptor]):
    """Immutable, and accepted wherever a list of tools is. Equal to every set of equal tools, in whatever order.

    `digest` covers what a decision may depend on: name, description, category, risk and effect of each tool, not its schema.
    Raises ValueError for names that are blank, repeated or reserved.
    """

    __slots__ = ("_by_name", "_catalog", "_categories", "_digest", "_flat", "_tools")

    def __init__(self, tools: Iterable[ToolDescriptor]) -> None:
        self._tools = tuple(tools)
        validate_tools(self._tools)
        self._by_name = {tool.name: tool for tool in self._tools}
        self._digest = _digest(self._tools)
        self._flat: dict[int, Offer] = {}
        self._categories: dict[int, Categories] = {}
        self._catalog: Catalog | None = None

    @property
    def digest(self) -> str:
        return self._digest

    @property
    def by_name(self) -> Mapping[str, ToolDescriptor]:
        return self._by_name

    def named(self, name: str) -> ToolDescriptor:
        """Raises KeyError for a name that is not in the set."""
        return self._by_name[name]

    @property
    def catalog(self) -> Catalog:
        """The tools as a catalog that can be ranked, compiled when first asked for."""
        if self._catalog is None:
            from routing.engine.shortlist import catalog_of  # few need the ranker, and it takes long to load

            self._catalog = catalog_of(self._tools)
        return self._catalog

    def flat(self, description_limit: int) -> Offer:
        """All tools in one request. Descriptions are cut at so many characters."""
        if description_limit not in self._flat:
            self._flat[description_limit] = _offer(self._by_name, description_limit)
        return self._flat[description_limit]

    def categories(self, description_limit: int) -> Categories:
        """The same tools category by category."""
        if description_limit not in self._categories:
            self._categories[description_limit] = _by_category(self._tools, self.flat(description_limit))
        return self._categories[description_limit]

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[ToolDescriptor]:
        return iter(self._tools)

    @overload
    def __getitem__(self, place: int) -> ToolDescriptor: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ToolDescriptor, ...]: ...
    def __getitem__(self, place: int | slice) -> ToolDescriptor | tuple[ToolDescriptor, ...]:
        return self._tools[place]

    def __eq__(self, other: object) -> bool:
        return self._digest == other._digest if isinstance(other, ToolSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"ToolSet({', '.join(self._by_name)})"


def subset(offer: Offer, names: Iterable[str]) -> Offer:
    """So much of an offer, in the order of the names."""
    tools = {name: offer.tools[name] for name in names}
    return _told(tools, {name: offer.criteria[name] for name in tools})


def _digest(tools: Iterable[ToolDescriptor]) -> str:
    rows = sorted([tool.name, tool.description, tool.category, tool.risk, tool.effect] for tool in tools)
    # Escaped, since a description may hold half a surrogate pair, which has no bytes of its own.
    return "sha256:" + hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()


def _offer(tools: Mapping[str, ToolDescriptor], limit: int) -> Offer:
    return _told(tools, {name: _criterion(tool, limit) for name, tool in tools.items()})


def _criterion(tool: ToolDescriptor, limit: int) -> str:
    return f"{category_of(tool)}|r:{tool.risk[:1]}|{' '.join((tool.description or '').split())[:limit]}"


def _told(tools: Mapping[str, ToolDescriptor], texts: Mapping[str, str]) -> Offer:
    return Offer(tools=tools, criteria={**texts, FALLBACK: NOTHING_FITS}, size=_size(texts))


def _by_category(tools: Iterable[ToolDescriptor], flat: Offer) -> Categories:
    members: dict[str, list[str]] = {}
    for tool in tools:
        members.setdefault(group_of(tool), []).append(tool.name)
    offers = {category: subset(flat, members[category]) for category in sorted(members)}
    texts = {category: _summary(category, members[category]) for category in offers}
    return Categories(
        offers=offers,
        criteria={**texts, FALLBACK: NOTHING_FITS},
        size=_size(texts),
        largest=max(offer.size for offer in offers.values()),
    )


def _summary(category: str, names: Sequence[str]) -> str:
    more = ",..." if len(names) > NAMES_OF_A_CATEGORY else ""
    return f"{category}:{','.join(names[:NAMES_OF_A_CATEGORY])}{more}"


def _size(texts: Mapping[str, str]) -> int:
    return sum(map(len, texts)) + sum(map(len, texts.values()))
