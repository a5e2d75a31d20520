"""Where mcphub keeps secrets, and the references that stand in for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from routing.engine.secrets import is_reference, looks_like_a_secret, names_a_secret, url_secret
from routing.formats.values import Report

# Headers that say how to talk, not who is talking.
_HARMLESS = frozenset(
    "accept accept-charset accept-encoding accept-language cache-control content-type user-agent mcp-protocol-version".split()
)
_VARIABLE = re.compile(
    r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]{0,127})\}|\$([A-Za-z_][A-Za-z0-9_]{0,127})|\{env:([A-Za-z_][A-Za-z0-9_]{0,127})\}"
)
_BEARER = re.compile(r"bearer\s+(\S.*)", re.IGNORECASE | re.DOTALL)


def convert_headers(server: str, headers: object, path: str, report: Report) -> dict[str, Any]:
    """`headers` and `credential` of an endpoint. Every value becomes a reference, but for those known to be harmless."""
    if headers is None:
        return {}
    if not isinstance(headers, Mapping):
        report.problem(path, "must be a mapping")
        return {}
    found: dict[str, Any] = {}
    kept: dict[str, str] = {}
    for header, value in headers.items():
        place = f"{path}.{header}"
        if not isinstance(value, str) or not isinstance(header, str):
            report.problem(place, "must be text")
        elif header.lower() == "authorization" and (bearer := _BEARER.fullmatch(value.strip())):
            found["credential"] = _reference(bearer[1].strip(), f"{server}_TOKEN", place, report)
        elif header.lower() in _HARMLESS and not looks_like_a_secret(value) and not _VARIABLE.search(value):
            kept[header] = value
        else:
            kept[header] = _reference(value.strip(), f"{server}_{header}", place, report)
    if kept:
        found["headers"] = kept
    return found


def _reference(value: str, suggested_name: str, path: str, report: Report) -> str:
    """The reference for a value: the one it already is, in our spelling, or a suggested one for a literal."""
    if is_reference(value):
        return value
    if variable := _VARIABLE.fullmatch(value):
        report.warn(path, "a variable of the environment became a reference")
        return f"env:{next(filter(None, variable.groups()))}"
    suggested = f"env:{environment_name(suggested_name)}"
    if value.startswith("tvault://"):
        vault = vault_reference(value.removeprefix("tvault://"))
        report.secret(path, vault or suggested)
        return vault or suggested
    report.secret(path, suggested)
    return suggested


def vault_reference(entry: str) -> str | None:
    """`project/key` of a vault as a reference; None when it is no plain path."""
    reference = f"vault:{entry.removeprefix('current/')}"
    return reference if is_reference(reference) else None


def environment_name(text: str) -> str:
    name = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")[:120]
    return f"_{name}" if not name or name[0].isdigit() else name


def report_environment(env: object, path: str, report: Report) -> list[str]:
    """Names of the variables that a command gets; their values stay where they are and are reported."""
    if env is None:
        return []
    if not isinstance(env, Mapping):
        report.problem(path, "must be a mapping")
        return []
    for variable, value in env.items():
        entry = value.removeprefix("tvault://") if isinstance(value, str) and value.startswith("tvault://") else None
        report.secret(
            f"{path}.{variable}",
            (vault_reference(entry) if entry else None) or f"env:{environment_name(str(variable))}",
        )
    return [str(variable) for variable in env]


def strip_url(url: str, server: str, path: str, report: Report) -> tuple[str, dict[str, Any]]:
    """A URL without the secrets in it, and what of the endpoint carries them instead."""
    secret = url_secret(url)
    if secret is None:
        return url, {}
    parts = urlsplit(url) if _splits(url) else None
    if parts is None:
        report.problem(path, "is no URL that can be read")
        return "", {}
    more: dict[str, Any] = {}
    if parts.username is not None or parts.password is not None:
        suggested = f"env:{environment_name(server)}_AUTHORIZATION"
        report.secret(path, suggested)
        more["headers"] = {"Authorization": suggested}
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    kept = [(key, value) for key, value in pairs if not (value and (names_a_secret(key) or looks_like_a_secret(value)))]
    if len(kept) < len(pairs):
        report.secret(path, f"env:{environment_name(server)}_TOKEN")
        report.warn(
            path, "a parameter that holds a secret was left out: this endpoint needs a credential or header instead"
        )
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, urlencode(kept), "")), more


def _splits(url: str) -> bool:
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True
