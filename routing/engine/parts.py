"""One endpoint, compiled: its tools as the resolver knows them, and the postings of their weighted words.

A part depends on its endpoint alone, so a catalog that differs in one endpoint reuses all the other parts. Lengths are
normalised against fixed reference lengths, never against averages of the catalog: what else exists must not change a
tool's evidence.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from routing.engine.inference import Traits, describe_traits
from routing.engine.meaning import Rounded, WordVectors
from routing.engine.naming import EndpointNames
from routing.engine.registry import Capability, Endpoint, Tool
from routing.engine.sayings import Saying, sayings
from routing.engine.text import joined, parted, run_stems, run_terms, runs, stem, terms
from routing.engine.vocabulary import ENGLISH
from routing.engine.wording import Wordings

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]

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
FIELD_NAMES = tuple(one.name for one in FIELDS)
NAME = FIELD_NAMES.index("tool")
TOOL_HINTS = FIELD_NAMES.index("tool_use_when")
TAGS = FIELD_NAMES.index("tags")
OWN = slice(0, FIELD_NAMES.index("endpoint"))  # the fields of the tool itself
SHARED = slice(FIELD_NAMES.index("endpoint"), None)  # those of its endpoint
SHORTEST_GUESS = 5  # letters of a word that a mistyped or shortened one may be led to
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

    words: tuple[str, ...]
    terms: Ints
    starts: Ints
    tools: Ints

    @classmethod
    def of(cls, words: Sequence[str], terms: Ints, said: Numbers, tools: Numbers) -> Spelled:
        """`said`: the number of a word, and beside it in `tools` one that holds it; in any order, and repeated."""
        size = int(tools.max(initial=0)) + 1
        told = np.unique(said * size + tools)
        starts = np.searchsorted(told, np.arange(len(words) + 1) * size)
        return cls(tuple(words), terms, starts.astype(np.int32), (told % size).astype(np.int32))

    def entries(self) -> Iterator[tuple[str, int, list[int]]]:
        for place, (word, term) in enumerate(zip(self.words, self.terms.tolist(), strict=True)):
            yield word, term, self.tools[self.starts[place] : self.starts[place + 1]].tolist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One endpoint, compiled: its tools and their postings over a vocabulary of its own."""

    endpoint: Endpoint
    sayings: tuple[Saying, ...]
    docs: tuple[ToolDoc, ...]
    vocabulary: tuple[str, ...]
    terms: Ints
    tools: Ints
    held: Bytes  # of each posting: in how many fields its tool holds the term
    fields: Bytes  # these fields, posting by posting
    weights: Halves  # the weight in each
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


_NOTHING_SPELLED = Spelled((), np.zeros(0, np.int32), np.zeros(1, np.int32), np.zeros(0, np.int32))


def _numbered() -> dict[str, int]:
    """Gives each key that it is asked for the next number."""
    return defaultdict(count().__next__)


ALL = -1  # in place of a tool: what an endpoint says for all of its tools


