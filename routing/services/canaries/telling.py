"""A canary as the API gives it."""

from __future__ import annotations

from typing import Any

from routing.engine.canary import Count, Reading
from routing.errors import NotFound
from routing.events import timestamp
from routing.models import CanaryRow, Workspace
from routing.services.canaries import counting

Record = dict[str, Any]


def find(workspace: Workspace, number: int) -> CanaryRow:
    """The canary of a revision; NotFound when it has none."""
    rows = CanaryRow.objects.select_related("revision").defer("revision__manifest")
    row = rows.filter(workspace=workspace, revision__number=number).first()
    if row is None:
        raise NotFound(f"Revision {number} was not published to some first.")
    return row


def record(row: CanaryRow) -> Record:
    """What was agreed on, where it stands, and both groups against the bounds. Shares are of 1, unrounded counts beside them."""
    groups = counting.kept_groups(row)
    judgement = counting.judged(row, groups)
    return {
        "revision": row.revision.number,
        "live_revision": row.live_number,
        "state": row.state,
        "scopes": row.scopes or None,
        "percent": row.percent,
        "bounds": row.bounds,
        "minimum": row.minimum,
        "until": timestamp(row.until) if row.until else None,
        "at_end": row.at_end,
        "started_at": timestamp(row.started_at),
        "started_by": row.actor,
        "ended_at": timestamp(row.ended_at) if row.ended_at else None,
        "ended_by": row.ended_by or None,
        "reason": row.reason or None,
        "broken": row.measure or None,
        "decisions": {"canary": groups[0].decisions, "live": groups[1].decisions},
        "measures": [_reading(one) for one in judgement.readings],
    }


def _reading(reading: Reading) -> Record:
    interval = reading.interval
    return {
        "measure": reading.measure,
        "canary": _count(reading.canary),
        "live": _count(reading.live),
        "rise": _rounded(reading.rise),
        "low": _rounded(interval.low if interval else None),
        "high": _rounded(interval.high if interval else None),
        "surely": _rounded(reading.least),
        "bound": reading.bound,
        "standing": reading.standing,
    }


def _count(count: Count) -> Record:
    return {"count": count.part, "of": count.whole}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
