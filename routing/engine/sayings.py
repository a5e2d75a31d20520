"""What operators say for the capabilities that an endpoint carries: their synonyms and keywords, in any language.

They extend a workspace's vocabulary. A synonym is another word for the capability, so it also stands for those tools
whose own names say that capability; a keyword only goes with it. Both count like the endpoint's tags, each on its own,
so many of them weaken none, and none can outweigh the name of a tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from routing.engine.registry import Capability, Endpoint
from routing.engine.text import terms
from routing.engine.vocabulary import ENGLISH

KEYWORD_SHARE = 0.5  # of a synonym's weight
MOST_SAYINGS = 64  # of one capability that are read, synonyms first


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """One way to ask for a capability, and how much it counts, 0..1: the endpoint's level in it is part of that."""

    text: str
    share: float
    names: frozenset[str]  # stems of the capability's name, which a synonym stands for; empty for a keyword

    def is_about(self, name_terms: Iterable[str]) -> bool:
        """Whether a tool of such a name is what this stands for, and not just its neighbour."""
        return not self.names.isdisjoint(name_terms)


def sayings(endpoint: Endpoint, capabilities: Mapping[str, Capability]) -> tuple[Saying, ...]:
    """All of an endpoint, in an order that does not depend on the document's. Unknown capabilities say nothing."""
    found = {
        saying
        for carried in endpoint.capabilities
        if carried.level > 0 and (known := capabilities.get(carried.name)) is not None
        for saying in _of(known, carried.level)
    }
    return tuple(sorted(found, key=lambda one: (one.text, one.share, sorted(one.names))))


def _of(capability: Capability, level: float) -> Iterator[Saying]:
    names = frozenset(term for word, term in terms(capability.name) if word not in ENGLISH)
    said = [
        *((text, level, names) for text in capability.synonyms),
        *((text, level * KEYWORD_SHARE, frozenset[str]()) for text in capability.keywords),
    ]
    for text, share, about in said[:MOST_SAYINGS]:
        yield Saying(text=text, share=share, names=about)
