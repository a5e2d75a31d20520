"""Keep secrets out of a text that is to be kept: credentials, and what stands in a URL beside its place.

What is left says the same to the ranker: a secret has no words that a tool could be found by.
"""

from __future__ import annotations

import re

from routing.engine.secrets import looks_like_a_secret, names_a_secret

MASK = "•••"

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.S
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}://[^\s<>\"'`]+")
_ENDS = ".,;:!?)]}"  # that belong to the sentence, not to the URL
_NAMED = re.compile(
    r"(?<![\w-])(?P<name>[A-Za-z][\w-]{1,40})(?P<between>[\"']? {0,3}[=:] {0,3})(?P<value>\"[^\"]*\"|'[^']*'|[^\s,;&\"']+)"
)
_TOLD = re.compile(
    r"(?i)(?<![\w-])(?P<name>passwords?|passwd|passphrase|secret|token|api[ -]?key|access[ -]?key|bearer|basic)"
    r"(?P<between> (?:is |of |= )?)(?P<value>[^\s,;]{5,})"
)
_RUN = re.compile(r"[^\s\"'<>(){}\[\],;|`]{8,}")


def masked(text: str) -> str:
    """The text with everything that has the shape of a secret, and every query string, user and fragment of a URL, masked."""
    text = _PRIVATE_KEY.sub(MASK, text)
    if "://" in text:
        text = _URL.sub(_place_alone, text)
    if "=" in text or ":" in text:
        text = _NAMED.sub(_without_value, text)
    text = _TOLD.sub(_without_told, text)
    return _RUN.sub(_unless_secret, text)


def _place_alone(found: re.Match[str]) -> str:
    """Scheme, host and path; a part of the path that looks like a secret is none that a tool is found by."""
    whole = found.group()
    url = whole.rstrip(_ENDS)
    scheme, _, rest = url.partition("://")
    place = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = place.partition("/")
    user, at, host = host.rpartition("@")
    parts = [MASK if looks_like_a_secret(part) else part for part in path.split("/")]
    kept = f"{scheme}://{MASK + at if user else ''}{host}{slash}{'/'.join(parts)}"
    cut = f"{rest[len(place)]}{MASK}" if len(place) < len(rest) else ""
    return f"{kept}{cut}{whole[len(url) :]}"


def _without_value(found: re.Match[str]) -> str:
    if found["value"].startswith("//") or not names_a_secret(found["name"]):
        return found.group()
    return f"{found['name']}{found['between']}{MASK}"


def _without_told(found: re.Match[str]) -> str:
    """ "The password hunter2" is masked, "the token usage" is not: a value is no plain word."""
    value = found["value"].rstrip(_ENDS)
    plain = value.replace("-", "").replace("'", "").isalpha()
    return found.group() if plain or value == MASK else f"{found['name']}{found['between']}{MASK}"


def _unless_secret(found: re.Match[str]) -> str:
    run = found.group()
    if "://" not in run:
        return MASK if looks_like_a_secret(run) else run
    return run
