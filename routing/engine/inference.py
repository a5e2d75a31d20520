"""Category, risk and effect of a tool: as declared, else as annotated, else inferred from its words.

Words are matched whole, as stems: `digital_clock` says nothing about git, and `latest_news` nothing about tests. The
name speaks first; the description is asked only when the name says nothing, since prose mentions many things.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from routing.engine.registry import TRAITS, Tool

DECLARED, ANNOTATION, INFERRED, OVERRIDDEN = "declared", "annotation", "inferred", "overridden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    category: str
    risk: str
    effect: str
    provenance: Mapping[str, str]  # trait -> declared | annotation | inferred | overridden


@dataclass(frozen=True, slots=True)
class _Rules:
    """Answers, the first of which is given that has a word or a phrase among what is said."""

    answers: tuple[str, ...]
    places: Mapping[str, int]  # of each single word: of the first answer that has it
    words: frozenset[str]  # the same words
    phrases: tuple[tuple[int, frozenset[str], str], ...]  # place of the answer, its words, as they stand between spaces
    openers: frozenset[str]  # the first words of phrases

    @classmethod
    def of(cls, table: Mapping[str, str]) -> _Rules:
        said = [(place, word) for place, words in enumerate(table.values()) for word in words.split()]
        places = {word: place for place, word in reversed(said) if "+" not in word}
        parted = [(place, phrase.split("+")) for place, phrase in said if "+" in phrase]
        return cls(
            answers=tuple(table),
            places=places,
            words=frozenset(places),
            phrases=tuple((place, frozenset(parts), f" {' '.join(parts)} ") for place, parts in parted),
            openers=frozenset(parts[0] for _, parts in parted),
        )


class _Words:
    """Words in their base form, in order."""

    __slots__ = ("said", "spoken")

    def __init__(self, said: list[str]) -> None:
        self.said = said
        self.spoken = frozenset(said)

    def have(self, phrase: str) -> bool:
        return phrase in f" {' '.join(self.said)} "


# First rule that meets a word wins. Phrases are written with a plus sign.
_CATEGORIES = _Rules.of(
    {
        "git": "git github gitlab commit branch diff merge rebase cherry+pick stash pull+request",
        "browser": "browser click navigate webpage dom screenshot tab scroll",
        "memory": "memory recall remember memorize forget",
        "network": "http https network request api download upload ping dns webhook",
        "verify": "test verify check lint build compile validate assert audit",
        "mutate": "write edit patch create delete remove rename update insert drop move modify append replace set save add erase",
        "inspect": "read search find list inspect grep lookup get show view query describe fetch status count stat browse",
        "execute": "shell exec execute command run spawn launch eval script terminal",
        "finish": "finish complete done finalize conclude",
    }
)

CATEGORIES = (*_CATEGORIES.answers, "general")  # all that are ever inferred

_RISKS = _Rules.of(
    {
        "critical": "payment pay payout purchase transfer+fund wire+money wallet+private private+key delete+repository "
        "delete+repo drop+database wipe+disk format+disk",
        "high": "delete remove destroy drop erase wipe purge truncate revoke terminate kill uninstall unlink rmdir "
        "reset+hard force+push",
        "medium": "write edit patch create shell exec execute commit send update insert rename move modify upload deploy "
        "publish run post push install set save add replace",
        "low": "read search find list inspect diff status get lookup show view query describe fetch count grep browse "
        "recall summarize explain return retrieve display",
    }
)

_EFFECTS = _Rules.of(
    {
        "erase": "delete remove destroy drop erase wipe purge truncate unlink rmdir uninstall revoke forget reset+hard force+push",
        "execute": "shell exec execute command run spawn launch eval script deploy invoke trigger start stop restart terminate kill "
        "payment pay payout purchase transfer",
        "write": "write edit patch create update insert rename move modify append replace set save add send post push publish "
        "upload commit install merge remember store upsert put schedule",
        "read": "read search find list inspect diff status get lookup show view query describe fetch count grep browse recall "
        "check verify validate lint summarize explain analyze calculate convert return retrieve display",
    }
)

_RISK_OF_EFFECT = {"read": "low", "write": "medium", "execute": "medium", "erase": "high"}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_HINT_OF_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")  # quicker to look for
_LETTERS = re.compile(r"[a-z0-9]+")
_SENTENCE = re.compile(r"[.;:\n(]")
_JOINING = frozenset({"and", "or", "then"})
_MOST_LETTERS, _MOST_WORDS = 4000, 400  # of a description: prose beyond that says nothing new about what a tool is
_READS = _EFFECTS.answers.index("read")
_NOTHING = _Words([])


# No word of the first rule is without one of these, in whatever form.
_HINTS_OF_CRITICAL = tuple(
    {
        hint
        for word in (
            *(word for word, place in _RISKS.places.items() if not place),
            *(min(parts) for place, parts, _ in _RISKS.phrases if not place),
        )
        for hint in (word[:3], word[:3].replace("y", "i"))  # pay, paid
    }
)


def describe_traits(tool: Tool) -> Traits:
    """What a tool is, with the provenance of each trait."""
    inferred = infer_traits(tool.name, tool.description or tool.title or "")
    annotated = annotated_traits(tool.annotations) or _corrected(inferred, tool.annotations)
    if inferred["category"] == "general" and tool.annotations.get("openWorldHint") is True:
        annotated = {**annotated, "category": "network"}  # words tell nothing, and it deals with the world outside
    values: list[str] = []
    provenance: list[str] = []
    for trait in TRAITS:
        declared = getattr(tool, trait)
        if declared is not None:
            values.append(declared)
            provenance.append(OVERRIDDEN if trait in tool.overridden else DECLARED)
        elif trait in annotated:
            values.append(annotated[trait])
            provenance.append(ANNOTATION)
        else:
            values.append(inferred[trait])
            provenance.append(INFERRED)
    return _traits(tuple(values), tuple(provenance))


@lru_cache(maxsize=1 << 10)
def _traits(values: tuple[str, ...], provenance: tuple[str, ...]) -> Traits:
    """The same object for all tools that are alike in this: there are few kinds and many tools."""
    told = dict(zip(TRAITS, values, strict=True))
    return Traits(**told, provenance=MappingProxyType(dict(zip(TRAITS, provenance, strict=True))))


def annotated_traits(annotations: Mapping[str, Any]) -> dict[str, str]:
    """What MCP's tool annotations say. A hint that is no true or false says nothing."""
    read_only, destructive = annotations.get("readOnlyHint"), annotations.get("destructiveHint")
    if read_only is True and destructive is not True:
        return {"risk": "low", "effect": "read"}
    if destructive is True:
        return {"risk": "high", "effect": "erase"}
    if destructive is False and read_only is False:
        return {"risk": "medium", "effect": "write"}
    return {}


