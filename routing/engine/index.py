"""The compiled form of a catalog: postings of weighted words, made endpoint by endpoint and joined into one index.

An endpoint's part depends on that endpoint alone, so a catalog that differs in one endpoint reuses all the other parts.
Lengths are normalised against fixed reference lengths, never against averages of the catalog: what else exists must not
change a tool's evidence. Only the rarity of words depends on company, and that is counted per scope (see `scope.View`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from routing.engine.inference import Traits, describe_traits
from routing.engine.meaning import ROUNDING, Rounded, Vectors, WordVectors
from routing.engine.naming import EndpointNames
from routing.engine.query import read_request
from routing.engine.registry import Endpoint, Tool
from routing.engine.text import fold, joined, run_terms, runs, stem, terms, words
from routing.engine.vocabulary import ENGLISH

Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

GUARDED = ("erase", "execute")
HARM = {"read": 0, "write": 1, "execute": 2, "erase": 3}
TEXT_LIMIT = 4096  # characters of one field that are read
MEANING_LIMIT = 400  # of a description: what comes later is detail
ROUGH_AXES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """How much one field says: its weight, the length that counts as usual, and how hard longer ones are discounted."""

    name: str
    weight: float
    usual_length: float
    discount: float


# Operators' hints weigh more than the text a downstream server sends about itself.
FIELDS = (
    Field(name="tool", weight=2.2, usual_length=3, discount=0.4),
    Field(name="title", weight=1.6, usual_length=4, discount=0.5),
    Field(name="description", weight=1.0, usual_length=18, discount=0.6),
    Field(name="parameters", weight=0.7, usual_length=24, discount=0.6),
    Field(name="tool_use_when", weight=1.8, usual_length=16, discount=0.6),
    Field(name="endpoint", weight=0.9, usual_length=2, discount=0.4),
    Field(name="tags", weight=0.6, usual_length=4, discount=0.8),
    Field(name="use_when", weight=0.9, usual_length=14, discount=0.8),
    Field(name="endpoint_description", weight=0.4, usual_length=12, discount=0.8),
)
FIELD_NAMES = tuple(one.name for one in FIELDS)
NAME = FIELD_NAMES.index("tool")
OWN = slice(0, FIELD_NAMES.index("endpoint"))  # the fields of the tool itself
SHARED = slice(FIELD_NAMES.index("endpoint"), None)  # those of its endpoint
SHORTEST_GUESS = 5  # letters of a word that a mistyped or shortened one may be led to
SHORTEST_CUT = 4  # letters of a word that may be cut out of a name
SATURATION = 0.8  # weighted frequency at which a term has half of its worth
SHARED_ACTION = 0.5  # of an endpoint's word for what to do: its tools do different things
REPEATS = 2.0  # saying a word more often than this in one field adds nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDoc:
    """One tool as the resolver knows it, whoever may see it."""

    endpoint: Endpoint
    tool: Tool
    wire: str
    fragment: str
    public: str
    title: str
    hints: tuple[str, ...]
    traits: Traits
    digest: bytes
    phrase: str  # the fragment without borders
    twin: bytes  # equal for tools that nothing but their endpoint tells apart
    name_words: tuple[str, ...]
    name_terms: frozenset[str]
    hint_terms: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Spelled:
    """Written words, each with its term and the tools that hold it, laid end to end: they are many and seldom needed."""

    words: tuple[str, ...]
    terms: Ints
    starts: Ints
    tools: Ints

    @classmethod
    def of(cls, written: Mapping[str, tuple[str, set[int]]], ids: Mapping[str, int]) -> Spelled:
        places = [sorted(tools) for _, tools in written.values()]
        return cls(
            tuple(written),
            np.fromiter((ids[term] for term, _ in written.values()), np.int32, len(written)),
            np.concatenate([[0], np.cumsum([len(one) for one in places])]).astype(np.int32),
            np.fromiter((tool for one in places for tool in one), np.int32, sum(map(len, places))),
        )

    def entries(self) -> Iterator[tuple[str, int, list[int]]]:
        for place, (word, term) in enumerate(zip(self.words, self.terms.tolist(), strict=True)):
            yield word, term, self.tools[self.starts[place] : self.starts[place + 1]].tolist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One endpoint, compiled: its tools and their postings over a vocabulary of its own."""

    endpoint: Endpoint
    docs: tuple[ToolDoc, ...]
    vocabulary: tuple[str, ...]
    terms: Ints
    tools: Ints
    weights: Halves  # one row per posting, one column per field
    spelled: Spelled
    _pointing: list[Rounded] = field(default_factory=list, compare=False, repr=False)

    def directions(self, vectors: WordVectors) -> Rounded:
        """Where the text of each tool points, made once: a part keeps it through every later catalog."""
        if not self._pointing:
            self._pointing.append(vectors.directions([meaning_words(doc) for doc in self.docs]))
        return self._pointing[0]


