"""What people can see of a text: some characters show nothing, and some turn round what stands beside them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Embeddings, overrides and isolates. The plain marks (U+200E, U+200F, U+061C) stay: they reach no further than their word.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_UNSEEN_KINDS = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
# Letters and marks by their kind, but drawn as nothing: fillers, a joiner, the empty braille cell, variation selectors.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def fault_of_line(text: str) -> str | None:
    """What a text of one line must not hold but does: "control characters", which end lines too, or "direction marks"."""
    if _CONTROL.search(text):
        return "control characters"
    return "direction marks" if _DIRECTION.search(text) else None


def is_blank(text: str) -> bool:
    """Whether nothing of it can be seen."""
    return all(unicodedata.category(one) in _UNSEEN_KINDS or _UNSEEN.match(one) for one in text)


# What is drawn as nothing or steers what is drawn: controls but for line break and tab, marks of direction, joiners,
# line separators, fillers, tags, variation selectors, and halves of surrogate pairs, which no page can hold.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U00013440\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_PICTURE = "[\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\xa9\xae\U0001f000-\U0001faff]"
_JOINED = "[\u0620-\u06ff\u0750-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa]"  # scripts that spell with joiners
# Joiners and selectors stay where they make one sign of two: in a joined or coloured emoji, a keycap, a word.
_PIECE = re.compile(
    f"(?P<kept>(?<={_PICTURE})\ufe0f?\u200d(?={_PICTURE})|(?<={_PICTURE})[\ufe0e\ufe0f]"
    f"|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<={_JOINED})[\u200c\u200d](?={_JOINED}))|(?P<hidden>(?P<one>[{_HIDDEN}])(?P=one)*)"
)
_SUSPECT = re.compile(f"[{_HIDDEN}]")


def holds_hidden(text: str) -> bool:
    """Whether a character of it cannot be seen, or turns round what stands beside it."""
    return any(is_hidden for _, is_hidden in pieces(text))


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in order, cut into what can be seen and what cannot: one such character, or it again and again (True)."""
    start = 0
    for found in _PIECE.finditer(text) if _SUSPECT.search(text) else ():
        if found["hidden"]:
            if found.start() > start:
                yield text[start : found.start()], False
            yield found["hidden"], True
            start = found.end()
    if start < len(text):
        yield text[start:], False
