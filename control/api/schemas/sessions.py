"""Sessions: what comes in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from control.api.schemas.base import NO_CONTROLS, In

TtlS = Annotated[int, Field(strict=True, ge=60, le=604_800, description="How long the session lasts, in seconds.")]


class SessionIn(In):
    policy: str | None = None
    ttl_s: TtlS = 86_400


class ExecutionIn(In):
    tool: Annotated[str, Field(min_length=1, max_length=400), NO_CONTROLS]
    arguments: dict[str, Any] | None = None
    result_class: Annotated[str, Field(min_length=1, max_length=64), NO_CONTROLS] | None = None


class ResetIn(In):
    what: Literal["fallbacks", "all"] = "fallbacks"
