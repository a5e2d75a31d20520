from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a worker found: the columns to set on the decision's row, and the event for the ledger."""

    state: str
    columns: Mapping[str, Any]
    event: Mapping[str, Any] | None