@dataclass(slots=True)
class _Writer:
    """The postings of one endpoint while they are being written."""

    spelled: dict[str, tuple[str, set[int]]]
    ids: dict[str, int]
    rows: list[tuple[int, int, list[float]]]

    def add(self, place: int, weighed: Mapping[int, Mapping[str, float]]) -> None:
        """One tool: term -> weight of each of its fields."""
        found: dict[str, list[float]] = {}
        for column, weights in weighed.items():
            for term, weight in weights.items():
                row = found.get(term)
                if row is None:
                    row = found[term] = [0.0] * len(FIELDS)
                row[column] = weight
        ids = self.ids
        self.rows.extend((ids.setdefault(term, len(ids)), place, weights) for term, weights in found.items())

    def weigh(self, name: str, texts: Sequence[tuple[str, float]], places: Sequence[int]) -> dict[str, float]:
        """Term -> its length-normalised, capped and weighted frequency in one field of these tools."""
        counts: dict[str, float] = {}
        written: dict[str, str] = {}
        length = 0.0
        read = _every_term if name == "tool" else _content
        for text, factor in texts:
            for run in runs(text[:TEXT_LIMIT]):
                for term, word in read(run):
                    counts[term] = counts.get(term, 0.0) + factor
                    length += factor
                    if word:
                        written[word] = term
        if not counts:
            return counts
        for word, term in written.items() if places else ():  # without tools, words lead nowhere
            known = self.spelled.get(word)
            if known is None:
                known = self.spelled[word] = (term, set())
            known[1].update(places)
        rule = FIELDS[FIELD_NAMES.index(name)]
        norm = rule.weight / (
            1 - rule.discount + rule.discount * max(length, rule.usual_length / 2) / rule.usual_length
        )
        return {term: norm * (count if count < REPEATS else REPEATS) for term, count in counts.items()}


@lru_cache(maxsize=1 << 16)
def _content(run: str) -> tuple[tuple[str, str], ...]:
    """(term, word) of what a run of letters says, function words left out; no word where it is too short to guess at."""
    return tuple(
        (term, word if len(word) >= SHORTEST_GUESS else "") for word, term in run_terms(run) if word not in ENGLISH
    )


@lru_cache(maxsize=1 << 14)
def _every_term(run: str) -> tuple[tuple[str, str], ...]:
    """The same of a name, where every word counts."""
    return tuple((term, word if len(word) >= SHORTEST_GUESS else "") for word, term in run_terms(run))


def meaning_words(doc: ToolDoc) -> list[str]:
    """The words that say what a tool is for."""
    texts = [" ".join(doc.name_words), doc.title, doc.tool.description[:MEANING_LIMIT], *doc.hints]
    return [word for text in texts for word, _ in terms(text) if word not in ENGLISH]


def compile_endpoint(endpoint: Endpoint) -> Part:
    names = EndpointNames(endpoint.name, [tool.name for tool in endpoint.tools])
    hints = _hints(endpoint, names)
    docs = tuple(
        _document(endpoint, tool, names, tuple(hints.get(tool.name, ())))
        for tool in sorted(endpoint.tools, key=lambda one: one.name)
    )
    writer = _Writer({}, {}, [])
    shared = _weighed(writer, shared_texts(endpoint), range(len(docs)))
    for place, doc in enumerate(docs):
        writer.add(place, _weighed(writer, own_texts(doc), (place,)) | shared)
    rows = writer.rows
    return Part(
        endpoint=endpoint,
        docs=docs,
        vocabulary=tuple(writer.ids),
        terms=np.fromiter((row[0] for row in rows), np.int32, len(rows)),
        tools=np.fromiter((row[1] for row in rows), np.int32, len(rows)),
        weights=np.array([row[2] for row in rows], np.float16).reshape(len(rows), len(FIELDS)),
        spelled=Spelled.of(writer.spelled, writer.ids),
    )


