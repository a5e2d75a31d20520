"""Where a question is asked: the list, and the entry of it, that one comes from and goes back to."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.urls import Resolver404, resolve, reverse

from control.web.palette import PAGES

LISTS = {page.url: page.title for page in PAGES}
OF_LIST = {
    "endpoint": "endpoints",
    "tool": "tools",
    "capability": "capabilities",
    "scope": "scopes",
    "policy": "policies",
    "provider": "providers",
    "session": "sessions",
    "revision": "revisions",
}


def to(address: str) -> list[tuple[str, str]]:
    """Words and addresses of the pages that lead there, itself last; nothing for an address that is no page of a workspace."""
    try:
        found = resolve(urlsplit(address).path)
    except Resolver404:
        return []
    workspace, *names = found.kwargs.values() or [""]
    above = OF_LIST.get(str(found.url_name), str(found.url_name))
    if above not in LISTS:
        return []
    steps = [(LISTS[above], reverse(above, args=[workspace]))]
    return [*steps, (str(names[0]), address)] if names and above != found.url_name else steps
