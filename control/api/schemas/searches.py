"""Searches: what comes in. Graphs are read by the engine, which names every wrong place in them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from control.api.schemas.base import CallerId, Flag, In, Name, WaitMs, Whole
from routing.services.searches import HistoryRequest, SearchRequest
from routing.services.searches.request import BOUNDS

Count = Annotated[int, Field(strict=True, ge=1, le=2**53)]
Finite = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class HistoryIn(In):
    last_action: Name | None = None
    tools: list[Name] | None = Field(None, max_length=512)
    min_count: Annotated[Whole, Field(ge=1, le=1_000_000)] = 5


class SearchIn(In):
    root_state: str | None = None
    states: list[Any] | None = None
    transitions: list[Any] | None = None
    history: HistoryIn | None = None
    simulations: Count | None = None
    max_depth: Count | None = None
    exploration_constant: Finite | None = None
    discount: Share | None = None
    max_policy_evaluations: Annotated[int, Field(strict=True, ge=0, le=2**53)] | None = None
    deadline_ms: Count | None = None
    method: Literal["auto", "exact", "puct", "best_path"] | None = None
    use_prior: Flag = True
    session_id: CallerId | None = None
    policy: str | None = None
    wait_ms: WaitMs = 2000

    @model_validator(mode="after")
    def _one_environment(self) -> SearchIn:
        graph = [name for name in ("root_state", "states", "transitions") if getattr(self, name) is not None]
        if self.history is not None and graph:
            raise ValueError(f"give history or a graph, not both: {', '.join(graph)}")
        if self.history is None and not graph:
            raise ValueError("give root_state, states and transitions, or history")
        return self

    def asked(self) -> SearchRequest:
        history = self.history
        return SearchRequest(
            root_state=self.root_state,
            states=tuple(self.states or ()),
            transitions=tuple(self.transitions or ()),
            history=None
            if history is None
            else HistoryRequest(
                last_action=history.last_action,
                tools=None if history.tools is None else tuple(history.tools),
                min_count=history.min_count,
            ),
            bounds={name: getattr(self, name) for name in BOUNDS},
            method=self.method,
            use_prior=self.use_prior,
            session_id=self.session_id,
            policy=self.policy,
        )


class SearchQuery(In):
    tree: bool = False
