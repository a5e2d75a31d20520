"""What people can see of a text: some characters show nothing, and some turn round what stands beside them."""

from __future__ import annotations

import re
import unicodedata

# Embeddings, overrides and isolates. The plain marks (U+200E, U+200F, U+061C) stay: they reach no further than their word.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_UNSEEN_KINDS = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
# Letters and marks by their kind, but drawn as nothing: fillers, a joiner, the empty braille cell, variation selectors.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def holds_direction_marks(text: str) -> bool:
    return bool(_DIRECTION.search(text))


def is_blank(text: str) -> bool:
    """Whether nothing of it can be seen."""
    return all(unicodedata.category(one) in _UNSEEN_KINDS or _UNSEEN.match(one) for one in text)
