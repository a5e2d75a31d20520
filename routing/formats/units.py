"""Durations and sizes as other tools write them."""

from __future__ import annotations

import math
import re

_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_SIZE = re.compile(r"(\d{1,19}) *(B|KB|MB|GB)?")
_BYTES = {None: 1, "B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
DURATION_RULE = "a duration such as 30s, 1m30s or 500ms"
SIZE_RULE = "a whole number with B, KB, MB or GB, or 0"


def seconds(written: object) -> float | None:
    """Go's notation in seconds ("1h2m3.5s", "0"); None when it is none."""
    if not isinstance(written, str):
        return None
    sign, rest = (-1, written[1:]) if written.startswith("-") else (1, written.removeprefix("+"))
    if rest == "0":
        return 0
    total, at = 0.0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:
            return None
        total += float(part[1]) * _SECONDS[part[2]]
        at = part.end()
    if not rest or not math.isfinite(total):
        return None
    total = sign * round(total, 9)
    return int(total) if total.is_integer() else total


def byte_size(written: object) -> int | None:
    """ "32KB" -> 32768; None when it is no size. Empty text is 0."""
    if isinstance(written, int) and not isinstance(written, bool):
        return written if 0 <= written < 2**63 else None
    if not isinstance(written, str):
        return None
    text = written.strip().upper()
    if not text:
        return 0
    found = _SIZE.fullmatch(text)
    size = int(found[1]) * _BYTES[found[2]] if found else None
    return size if size is not None and size < 2**63 else None


def flag(written: object) -> object:
    """ "yes" -> True and the other words that YAML 1.1 has for true and false; anything else is left as it is."""
    word = written.lower() if isinstance(written, str) else None
    return True if word in ("yes", "on", "y") else False if word in ("no", "off", "n") else written
