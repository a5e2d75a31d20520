"""A request read into terms: what is asked for, what is only mentioned, and what is no request at all.

Values inside a request (addresses, paths, file names, code, ids) are masked first: they count, lightly, as their kind.
The labels of an assembled activity, function words and small talk weigh nothing. A word after "do not" is kept apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from routing.engine import vocabulary as say
from routing.engine.activity import LABEL, LABELS
from routing.engine.text import fold, is_particle, is_unspaced, stem, words
from routing.engine.wording import BREAK

_EXTENSIONS = (
    "py|js|ts|tsx|jsx|go|rs|rb|java|c|h|cpp|cs|php|sh|sql|html|css|json|yaml|yml|toml|xml|md|txt|csv|tsv|log|ini|cfg|lock"
    "|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp3|wav|mp4|mov|mkv|webm|zip|tar|gz|parquet|ipynb|exe"
)
_LITERALS: tuple[tuple[str, str], ...] = (
    ("code", r"```.*?(?:```|$)|`[^`\n]+`"),
    ("url", r"(?:https?|ftp|wss?|s3|file)://[^\s<>\"'）」]+|\bwww\.[^\s<>\"']+"),
    ("email", r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"),
    (
        "path",
        r"(?<![\w.])[A-Za-z]:\\[^\s\"']+|(?<![\w/:])(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]+/?|(?<![\w/.@-])(?:[\w.@-]{1,100}/){2,}[\w.@-]+",
    ),
    ("file", r"(?<![\w/])(?:[\w-]{1,60}/)?[\w.-]{0,60}\w\.(?P<ext>" + _EXTENSIONS + r")\b(?!\.\w)"),
    ("url", r"\b(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|dev|ai|edu|gov|co|uk|de|fr|es|info|app)(?:/[^\s\"']*)?\b"),
    (
        "code",
        r"\b\w+\((?!e?s\))(?:[^()\s]*|\w+=[^()]*|[^()\n]*\([^()\n]*\)[^()\n]*)\)|<[^<>\n]{1,80}>|\{[^{}\n]*[:\"][^{}\n]*\}",
    ),
    ("selector", r"(?<!\w)[#@][A-Za-z_][\w-]*"),
    (
        "id",
        r"\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{9,}\b|\b(?=[a-zA-Z_-]{0,60}[0-9])(?=[0-9_-]{0,60}[a-zA-Z])[\w-]{14,}\b|\b[0-9a-f]{12,}\b",
    ),
    ("number", r"(?<![\w])[-+]?[0-9]+(?:[.,:/][0-9]+)*%?(?![\w])"),
)
# Without one of these a text holds no value.
_HINT_OF_VALUE = re.compile(r"[`/\\@#(<{0-9]|\.\S|[0-9a-fA-F]{8}-|[0-9a-f]{12}")
# In plain prose no value begins: stepped over in one go, since ten patterns would be tried at every letter of it.
_PROSE = r"(?P<prose>(?<!\S)(?:[^\W\d_]{1,11}[.,;:!?]?\s+)++)"
_LITERAL = re.compile(
    "|".join([_PROSE, *(f"(?P<k{place}>{pattern})" for place, (_, pattern) in enumerate(_LITERALS))]), re.DOTALL
)
# The word that a value counts as, and how much: a value says what is at hand, not what to do with it.
_KINDS = {"url": 0.4, "email": 0.3, "path": 0.4, "file": 0.4, "code": 0.2, "selector": 0.0, "id": 0.0, "number": 0.0}
_EXTENSION_WEIGHT = 0.3

_QUOTED = re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|(?<!\w)'[^'\n]{1,200}'(?!\w)|«[^»\n]{1,200}»")
_HINT_OF_QUOTE = re.compile("[\"'“«]")
_BREAK = re.compile(r"[.,;:!?()\n—]|\s-\s")
_SENTENCE_END = re.compile(r"[.!?\n;]")
_DETERMINERS = frozenset(
    "the a an this that these those my our your his her its their some any el la los las un una".split()
)

Phrases = tuple[tuple[str, ...], ...]


def _by_opener(phrases: Phrases) -> dict[str, Phrases]:
    found: dict[str, Phrases] = {}
    for phrase in phrases:
        found[phrase[0]] = (*found.get(phrase[0], ()), phrase)
    return found


_PROHIBITIONS, _FAULTS, _AFFIRMED = map(_by_opener, (say.PROHIBITIONS, say.FAULTS, say.AFFIRMED))
_NEGATORS = frozenset((*_PROHIBITIONS, *_FAULTS, *_AFFIRMED))
_TALK = say.SMALL_TALK | say.GO_AHEAD | say.PRAISE
_APPROVAL = say.PRAISE | say.GO_AHEAD
_PLEASANTRIES = say.SMALL_TALK - say.PRAISE

# Names as programs have them: snake_case, camelCase, and CamelCase, which brands have too.
_IDENTIFIER = re.compile(
    r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]{2,}[a-z0-9]*(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,}"
)
_HINT_OF_IDENTIFIER = re.compile(r"_|[a-z0-9][A-Z]")  # without one of these a text holds no such name

HEAD = 1.25
MENTIONED = 0.3  # "the function create_branch is slow": a name that is talked about
QUOTED = 0.5
LIGHT = 0.6
ATTRIBUTE = 0.3  # "the fetched page": the page is meant, not the fetching
FAULT = 0.5  # "why does the delete button fail": a word under discussion
PARTICLE = 0.15
CHARACTER_PAIR = 0.5


COUNTING = ("word", "literal")  # kinds of terms


class QueryTerm(NamedTuple):
    """One term of a request. `text` is how it was written; `weight` how much it may count."""

    term: str
    text: str
    kind: str  # word | literal | label | stop | negated
    weight: float
    meant: float = 1.0  # how far the word is asked for, not merely quoted, mentioned or used as an attribute
    head: bool = False  # the word that says what to do
    proper: bool = False  # a name in the middle of a sentence: rather a value than a wish
    follows: str = ""  # the word directly before, for words that others write as one

    @property
    def counts(self) -> bool:
        return self.weight > 0 and self.kind in COUNTING


@dataclass(frozen=True, kw_only=True)
class Request:
    terms: tuple[QueryTerm, ...]
    phrase: str  # all its content words in a row
    wording: tuple[
        str, ...
    ] = ()  # the stems of all its words in order, function words too; BREAK where something stands between
    small_talk: bool = False
    fault: bool = False  # asks why something is so
    question: bool = False  # asks, rather than orders
    language: str = "english"

    @cached_property
    def content(self) -> tuple[QueryTerm, ...]:
        return tuple([term for term in self.terms if term.weight > 0 and term.kind in COUNTING])

    @cached_property
    def negated(self) -> frozenset[str]:
        return frozenset(term.term for term in self.terms if term.kind == "negated")


class _Spoken:
    """A word with what its surroundings say about it, while a text is being read."""

    # Of most words nothing but the word is known, so the rest stands here until something sets it.
    factor: float = 1.0
    kind: str = "word"
    head: bool = False
    proper: bool = False
    opens: bool = False  # first of a sentence
    breaks: bool = False  # something separates it from the word before
    follows: str = ""

    def __init__(self, text: str, parts: tuple[str, ...], start: int) -> None:
        self.text, self.parts = text, parts
        self.start = start  # where it stands


def read_request(query: str) -> Request:
    """The one way from a text to its terms."""
    text = fold(query)
    masked, literals = _mask(text)
    spoken = _phrasal(_spoken(masked))
    language = say.language_of([one.text for one in spoken])
    stops = say.function_words(language)
    fault = _opens_with(spoken, say.FAULT_QUESTION)
    _mark_negation(spoken, stops)
    _mark_attributes(spoken, stops)
    _mark_heads(spoken, stops)
    _mark_mentioned(spoken, masked)
    terms: list[QueryTerm] = []
    for one in spoken:
        if one.kind != "label" and (one.text in stops or one.text in say.SMALL_TALK):
            terms.append(_stop(one.text))
        else:
            terms.extend(_terms(one, FAULT if fault else 1.0))
    found = _once([*terms, *literals])
    request = Request(
        terms=tuple(found),
        phrase="".join([one.text for one in spoken if one.kind == "word" and one.text not in stops]),
        wording=tuple(_wording(spoken)),
        fault=fault,
        question=_opens_with(spoken, say.QUESTION),
        language=language,
    )
    return replace(request, small_talk=True) if _is_small_talk(spoken, request.content, stops) else request


def _wording(spoken: Sequence[_Spoken]) -> list[str]:
    """All that is said, little words and all; labels and what must not be done part it."""
    said: list[str] = []
    for one in spoken:
        if one.kind == "word":
            said.extend(map(stem, one.parts))
        else:
            said.append(BREAK)
    return said


def _mask(text: str) -> tuple[str, list[QueryTerm]]:
    """The text with every value blanked out, and a term for the kind of each."""
    found: list[QueryTerm] = []
    if _HINT_OF_VALUE.search(text) is None:
        return text, found

    def blank(match: re.Match[str]) -> str:
        if match.lastgroup == "prose":
            return match.group()
        kind = _LITERALS[int((match.lastgroup or "k0")[1:])][0] if match.lastgroup != "ext" else "file"
        found.append(QueryTerm(term=kind, text=match.group()[:80], kind="literal", weight=_KINDS[kind]))
        if extension := match.group("ext"):
            found.append(
                QueryTerm(
                    term=stem(extension.lower()), text=extension.lower(), kind="literal", weight=_EXTENSION_WEIGHT
                )
            )
        return " " * len(match.group())

    return _LITERAL.sub(blank, text), found


def _spoken(text: str) -> list[_Spoken]:
    labelled = LABEL.finditer(text) if ":" in text else ()
    labels = [(match.start(1), match.end(1), match.group(1).lower()) for match in labelled]
    # A quotation inside a request is a value; one that is nearly all of it is the request.
    quoted = _QUOTED.finditer(text) if _HINT_OF_QUOTE.search(text) else ()
    quotes = [match.span() for match in quoted if len(match.group()) < len(text.strip()) / 2]
    found: list[_Spoken] = []
    end = 0
    before = ""  # the word before
    for written, parts, start, stop in words(text):
        one = _Spoken(written, parts, start)
        if not found:
            one.opens = True
        if (between := text[end:start]) != " ":
            one.breaks = bool(_BREAK.search(between))
            one.opens = one.opens or bool(_SENTENCE_END.search(between))
        if labels:
            _label(one, labels, found)
        if quotes and any(first < start < last for first, last in quotes):
            one.factor *= QUOTED
        if text[start].isupper() and not one.opens:
            one.proper = True
        if not one.breaks:
            one.follows = before
        found.append(one)
        end, before = stop, written
    if found and sum(one.proper for one in found) > len(found) / 2:  # A Text In Title Case Names Nothing
        for one in found:
            one.proper = False
    return found


def _label(one: _Spoken, labels: Sequence[tuple[int, int, str]], before: Sequence[_Spoken]) -> None:
    """A word is a label, or counts as its label says."""
    label = next((entry for entry in reversed(labels) if entry[0] <= one.start), None)
    if label is not None:
        one.factor = LABELS[label[2]] / max(LABELS[known] for *_, known in labels)
        one.kind = "label" if one.start < label[1] else "word"
        one.opens = one.opens or bool(before) and before[-1].kind == "label"


def _phrasal(spoken: Sequence[_Spoken]) -> list[_Spoken]:
    """Verbs of two words become the one word that means them: "look up", "get rid of"."""
    found: list[_Spoken] = []
    for one in spoken:
        meaning = None if one.breaks or not found else say.PHRASAL.get((found[-1].text, one.text))
        if meaning is None:
            found.append(one)
        else:
            found[-1].text, found[-1].parts = meaning, (meaning,)
    return found


def _opens_with(spoken: Sequence[_Spoken], openers: frozenset[str]) -> bool:
    return bool(spoken) and spoken[0].text in openers


def _mark_negation(spoken: Sequence[_Spoken], stops: frozenset[str]) -> None:
    texts = [one.text for one in spoken]
    place = 0
    while place < len(spoken):
        if texts[place] not in _NEGATORS:
            place += 1
        elif _standing(texts, place, _AFFIRMED):
            place += 2
        elif prohibition := _standing(texts, place, _PROHIBITIONS):
            place += len(prohibition)
            _negate(spoken, place, stops)
        elif fault := _standing(texts, place, _FAULTS):
            place += len(fault)
            _weaken(spoken, place, stops)
        else:
            place += 1


def _standing(texts: Sequence[str], place: int, phrases: Mapping[str, Phrases]) -> tuple[str, ...] | None:
    """The phrase that begins at this word."""
    return next((phrase for phrase in phrases.get(texts[place], ()) if _stands(texts, place, phrase)), None)


def _stands(texts: Sequence[str], place: int, phrase: tuple[str, ...]) -> bool:
    return tuple(texts[place : place + len(phrase)]) == phrase


def _after(spoken: Sequence[_Spoken], place: int, stops: frozenset[str]) -> int | None:
    """The first content word from here on within the same clause."""
    for here in range(place, min(place + 4, len(spoken))):
        if here > place and spoken[here].breaks:
            return None
        if spoken[here].text not in stops:
            return here
    return None


def _negate(spoken: Sequence[_Spoken], place: int, stops: frozenset[str]) -> None:
    here = _after(spoken, place, stops)
    if here is None:
        return
    spoken[here].kind = "negated"
    if here + 1 < len(spoken) and spoken[here + 1].text in say.JOINS_NEGATION:
        _negate(spoken, here + 2, stops)


def _weaken(spoken: Sequence[_Spoken], place: int, stops: frozenset[str]) -> None:
    here = _after(spoken, place, stops)
    if here is not None:
        spoken[here].factor *= FAULT


def _mark_attributes(spoken: Sequence[_Spoken], stops: frozenset[str]) -> None:
    """Participles that tell of something done: "the fetched page", "the page that I fetched"."""
    for place, one in enumerate(spoken[1:], 1):
        text = one.text
        if not text.endswith("ed") or text in say.BASE_FORMS_IN_ED or one.breaks:
            continue
        before = spoken[place - 1].text
        following = spoken[place + 1] if place + 1 < len(spoken) else None
        of_a_noun = following is not None and following.text not in stops and not following.breaks
        if before in _DETERMINERS and of_a_noun or before in say.TELLERS:
            one.factor *= ATTRIBUTE


def _mark_mentioned(spoken: Sequence[_Spoken], text: str) -> None:
    """Identifiers inside a sentence name what it is about; one that opens it or comes after "call" is asked for, unless
    another one stands before that: "rename this_name to that_name" calls neither."""
    last = -2  # where the last one ended that is only named
    for name in _IDENTIFIER.finditer(text) if _HINT_OF_IDENTIFIER.search(text) else ():
        inside = [place for place, one in enumerate(spoken) if name.start() <= one.start < name.end()]
        if not inside or spoken[inside[0]].opens or len(inside) == len(spoken):
            continue
        before = spoken[inside[0] - 1].text
        is_brand = name.group()[0].isupper() and "_" not in name.group() and before not in say.CODE_NOUNS
        if before in say.CALLERS and inside[0] - 2 == last or before not in say.CALLERS and not is_brand:
            last = inside[-1]
            for place in inside:
                spoken[place].factor *= MENTIONED
                spoken[place].head = False


def _mark_heads(spoken: Sequence[_Spoken], stops: frozenset[str]) -> None:
    """The first content word of a sentence that opens like an order or a wish says what to do."""
    waiting = False
    for one in spoken:
        if one.opens:
            waiting = True
        text = one.text
        if one.kind == "label" or not waiting or text in say.SMALL_TALK:
            continue
        if text in stops or text in say.LIGHT:
            waiting = text in say.POLITE
        else:
            one.head = waiting and one.kind == "word" and one.factor >= 0.7 and not is_unspaced(one.parts[0])
            waiting = False


def _terms(one: _Spoken, factor: float) -> Iterator[QueryTerm]:
    text = one.text
    if one.kind == "label":
        yield QueryTerm(stem(text), text, "label", 0.0)
        return
    factor *= one.factor
    follows = one.follows
    head = one.head
    for term, part, usual in _weighed(text, one.parts):
        weight = 0.0 if one.kind == "negated" else factor * usual
        if one.head:
            weight *= HEAD
        yield QueryTerm(term, part, one.kind, weight, min(factor, 1.0), head, one.proper, follows)
        head, follows = False, ""  # they are the first part's


@lru_cache(maxsize=1 << 12)
def _stop(text: str) -> QueryTerm:
    """A word that asks for nothing: a remembered pure function, since every request is full of them."""
    return QueryTerm(stem(text), text, "stop", 0.0)


@lru_cache(maxsize=1 << 14)
def _weighed(text: str, parts: tuple[str, ...]) -> tuple[tuple[str, str, float], ...]:
    """(stem, part, usual weight) of what a word names: a remembered pure function, since people repeat their words."""
    return tuple((stem(part), part, _weight(part)) for part in _meaningful(text, parts))


def _meaningful(text: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of a word that can name something. Letters with digits stay one ("base64", "mp3")."""
    if len(parts) > 1 and any(part.isdecimal() for part in parts):
        return (text,)
    return tuple(part for part in parts if len(part) > 1 and not part.isdecimal() or is_unspaced(part))


