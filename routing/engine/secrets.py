"""What may name a secret and what looks like one: a registry holds references, never values."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

REFERENCE_FORMS = "env:NAME or vault:NAME"

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,127}|vault:[A-Za-z0-9][A-Za-z0-9._/-]{0,254}")
_SECRET_WORD = re.compile(
    r"(?:^|[^a-z])(?:auth|authorization|authentication|cookie|credentials?|passw(?:or)?d|passphrase|pwd|secrets?|tokens?"
    r"|signature|session|bearer|jwt|pat|key|keys|apikey|accesskey|api[-_]?key)(?:$|[^a-z])"
)
_SECRET_SUFFIX = re.compile(
    r"(?:apikey|accesskey|secretkey|privatekey|token|secret|password|passwd|authorization|cookie)$"
)
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey|api-key|negotiate|aws4-hmac-sha256)[\s:=]+\S", re.IGNORECASE)
_KNOWN_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{6,}"
    r"|(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|xox[abposr]-|hf_|npm_|pypi-|AIza|ya29\.|AKIA|ASIA|shpat_|dop_v1_)[A-Za-z0-9_-]{6,}"
    r"|eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_WORD = re.compile(r"[A-Za-z0-9]+")
_PACKED = re.compile(r"[A-Za-z0-9_+/=.-]{24,}")


def is_reference(text: str) -> bool:
    return _REFERENCE.fullmatch(text) is not None


def names_a_secret(key: str) -> bool:
    """Whether a header, variable or parameter of this name usually carries a secret."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key).lower()
    return bool(_SECRET_WORD.search(spaced) or _SECRET_SUFFIX.search(spaced))


def looks_like_a_secret(text: str) -> bool:
    """Whether a literal has the shape of a token: a known prefix, a scheme with a value, or packed letters and digits."""
    if _SCHEME.match(text.strip()) or _KNOWN_TOKEN.search(text):
        return True
    return any(_is_packed(word) for word in _WORD.findall(text)) or any(
        sum(map(_mixes, _WORD.findall(run))) >= 3 for run in _PACKED.findall(text)
    )


def url_secret(url: str) -> str | None:
    """Which part of a URL holds a secret ("user information", "parameter NAME"), or None."""
    try:
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None:
            return "user information"
    except ValueError:
        return "user information" if "@" in url else None
    for name, value in parse_qsl(parts.query, keep_blank_values=False) + parse_qsl(parts.fragment):
        if names_a_secret(name) or looks_like_a_secret(value):
            return f"parameter {name[:40]}"
    return None


def _mixes(word: str) -> bool:
    return any(c.isdigit() for c in word) and any(c.isalpha() for c in word)


def _is_packed(word: str) -> bool:
    if len(word) >= 20 and _mixes(word):
        return True
    if len(word) >= 16 and _mixes(word) and word.lower() != word and word.upper() != word:
        return True
    if len(word) >= 10 and sum(a.isdigit() != b.isdigit() for a, b in pairwise(word)) >= 4:
        return True
    # Letters alone: words are written in one case or in humps, random text switches case all the time.
    switches = sum(a.isupper() != b.isupper() for a, b in pairwise(word))
    return len(word) >= 20 and switches > len(word) / 3
