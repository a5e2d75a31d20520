"""A replay in the shape of the API's answer."""

from __future__ import annotations

from typing import Any

from routing.models import Replay

RESULT = ("compared", "skipped", "counts", "flips", "flips_truncated", "expectations")


def describe(row: Replay) -> dict[str, Any]:
    """The body of POST /simulate/diff and GET /simulate/diff/{id}."""
    return {
        "id": str(row.pk),
        "state": row.state,
        "progress": {"done": row.done, "of": row.of},
        "result": None if row.result is None else {name: row.result[name] for name in RESULT},
    }
