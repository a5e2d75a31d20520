"""The catalog as the doctor looks at it: which scopes are worth asking in, what tools hold, and the resolver to ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from routing.engine.catalog import Catalog
from routing.engine.meaning import vectors_of
from routing.engine.parts import ToolDoc
from routing.engine.policy import CLOSE_MARGIN, NO_MATCH, Thresholds, Verdict, judge, said_alike
from routing.engine.query import read_request
from routing.engine.recommend import MOST_HITS
from routing.engine.scope import View
from routing.engine.scoring import Candidate, Lineup, Ranking, rank_view

Places = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.float64]
HINTS = ("tool_use_when", "use_when")  # fields that operators write


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A text and what the resolver makes of it in one scope."""

    ranking: Ranking
    verdict: Verdict
    listed: int  # tools that an answer may show

    def of(self, place: int) -> Candidate | None:
        return next((one for one in self.ranking.candidates if one.place == place), None)

    def shows(self, place: int) -> bool:
        shown = () if self.verdict.status == NO_MATCH else self.ranking.candidates[: self.listed]
        return any(one.place == place for one in shown)

    def puts_first(self, place: int) -> bool:
        """Whether no other tool scores more; of equals one is first by its name alone."""
        own = self.of(place)
        return self.shows(place) and own is not None and own.score >= self.ranking.candidates[0].score

    def close_to(self, own: Candidate) -> list[Candidate]:
        """Those that would make the answer ambiguous: ahead, behind by next to nothing, or not far behind and hinted alike."""
        bar, same = own.score * (1 - CLOSE_MARGIN), {one.place for one in said_alike(self.ranking, own)}
        return [
            one for one in self.ranking.candidates if one.place != own.place and (one.score > bar or one.place in same)
        ]

    def hinted_words(self, one: Candidate) -> tuple[str, ...]:
        """The words of the text that operators' hints on a candidate, or on its endpoint, answer."""
        parts, _ = self.ranking.contributions(one)
        return tuple(dict.fromkeys(part.text for part in parts if part.field in HINTS and part.text))


