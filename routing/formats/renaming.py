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
    numbers: dict[
        str, int
    ] = {}  # the last number given to each name, so that many of one name take no longer than others
    for old in olds:
        if is_name(old):
            renamed[old] = old
        elif old not in renamed:
            renamed[old] = _unused(_suitable(old), taken, numbers)
            taken.add(renamed[old])
    return renamed


def _suitable(old: str) -> str:
    plain = unicodedata.normalize("NFKD", old).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^a-z0-9._-]+", "-", plain))
    plain = plain.lstrip("._-")[:56].rstrip("._-")
    return plain if is_name(plain) else f"{plain or 'unnamed'}-1"


def _unused(name: str, taken: set[str], numbers: dict[str, int]) -> str:
    number, candidate = numbers.get(name, 1), name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    numbers[name] = number
    return candidate