@dataclass(slots=True)
class _Writer:
    """The postings of one endpoint while they are being written."""

    ids: dict[str, int] = field(default_factory=_numbered)
    terms: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    weighed: list[tuple[int, int, int]] = field(default_factory=list)  # tool, field, how many of the above
    words: dict[str, int] = field(default_factory=_numbered)
    word_terms: dict[str, str] = field(default_factory=dict)
    said: list[int] = field(default_factory=list)  # numbers of words
    told: list[tuple[int, int]] = field(default_factory=list)  # tool, how many of the above

    def add(self, place: int, weighed: Mapping[int, Mapping[str, float]]) -> None:
        """For each field of a tool, or of all, the weights of its terms."""
        for column, weights in weighed.items():
            self.terms.extend(map(self.ids.__getitem__, weights))
            self.weights.extend(weights.values())
            self.weighed.append((place, column, len(weights)))

    def postings(self, size: int) -> tuple[Ints, Ints, Bytes, Bytes, Halves]:
        """The terms and tools of all postings of so many tools; how many fields hold each, which, and with what weight."""
        places, columns, counts = np.array(self.weighed, np.int64).reshape(-1, 3).T
        spread = _for_all(places.repeat(counts), size)
        terms, tools = np.array(self.terms, np.int64)[spread[0]], spread[1]
        fields = columns.repeat(counts)[spread[0]]
        row = tools * max(len(self.ids), 1) + terms
        order = np.lexsort((fields, row))
        begins = np.diff(row[order], prepend=-1) > 0
        first = order[begins]
        held = np.bincount(np.cumsum(begins) - 1, minlength=len(first))
        weights = np.array(self.weights, np.float64)[spread[0]][order]
        return (
            terms[first].astype(np.int32),
            tools[first].astype(np.int32),
            held.astype(np.uint8),
            fields[order].astype(np.uint8),
            weights.astype(np.float16),
        )

    def spelled(self, size: int) -> Spelled:
        places, counts = np.array(self.told, np.int64).reshape(-1, 2).T
        entries, tools = _for_all(places.repeat(counts), size)
        terms = np.array([self.ids[self.word_terms[word]] for word in self.words], np.int32)
        return Spelled.of(tuple(self.words), terms, np.array(self.said, np.int64)[entries], tools)

    def weigh(self, name: str, texts: Sequence[tuple[str, float]], place: int) -> dict[str, float]:
        """Term -> its length-normalised, capped and weighted frequency in one field of this tool, or of all."""
        counts: dict[str, float] = {}
        written: dict[str, str] = {}
        length = 0.0
        read = run_terms if name == "tool" else _content  # in a name every word counts
        for text, factor in _by_factor(texts):
            for run, times in _counted(runs(text)):
                for word, term in read(run):
                    counts[term] = counts.get(term, 0.0) + factor * times
                    length += factor * times
                    written[word] = term
        if not counts:
            return counts
        self._write_down(written, place)
        rule = FIELDS[FIELD_NAMES.index(name)]
        norm = rule.weight / (
            1 - rule.discount + rule.discount * max(length, rule.usual_length / 2) / rule.usual_length
        )
        return {term: norm * (count if count < REPEATS else REPEATS) for term, count in counts.items()}

    def _write_down(self, written: Mapping[str, str], place: int) -> None:
        """How the terms of this tool are written, those left out that are too short to be guessed at."""
        long = [word for word in written if len(word) >= SHORTEST_GUESS]
        self.word_terms.update(written)
        self.said.extend(map(self.words.__getitem__, long))
        self.told.append((place, len(long)))

    def say(self, said: Sequence[Saying], share: float, place: int) -> dict[str, float]:
        """Term -> what the saying that counts most gives it; each is weighed as if it stood alone."""
        heaviest: dict[str, float] = {}
        for saying in said:
            for term, weight in self.weigh("tags", [(saying.text, 1.0)], place).items():
                heaviest[term] = max(heaviest.get(term, 0.0), weight * saying.share * share)
        return heaviest


@lru_cache(maxsize=1 << 16)
def _content(run: str) -> tuple[tuple[str, str], ...]:
    """(word, term) of what a run of letters says, function words left out."""
    said = run_terms(run)
    content = tuple(one for one in said if one[0] not in ENGLISH)
    return content if len(content) < len(said) else said


def _by_factor(texts: Sequence[tuple[str, float]]) -> Iterable[tuple[str, float]]:
    """Texts that count alike as one, since each takes its time to begin with; nothing runs over the end of a line."""
    if len(texts) < 2:
        return [(text[:TEXT_LIMIT], factor) for text, factor in texts]
    found: dict[float, list[str]] = {}
    for text, factor in texts:
        found.setdefault(factor, []).append(text[:TEXT_LIMIT])
    return [("\n".join(some), factor) for factor, some in found.items()]


def _counted(said: Sequence[str]) -> Iterable[tuple[str, int]]:
    return Counter(said).items() if len(said) > FEW else ((run, 1) for run in said)


def _for_all(places: Numbers, size: int) -> tuple[npt.NDArray[np.intp], Numbers]:
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


def _wordings(doc: ToolDoc) -> Iterator[list[str]]:
    """What a tool says of itself, and each of its hints, as rows of stems."""
    for text in (" ".join([*doc.name_words, doc.title, doc.tool.description[:WORDING_LIMIT]]), *doc.hints):
        yield [one for run in runs(text[:TEXT_LIMIT]) for one in run_stems(run)]