def _weight(part: str) -> float:
    if is_unspaced(part):
        return PARTICLE if is_particle(part) else CHARACTER_PAIR
    return LIGHT if part in say.LIGHT else 1.0


def _once(terms: Sequence[QueryTerm]) -> list[QueryTerm]:
    """Each term once: where it counts most, and never as negated when it is also asked for."""
    found: dict[str, QueryTerm] = {}
    for term in terms:
        known = found.get(term.term)
        if known is None:
            found[term.term] = term
        elif term.counts and term.weight > known.weight:
            found[term.term] = term._replace(head=term.head or known.head)
        elif term.kind == "negated" and not known.counts:
            found[term.term] = term
    return list(found.values())


def _is_small_talk(spoken: Sequence[_Spoken], content: Sequence[QueryTerm], stops: frozenset[str]) -> bool:
    """Greetings, thanks, praise, opinions and bare go-aheads: talk, with nothing asked for."""
    texts = [one.text for one in spoken]
    if not texts:
        return False
    if all(text in _TALK or text in stops or text in say.AMBIENT for text in texts):
        return any(text in _TALK for text in texts) or _asks_after(texts)
    if not say.REQUEST_MARKERS.isdisjoint(texts) or any(term.kind == "literal" for term in content):
        return False
    return (
        _is_praise(texts, content, stops)
        or _is_verdict(texts, content)
        or _is_opinion(texts)
        or _is_compliment(texts, content)
    )


