"""Simulations: what comes in."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from control.api.schemas.base import Flag, In, Name, RevisionNumber, WaitMs, Whole
from control.api.schemas.ledger import in_range
from control.api.schemas.recommendations import Asked
from routing.services.replays import Window

Moment = Annotated[datetime, AfterValidator(in_range)]


class SimulatedQueryIn(Asked):
    max_hits: Whole | None = None
    explain: Flag = False
    tier: Literal["auto", "lexical", "static", "deep"] | None = None


class SimulateResolveIn(In):
    registry: dict[str, Any]
    scope: str = "default"
    offline: list[str] = []
    queries: list[SimulatedQueryIn] = Field(min_length=1, max_length=200)


class WindowIn(In):
    last: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 1000
    since: Moment | None = None
    until: Moment | None = None
    scopes: list[Name] | None = Field(default=None, max_length=200)

    @model_validator(mode="after")
    def _in_order(self) -> WindowIn:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("since must be before until")
        return self

    def asked(self) -> Window:
        scopes = None if self.scopes is None else tuple(self.scopes)
        return Window(last=self.last, since=self.since, until=self.until, scopes=scopes)


class SimulateDiffIn(In):
    registry: dict[str, Any] | None = None
    revision: RevisionNumber | None = None
    against: RevisionNumber | None = None
    window: WindowIn = Field(default_factory=WindowIn)
    wait_ms: WaitMs = 2000

    @model_validator(mode="after")
    def _exactly_one(self) -> SimulateDiffIn:
        if (self.registry is None) == (self.revision is None):
            raise ValueError("give exactly one of registry and revision")
        return self