def _corrected(inferred: Mapping[str, str], annotations: Mapping[str, Any]) -> dict[str, str]:
    """What hints that do not settle risk and effect still rule out: a tool that is said not to be read-only is never
    taken for a reading one, and one that may be repeated without further effect sets something rather than runs it."""
    may_repeat = annotations.get("idempotentHint") is True and annotations.get("readOnlyHint") is not True
    if annotations.get("readOnlyHint") is False and (inferred["effect"] == "read" or inferred["risk"] == "low"):
        effect = "write" if inferred["effect"] == "read" else inferred["effect"]
        return {"risk": _RISK_OF_EFFECT[effect], "effect": effect}
    if may_repeat and inferred["risk"] == "medium" and inferred["effect"] == "execute":
        return {"risk": "medium", "effect": "write"}
    return {}


def infer_traits(name: str, description: str) -> dict[str, str]:
    said = _Said(name, description)
    effect = _first(_EFFECTS, said.verbs) or _first(_EFFECTS, said.opening) or _first(_EFFECTS, said.prose)
    # What is critical counts wherever it is said; lesser words count in the name, then in the opening, then in prose.
    risk = (
        (_first(_RISKS, said.both, 1) if said.may_be_critical else None)
        or _first(_RISKS, said.verbs)
        or _first(_RISKS, said.opening)
        or _first(_RISKS, said.both)
    )
    return {
        "category": _first(_CATEGORIES, said.named) or _first(_CATEGORIES, said.prose) or "general",
        "risk": risk or _RISK_OF_EFFECT.get(effect or "", "medium"),
        "effect": effect or "execute",  # what is not known to be harmless is not called so
    }


