from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from routing.events import recommendation
from routing.models import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a worker found: the columns to set on the decision's row, and the event for the ledger.

    `alongside` writes what else belongs to the result, in the same transaction.
    """

    state: str
    columns: Mapping[str, Any]
    event: Mapping[str, Any] | None
    alongside: Callable[[], Any] | None = None


def event_of(
    row: Decision,
    said: Mapping[str, Any],
    *,
    revision: int | None,
    tool: str | None,
    fallback: bool,
    codes: Iterable[str] = (),
) -> dict[str, Any]:
    """The recommendation of a next step, made at one revision."""
    return recommendation(
        said,
        at=row.created_at,
        scope=row.scope,
        harness=row.harness,
        decision_id=str(row.pk),
        session_id=row.session_id,
        revision=revision,
        target=tool,
        status="fallback" if fallback else "selected",
        reason_codes=codes,
    )
