"""A graph that was handed in whole: states, the tools of each, and where each tool leads.

A tool without a transition stays where it is, at a reward of -1, and ends there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from routing.engine.errors import RegistryError, SearchGraphError
from routing.engine.models import HarnessState, RiskLevel, ToolDescriptor
from routing.engine.search.values import LARGEST, SimulatedStep
from routing.engine.validation.problems import Problems
from routing.engine.validation.reader import Reader, items, kind_of
from routing.engine.validation.visible import is_blank

LONGEST_ID = 128
LONGEST_TOOL = 400  # as public names may be that long
UNKNOWN_STEP_REWARD = -1.0


@dataclass(slots=True)
class Options:
    """What can be done in a state, by tool name: parallel lists, which searches read without asking."""

    tools: tuple[ToolDescriptor, ...]
    targets: list[Any]  # numbers of states; whatever an environment calls states elsewhere
    rewards: list[float]
    terminals: list[bool]
    values: list[float]  # of the states reached
    ends: list[bool]  # nothing follows: a terminal step, or one to a state without tools


class SuppliedGraph:
    """A SearchEnvironment made of the objects of `POST /searches`; their order does not matter.

    states: `{id, goal, observation?, last_action?, value = 0, tools = [{name, description = "", category?, risk = medium}]}`;
    transitions: `{from_state, tool, to_state, reward = 0, terminal = false}`. Raises SearchGraphError, whose `problems`
    name every wrong state, edge and tool. It is never changed afterwards, so threads may share it.
    """

    def __init__(
        self,
        states: Iterable[Mapping[str, Any]],
        transitions: Iterable[Mapping[str, Any]] = (),
        *,
        max_states: int | None = None,
        max_transitions: int | None = None,
    ) -> None:
        problems = Problems()
        read = _read_states(states, problems, max_states)
        edges = _read_edges(transitions, read, problems, max_transitions)
        try:
            problems.raise_if_any()
        except RegistryError as error:
            raise SearchGraphError(error.problems) from None
        self.ids: tuple[str, ...] = tuple(read)
        self.values: list[float] = [state.value for state in read.values()]
        self._number = {id_: number for number, id_ in enumerate(self.ids)}
        self._states = [HarnessState(state.goal, state.observation, state.last_action) for state in read.values()]
        self._numbers_of = {id(state): number for number, state in enumerate(self._states)}
        self._edges = {
            (self._number[edge.from_state], edge.tool): (self._number[edge.to_state], edge.reward, edge.terminal)
            for edge in edges
        }
        self._tools = [state.tools for state in read.values()]
        self.options: list[Options] = [self.options_of(number, tools) for number, tools in enumerate(self._tools)]
        self.greatest_value = max(map(abs, self.values))
        self.greatest_reward = max((abs(edge.reward) for edge in edges), default=0.0)
        self.greatest_reward = max(self.greatest_reward, abs(UNKNOWN_STEP_REWARD))

    def state(self, id_: str) -> HarnessState:
        """The state of that id, as searches take it. Raises SearchGraphError."""
        return self._states[self.number_of(id_)]

    def number_of(self, state: str | HarnessState) -> int:
        """Where a state, or the state of an id, stands in `ids`. Raises SearchGraphError for an unknown one."""
        if isinstance(state, str):
            if state in self._number:
                return self._number[state]
            raise SearchGraphError([{"path": "root_state", "message": "no state has this id", "value": state[:128]}])
        number = self._numbers_of.get(id(state))
        if number is not None:
            return number
        alike = [number for number, own in enumerate(self._states) if own == state]
        if len(alike) == 1:
            return alike[0]
        message = "no state of the graph is like it" if not alike else "several states of the graph are like it"
        raise SearchGraphError([{"path": "root_state", "message": message}])

    def harness_state(self, number: int) -> HarnessState:
        return self._states[number]

    def options_of(self, number: int, tools: Sequence[ToolDescriptor]) -> Options:
        """What these tools, sorted by name, do in a state."""
        ordered = tuple(sorted(tools, key=lambda tool: tool.name))
        steps = [self._step(number, tool.name) for tool in ordered]
        return Options(
            tools=ordered,
            targets=[target for target, _, _ in steps],
            rewards=[reward for _, reward, _ in steps],
            terminals=[terminal for _, _, terminal in steps],
            values=[self.values[target] for target, _, _ in steps],
            ends=[terminal or not self._tools[target] for target, _, terminal in steps],
        )

    def _step(self, number: int, tool: str) -> tuple[int, float, bool]:
        return self._edges.get((number, tool)) or (number, UNKNOWN_STEP_REWARD, True)

    # As an environment.

    async def tools(self, state: HarnessState) -> Sequence[ToolDescriptor]:
        return self._tools[self.number_of(state)]

    async def transition(self, state: HarnessState, tool: ToolDescriptor) -> SimulatedStep:
        target, reward, terminal = self._step(self.number_of(state), tool.name)
        return SimulatedStep(self._states[target], reward, terminal)

    async def evaluate(self, state: HarnessState) -> float:
        return self.values[self.number_of(state)]


# Reading what was handed in.


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    goal: str
    observation: str | None
    last_action: str | None
    value: float
    tools: tuple[ToolDescriptor, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edge:
    from_state: str
    tool: str
    to_state: str
    reward: float
    terminal: bool


def _read_states(given: object, problems: Problems, most: int | None) -> dict[str, _State]:
    found: dict[str, _State] = {}

    def read(value: object, path: str, problems: Problems) -> bool:
        r = Reader(value, path, problems)
        id_ = _read_name(r, "id", LONGEST_ID)
        state = _State(
            goal=r.text("goal", required=True) or "",
            observation=r.text("observation"),
            last_action=r.text("last_action"),
            value=_read_number(r, "value"),
            tools=_read_tools(r),
        )
        r.close()
        if id_ is not None and id_ in found:
            r.wrong("id", "is the id of an earlier state too", value=id_)
        elif id_ is not None:
            found[id_] = state
        return True

    if not items(_listed(given), "states", problems, read, most=most) and isinstance(given, (list, tuple)):
        problems.add("states", "must not be empty")
    return found


def _read_tools(r: Reader) -> tuple[ToolDescriptor, ...]:
    seen: set[str] = set()

    def read(value: object, path: str, problems: Problems) -> ToolDescriptor | None:
        t = Reader(value, path, problems)
        name = _read_name(t, "name", LONGEST_TOOL)
        tool = ToolDescriptor(
            name=name or "",
            description=t.words("description"),
            category=t.text("category"),
            risk=RiskLevel(t.choice("risk", [*RiskLevel], "medium") or "medium"),
        )
        t.close()
        if name is not None and name in seen:
            t.wrong("name", "is the name of an earlier tool of this state too", value=name)
            return None
        seen.add(tool.name)
        return tool

    return r.listed("tools", read)


def _read_edges(given: object, states: Mapping[str, _State], problems: Problems, most: int | None) -> list[_Edge]:
    offered = {id_: {tool.name for tool in state.tools} for id_, state in states.items()}
    seen: set[tuple[str, str]] = set()

    def read(value: object, path: str, problems: Problems) -> _Edge | None:
        r = Reader(value, path, problems)
        from_state, to_state = _read_name(r, "from_state", LONGEST_ID), _read_name(r, "to_state", LONGEST_ID)
        tool = _read_name(r, "tool", LONGEST_TOOL)
        reward = _read_number(r, "reward")
        terminal = r.flag("terminal", False)
        r.close()
        for key, state in (("from_state", from_state), ("to_state", to_state)):
            if state is not None and state not in offered:
                r.wrong(key, "no state has this id", value=state)
        if from_state is None or tool is None or to_state is None:
            return None
        if from_state in offered and tool not in offered[from_state]:
            r.wrong("tool", f"the state {from_state!r} does not list this tool", value=tool)
        if (from_state, tool) in seen:
            problems.add(path, "an earlier transition has the same state and tool", value=f"{from_state}, {tool}")
        seen.add((from_state, tool))
        return _Edge(from_state=from_state, tool=tool, to_state=to_state, reward=reward, terminal=terminal)

    return list(items(_listed(given), "transitions", problems, read, most=most))


def _listed(given: object) -> object:
    """Any iterable but text and mappings as a list; what is none stays, to be told."""
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        return list(given)
    return given


def _read_name(r: Reader, key: str, longest: int) -> str | None:
    value = r.text(key, required=True, longest=longest)
    if value is not None and is_blank(value):
        r.wrong(key, "must not be blank")
        return None
    return value


def _read_number(r: Reader, key: str) -> float:
    value = r.raw(key, 0.0)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        r.wrong(key, f"must be a number, not {kind_of(value)}", value=value)
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        r.wrong(key, "must be a finite number", value=value)
        return 0.0
    if abs(number) > LARGEST:
        r.wrong(key, f"must lie between -{LARGEST:g} and {LARGEST:g}", value=value)
        return 0.0
    return number
