"""One endpoint, compiled: its tools as the resolver knows them, and the postings of their weighted words.

A part depends on its endpoint alone, so a catalog that differs in one endpoint reuses all the other parts. Lengths are
normalised against fixed reference lengths, never against averages of the catalog: what else exists must not change a
tool's evidence.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from routing.engine.inference import Traits, describe_traits
from routing.engine.lexicon import NO_WORD, Lexicon
from routing.engine.meaning import Rounded, WordVectors
from routing.engine.naming import EndpointNames
from routing.engine.ranges import Places
from routing.engine.registry import Capability, Endpoint, Tool
from routing.engine.sayings import Saying, sayings
from routing.engine.text import joined, parted, runs, stem, terms
from routing.engine.vocabulary import ENGLISH
from routing.engine.wording import Wordings

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]
Narrow = npt.NDArray[np.uint16] | Ints  # as small as what is counted allows

_NO_CAPABILITIES: Mapping[str, Capability] = MappingProxyType({})
GUARDED = ("erase", "execute")
HARM = {"read": 0, "write": 1, "execute": 2, "erase": 3}
TEXT_LIMIT = 4096  # characters of one field that are read
WORDING_LIMIT = 200  # of a description: its first sentences say what it does
MEANING_LIMIT = 400  # of a description: what comes later is detail


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
_WEIGHTS, _USUAL_LENGTHS, _DISCOUNTS = np.array([(one.weight, one.usual_length, one.discount) for one in FIELDS]).T
FIELD_NAMES = tuple(one.name for one in FIELDS)
NAME = FIELD_NAMES.index("tool")
TOOL_HINTS = FIELD_NAMES.index("tool_use_when")
TAGS = FIELD_NAMES.index("tags")
OWN = slice(0, FIELD_NAMES.index("endpoint"))  # the fields of the tool itself
SHARED = slice(FIELD_NAMES.index("endpoint"), None)  # those of its endpoint
SHORTEST_CUT = 4  # letters of a word that may be cut out of a name
SHARED_ACTION = 0.5  # of an endpoint's word for what to do: its tools do different things
OWN_SAYING = 0.5  # of a synonym's weight comes on top for the tools whose names say its capability
FEW = 8  # words that are quicker read one by one than counted first
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
    sayings: tuple[Saying, ...]  # for the capabilities of its endpoint
    traits: Traits
    digest: bytes
    phrase: str  # the fragment without borders
    twin: bytes  # equal for tools that nothing but their endpoint tells apart
    name_words: tuple[str, ...]
    name_terms: tuple[str, ...]  # in order, each once
    hint_terms: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Spelled:
    """Written words, each with its term and the tools that hold it, laid end to end: they are many and seldom needed."""

    texts: Sequence[str]  # of all words that were read with these
    words: Narrow  # by their places among those
    terms: Narrow
    sizes: Narrow  # of each word: how many tools hold it
    tools: Narrow

    def entries(self) -> Iterator[tuple[str, int, list[int]]]:
        tools = iter(self.tools.tolist())
        for word, term, size in zip(self.words.tolist(), self.terms.tolist(), self.sizes.tolist(), strict=True):
            yield self.texts[word], term, list(islice(tools, size))


@dataclass(slots=True)
class Postings:
    """Which tools of an endpoint hold which terms, tool by tool."""

    vocabulary: Sequence[str]  # of all endpoints that were compiled with this one
    terms: Narrow  # by their places in it
    sizes: Narrow  # of each tool: how many postings it has
    held: Bytes  # of each posting: in how many fields its tool holds the term
    fields: Bytes  # these fields, posting by posting
    weights: Halves  # the weight in each


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One endpoint, compiled: its tools and their postings."""

    endpoint: Endpoint
    sayings: tuple[Saying, ...]
    docs: tuple[ToolDoc, ...]
    postings: Postings
    harm: npt.NDArray[np.int8]  # of each tool: the more, the worse a wrong call
    guarded: npt.NDArray[np.bool_]  # one row for each guarded effect, one column for each tool
    spelled: Spelled
    names: EndpointNames
    texts: Wordings  # the wording of each tool and of each of its hints
    _pointing: list[Rounded] = field(default_factory=list, compare=False, repr=False)

    def directions(self, vectors: WordVectors) -> Rounded:
        """Where the text of each tool points, made once: a part keeps it through every later catalog."""
        if not self._pointing:
            self._pointing.append(vectors.directions([meaning_words(doc) for doc in self.docs]))
        return self._pointing[0]

    def share_directions(self, same: Rounded) -> None:
        """Keep these, which are part of a larger array that is kept anyway, in place of the same in an own one."""
        self._pointing[:] = [same]