Texts = Mapping[str, Sequence[tuple[str, float]]]  # field -> texts, each with the share at which its words count


def _weighed(writer: _Writer, texts: Texts, places: Sequence[int]) -> dict[int, dict[str, float]]:
    return {FIELD_NAMES.index(name): writer.weigh(name, given, places) for name, given in texts.items()}


def shared_texts(endpoint: Endpoint) -> Texts:
    return {
        "endpoint": [(endpoint.name, 1.0), (endpoint.title or "", 1.0)],
        "tags": [(tag, 1.0) for tag in endpoint.tags],
        "use_when": [(hint, 1.0) for hint in endpoint.use_when],
        "endpoint_description": [(endpoint.description, 1.0)],
    }


def own_texts(doc: ToolDoc) -> Texts:
    return {
        "tool": [(" ".join(doc.name_words), 1.0), (" ".join(_written_as_one(doc)), 0.5)],
        "title": [(doc.title, 1.0)],
        "description": [(doc.tool.description, 1.0)],
        "parameters": list(_parameters(doc.tool.input_schema)),
        "tool_use_when": [(hint, 1.0) for hint in doc.hints],
    }


def _hints(endpoint: Endpoint, names: EndpointNames) -> dict[str, list[str]]:
    """Wire name -> its hints, by whichever spelling they are keyed."""
    found: dict[str, list[str]] = {}
    for key, texts in endpoint.tool_use_when.items():
        if (wire := names.wire_of_key(key)) is not None:
            found.setdefault(wire, []).extend(texts)
    return found


def _parameters(schema: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, float]]:
    """Names and descriptions of the inputs, nested objects and lists included as far as anyone reads them."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, definition in properties.items():
        yield str(name), 1.0
        if isinstance(definition, Mapping):
            if isinstance(description := definition.get("description"), str):
                yield description, 0.5
            if depth < 2:
                yield from _parameters(definition, depth + 1)
                if isinstance(items := definition.get("items"), Mapping):
                    yield from _parameters(items, depth + 1)


def _document(endpoint: Endpoint, tool: Tool, names: EndpointNames, hints: tuple[str, ...]) -> ToolDoc:
    fragment = names.fragments[tool.name]
    annotated = tool.annotations.get("title")
    title = tool.title or (annotated if isinstance(annotated, str) else "")
    traits = describe_traits(tool)
    named = tuple(_name_words(fragment, f"{title} {tool.description}"))
    own = [fragment, title, tool.description, list(hints), tool.input_schema]
    shared = [endpoint.description, list(endpoint.tags), list(endpoint.use_when)]
    known = [names.public(tool.name), tool.name, traits.category, traits.risk, traits.effect]
    return ToolDoc(
        endpoint=endpoint,
        tool=tool,
        wire=tool.name,
        fragment=fragment,
        public=names.public(tool.name),
        title=title,
        hints=hints,
        traits=traits,
        digest=_digest([own, shared, known]),
        phrase=joined(fragment),
        twin=_digest(own),
        name_words=named,
        name_terms=frozenset(map(stem, named)) or frozenset({joined(fragment)}),
        hint_terms=tuple(frozenset(term for word, term in terms(hint) if word not in ENGLISH) for hint in hints),
    )


def _name_words(fragment: str, prose: str) -> list[str]:
    """The words of a name; one that is written together is cut where the tool's own text shows a border."""
    parts = [part for word in words(fold(fragment)) for part in word.parts if len(part) > 1 and not part.isdecimal()]
    if not any(len(part) >= 2 * SHORTEST_CUT for part in parts):
        return parts
    told = sorted(
        {word for word, _ in terms(prose[:TEXT_LIMIT]) if len(word) >= SHORTEST_CUT and word not in ENGLISH},
        key=len,
        reverse=True,
    )
    return [piece for part in parts for piece in _cut(part, told)]


def _written_as_one(doc: ToolDoc) -> list[str]:
    """The name and its composed words without their borders, for those who write them so."""
    composed = [word.text for word in words(fold(doc.fragment)) if len(word.parts) > 1]
    return [whole for whole in dict.fromkeys([*composed, doc.phrase]) if whole not in doc.name_words]


