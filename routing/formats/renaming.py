"""Names that are outside our rules get one inside them; the old spelling is remembered."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from routing.engine.validation.reader import is_name


def suitable_names(names: Iterable[str]) -> dict[str, str]:
    """Old name -> valid and unique new name. Valid names stay as they are."""
    olds = list(names)
    taken = {old for old in olds if is_name(old)}
    renamed: dict[str, str] = {}
    for old in olds:
        if is_name(old):
            renamed[old] = old
        else:
            renamed[old] = _unused(_suitable(old), taken)
            taken.add(renamed[old])
    return renamed


def _suitable(old: str) -> str:
    plain = unicodedata.normalize("NFKD", old).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^a-z0-9._-]+", "-", plain))
    plain = plain.lstrip("._-")[:56].rstrip("._-")
    return plain if is_name(plain) else f"{plain or 'unnamed'}-1"


def _unused(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate
