"""Messages that outlive a redirect, with what takes back the edit that they tell of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest


def saved(request: HttpRequest, text: str, *, action: str, undo: Mapping[str, Any]) -> None:
    """Say on the next page that an edit was saved; `undo` is what `shared/_undo.html` posts to `action`."""
    messages.success(request, text, extra_tags=json.dumps({"action": action, "undo": undo}))


def taking_back(message: Any) -> dict[str, Any] | None:
    """What a message was given to take its edit back; None for one that tells of none."""
    tags = getattr(message, "extra_tags", "") or ""
    return json.loads(tags) if tags.startswith("{") else None