def _cut(part: str, told: Sequence[str]) -> list[str]:
    if len(part) < 2 * SHORTEST_CUT:
        return [part]
    for word in told:
        rest = len(part) - len(word)
        if rest >= SHORTEST_CUT - 1 and part.startswith(word):
            return [word, part[len(word) :]]
        if rest >= SHORTEST_CUT - 1 and part.endswith(word):
            return [part[:rest], word]
    return [part]


def _digest(value: Any) -> bytes:
    """Of a JSON text, so that no boundary between texts can be moved without being seen."""
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, ensure_ascii=False, default=str).encode(errors="replace")
    ).digest()


@dataclass(frozen=True, slots=True)
class Owned:
    """Lists of terms, one for each owner, laid end to end."""

    starts: npt.NDArray[np.intp]
    terms: npt.NDArray[np.intp]

    @classmethod
    def of(cls, lists: Sequence[Sequence[str]], ids: Mapping[str, int]) -> Owned:
        known = [[ids[term] for term in terms if term in ids] for terms in lists]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in known])]).astype(np.intp)
        return cls(starts, np.fromiter((term for one in known for term in one), np.intp, int(starts[-1])))

    def owners(self) -> npt.NDArray[np.intp]:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


class Index:
    """All parts as one set of postings: for each term, which tools hold it and how strongly, field by field."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self.docs = tuple(doc for part in parts for doc in part.docs)
        self.first_doc = dict(zip((part.endpoint.name for part in parts), _offsets(parts), strict=True))
        self.endpoint_of = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part.docs) for part in parts])
        ids: dict[str, int] = {}
        places = [
            np.fromiter((ids.setdefault(term, len(ids)) for term in part.vocabulary), np.int32, len(part.vocabulary))
            for part in parts
        ]
        self.term_ids = ids
        terms_ = _joined([place[part.terms] for place, part in zip(places, parts, strict=True)], np.int32)
        docs = _joined([part.tools + first for part, first in zip(parts, _offsets(parts), strict=True)], np.int32)
        order = np.argsort(terms_, kind="stable")  # the tools of each term are in order already
        self.terms = terms_[order]
        self.tools = docs[order]
        stacked = [part.weights for part in parts] or [np.zeros((0, len(FIELDS)), np.float16)]
        self.weights = np.concatenate(stacked)[order]
        total = self.weights.sum(axis=1, dtype=np.float64)
        self.support = saturated(total).astype(np.float32)
        self.action_support = saturated(
            total - (1 - SHARED_ACTION) * self.weights[:, SHARED].sum(axis=1, dtype=np.float64)
        ).astype(np.float32)
        self.starts = np.searchsorted(self.terms, np.arange(len(ids) + 1))
        self.own: npt.NDArray[np.bool_] = (self.weights[:, OWN] > 0).sum(axis=1) > 0
        self.guarded = {
            effect: np.fromiter((is_guarded(doc, effect) for doc in self.docs), np.bool_, len(self.docs))
            for effect in GUARDED
        }
        self.harm = np.array([HARM.get(doc.traits.effect, 0) for doc in self.docs], np.intp)
        self._pointing: Rounded | None = None
        self._roughly: Floats | None = None
        self.by_phrase: dict[str, list[int]] = {}
        for place, doc in enumerate(self.docs):
            self.by_phrase.setdefault(doc.phrase, []).append(place)
        self.by_name = np.argsort(np.argsort([doc.public for doc in self.docs])) if self.docs else np.zeros(0, np.intp)

    @cached_property
    def names(self) -> Owned:
        """The words of every tool's name, the joined spelling left out."""
        return Owned.of([sorted(doc.name_terms) for doc in self.docs], self.term_ids)

    @cached_property
    def name_pairs(self) -> dict[tuple[str, str], list[int]]:
        """Two words that stand together in names -> the tools so named: there they are one thing."""
        found: dict[tuple[str, str], list[int]] = {}
        for place, doc in enumerate(self.docs):
            stems = [stem(word) for word in doc.name_words]
            for pair in zip(stems, stems[1:], strict=False):
                found.setdefault(pair, []).append(place)
        return found

    @cached_property
    def hints(self) -> Owned:
        """The words of every operator's hint on a single tool."""
        return Owned.of([sorted(terms) for doc in self.docs for terms in doc.hint_terms], self.term_ids)

    @cached_property
    def by_hint(self) -> dict[frozenset[str], list[int]]:
        """The words of a hint on a single tool -> the tools of which an operator says just that."""
        found: dict[frozenset[str], list[int]] = {}
        for place, doc in enumerate(self.docs):
            for hint, known in zip(doc.hints, doc.hint_terms, strict=True):
                # A value in a hint, an address say, stands for its kind, as it does in a request.
                said = frozenset(term.term for term in read_request(hint).content) if "/" in hint else known
                found.setdefault(said, []).append(place)
        return found

    @cached_property
    def hint_starts(self) -> npt.NDArray[np.intp]:
        """Where the hints of each tool begin among all hints, and where the last ends."""
        return np.concatenate([[0], np.cumsum([len(doc.hint_terms) for doc in self.docs])]).astype(np.intp)

    def likeness(self, vectors: WordVectors, pointing: Vectors, places: npt.NDArray[np.intp]) -> Doubles:
        """How nearly these tools' texts point where a request does. Whole numbers: exact in whatever order they are added."""
        asked = np.rint(pointing * ROUNDING)
        near = self._directions(vectors)[places].astype(np.float32) @ asked
        return np.asarray(near / np.float64(ROUNDING * ROUNDING), np.float64)

    def nearest(
        self, vectors: WordVectors, pointing: Vectors, sees: npt.NDArray[np.bool_], most: int
    ) -> npt.NDArray[np.intp]:
        """The tools in sight whose texts point most nearly the same way, by the first axes, which say most."""
        asked = np.rint(pointing[:ROUGH_AXES] * ROUNDING)
        near = self._rough_directions(vectors) @ asked
        near[~sees] = -np.inf
        places = np.flatnonzero(near > 0)
        if len(places) <= most:
            return places
        bar = np.partition(near[places], -most)[-most]
        return np.asarray(places[near[places] >= bar][: 2 * most], np.intp)

    def _directions(self, vectors: WordVectors) -> Rounded:
        if self._pointing is None:
            found = [part.directions(vectors) for part in self.parts]
            self._pointing = np.concatenate(found) if found else np.zeros((0, vectors.size), np.int8)
        return self._pointing

    def _rough_directions(self, vectors: WordVectors) -> Floats:
        if self._roughly is None:
            self._roughly = np.ascontiguousarray(self._directions(vectors)[:, :ROUGH_AXES], np.float32)
        return self._roughly

    @cached_property
    def spelled(self) -> dict[str, tuple[int, list[int]]]:
        """Written word -> its term and the tools that hold it; needed for mistyped and shortened words only."""
        found: dict[str, tuple[int, list[int]]] = {}
        for part in self.parts:
            first = self.first_doc[part.endpoint.name]
            for word, term, tools in part.spelled.entries():
                number = self.term_ids[part.vocabulary[term]]
                found.setdefault(word, (number, []))[1].extend(first + tool for tool in tools)
        return found

    @cached_property
    def spelled_in_order(self) -> list[str]:
        return sorted(self.spelled)

    @cached_property
    def spelled_like(self) -> dict[tuple[str, int], list[str]]:
        """Written words by first letter and length: where a mistyped word looks for its neighbours."""
        found: dict[tuple[str, int], list[str]] = {}
        for word in self.spelled_in_order:
            if word.isascii() and word.isalpha():
                found.setdefault((word[0], len(word)), []).append(word)
        return found


def saturated(weight: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The share of a term's worth that a weighted frequency takes: it rises fast and never reaches the whole."""
    return np.asarray(weight / (weight + SATURATION))


def is_guarded(doc: ToolDoc, effect: str) -> bool:
    """Whether a tool erases, or is known to execute: "execute" for want of knowledge is no reproach."""
    known = doc.traits.provenance.get("effect") != "inferred" or doc.traits.category == "execute"
    return doc.traits.effect == effect and (effect == "erase" or known)


def _offsets(parts: Sequence[Part]) -> list[int]:
    offsets, total = [], 0
    for part in parts:
        offsets.append(total)
        total += len(part.docs)
    return offsets


def _joined(arrays: list[Ints], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, kind)
