"""Where the configurations of others keep secrets, and the references that stand in for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from routing.engine.secrets import is_reference, looks_like_a_secret, names_a_secret, url_secret
from routing.engine.validation.problems import child, item
from routing.formats.values import Report

# Headers that say how to talk, not who is talking.
_HARMLESS = frozenset(
    "accept accept-charset accept-encoding accept-language cache-control content-type user-agent mcp-protocol-version".split()
)
_VARIABLE = re.compile(
    r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]{0,127})\}|\$([A-Za-z_][A-Za-z0-9_]{0,127})|\{env:([A-Za-z_][A-Za-z0-9_]{0,127})\}"
)
# What hosts fill in themselves: `${input:id}` asks a person, `${NAME:-else}` has a value for when there is none.
_ASKED = re.compile(r"\$\{input:([^{}]{1,128})\}")
_WITH_DEFAULT = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]{0,127}):-[^}]*\}")
_FLAG = re.compile(r"--?([A-Za-z][A-Za-z0-9_-]{0,63})(?:=(.*))?", re.DOTALL)
_LITELLM = re.compile(r"os\.environ/([A-Za-z_][A-Za-z0-9_]{0,127})")
MOST_SECRETS = 1000
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
            found["credential"] = reference_for(bearer[1].strip(), f"{server}_TOKEN", place, report)
        elif header.lower() in _HARMLESS and not looks_like_a_secret(value) and not _VARIABLE.search(value):
            kept[header] = value
        else:
            kept[header] = reference_for(value.strip(), f"{server}_{header}", place, report)
    if kept:
        found["headers"] = kept
    return found


def reference_for(value: str, suggested_name: str, path: str, report: Report) -> str:
    """The reference for a value: the one it already is, in our spelling, or a suggested one for a literal."""
    if is_reference(value):
        return value
    if variable := _VARIABLE.fullmatch(value):
        report.warn(path, "a variable of the environment became a reference")
        return f"env:{next(filter(None, variable.groups()))}"
    if asked := _ASKED.fullmatch(value):
        report.warn(path, "a value that the host asks for became a reference")
        return f"env:{environment_name(asked[1])}"
    if named := _WITH_DEFAULT.fullmatch(value):
        report.warn(path, "a variable of the environment became a reference, without the value for when it is not set")
        return f"env:{named[1]}"
    if named := _LITELLM.fullmatch(value):
        return f"env:{named[1]}"
    suggested = f"env:{environment_name(suggested_name)}"
    if value.startswith("tvault://"):
        vault = vault_reference(value.removeprefix("tvault://"))
        report.secret(path, vault or suggested)
        return vault or suggested
    report.secret(path, suggested)
    return suggested


def report_arguments(arguments: object, path: str, report: Report) -> None:
    """Arguments of a command that hold a secret: after a flag that names one, or by their look."""
    after_flag = ""
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        text = argument if isinstance(argument, str) else ""
        flag = _FLAG.fullmatch(text)
        name, value = (flag[1], flag[2]) if flag else (after_flag, text)
        after_flag = flag[1] if flag and flag[2] is None else ""
        if value and not _is_filled_in(value) and ((name and names_a_secret(name)) or _holds_a_secret(value)):
            report.secret(f"{path}[{index}]", f"env:{environment_name(name or 'TOKEN')}")


def _holds_a_secret(text: str) -> bool:
    return bool("://" in text and url_secret(text)) or looks_like_a_secret(text)


def _is_filled_in(value: str) -> bool:
    found = (_VARIABLE, _ASKED, _WITH_DEFAULT, _LITELLM)
    return is_reference(value) or any(pattern.fullmatch(value) for pattern in found)


def report_secrets(value: object, path: str, report: Report) -> None:
    """Literal secrets anywhere in a part of a file that is not imported: each by its place and a reference."""
    waiting: list[tuple[str, str, object]] = [("", path, value)]
    found = 0
    while waiting and found < MOST_SECRETS:
        key, place, held = waiting.pop()
        if isinstance(held, Mapping):
            waiting += [(str(name), child(place, str(name)), inner) for name, inner in reversed(list(held.items()))]
        elif isinstance(held, list):
            waiting += [(key, item(place, index), inner) for index, inner in reversed(list(enumerate(held)))]
        elif (
            isinstance(held, str)
            and held
            and not _is_filled_in(held)
            and (names_a_secret(key) or _holds_a_secret(held))
        ):
            report.secret(place, f"env:{environment_name(key or 'TOKEN')}")
            found += 1


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
