"""Text into the wordpieces of a BERT vocabulary, as the uncased models were trained to read it. Nothing but the standard library."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

LONGEST_WORD = 100  # letters; a longer one is unknown
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Immutable; safe to share between threads."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: place for place, piece in enumerate(vocabulary)}
        self._unknown, self._start, self._end = (self._ids[name] for name in ("[UNK]", "[CLS]", "[SEP]"))

    def ids(self, text: str, most: int) -> list[int]:
        """The places of a text's pieces in the vocabulary, at most `most` of them, start and end mark included."""
        found: list[int] = []
        for word in _words(text):
            found.extend(self._pieces(word))
            if len(found) >= most - 2:
                break
        return [self._start, *found[: most - 2], self._end]

    def _pieces(self, word: str) -> list[int]:
        """Longest first from the left; the unknown piece where no such spelling exists."""
        if len(word) > LONGEST_WORD:
            return [self._unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = self._ids.get(word[start:end] if start == 0 else f"##{word[start:end]}")
                if piece is not None:
                    break
            else:
                return [self._unknown]
            found.append(piece)
            start = end
        return found


def _words(text: str) -> Iterator[str]:
    """Words and single marks, small letters without accents; every ideograph stands alone."""
    for run in _spaced(text).split():
        bare = "".join(one for one in unicodedata.normalize("NFD", run.lower()) if unicodedata.category(one) != "Mn")
        word = ""
        for one in bare:
            if not _is_mark(one):
                word += one
                continue
            if word:
                yield word
            yield one
            word = ""
        if word:
            yield word


def _spaced(text: str) -> str:
    kept = []
    for one in text:
        if one in "\t\n\r":
            kept.append(" ")
        elif one == "\ufffd" or unicodedata.category(one)[0] == "C":
            continue
        elif _is_ideograph(ord(one)):
            kept.append(f" {one} ")
        else:
            kept.append(one)
    return "".join(kept)


def _is_ideograph(code: int) -> bool:
    return code >= 0x3400 and any(first <= code <= last for first, last in _IDEOGRAPHS)


def _is_mark(one: str) -> bool:
    code = ord(one)
    if code < 128:
        return code >= 33 and not one.isalnum()
    return unicodedata.category(one)[0] == "P"
