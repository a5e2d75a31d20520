from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from control.api.schemas.base import CallerId, In, Name, RevisionNumber, Whole
from routing.choices import DomainStatus, EventKind, TransportStatus

Amount = Annotated[int, Field(strict=True, ge=0, le=2**53)]
Number = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False, strict=True)]
_STATUSES = {
    EventKind.INVOCATION: ("started",),
    EventKind.TRANSPORT_OUTCOME: tuple(TransportStatus.values),
    EventKind.DOMAIN_OUTCOME: tuple(DomainStatus.values),
}


def in_range(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("must name its offset from UTC, like 2026-11-29T21:05:44Z")
    if not 2000 <= value.year <= 2200:
        raise ValueError("must lie between the years 2000 and 2200")
    return value.astimezone(UTC)


class EventIn(In):
    """One report. There is no field for free text: what a harness saw stays with the harness."""

    id: CallerId
    kind: Literal["invocation", "transport_outcome", "domain_outcome"]
    target: Name
    at: Annotated[datetime, AfterValidator(in_range)] | None = None
    decision_id: CallerId | None = None
    session_id: CallerId | None = None
    invocation_id: CallerId | None = None
    status: str | None = None
    reason_codes: list[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,64}$")]] = Field([], max_length=8)
    duration_ms: Number | None = None
    attempt: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    result_bytes: Amount | None = None
    tokens_in: Amount | None = None
    tokens_out: Amount | None = None
    cost: Number | None = None

    @model_validator(mode="after")
    def _status_fits(self) -> EventIn:
        kind = EventKind(self.kind)
        allowed = _STATUSES[kind]
        if kind is EventKind.INVOCATION and self.status is None:
            self.status = "started"
        if self.status not in allowed:
            raise ValueError(f"status must be one of {', '.join(allowed)} when the kind is {self.kind}")
        return self


class EventsIn(In):
    events: list[dict[str, Any]] = Field(min_length=1, max_length=1000)


class _Filters(In):
    scope: Name | None = None
    harness: Name | None = None
    target: Name | None = None
    status: Name | None = None
    reason_code: Name | None = None
    revision: RevisionNumber | None = None
    session_id: Name | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int = Field(50, ge=1, le=200)
    after: Name | None = None

    @field_validator("since", "until")
    @classmethod
    def _in_utc(cls, value: datetime | None) -> datetime | None:
        return value if value is None else in_range(value if value.tzinfo else value.replace(tzinfo=UTC))


class EventFilters(_Filters):
    kind: Literal["recommendation", "invocation", "transport_outcome", "domain_outcome"] | None = None
    decision_id: Name | None = None


class DecisionFilters(_Filters):
    type: Literal["resolve", "route", "search", "advice", "select"] | None = None
    source: Name | None = None
    state: Literal["queued", "running", "finished", "failed", "cancelled"] | None = None