ALL = -1  # in place of a tool: what an endpoint says for all of its tools


@dataclass(slots=True)
class _Writer:
    """What one endpoint and its tools say, while it is being read."""

    lexicon: Lexicon
    # Tool, field, the field of whose rule it is weighed, the share at which its words count.
    passages: list[tuple[int, int, int, float]] = field(default_factory=list)
    texts: list[tuple[int, float, int]] = field(default_factory=list)  # passage, share of it, how many runs
    runs: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

    def read_fields(self, texts: Texts, place: int) -> None:
        for name, given in texts.items():
            column = FIELD_NAMES.index(name)
            self.read(given, (place, column, column, 1.0))

    def read(self, texts: ByShare, passage: tuple[int, int, int, float]) -> None:
        """Texts as one passage: its words are weighed by the length of the whole."""
        numbers = self.lexicon.names if passage[1] == NAME else self.lexicon.content
        before = len(self.texts)
        for factor, some in texts:
            said = runs("\n".join([text[:TEXT_LIMIT] for text in some]))  # nothing runs over the end of a line
            if len(said) > FEW:
                counted = Counter(said)
                self.runs.extend(map(numbers.__getitem__, counted))
                self.times.extend(counted.values())
                self.texts.append((len(self.passages), factor, len(counted)))
            elif said:
                self.runs.extend(map(numbers.__getitem__, said))
                self.times.extend([1] * len(said))
                self.texts.append((len(self.passages), factor, len(said)))
        if len(self.texts) > before:
            self.passages.append(passage)

    def say(self, column: int, said: Sequence[Saying], place: int, share: float = 1.0) -> None:
        """Sayings count in a field, each as if it stood alone."""
        for saying in said:
            self.read([(1.0, [saying.text])], (place, column, TAGS, saying.share * share))

    def write(self, size: int) -> tuple[Postings, Spelled]:
        """What was read comes to this for so many tools."""
        passages, factors, counts = np.array(self.texts, np.float64).reshape(-1, 3).T
        lengths = counts.astype(np.intp)
        owners, terms, words = self.lexicon.say(np.array(self.runs, np.int32))
        said_in = passages.astype(np.intp).repeat(lengths).take(owners)
        amounts = (factors.repeat(lengths) * np.array(self.times, np.float64)).take(owners)
        *whole, shares = np.array(self.passages, np.float64).reshape(-1, 4).T
        places, columns, rules = (one.astype(np.intp) for one in whole)
        first, weights = self._weigh(said_in, terms, amounts, rules, shares)
        entries, tools = _for_all(places.take(said_in.take(first)), size)
        fields = columns.take(said_in.take(first)).take(entries)
        cell = (tools * len(self.lexicon.terms) + terms.take(first).take(entries)) * len(FIELDS) + fields
        postings = _posted(self.lexicon.terms, cell, weights.take(entries), size)
        return postings, self._spell(words, terms, places.take(said_in), size)

    def _weigh(
        self, said_in: Places, terms: Ints, amounts: Doubles, rules: Places, shares: Doubles
    ) -> tuple[Places, Doubles]:
        """Of each term of each passage: where it is first said, and its length-normalised, capped and weighted frequency."""
        row = said_in * len(self.lexicon.terms) + terms
        order = row.argsort(kind="stable")
        begins = _begins(row.take(order))
        first = order.take(begins)
        counts = np.minimum(np.add.reduceat(amounts.take(order), begins), REPEATS)
        lengths = np.bincount(said_in, weights=amounts, minlength=len(rules))
        usual, discount = _USUAL_LENGTHS.take(rules), _DISCOUNTS.take(rules)
        norms = _WEIGHTS.take(rules) / (1 - discount + discount * np.maximum(lengths, usual / 2) / usual)
        passage = said_in.take(first)
        return first, norms.take(passage) * counts * shares.take(passage)

    def _spell(self, words: Ints, terms: Ints, places: Places, size: int) -> Spelled:
        """How the terms are written, those left out that are too short to be guessed at."""
        long = (words != NO_WORD).nonzero()[0]
        meant = np.zeros(len(self.lexicon.words), np.int32)
        meant[words.take(long)] = terms.take(long)  # what is written last stays
        entries, tools = _for_all(places.take(long), size)
        told = np.sort(words.take(long).take(entries) * np.int64(size) + tools, kind="stable")
        told = told.take(_begins(told))
        begins = _begins(told // max(size, 1))
        known = told.take(begins) // max(size, 1)
        sizes = np.diff(begins, append=len(told))
        return Spelled(
            self.lexicon.words, _narrow(known), _narrow(meant.take(known)), _narrow(sizes), _narrow(told % max(size, 1))
        )


def _posted(vocabulary: Sequence[str], cell: Places, weights: Doubles, size: int) -> Postings:
    """The postings of so many tools, of which each cell says the tool, the term and the field in one number."""
    order = cell.argsort(kind="stable")
    cell = cell.take(order)
    begins = _begins(cell)
    # A word that is said in a field several times over, as by several sayings, keeps the greatest weight.
    weights = np.maximum.reduceat(weights.take(order), begins)
    row, fields = np.divmod(cell.take(begins), len(FIELDS))
    rows = _begins(row)
    tools, terms = np.divmod(row.take(rows), max(len(vocabulary), 1))
    return Postings(
        vocabulary=vocabulary,
        terms=_narrow(terms),
        sizes=_narrow(np.bincount(tools, minlength=size)),
        held=np.diff(rows, append=len(row)).astype(np.uint8),
        fields=fields.astype(np.uint8),
        weights=weights.astype(np.float16),
    )


def _begins(ordered: Numbers) -> Places:
    """Where among equal numbers in a row the first stands."""
    begins = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return begins.nonzero()[0]


def _narrow(values: npt.NDArray[np.integer]) -> Narrow:
    fits = values.max(initial=0) <= np.iinfo(np.uint16).max
    return values.astype(np.uint16) if fits else values.astype(np.int32)


def _for_all(places: Places, size: int) -> tuple[Places, Places]:
    """The entries of single tools and, for each of so many tools, those of all; with the tool of each."""
    own, shared = (places >= 0).nonzero()[0], (places < 0).nonzero()[0]
    entries = np.concatenate([own, np.tile(shared, size)])
    return entries, np.concatenate([places[own], np.arange(size).repeat(len(shared))])


def is_guarded(doc: ToolDoc, effect: str) -> bool:
    """Whether a tool erases, or is known to execute: "execute" for want of knowledge is no reproach."""
    known = doc.traits.provenance.get("effect") != "inferred" or doc.traits.category == "execute"
    return doc.traits.effect == effect and (effect == "erase" or known)


def meaning_words(doc: ToolDoc) -> list[str]:
    """The words that say what a tool is for."""
    texts = [" ".join(doc.name_words), doc.title, doc.tool.description[:MEANING_LIMIT], *doc.hints]
    return [word for word, _ in terms("\n".join(texts)) if word not in ENGLISH]


def _wordings(doc: ToolDoc, lexicon: Lexicon) -> list[list[str]]:
    """What a tool says of itself, and each of its hints, as rows of stems."""
    texts = (" ".join([*doc.name_words, doc.title, doc.tool.description[:WORDING_LIMIT]]), *doc.hints)
    stems = lexicon.stems.__getitem__
    return [list(chain.from_iterable(map(stems, runs(text[:TEXT_LIMIT])))) for text in texts]


def compile_endpoint(
    endpoint: Endpoint,
    capabilities: Mapping[str, Capability] = _NO_CAPABILITIES,
    lexicon: Lexicon | None = None,
) -> Part:
    """The part of an endpoint; `capabilities` are those that the registry describes, by name. Endpoints that are compiled
    one after the other share a lexicon."""
    lexicon = lexicon or Lexicon()
    names = EndpointNames(endpoint.name, [tool.name for tool in endpoint.tools])
    said = sayings(endpoint, capabilities)
    docs = tuple(_documents(endpoint, names, said, lexicon))
    postings, spelled = _read(endpoint, docs, said, lexicon)
    return Part(
        endpoint=endpoint,
        sayings=said,
        docs=docs,
        postings=postings,
        harm=np.array([HARM.get(doc.traits.effect, 0) for doc in docs], np.int8),
        guarded=np.array([[is_guarded(doc, effect) for doc in docs] for effect in GUARDED], np.bool_),
        spelled=spelled,
        names=names,
        texts=Wordings.of([_wordings(doc, lexicon) for doc in docs]),
    )


def _read(
    endpoint: Endpoint, docs: Sequence[ToolDoc], said: Sequence[Saying], lexicon: Lexicon
) -> tuple[Postings, Spelled]:
    writer = _Writer(lexicon)
    if docs:
        writer.read_fields(shared_texts(endpoint), ALL)
        writer.say(TAGS, said, ALL)
    for place, doc in enumerate(docs):
        writer.read_fields(own_texts(doc), place)
        writer.say(TOOL_HINTS, [one for one in said if one.is_about(doc.name_terms)], place, OWN_SAYING)
    return writer.write(len(docs))


ByShare = Sequence[tuple[float, Sequence[str]]]  # texts by the share at which their words count
Texts = Mapping[str, ByShare]  # of each field


def shared_texts(endpoint: Endpoint) -> Texts:
    return {
        "endpoint": [(1.0, [endpoint.name, endpoint.title or ""])],
        "tags": [(1.0, endpoint.tags)],
        "use_when": [(1.0, endpoint.use_when)],
        "endpoint_description": [(1.0, [endpoint.description])],
    }


def own_texts(doc: ToolDoc) -> Texts:
    names, descriptions = _parameters(doc.tool.input_schema, [], [])
    return {
        "tool": [(1.0, [" ".join(doc.name_words)]), (0.5, _written_as_one(doc))],
        "title": [(1.0, [doc.title])],
        "description": [(1.0, [doc.tool.description])],
        "parameters": [(1.0, names), (0.5, descriptions)],
        "tool_use_when": [(1.0, doc.hints)],
    }


def _hints(endpoint: Endpoint, names: EndpointNames) -> dict[str, list[str]]:
    """Wire name -> its hints, by whichever spelling they are keyed."""
    found: dict[str, list[str]] = {}
    for key, texts in endpoint.tool_use_when.items():
        if (wire := names.wire_of_key(key)) is not None:
            found.setdefault(wire, []).extend(texts)
    return found


def _parameters(
    schema: Mapping[str, Any], names: list[str], descriptions: list[str], depth: int = 0
) -> tuple[list[str], list[str]]:
    """Names and descriptions of the inputs, nested objects and lists included as far as anyone reads them."""
    properties = schema.get("properties")
    for name, definition in properties.items() if isinstance(properties, Mapping) else ():
        names.append(str(name))
        if isinstance(definition, Mapping):
            if isinstance(description := definition.get("description"), str):
                descriptions.append(description)
            if depth < 2:
                _parameters(definition, names, descriptions, depth + 1)
                if isinstance(items := definition.get("items"), Mapping):
                    _parameters(items, names, descriptions, depth + 1)
    return names, descriptions


def _documents(
    endpoint: Endpoint, names: EndpointNames, said: tuple[Saying, ...], lexicon: Lexicon
) -> Iterator[ToolDoc]:
    """The tools of an endpoint by their wire names."""
    hints = _hints(endpoint, names)
    shared = _written([endpoint.title, endpoint.description, list(endpoint.tags), list(endpoint.use_when)])
    spoken = _written([[saying.text, saying.share, sorted(saying.names)] for saying in said])
    for tool in sorted(endpoint.tools, key=lambda one: one.name):
        annotated = tool.annotations.get("title")
        title = tool.title or (annotated if isinstance(annotated, str) else "")
        fragment, public = names.fragments[tool.name], names.public(tool.name)
        told, traits, phrase = tuple(hints.get(tool.name, ())), describe_traits(tool), joined(fragment)
        named = tuple(_name_words(fragment, f"{title} {tool.description}", lexicon))
        twin = _digest(_written([fragment, title, tool.description, list(told), tool.input_schema]))
        known = f"[{_written(public)}, {_written(tool.name)}, {_told(traits)}]"
        yield ToolDoc(
            endpoint=endpoint,
            tool=tool,
            wire=tool.name,
            fragment=fragment,
            public=public,
            title=title,
            hints=told,
            sayings=said,
            traits=traits,
            digest=_digest(f'["{twin.hex()}", {shared}, {known}, {spoken}]'),  # a list as JSON, its parts written once
            phrase=phrase,
            twin=twin,
            name_words=named,
            name_terms=tuple(sorted(set(map(stem, named)))) or (phrase,),
            hint_terms=tuple(frozenset(term for word, term in terms(hint) if word not in ENGLISH) for hint in told),
        )


def _name_words(fragment: str, prose: str, lexicon: Lexicon) -> list[str]:
    """The words of a name; one that is written together is cut where the tool's own text shows a border."""
    parts = [part for _, whole in parted(fragment) for part in whole if len(part) > 1 and not part.isdecimal()]
    if max(map(len, parts), default=0) < 2 * SHORTEST_CUT:
        return parts
    told = set(chain.from_iterable(map(lexicon.spellings.__getitem__, runs(prose[:TEXT_LIMIT]))))
    return [piece for part in parts for piece in _cut(part, told - ENGLISH)]


def _written_as_one(doc: ToolDoc) -> list[str]:
    """The name and its composed words without their borders, for those who write them so."""
    composed = [text for text, parts in parted(doc.fragment) if len(parts) > 1]
    return [whole for whole in dict.fromkeys([*composed, doc.phrase]) if whole not in doc.name_words]


def _cut(part: str, told: AbstractSet[str]) -> list[str]:
    """A word in two where the longest word that it begins or ends with leaves enough."""
    if len(part) < 2 * SHORTEST_CUT:
        return [part]
    for size in range(len(part) - SHORTEST_CUT + 1, SHORTEST_CUT - 1, -1):
        if part[:size] in told:
            return [part[:size], part[size:]]
        if part[-size:] in told:
            return [part[:-size], part[-size:]]
    return [part]


# Whether something holds itself is not looked for: what came as JSON does not.
_written = json.JSONEncoder(sort_keys=True, ensure_ascii=False, check_circular=False, default=str).encode


def _told(traits: Traits) -> str:
    return _traits_told(traits.category, traits.risk, traits.effect, tuple(traits.provenance.items()))


@lru_cache(maxsize=1 << 10)
def _traits_told(category: str, risk: str, effect: str, provenance: tuple[tuple[str, str], ...]) -> str:
    """Within a list: there are few kinds of traits and many tools."""
    return _written([category, risk, effect, dict(provenance)])[1:-1]


def _digest(written: str) -> bytes:
    """Of a JSON text, so that no boundary between texts can be moved without being seen."""
    return hashlib.sha256(written.encode(errors="replace")).digest()
