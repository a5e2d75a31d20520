from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from control.api.schemas.base import NO_CONTROLS, CallerId, Flag, In, WaitMs, Whole, bytes_between
from routing.engine import assemble
from routing.services.decisions import RouteRequest

Text = Annotated[str, bytes_between(1, 16_384)]


class ActivityIn(In):
    goal: str
    phase: str
    activity: str
    outcome: str | None = None
    input_kinds: list[str] = []

    def text(self) -> str:
        return assemble(self.goal, self.phase, self.activity, self.outcome, self.input_kinds)


Part = Annotated[str, bytes_between(1, 2048)]


class AdviceIn(In):
    goal: Part
    phase: Part
    activity: Part
    outcome: str | None = None
    input_kinds: list[str] = []
    goal_id: CallerId | None = None
    reconsider: Flag = False
    failed_decision_id: UUID | None = None


class Asked(In):
    query: str | None = None
    activity: ActivityIn | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Asked:
        if (self.query is None) == (self.activity is None):
            raise ValueError("give exactly one of query and activity")
        return self

    def text(self) -> str:
        return self.query if self.query is not None else self.activity.text()  # type: ignore[union-attr]


class ResolveIn(Asked):
    max_hits: Whole | None = None
    explain: Flag = False
    tier: Literal["auto", "lexical", "static", "deep"] | None = None
    session_id: CallerId | None = None
    wait_ms: WaitMs = 2000


class SearchToolsIn(In):
    query: str = ""
    max_hits: Whole = 20


class SearchToolsByAddress(In):
    """The same in an address, where every number is a word."""

    query: str = ""
    max_hits: int = 20


class ActionIn(In):
    tool: str
    outcome: str


class ToolIn(In):
    """A tool definition as harnesses have it: keys that are not named here are ignored."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    name: Annotated[str, Field(max_length=256), NO_CONTROLS]
    description: str = ""
    title: str | None = None
    category: Annotated[str, Field(max_length=64), NO_CONTROLS] | None = None
    risk: Literal["low", "medium", "high", "critical"] | None = None
    annotations: dict[str, Any] | None = None


class RouteIn(In):
    goal: Text
    observation: Annotated[str, bytes_between(0, 16_384)] | None = None
    last_action: Annotated[str, bytes_between(0, 16_384)] | None = None
    recent_actions: list[ActionIn] = []
    constraints: list[str] = []
    tools: list[ToolIn] | None = Field(None, max_length=512)
    session_id: CallerId | None = None
    policy: str | None = None
    wait_ms: WaitMs = 2000

    def asked(self) -> RouteRequest:
        return RouteRequest(
            goal=self.goal,
            observation=self.observation,
            last_action=self.last_action,
            recent_actions=tuple((action.tool, action.outcome) for action in self.recent_actions),
            constraints=tuple(self.constraints),
            tools=None if self.tools is None else tuple(tool.model_dump() for tool in self.tools),
            session_id=self.session_id,
            policy=self.policy,
        )
