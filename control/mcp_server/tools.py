"""The tools `route` and `route_mcts`: what they take, under which names, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, Field, ValidationError, model_validator

from control.api.errors import detail_of
from control.api.schemas.base import Flag
from control.api.schemas.recommendations import RouteIn
from control.api.schemas.searches import Count, SearchIn

Told = dict[str, Any]
POLICY = "fast"
SIMULATIONS, MAX_DEPTH = 32, 3


class BadCall(Exception):
    """A call that cannot be answered as it stands; the message is for whoever called."""


class RouteCall(RouteIn):
    """What `route` takes: POST /route without what concerns waiting."""

    model_config = ConfigDict(extra="forbid")
    wait_ms: int = Field(30_000, exclude=True)


class MctsCall(SearchIn):
    """What `route_mcts` takes: POST /searches with defaults of its own, and a second spelling of `use_prior`."""

    simulations: Count | None = SIMULATIONS
    max_depth: Count | None = MAX_DEPTH
    use_jev_prior: Flag | None = None
    wait_ms: int = Field(30_000, exclude=True)

    @model_validator(mode="after")
    def _one_spelling(self) -> MctsCall:
        if self.use_jev_prior is not None:
            self.use_prior = self.use_jev_prior
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    name: str
    title: str
    description: str
    call: type[RouteCall] | type[MctsCall]

    @property
    def input_schema(self) -> Told:
        schema = self.call.model_json_schema()
        schema["properties"].pop("wait_ms", None)
        schema.pop("title", None)
        schema.pop("description", None)
        return schema

    def read(self, arguments: Mapping[str, Any] | None) -> RouteCall | MctsCall:
        """Raises BadCall, which names every field that is wrong."""
        given = dict(arguments or {})
        if "wait_ms" in given:
            raise BadCall("wait_ms: is not known here")
        try:
            return self.call.model_validate(given)
        except ValidationError as error:
            details = [detail_of({**one, "loc": ("body", "data", *one["loc"])}) for one in error.errors()]
            raise BadCall("; ".join(_sentence(detail) for detail in details)) from None


ROUTE = ToolSpec(
    name="route",
    title="Which tool next",
    description=(
        "Which of these tools is the next step for a goal, or a fallback when the planner should choose itself. "
        "Without `tools` those of the scope are considered. Nothing is executed."
    ),
    call=RouteCall,
)
ROUTE_MCTS = ToolSpec(
    name="route_mcts",
    title="Which first step leads to the best end",
    description=(
        "Looks several steps ahead over a graph of states and transitions and answers the best first step with the line "
        "that follows it. Nothing is executed."
    ),
    call=MctsCall,
)
TOOLS = {tool.name: tool for tool in (ROUTE, ROUTE_MCTS)}
_PREFIXES = tuple(form for hub in ("mcphub", "switchyard") for form in (f"{hub}__{hub}_", f"{hub}__", f"{hub}_"))


def find(name: str) -> ToolSpec | None:
    """The tool of that name in any accepted spelling."""
    for prefix in ("", *_PREFIXES):
        if name.startswith(prefix) and (tool := TOOLS.get(name.removeprefix(prefix))):
            return tool
    return None


def tell_route(answer: Mapping[str, Any]) -> Told:
    return {
        "tool": answer["tool"],
        "confidence": answer["confidence"],
        "fallback": answer["fallback"],
        "reason": answer["fallback_reason"],
    }


def tell_search(answer: Mapping[str, Any]) -> Told:
    """Raises BadCall for a search that ended without a result."""
    result = answer["result"]
    if result is None:
        raise BadCall(str(answer.get("error") or f"the search ended as {answer['state']}"))
    more = ("principal_variation", "simulations", "policy_evaluations")
    return tell_route(result) | {name: result[name] for name in more}


def _sentence(detail: Mapping[str, Any]) -> str:
    allowed = f" (allowed: {detail['allowed']})" if "allowed" in detail else ""
    return f"{detail['path'] or 'arguments'}: {detail['message']}{allowed}"
