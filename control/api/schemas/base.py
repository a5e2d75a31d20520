"""Shapes shared by all calls."""

from __future__ import annotations

from typing import Annotated, Any, Self

from ninja import Schema
from pydantic import AfterValidator, ConfigDict, Field, ModelWrapValidatorHandler, ValidationInfo, model_validator


class In(Schema):
    """What comes in: unknown keys are refused, and a word is no number."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _run_root_validator(cls, values: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """In place of the library's, which reads everything twice so that database rows would do as well as JSON."""
        return handler(values)


def bytes_between(low: int, high: int) -> AfterValidator:
    """Text whose UTF-8 form has from `low` to `high` bytes."""

    def check(value: str) -> str:
        size = len(value.encode("utf-8", "surrogatepass"))
        if not low <= size <= high:
            raise ValueError(f"must have {low} to {high} bytes, has {size}")
        return value

    return AfterValidator(check)


def _without_controls(value: str) -> str:
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
        raise ValueError("must not hold control characters")
    return value


NO_CONTROLS = AfterValidator(_without_controls)
Name = Annotated[str, Field(min_length=1, max_length=400), NO_CONTROLS]  # of a tool, an endpoint, a scope, a harness
RevisionNumber = Annotated[int, Field(ge=0, le=2**31 - 1)]  # of a revision
Whole = Annotated[int, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
WaitMs = Annotated[
    int, Field(strict=True, ge=0, le=30_000, description="How long the answer is held for a worker, in milliseconds.")
]
CallerId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,64}$")]
