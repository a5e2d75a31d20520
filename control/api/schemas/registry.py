from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from control.api.schemas.base import Flag, In, Name


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