class Sight:
    """A catalog, the scopes worth asking in, and the resolver, asked so often at most."""

    def __init__(self, catalog: Catalog, most_asked: int) -> None:
        self.catalog = catalog
        self.index = catalog.index
        self.docs = catalog.index.docs
        self.asked = self.unasked = 0
        self._most = most_asked
        self._answers: dict[tuple[str, str], Asked] = {}
        self.scopes = _different(catalog)
        self.widest = _not_within_others(self.scopes)
        self._place = {one.name: place for place, one in enumerate(catalog.registry.endpoints)}
        self.part_of = {part.endpoint.name: place for place, part in enumerate(catalog.index.parts)}
        self._tools: dict[str, dict[str, int]] = {}

    def ask(self, scope: str, text: str) -> Asked | None:
        """What the resolver answers; None once enough was asked."""
        known = self._answers.get((scope, text))
        if known is not None:
            return known
        if self.asked >= self._most:
            self.unasked += 1
            return None
        self.asked += 1
        rules = self.catalog.policy(self.catalog.scope(scope).policy).resolver
        ranking = rank_view(
            self.catalog.view(scope),
            read_request(text),
            limit=MOST_HITS + 1,
            guard=bool(rules["erasing_never_first_on_tie"]),
            vectors=vectors_of(rules["tier"]),
        )
        verdict = judge(Lineup(present=ranking), Thresholds.of(rules), self.catalog.calibration)
        found = self._answers[scope, text] = Asked(ranking=ranking, verdict=verdict, listed=int(rules["max_hits"]) + 1)
        return found

    def seeing(self, place: int) -> Iterator[str]:
        """The scopes that see a tool, each sight once, the widest first."""
        return (scope for scope, view in self.scopes if view.sees[place])

    @cached_property
    def in_sight(self) -> npt.NDArray[np.bool_]:
        """Of each tool whether some scope sees it."""
        found = np.zeros(len(self.docs), np.bool_)
        for _, view in self.widest:
            found |= view.sees
        return found

    # --- what tools hold ----------------------------------------------------------------------------------------------
    @cached_property
    def terms(self) -> npt.NDArray[np.intp]:
        """Of each posting its term."""
        return np.repeat(np.arange(len(self.index.term_ids), dtype=np.intp), np.diff(self.index.starts))

    @cached_property
    def _keys(self) -> npt.NDArray[np.int64]:
        """A number for each posting, in order: its term, and within that its tool."""
        return np.asarray(self.terms * np.int64(max(len(self.docs), 1)) + self.index.tools, np.int64)

    @cached_property
    def _own(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The postings of what tools say themselves, tool by tool in the order of terms, and where each tool begins."""
        own = np.flatnonzero(self.index.own)
        own = own[np.argsort(self.index.tools[own], kind="stable")]
        return own, self.index.tools[own].searchsorted(np.arange(len(self.docs) + 1))

    def said(self, view: View, place: int) -> tuple[npt.NDArray[np.intp], Numbers]:
        """The words of a tool itself, and what each is worth in a view."""
        own, begins = self._own
        held = own[begins[place] : begins[place + 1]]
        terms = self.terms[held]
        return terms, view.idf[terms] * self.index.support[held]

    def support(self, terms: npt.NDArray[np.intp], tools: npt.NDArray[np.intp]) -> Numbers:
        """How strongly each of these tools holds the term beside it, 0 where it does not."""
        wanted = terms.astype(np.int64) * max(len(self.docs), 1) + tools
        if not len(self._keys):
            return np.zeros(len(wanted))
        at = np.minimum(self._keys.searchsorted(wanted), len(self._keys) - 1)
        return np.where(self._keys[at] == wanted, self.index.support[at], 0.0).astype(np.float64)

    def holders(self, term: int) -> npt.NDArray[np.intp]:
        return self.index.tools[self.index.starts[term] : self.index.starts[term + 1]].astype(np.intp)

    # --- where it stands ----------------------------------------------------------------------------------------------
    def path(self, endpoint: str) -> str:
        return f"endpoints[{self._place[endpoint]}]"

    def tool_path(self, doc: ToolDoc) -> str:
        known = self._tools.get(doc.endpoint.name)
        if known is None:
            known = self._tools[doc.endpoint.name] = {tool.name: place for place, tool in enumerate(doc.endpoint.tools)}
        return f"{self.path(doc.endpoint.name)}.tools[{known[doc.wire]}]"

    def hint_path(self, doc: ToolDoc, hint: str) -> str:
        """Of an operator's hint on a tool, by the key that the document has it under."""
        names = self.index.parts[self.part_of[doc.endpoint.name]].names
        for key, texts in doc.endpoint.tool_use_when.items():
            if names.wire_of_key(key) == doc.wire and hint in texts:
                return f"{self.path(doc.endpoint.name)}.tool_use_when.{key}[{texts.index(hint)}]"
        return f"{self.path(doc.endpoint.name)}.tool_use_when"


def _different(catalog: Catalog) -> list[tuple[str, View]]:
    """Scopes that see something, those that see the same only once, the widest first and of equals the first by name."""
    found: dict[bytes, tuple[str, View]] = {}
    for scope in sorted(catalog.scopes):
        view = catalog.view(scope)
        if view.size:
            found.setdefault(view.sees.tobytes(), (scope, view))
    return sorted(found.values(), key=lambda one: -one[1].size)


def _not_within_others(scopes: Sequence[tuple[str, View]]) -> list[tuple[str, View]]:
    """Those of which no other sees all: tools that meet anywhere meet in one of them."""
    kept: list[tuple[str, View]] = []
    for scope, view in scopes:
        if not any(np.all(wide.sees[view.sees]) for _, wide in kept):
            kept.append((scope, view))
    return kept
