"""The state as a provider is told it: bounded fields in a fixed order, as compact JSON."""

from __future__ import annotations

import json
from typing import NamedTuple

from routing.engine.config import RoutingConfig
from routing.engine.models import HarnessState

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SHORTEST_OUTCOME = 64  # characters that an outcome may have however short the state's texts are to be


class CompactState(NamedTuple):
    """Every text within its bound. Equal exactly where a provider is told the same."""

    goal: str | None
    observation: str | None
    last_action: str | None
    recent_actions: tuple[tuple[str | None, str | None], ...]  # tool, outcome; oldest first
    constraints: tuple[str | None, ...]

    def text(self) -> str:
        """As JSON. What is absent or empty is left out, an empty text is not; the goal is always there."""
        told: dict[str, object] = {"goal": self.goal}
        if self.observation is not None:
            told["observation"] = self.observation
        if self.last_action is not None:
            told["last_action"] = self.last_action
        if self.recent_actions:
            told["recent_actions"] = [{"tool": tool, "outcome": outcome} for tool, outcome in self.recent_actions]
        if self.constraints:
            told["constraints"] = self.constraints
        return _JSON.encode(told)


def compact(state: HarnessState, config: RoutingConfig) -> CompactState:
    """The last `history_limit` actions and the first `constraint_limit` constraints; each text at most
    `state_field_limit` characters, an outcome half of that but never less than 64."""
    limit = config.state_field_limit
    recent: tuple[tuple[str | None, str | None], ...] = ()
    if state.recent_actions:
        shorter = max(_SHORTEST_OUTCOME, limit // 2)
        last = state.recent_actions[-config.history_limit :]
        recent = tuple([(clip(action.tool, limit), clip(action.outcome, shorter)) for action in last])
    constraints: tuple[str | None, ...] = ()
    if state.constraints:
        constraints = tuple([clip(text, limit) for text in state.constraints[: config.constraint_limit]])
    return CompactState(
        clip(state.goal, limit), clip(state.observation, limit), clip(state.last_action, limit), recent, constraints
    )


def clip(value: object, limit: int) -> str | None:
    """The text, or so much of it that with an ellipsis it has `limit` characters. Other values are told as text."""
    if value is None:
        return None
    text = value if type(value) is str else str(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
