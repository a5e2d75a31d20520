"""Messages that outlive a redirect, with what takes back the edit that they tell of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse

from routing.models import Edit
from routing.services import edits


def saved(request: HttpRequest, text: str, *, action: str, undo: Mapping[str, Any]) -> None:
    """Say on the next page that an edit was saved; `undo` is what `shared/_undo.html` posts to `action`."""
    messages.success(request, text, extra_tags=json.dumps({"action": action, "undo": undo}))


def stepped(request: HttpRequest, text: str, step: Edit | None, *, back: str) -> None:
    """Say that a step of the draft was made, which its undo takes back exactly and then leads to `back`.

    A step that made the draft say what is live leaves no edit to take back.
    """
    if step is None:
        messages.success(request, f"{text}: the draft says what is live again")
    else:
        action = reverse("undo", args=[step.workspace.name, step.pk])
        saved(request, text, action=action, undo={"read": "", "fields": [("next", back)]})


def drafted(request: Any, text: str, *, about: str, back: str) -> None:
    """Say that the person just changed this part of the draft, with what takes the step back and then leads to `back`."""
    step = edits.latest(request.workspace, request.actor.person)
    if step is None or all(path.startswith(about) for path in step.paths):
        stepped(request, text, step, back=back)
    else:  # the same person was at work in another tab: theirs is not this step
        messages.success(request, text)


def taking_back(message: Any) -> dict[str, Any] | None:
    """What a message was given to take its edit back; None for one that tells of none."""
    tags = getattr(message, "extra_tags", "") or ""
    return json.loads(tags) if tags.startswith("{") else None
