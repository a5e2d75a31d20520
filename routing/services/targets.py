"""Where an endpoint leads: what is looked at before the draft takes a URL, on the way of every edit of an entry.

A document that comes as a whole (import, PUT, restore) names URL and credential side by side, so it gives both anew; it may
be written for another network too, and is looked at when it is connected to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from routing.engine.secrets import is_reference
from routing.errors import InvalidRegistry
from routing.models import Workspace
from routing.providers.addresses import Destinations, reason_at_save


def check(
    workspace: Workspace, before: Mapping[str, Any] | None, after: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """Refuse a URL into a refused range, and a credential that would go somewhere else than it was entered for.

    `given`: the fields that somebody entered in this step. Raises InvalidRegistry with the field.
    """
    url = after.get("url")
    if not isinstance(url, str) or (before is not None and before.get("url") == url):
        return
    problems = (
        _misplaced(before, after, given) if before is not None and target(before.get("url")) != target(url) else []
    )
    allow = Workspace.objects.values_list("allow_private", flat=True).get(pk=workspace.pk)
    try:
        reason = reason_at_save(url, Destinations.of(allow))
    except ValueError:
        reason = ""  # no URL at all, as the registry says
    if reason:
        problems.append({"path": "url", "message": f"cannot be used: {reason}", "value": url[:200]})
    if problems:
        raise InvalidRegistry("This change was not saved.", problems)


def _misplaced(
    before: Mapping[str, Any], after: Mapping[str, Any], given: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    problems: list[Mapping[str, Any]] = []
    words = "must be entered again: the URL leads somewhere else now, and the secret would go there"
    if after.get("credential") and "credential" not in given:
        problems.append({"path": "credential", "message": words})
    headers = after.get("headers")
    if isinstance(headers, Mapping) and "headers" not in given and any(map(_refers, headers.values())):
        problems.append({"path": "headers", "message": words})
    return problems


def _refers(value: object) -> bool:
    return isinstance(value, str) and is_reference(value)


def target(url: object) -> tuple[str, str, int | None, str]:
    """What a credential is entered for: scheme, host, port and the first part of the path."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ("", "", None, "")
    return (parts.scheme, (parts.hostname or "").rstrip("."), port, parts.path.strip("/").partition("/")[0])
