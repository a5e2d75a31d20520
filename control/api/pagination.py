"""Keyset pages: an opaque mark of the last row, never a page number."""

from __future__ import annotations

import base64
import binascii

from django.http import HttpRequest
from pydantic import BaseModel

from control.api.errors import RequestError


def mark(value: str) -> str:
    return base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")


def read_mark(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        raise RequestError(
            "invalid_request",
            "after: is no mark of a page",
            [{"path": "after", "message": "must be the `next` of an earlier answer"}],
        ) from None


def only_known(request: HttpRequest, shape: type[BaseModel]) -> None:
    """Refuse filters that the list does not have: silently ignored ones would show what nobody asked for."""
    unknown = [name for name in request.GET if name not in shape.model_fields]
    if unknown:
        allowed = ", ".join(shape.model_fields)
        details = [{"path": name[:200], "message": "is not known here", "allowed": allowed} for name in unknown]
        raise RequestError("invalid_request", f"{unknown[0][:200]}: is not known here", details)