class _Said:
    """What a tool says of itself, read when it is asked for: mostly the name answers."""

    def __init__(self, name: str, description: str) -> None:
        self._name, self._description = name, description
        letters = _letters(name)
        self.verbs, self.named = _verbs(letters), _words(letters)

    @cached_property
    def may_be_critical(self) -> bool:
        text = f"{self._name} {self._description}"
        if not text.isascii():
            return True
        lowered = text.lower()
        return any(map(lowered.__contains__, _HINTS_OF_CRITICAL))

    @cached_property
    def opening(self) -> _Words:
        """The verbs of a description's first sentence; nothing when what follows speaks of erasing or executing."""
        first, *rest = _SENTENCE.split(self._description.strip(), maxsplit=1)
        letters = _letters(first)
        if rest and rest[0] and _first(_EFFECTS, self._after(len(letters), rest[0]), 2):
            return _NOTHING
        return _verbs(letters)

    def _after(self, words: int, rest: str) -> _Words:
        """What follows so many words of the description."""
        if len(self._description) > _MOST_LETTERS or len(self.prose.said) == _MOST_WORDS:
            return _words(_letters(rest))
        return _Words(self.prose.said[words:])

    @cached_property
    def prose(self) -> _Words:
        return _words(_letters(self._description))

    @cached_property
    def both(self) -> _Words:
        return _Words([*self.named.said, *self.prose.said])


def _verbs(words: list[str]) -> _Words:
    """The words of a name, or of a description's first sentence, that may say what a tool does: in
    `list_deleted_commits` only `list` does, and "Shows the commit logs" speaks of showing.

    A name that starts with a reading verb goes on with what is read, unless it joins another verb (`get_or_create`) or
    names a loss outright (`find_delete`); plurals and participles after the first word are no verbs.
    """
    first = next((place for place, word in enumerate(words) if _base(word) in _BASES), 0)
    found = [
        _base(word) if place == first or words[place - 1] in _JOINING else word for place, word in enumerate(words)
    ]
    verbs = _Words(found)
    reads = bool(found) and _EFFECTS.places.get(found[first]) == _READS
    if reads and _JOINING.isdisjoint(words) and not _first(_EFFECTS, verbs, 1):
        return _Words([found[first]])
    return verbs


def _first(rules: _Rules, said: _Words, most: int | None = None) -> str | None:
    """The first answer that has a word of these, of the first `most`."""
    spoken = said.spoken
    best = none = len(rules.answers) if most is None else most
    for word in spoken & rules.words:
        best = min(best, rules.places[word])
    if not rules.openers.isdisjoint(spoken):
        for place, parts, phrase in rules.phrases:
            if place < best and parts <= spoken and said.have(phrase):
                best = place
    return rules.answers[best] if best < none else None


def _words(letters: list[str]) -> _Words:
    return _Words(list(map(_base, letters[:_MOST_WORDS])))


def _letters(text: str) -> list[str]:
    """The words of a text as they stand there, in small letters."""
    parted = text[:_MOST_LETTERS]
    if _HINT_OF_CAMEL.search(parted):
        parted = _CAMEL.sub(" ", parted)
    return _LETTERS.findall((parted if parted.isascii() else unicodedata.normalize("NFKD", parted)).lower())


@lru_cache(maxsize=1 << 14)
def _base(word: str) -> str:
    """A verb's base form, near enough to meet the lists above: drops, dropped, dropping -> drop."""
    if word in _BASES:
        return word
    for ending in ("ing", "ed", "es", "s", "d"):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2:
            continue
        undoubled = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
        for guess in (stem, f"{stem}e", undoubled, f"{stem[:-1]}y" if stem.endswith("i") else stem):
            if guess in _BASES:
                return guess
    return word


_BASES = frozenset(
    word
    for rules in (_CATEGORIES, _RISKS, _EFFECTS)
    for word in (*rules.words, *(word for _, parts, _ in rules.phrases for word in parts))
)
