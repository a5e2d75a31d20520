"""Numbers as people write them in forms."""

from __future__ import annotations

import re

_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?")


def ungrouped(text: str) -> str:
    """Without the commas between thousands. Any other comma stays, and is no number: to many it is the decimal point, and
    0,5 must not become 5."""
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text
