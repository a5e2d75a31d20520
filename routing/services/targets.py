"""Where an endpoint or a provider leads: what is looked at before the draft takes a URL, on the way of every edit of an entry.

A document that comes as a whole (import, PUT, restore) names URL and credential side by side, so it gives both anew; it may
be written for another network too, and is looked at when it is connected to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from routing.engine.secrets import is_reference
from routing.models import Workspace
from routing.providers import names
from routing.providers.addresses import Address, Destinations, place_of, reason_at_save, written

SECTIONS = ("endpoints", "providers")  # those whose entries have a URL
_NOWHERE = ("", "", None, "")
# Where accounts of a kind lead that name no URL.
USUAL_URLS = {"openrouter": "https://openrouter.ai", "typesafe": "https://api.typesafe.ai"}


def look_up(section: str, given: Mapping[str, Any]) -> Sequence[Address]:
    """What the name in a URL that is entered leads to; nothing where none is, or it leads nowhere within a second.

    It waits for a lookup, so it is asked before the draft is locked.
    """
    url = given.get("url")
    if section not in SECTIONS or not isinstance(url, str):
        return ()
    try:
        host, port = place_of(url)
    except ValueError:
        return ()
    return names.addresses_of(host, port) if host and written(host) is None else ()


def remark(section: str, given: Mapping[str, Any]) -> str:
    """What is odd about a URL that was saved, though it may be right: its name leads nowhere from here. Else empty."""
    url = given.get("url")
    if section not in SECTIONS or not isinstance(url, str) or look_up(section, given):
        return ""
    try:
        host, _ = place_of(url)
    except ValueError:
        return ""
    if not host or written(host) is not None:
        return ""
    return f"Saved, but the name {host[:100]} cannot be looked up from here. Check its spelling, or try again later."


def refusals(
    section: str,
    workspace: Workspace,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    given: Mapping[str, Any],
    found: Sequence[Address] = (),
) -> list[Mapping[str, Any]]:
    """A URL into a refused range, and a credential that would go somewhere else than it was entered for, by their fields.

    `given`: the fields that somebody entered in this step; `found`: what its name leads to (`look_up`).
    """
    problems: list[Mapping[str, Any]] = []
    if section not in SECTIONS:
        return problems
    if before is not None and target(after) not in (target(before), _NOWHERE):
        problems += _misplaced(section, after, given)
    url = after.get("url")
    if isinstance(url, str) and (before is None or before.get("url") != url):
        problems += _misled(workspace, url, found)
    return problems


def _misled(workspace: Workspace, url: str, found: Sequence[Address]) -> list[Mapping[str, Any]]:
    allow = Workspace.objects.values_list("allow_private", flat=True).get(pk=workspace.pk)
    try:
        reason = reason_at_save(url, Destinations.of(allow), found)
    except ValueError:
        reason = ""  # no URL at all, as the registry says
    return [{"path": "url", "message": f"cannot be used: {reason}", "value": url[:200]}] if reason else []


def _misplaced(section: str, after: Mapping[str, Any], given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    problems: list[Mapping[str, Any]] = []
    words = "must be entered again: the URL leads somewhere else now, and the secret would go there"
    # A provider's account has a credential also where it names none.
    has_one = after.get("kind") != "local" if section == "providers" else bool(after.get("credential"))
    if has_one and "credential" not in given:
        problems.append({"path": "credential", "message": words})
    headers = after.get("headers")
    if isinstance(headers, Mapping) and "headers" not in given and any(map(_refers, headers.values())):
        problems.append({"path": "headers", "message": words})
    return problems


def _refers(value: object) -> bool:
    return isinstance(value, str) and is_reference(value)


def target(body: Mapping[str, Any]) -> tuple[str, str, int | None, str]:
    """What a credential is entered for: scheme, host, port and the first part of the path."""
    url = body.get("url") or USUAL_URLS.get(str(body.get("kind")), "")
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return _NOWHERE
    return (parts.scheme, (parts.hostname or "").rstrip("."), port, parts.path.strip("/").partition("/")[0])