def _asks_after(texts: Sequence[str]) -> bool:
    """ "How was your weekend?" """
    return len(texts) > 2 and texts[0] in ("how", "hows") and bool(say.ASKED_AFTER & set(texts[1:4]))


def _is_compliment(texts: Sequence[str], content: Sequence[QueryTerm]) -> bool:
    """ "You are the best assistant ever": says how somebody is, and asks for nothing."""
    if len(texts) < 3 or texts[0] not in ("you", "youre") or not (say.PRAISE | say.BEST) & set(texts):
        return False
    said = say.PRAISE | say.BEST | say.AMBIENT | say.SMALL_TALK
    return sum(term.text not in said for term in content) <= 1


def _is_praise(texts: Sequence[str], content: Sequence[QueryTerm], stops: frozenset[str]) -> bool:
    opening = next((text for text in texts if text not in stops and text not in _PLEASANTRIES), "")
    if opening not in say.PRAISE:
        return False
    others = [term for term in content if term.text not in _APPROVAL]
    if len(others) > 1:
        return False
    # "good restaurants" is a terse request; praise names what was just said, or comes with thanks.
    return any(term.text in say.DISCOURSE for term in others) or bool(say.SMALL_TALK & set(texts))


def _is_verdict(texts: Sequence[str], content: Sequence[QueryTerm]) -> bool:
    """ "The plan looks good": a sentence that ends by approving."""
    if len(texts) <= 2 or texts[-1] not in _TALK:
        return False
    others = [term for term in content if term.text not in _TALK]
    return len(others) <= 2 and not say.BEING.isdisjoint(texts[:-1])


def _is_opinion(texts: Sequence[str]) -> bool:
    rest = [text for text in texts if text not in say.SMALL_TALK and text not in ("really", "just", "do", "also", "so")]
    return len(rest) > 1 and rest[0] in ("i", "we") and rest[1] in say.OPINION
