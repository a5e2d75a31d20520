from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from control.api.schemas.base import Flag, In, Name
from routing.services.canaries.starting import (
    LEAST_MINIMUM,
    LONGEST,
    MOST_MINIMUM,
    MOST_PERCENT,
    USUAL_BOUND,
    USUAL_MINIMUM,
    WIDEST_BOUND,
    Terms,
)


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not hold NUL characters")
    return value


Message = Annotated[str, Field(max_length=2000), AfterValidator(_without_nul)]


class RegistryIn(In):
    document: dict[str, Any]
    message: Message = ""


class PublishIn(In):
    message: Message = ""
    emergency: Flag = False


Bound = Annotated[float, Field(strict=True, ge=0, le=WIDEST_BOUND)]


class CanaryBounds(In):
    no_match: Bound = USUAL_BOUND
    fallback: Bound = USUAL_BOUND
    failure: Bound = USUAL_BOUND


class CanaryIn(In):
    """Whom the revision answers first: `scopes`, or `percent` of the keys. Bounds are shares, 0.05 for five points."""

    message: Message = ""
    scopes: Annotated[list[Name], Field(max_length=200)] | None = None
    percent: int | None = Field(None, strict=True, ge=1, le=MOST_PERCENT)
    bounds: CanaryBounds = CanaryBounds()
    minimum: int = Field(USUAL_MINIMUM, strict=True, ge=LEAST_MINIMUM, le=MOST_MINIMUM)
    hours: float | None = Field(None, strict=True, ge=0.1, le=LONGEST.days * 24)
    at_end: Literal["stop", "promote"] = "stop"

    @model_validator(mode="after")
    def _one_audience(self) -> CanaryIn:
        if bool(self.scopes) == (self.percent is not None):
            raise ValueError("give exactly one of scopes and percent")
        return self

    def terms(self) -> Terms:
        return Terms(
            scopes=tuple(self.scopes or ()),
            percent=self.percent,
            bounds=self.bounds.model_dump(),
            minimum=self.minimum,
            lasts=None if self.hours is None else timedelta(hours=self.hours),
            at_end=self.at_end,
        )


class StopIn(In):
    reason: Message = ""


class ApproveIn(In):
    comment: Message = ""


class RejectIn(In):
    reason: Annotated[Message, Field(min_length=1)]


class RestoreIn(In):
    message: Message = ""


class ImportIn(In):
    content: str | None = None
    document: dict[str, Any] | None = None
    format: Literal["auto", "switchyard", "mcphub", "mcp-json", "harvey-routes", "litellm"] = "auto"
    strategy: Literal["update", "skip", "rename", "refuse"] = "update"
    dry_run: Flag = False
    message: Message = ""

    @model_validator(mode="after")
    def _exactly_one(self) -> ImportIn:
        if (self.content is None) == (self.document is None):
            raise ValueError("give exactly one of content and document")
        return self


class RevisionFilters(In):
    limit: int = Field(50, ge=1, le=200)
    after: Name | None = None
