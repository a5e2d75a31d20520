"""Where an answer leads: a redirect that htmx takes as a new page too."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect


def to(request: Any, address: str) -> HttpResponse:
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return redirect(address)
