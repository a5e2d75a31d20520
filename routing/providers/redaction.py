"""Keep a key out of texts: whole or cut, and however it was escaped on its way.

A text is read as bytes, with its escapes taken back (JSON, Python, percent, HTML; one within another, in every order, since a
key may itself look like an escape), and each byte remembers which characters of the text it came from.
"""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

REDACTED = "[REDACTED]"

_SHORTEST = 4  # bytes of a key in a row that already count as a piece of it
_MOST = 24  # readings of one text
# One pattern for each mark, since a pattern that begins with one fixed byte is found many times faster.
_BACKSLASH = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}"
    rb"|x[0-9a-fA-F]{2}|[\"'\\/bfnrt])"
)
_PERCENT = re.compile(rb"%[0-9a-fA-F]{2}")
_ENTITY = re.compile(rb"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});")
# Mark, pattern, and whether two hexadecimal digits stand for a letter rather than for a byte: both are written alike.
_STEPS = (
    (b"\\", _BACKSLASH, False),
    (b"%", _PERCENT, False),
    (b"&", _ENTITY, False),
    (b"\\x", _BACKSLASH, True),
    (b"%", _PERCENT, True),
)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class Key:
    """A secret that no repr shows. Its value is `reveal()`. Raises ValueError for an empty one."""

    __slots__ = ("_bytes", "_pieces", "_shortest", "_value")

    def __init__(self, value: str) -> None:
        if not value:
            raise ValueError("a key is not empty")
        self._value = value
        self._bytes = _bytes_of(value)
        self._shortest = min(_SHORTEST, len(self._bytes))
        last = len(self._bytes) - self._shortest
        self._pieces = frozenset(self._bytes[at : at + self._shortest] for at in range(last + 1))

    def __repr__(self) -> str:
        return f"Key({REDACTED})"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written down")

    def reveal(self) -> str:
        return self._value

    def is_in(self, text: str) -> bool:
        """Whether the whole key is in the text, in any spelling."""
        return any(self._bytes in data for data in _plain(_bytes_of(text)))

    def redacted(self, text: str, *, most: int) -> str:
        """The first `most` characters of the text with every piece of the key replaced; pieces are looked for before the
        text is cut, so that no cut can hide one."""
        hidden: set[int] = set()
        for reading in _readings(text):
            hidden.update(self._places(reading))
        return _replaced(text, hidden)[:most]

    def _places(self, reading: _Reading) -> Iterator[int]:
        """Where the text holds pieces of the key in this reading."""
        for at in range(len(reading.data) - self._shortest + 1):
            if reading.data[at : at + self._shortest] in self._pieces:
                yield from range(reading.starts[at], reading.ends[at + self._shortest - 1])


def _plain(data: bytes) -> Iterator[bytes]:
    """The bytes as they stand and in every reading."""
    known, waiting = {data}, deque([data])
    while waiting:
        data = waiting.popleft()
        yield data
        for mark, escape, letters in _STEPS:
            plain = escape.sub(partial(_unescaped, letters=letters), data) if mark in data else data
            if plain not in known and len(known) < _MOST:
                known.add(plain)
                waiting.append(plain)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text as bytes, and of each byte where in the text the characters begin and end that it came from."""

    data: bytes
    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, text: str) -> _Reading:
        starts = [place for place, letter in enumerate(text) for _ in _bytes_of(letter)]
        return cls(_bytes_of(text), starts, [place + 1 for place in starts])

    def unescaped(self, escape: re.Pattern[bytes], *, letters: bool) -> _Reading:
        plain, starts, ends, done = bytearray(), list[int](), list[int](), 0
        for match in escape.finditer(self.data):
            begin, end = match.span()
            meant = _unescaped(match, letters=letters)
            plain += self.data[done:begin] + meant
            starts += self.starts[done:begin] + [self.starts[begin]] * len(meant)
            ends += self.ends[done:begin] + [self.ends[end - 1]] * len(meant)
            done = end
        return _Reading(bytes(plain + self.data[done:]), starts + self.starts[done:], ends + self.ends[done:])


def _readings(text: str) -> Iterator[_Reading]:
    """The text as it stands and in every reading."""
    first = _Reading.of(text)
    known, waiting = {first.data}, deque([first])
    while waiting:
        reading = waiting.popleft()
        yield reading
        for mark, escape, letters in _STEPS:
            plain = reading.unescaped(escape, letters=letters) if mark in reading.data else reading
            if plain.data not in known and len(known) < _MOST:
                known.add(plain.data)
                waiting.append(plain)


def _unescaped(match: re.Match[bytes], *, letters: bool) -> bytes:
    """What an escape stands for. With `letters`, two hexadecimal digits are a letter, not a byte."""
    found = match.group()
    if found[:1] == b"%" or found[1:2] == b"x":
        code = int(found[-2:], 16)
        return _bytes_of(chr(code)) if letters else bytes([code])
    if found.startswith(b"&"):
        return _bytes_of(html.unescape(found.decode()))
    if found[1:2] in (b"u", b"U"):
        codes = [int(part, 16) for part in re.split(rb"\\[uU]", found) if part]
        if len(codes) == 2:
            return chr(0x10000 + ((codes[0] - 0xD800) << 10) + (codes[1] - 0xDC00)).encode()
        return _bytes_of(chr(codes[0])) if codes[0] <= 0x10FFFF else found
    return _LETTERS.get(found[1:], found[1:])


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _replaced(text: str, hidden: set[int]) -> str:
    kept, open_run = [], False
    for place, letter in enumerate(text):
        if place not in hidden:
            kept.append(letter)
        elif not open_run:
            kept.append(REDACTED)
        open_run = place in hidden
    return "".join(kept)
