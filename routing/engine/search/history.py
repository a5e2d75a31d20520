"""An environment learnt from what happened: which tool was run after which, how often that worked, and what it cost.

A state is the tool that was run last; a tool that was run after it often enough leads on to the next one. A step is worth
how much more often it worked there than steps do on the whole, less what it cost, so that a line gains nothing by being long.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from routing.engine.models import HarnessState, RouteDecision, ToolDescriptor
from routing.engine.search.graph import LONGEST_ID, SuppliedGraph

START = "start"
AFTER = "after {}"
SMOOTHING = 2.0  # as many steps as worked as often as the tool does everywhere are added to what was seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoked:
    """One call of a session. `worked` is 1 or 0, between them for a part, None where nobody reported."""

    tool: str
    worked: float | None = None
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of one tool after another; `before` None: as the first of a session."""

    before: str | None
    tool: str
    count: int
    succeeded: int
    reward: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "from": self.before,
            "tool": self.tool,
            "count": self.count,
            "succeeded": self.succeeded,
            "reward": self.reward,
        }


@dataclass(slots=True)
class _Seen:
    count: int = 0
    succeeded: int = 0
    known: int = 0  # of which it was reported whether they worked
    worked: float = 0.0
    cost: float = 0.0

    def add(self, step: Invoked) -> None:
        self.count += 1
        self.cost += step.cost
        if step.worked is not None:
            self.known += 1
            self.worked += step.worked
            self.succeeded += step.worked == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What was learnt for one root. `graph` is None where there was too little of it; `evidence` lists what there is."""

    graph: SuppliedGraph | None
    root: str
    evidence: tuple[Evidence, ...]
    followed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # state -> tool -> how often


def learn(
    sessions: Iterable[Sequence[Invoked]],
    *,
    tools: Mapping[str, ToolDescriptor],
    last_action: str | None = None,
    min_count: int = 5,
    max_depth: int = 4,
    max_states: int = 256,
    max_transitions: int = 1024,
) -> History:
    """Learn from sessions, each a row of calls in their order, oldest first.

    Tools that are not among `tools` are left out of what may be chosen, not of what went before. Only what lies within
    `max_depth` steps of the root is kept, and of that the nearest.
    """
    pairs, alone, every = _counted(sessions)
    evidence = _Weighing(alone, every)
    root = _state(last_action)
    chosen: list[Evidence] = []
    states: dict[str, str | None] = {root: last_action}
    nearest: list[str | None] = [last_action]
    for _ in range(max_depth):
        following: list[str | None] = []
        for before in nearest:
            for tool in _often(pairs[before], tools, min_count):
                if len(chosen) == max_transitions:
                    break
                if _state(tool) not in states:
                    if len(states) == max_states:
                        continue
                    states[_state(tool)] = tool
                    following.append(tool)
                chosen.append(evidence.of(before, tool, pairs[before][tool]))
        nearest = following
    if not any(one.before == last_action for one in chosen):
        seen = pairs[last_action]
        rare = [evidence.of(last_action, tool, seen[tool]) for tool in _often(seen, tools, 1)]
        return History(graph=None, root=root, evidence=tuple(rare))
    return History(graph=_graph(states, chosen, tools), root=root, evidence=tuple(chosen), followed=_followed(chosen))


class Habit:
    """What usually followed, as a search asks for its opinion."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        followed = self._history.followed.get(_state(state.last_action), {})
        total = sum(followed.get(tool.name, 0) for tool in tools)
        if not total:
            return RouteDecision(fallback=True)
        shares = {tool.name: followed.get(tool.name, 0) / total for tool in tools}
        best = max(shares, key=lambda name: (shares[name], name))
        return RouteDecision(tool=best, confidence=shares[best], probabilities=shares)


def _counted(
    sessions: Iterable[Sequence[Invoked]],
) -> tuple[defaultdict[str | None, dict[str, _Seen]], dict[str, _Seen], _Seen]:
    pairs: defaultdict[str | None, dict[str, _Seen]] = defaultdict(dict)
    alone: dict[str, _Seen] = {}
    every = _Seen()
    for session in sessions:
        before: str | None = None
        for step in session:
            pairs[before].setdefault(step.tool, _Seen()).add(step)
            alone.setdefault(step.tool, _Seen()).add(step)
            every.add(step)
            before = step.tool
    return pairs, alone, every


class _Weighing:
    """Rates that few cases do not carry far: a pair leans on its tool, and a tool on all."""

    def __init__(self, alone: Mapping[str, _Seen], every: _Seen) -> None:
        self._alone = alone
        # One that worked and one that did not are added, so that nothing is certain.
        self._usual = (every.worked + 1) / (every.known + 2)

    def of(self, before: str | None, tool: str, seen: _Seen) -> Evidence:
        of_tool = self._alone[tool]
        usual = _smoothed(of_tool, self._usual)
        reward = _smoothed(seen, usual) - self._usual - seen.cost / seen.count
        return Evidence(before=before, tool=tool, count=seen.count, succeeded=seen.succeeded, reward=round(reward, 6))


def _smoothed(seen: _Seen, towards: float) -> float:
    return (seen.worked + SMOOTHING * towards) / (seen.known + SMOOTHING)


def _often(seen: Mapping[str, _Seen], tools: Mapping[str, ToolDescriptor], least: int) -> list[str]:
    """Tools that may be chosen and were seen so often, the most frequent first."""
    found = [tool for tool, one in seen.items() if one.count >= least and tool in tools]
    return sorted(found, key=lambda tool: (-seen[tool].count, tool))


def _state(tool: str | None) -> str:
    """The id of the state after a tool; of a name that is too long for one, its beginning and a digest."""
    if tool is None:
        return START
    name = AFTER.format(tool)
    if len(name) <= LONGEST_ID:
        return name
    return f"{name[: LONGEST_ID - 17]} {hashlib.sha256(tool.encode()).hexdigest()[:16]}"


def _graph(
    states: Mapping[str, str | None], chosen: Sequence[Evidence], tools: Mapping[str, ToolDescriptor]
) -> SuppliedGraph:
    listed: dict[str, list[dict[str, Any]]] = {state: [] for state in states}
    for one in chosen:
        tool = tools[one.tool]
        listed[_state(one.before)].append(
            {"name": tool.name, "description": tool.description, "category": tool.category, "risk": tool.risk.value}
        )
    return SuppliedGraph(
        [
            {"id": state, "goal": "what usually works", "last_action": last, "tools": listed[state]}
            for state, last in states.items()
        ],
        [
            {
                "from_state": _state(one.before),
                "tool": one.tool,
                "to_state": _state(one.tool),
                "reward": one.reward,
            }
            for one in chosen
        ],
    )


def _followed(chosen: Sequence[Evidence]) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in chosen:
        counts[_state(one.before)][one.tool] = one.count
    return {state: dict(counter) for state, counter in counts.items()}