def compile_endpoint(endpoint: Endpoint, capabilities: Mapping[str, Capability] = _NO_CAPABILITIES) -> Part:
    """The part of an endpoint; `capabilities` are those that the registry describes, by name."""
    names = EndpointNames(endpoint.name, [tool.name for tool in endpoint.tools])
    hints = _hints(endpoint, names)
    said = sayings(endpoint, capabilities)
    docs = tuple(
        _document(endpoint, tool, names, tuple(hints.get(tool.name, ())), said)
        for tool in sorted(endpoint.tools, key=lambda one: one.name)
    )
    writer = _Writer()
    shared = _weighed(writer, shared_texts(endpoint), ALL)
    _say(shared, TAGS, writer.say(said, 1.0, ALL))
    if docs:
        writer.add(ALL, shared)
    for place, doc in enumerate(docs):
        own = _weighed(writer, own_texts(doc), place)
        about = [saying for saying in said if saying.is_about(doc.name_terms)]
        _say(own, TOOL_HINTS, writer.say(about, OWN_SAYING, place))
        writer.add(place, own)
    posted, holders, held, fields, weights = writer.postings(len(docs))
    return Part(
        endpoint=endpoint,
        sayings=said,
        docs=docs,
        vocabulary=tuple(writer.ids),
        terms=posted,
        tools=holders,
        held=held,
        fields=fields,
        weights=weights,
        harm=np.array([HARM.get(doc.traits.effect, 0) for doc in docs], np.int8),
        guarded=np.array([[is_guarded(doc, effect) for doc in docs] for effect in GUARDED], np.bool_),
        spelled=writer.spelled(len(docs)) if docs else _NOTHING_SPELLED,
        names=names,
        texts=Wordings.of([list(_wordings(doc)) for doc in docs]),
    )


Texts = Mapping[str, Sequence[tuple[str, float]]]  # field -> texts, each with the share at which its words count


def _weighed(writer: _Writer, texts: Texts, place: int) -> dict[int, dict[str, float]]:
    return {FIELD_NAMES.index(name): writer.weigh(name, given, place) for name, given in texts.items() if given}


def _say(weighed: dict[int, dict[str, float]], column: int, said: Mapping[str, float]) -> None:
    """Let sayings count in a field: a word that stands there anyway keeps the greater weight."""
    weights = weighed.setdefault(column, {})
    weighed[column] = weights | {term: max(weight, weights.get(term, 0.0)) for term, weight in said.items()}


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


def _document(
    endpoint: Endpoint, tool: Tool, names: EndpointNames, hints: tuple[str, ...], said: tuple[Saying, ...]
) -> ToolDoc:
    fragment = names.fragments[tool.name]
    annotated = tool.annotations.get("title")
    title = tool.title or (annotated if isinstance(annotated, str) else "")
    traits = describe_traits(tool)
    named = tuple(_name_words(fragment, f"{title} {tool.description}"))
    twin = _digest([fragment, title, tool.description, list(hints), tool.input_schema])
    shared = [endpoint.title, endpoint.description, list(endpoint.tags), list(endpoint.use_when)]
    spoken = [[saying.text, saying.share, sorted(saying.names)] for saying in said]
    known = [names.public(tool.name), tool.name, traits.category, traits.risk, traits.effect, dict(traits.provenance)]
    return ToolDoc(
        endpoint=endpoint,
        tool=tool,
        wire=tool.name,
        fragment=fragment,
        public=names.public(tool.name),
        title=title,
        hints=hints,
        sayings=said,
        traits=traits,
        digest=_digest([twin.hex(), shared, known, spoken]),
        phrase=joined(fragment),
        twin=twin,
        name_words=named,
        name_terms=tuple(sorted(set(map(stem, named)))) or (joined(fragment),),
        hint_terms=tuple(frozenset(term for word, term in terms(hint) if word not in ENGLISH) for hint in hints),
    )


def _name_words(fragment: str, prose: str) -> list[str]:
    """The words of a name; one that is written together is cut where the tool's own text shows a border."""
    parts = [part for _, whole in parted(fragment) for part in whole if len(part) > 1 and not part.isdecimal()]
    if not any(len(part) >= 2 * SHORTEST_CUT for part in parts):
        return parts
    told = {word for run in set(runs(prose[:TEXT_LIMIT])) for word, _ in run_terms(run)} - ENGLISH
    return [piece for part in parts for piece in _cut(part, told)]


def _written_as_one(doc: ToolDoc) -> list[str]:
    """The name and its composed words without their borders, for those who write them so."""
    composed = [text for text, parts in parted(doc.fragment) if len(parts) > 1]
    return [whole for whole in dict.fromkeys([*composed, doc.phrase]) if whole not in doc.name_words]


def _cut(part: str, told: Set[str]) -> list[str]:
    """A word in two where the longest word that it begins or ends with leaves enough."""
    if len(part) < 2 * SHORTEST_CUT:
        return [part]
    for size in range(len(part) - SHORTEST_CUT + 1, SHORTEST_CUT - 1, -1):
        if part[:size] in told:
            return [part[:size], part[size:]]
        if part[-size:] in told:
            return [part[:-size], part[-size:]]
    return [part]


_written = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=str).encode


def _digest(value: Any) -> bytes:
    """Of a JSON text, so that no boundary between texts can be moved without being seen."""
    return hashlib.sha256(_written(value).encode(errors="replace")).digest()
