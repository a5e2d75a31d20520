"""Why somebody changes something: a short note that is posted beside an edit and kept with the change."""

from __future__ import annotations

from django.http import HttpRequest

LONGEST = 300  # as the field says; a browser sends no more


def of(request: HttpRequest) -> str:
    """The note of a post on one line, without control characters; empty when there is none."""
    plain = "".join(one if one.isprintable() or _is_mark(one) else " " for one in request.POST.get("why", "")[:4000])
    return " ".join(plain.split())[:LONGEST]


def _is_mark(one: str) -> bool:
    """Joiners, which belong to the words of many scripts; marks that turn the direction of what follows do not."""
    return one in "\u200c\u200d"
