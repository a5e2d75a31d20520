"""Text into words: folding, splitting and stemming, the same for what is asked and for what is described.

Words are split at every border that names in the wild use: punctuation, snake_case, camelCase, letters against digits,
and one script against another. Scripts written without spaces become overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from routing.engine.stemmers import stemmer

EnglishStemmer, SpanishStemmer = stemmer("english"), stemmer("spanish")

LONGEST_WORD = 48  # longer runs are data, not words; they are cut, never stemmed

# Letters that NFKD leaves alone although readers take them for their plain form.
_PLAIN = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ł": "l", "Ł": "L", "đ": "d", "ı": "i"}
)
_ACCENTS = re.compile("[\u0300-\u036f\u200b-\u200d\u2060\ufe0e\ufe0f]")
_MARKS = "\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3099\u309a"
_RUN = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_PLAIN_RUN = re.compile("[A-Za-z0-9]+")  # the same in texts without other letters, and much faster
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PART = re.compile(
    rf"[{_UNSPACED}]+"
    r"|[A-Z]{2,}s(?![a-z])"  # URLs, PDFs: a plural, not two words
    r"|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
    rf"|(?:[^\WA-Za-z0-9_{_UNSPACED}]|[{_MARKS}])+"
)
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_KANA_ONLY = re.compile("[\u3040-\u309f]+")


def fold(text: str) -> str:
    """Compatibility forms and accents removed; case kept, because case marks word borders."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text.translate(_PLAIN))))


def words(folded: str) -> Iterator[tuple[str, tuple[str, ...], int, int]]:
    """The words of an already folded text, in order: as written but for case, their folded parts, where they begin and end."""
    for run in (_PLAIN_RUN if folded.isascii() else _RUN).finditer(folded):
        written = run.group()
        text, parts = _parted(written)
        if parts:
            yield text, parts, *run.span()


def _parted(run: str) -> tuple[str, tuple[str, ...]]:
    """A run as it is compared, and its parts."""
    return _parted_word(run) if len(run) <= LONGEST_WORD else _parted_word.__wrapped__(run)


@lru_cache(maxsize=1 << 15)
def _parted_word(run: str) -> tuple[str, tuple[str, ...]]:
    """A remembered pure function, since people repeat their words."""
    return run.casefold(), tuple(_parts(run))


def _parts(run: str) -> Iterator[str]:
    if run.isascii() and run.islower() and run.isalpha():  # most are, and have no border
        yield run[:LONGEST_WORD]
        return
    for part in _PART.findall(run):
        if _IS_UNSPACED.match(part):
            yield from pairs(part)
        else:
            yield part.casefold()[:LONGEST_WORD]


def pairs(run: str) -> Iterator[str]:
    """Overlapping character pairs of an unspaced run; a lone character stands for itself."""
    if len(run) == 1:
        yield run
    for first, second in zip(run, run[1:], strict=False):
        yield first + second


def terms(text: str) -> Iterator[tuple[str, str]]:
    """(word, stem) of everything in a described text, with the whole of a composed name after its parts."""
    for run in runs(text):
        yield from run_terms(run)


def runs(text: str) -> list[str]:
    """The unbroken runs of letters and digits of a text, folded."""
    return _PLAIN_RUN.findall(text) if text.isascii() else _RUN.findall(fold(text))


@lru_cache(maxsize=1 << 16)
def run_terms(run: str) -> tuple[tuple[str, str], ...]:
    """The same of one unbroken run of letters and digits: a remembered pure function, since texts repeat their words."""
    parts = list(_parts(run))
    found = [(part, stem(part)) for part in parts if len(part) > 1 and not part.isdecimal() or is_unspaced(part)]
    if len(parts) > 1 and not is_unspaced(parts[0]) and len(run) <= LONGEST_WORD:
        found.append((run.casefold(), run.casefold()))
    return tuple(found)


def run_stems(run: str) -> list[str]:
    """The stems of the parts of one unbroken run, in order and each as often as it is said."""
    if run.isascii() and run.isalpha() and (run.islower() or run.istitle()):
        return [stem(run.lower()[:LONGEST_WORD])]  # it is of one part
    return list(map(stem, _parts(run)))


def parted(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The words of a text as written but for case, each with its folded parts."""
    return [one for run in runs(text) if (one := _parted(run))[1]]


def joined(text: str) -> str:
    """A name without its borders: `send_email`, `sendEmail` and `send email` are one."""
    return "".join(runs(text)).casefold()


def is_unspaced(part: str) -> bool:
    return bool(_IS_UNSPACED.match(part))


def is_particle(part: str) -> bool:
    """Pairs of hiragana alone are mostly endings and particles: little evidence."""
    return bool(_KANA_ONLY.fullmatch(part))


# The endings of all words that the stemmer changes: asking it takes long.
_CUT = ("s", "e", "y", "i", "ed", "ing", "al", "ul", "ll", "ism", "ion", "er", "ator", "ogist", "ic", "ant", "ent")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The English stem of a folded word: a remembered pure function. A stemmer object is not safe to share."""
    if len(word) < 3 or len(word) >= LONGEST_WORD or not word.isascii() or not word.isalpha():
        return word
    return str(EnglishStemmer().stemWord(word)) if word.endswith(_CUT) else word


@lru_cache(maxsize=1 << 14)
def spanish_stem(word: str) -> str:
    if len(word) < 4 or len(word) >= LONGEST_WORD or not word.isalpha():
        return word
    return str(SpanishStemmer().stemWord(word))


def clip(text: str, limit: int) -> tuple[str, bool]:
    """White space collapsed and at most `limit` bytes, with an ellipsis when something was cut."""
    if len(text) <= limit and text.isalnum() and text.isascii():
        return text, False
    text = " ".join(text.split())
    raw = text.encode(errors="replace")
    if len(raw) <= limit:
        return text, False
    return raw[: limit - 3].decode(errors="ignore") + "…", True
