from __future__ import annotations

from typing import Any

from django.utils import timezone

from routing.events import timestamp
from routing.models import Decision


def message(row: Decision, event: str) -> dict[str, Any]:
    """What every process is told of a decision: whose it is, and what happened to it."""
    return {
        "event": event,
        "workspace": str(row.workspace_id),
        "decision_id": str(row.pk),
        "scope": row.scope,
        "harness": row.harness,
        "at": timestamp(timezone.now()),
        "kind": event,
    }
