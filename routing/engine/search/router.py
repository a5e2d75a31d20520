"""The front door of look-ahead search: which first step leads to the best end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from routing.engine.models import HarnessState, RouteDecision, ToolDescriptor
from routing.engine.search.best_path import BestPath
from routing.engine.search.exact import Solution, solve_graph
from routing.engine.search.graph import Options, SuppliedGraph
from routing.engine.search.puct import Puct, puct_over
from routing.engine.search.tree import AskPrior, AskTools, Request, Search, Step, TreeSearch
from routing.engine.search.unrolled import unroll
from routing.engine.search.values import (
    LARGEST,
    MCTSConfig,
    MCTSResult,
    PolicyRouter,
    SearchEnvironment,
    SimulatedStep,
    TreeNode,
)
from routing.engine.search.walk import Walk

T = TypeVar("T")
BREATHE_EVERY = 0.005  # seconds after which a search lets the event loop turn
LOOK_EVERY = 0.02  # seconds after which a search that waits for an answer asks whether it is cancelled


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """A search as it stands. `tree` and `principal_variation` are made when they are asked for, during the call only."""

    simulations: int
    of: int
    elapsed_ms: float
    _search: TreeSearch = field(repr=False)

    @property
    def principal_variation(self) -> tuple[str, ...]:
        return self._search.path()

    def tree(self, most: int = 2000) -> tuple[TreeNode, ...]:
        """The most visited nodes, parents before their children."""
        return self._search.snapshot(most)


@dataclass(slots=True)
class Watch:
    """When to stop, and whom to tell how far a search is."""

    clock: Callable[[], float]
    deadline_ms: float | None
    cancel: Callable[[], bool] | None
    progress: Callable[[SearchProgress], None] | None
    progress_every_ms: float
    started: float = 0.0
    told: float = 0.0
    breathed: float = 0.0

    def __post_init__(self) -> None:
        self.started = self.told = self.breathed = self.clock()

    def stops(self) -> str | None:
        if self.cancel is not None and self.cancel():
            return "cancelled"
        left = self.left()
        return "deadline" if left is not None and left <= 0 else None

    def left(self) -> float | None:
        """Seconds until the deadline."""
        if self.deadline_ms is None:
            return None
        return self.deadline_ms / 1000 - (self.clock() - self.started)

    async def pause(self, search: TreeSearch) -> None:
        now = self.clock()
        if self.progress is not None and now - self.told >= self.progress_every_ms / 1000:
            self.told = now
            elapsed = (now - self.started) * 1000
            self.progress(SearchProgress(search.simulations, search.config.simulations, elapsed, search))
        if now - self.breathed >= BREATHE_EVERY:
            await asyncio.sleep(0)
            self.breathed = self.clock()


class MCTSToolRouter:
    """Searches an environment for the best first step.

    `policy_router`, where given, is asked for priors at most `max_policy_evaluations` times, at the first states with two
    tools or more. Exceptions of the environment and of the policy router reach the caller.
    """

    def __init__(
        self,
        environment: SearchEnvironment,
        policy_router: PolicyRouter | None = None,
        config: MCTSConfig | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.environment = environment
        self.policy_router = policy_router
        self.config = config or MCTSConfig()
        self._clock = clock

    async def route(self, state: HarnessState | str, tools: Sequence[ToolDescriptor] | None = None) -> RouteDecision:
        return (await self.search(state, tools)).decision

    async def search(
        self,
        state: HarnessState | str,
        tools: Sequence[ToolDescriptor] | None = None,
        *,
        cancel: Callable[[], bool] | None = None,
        progress: Callable[[SearchProgress], None] | None = None,
        progress_every_ms: float = 250,
        tree_nodes: int = 0,
    ) -> MCTSResult:
        """The decision, and what it rests on. `state` may be the id of a supplied graph's state; `tools` stand for those that
        the environment has there.

        `cancel` is asked every few milliseconds, and so is the deadline; a search that is stopped answers its best so far.
        `progress` is called in between, no more often than told. `tree_nodes` is how many nodes `tree` of the result holds.
        Raises ValueError for tool names that are blank or repeated and for rewards and values that are not finite;
        SearchGraphError for a state that the supplied graph does not have.
        """
        watch = Watch(self._clock, self.config.deadline_ms, cancel, progress, progress_every_ms)
        graph = self.environment if isinstance(self.environment, SuppliedGraph) else None
        start: Any = state if graph is None else graph.number_of(state)
        if tools is None:
            tools = await self.environment.tools(start) if graph is None else graph.options[start].tools
        offered = tuple(tools)
        _check_names(offered)
        method = self._method(graph)
        if not offered:
            return MCTSResult(_fallback("mcts_no_tools"), method=method)
        if graph is None:
            options = _unknown(offered)
        else:
            known = graph.options[start]
            options = known if offered == known.tools else graph.options_of(start, offered)
        if method == "exact":
            if graph is None:
                return await self._walk(start, options, watch, tree_nodes)
            return await self._solve(graph, start, options, watch, tree_nodes)
        search = self._tree_search(method, graph, options)
        stopped_by = await self._drive(search, search.run(start, options), watch)
        return _answer(search, method, stopped_by, tree_nodes)

    def _method(self, graph: SuppliedGraph | None) -> str:
        if self.config.method == "auto":
            return "puct" if graph is None else "exact"
        return self.config.method

    def _tree_search(self, method: str, graph: SuppliedGraph | None, options: Options) -> Puct | BestPath:
        prior = self.policy_router is not None
        if method == "best_path":
            return BestPath(self.config, graph, prior=prior)
        return (
            Puct(self.config, None, prior=prior)
            if graph is None
            else puct_over(graph, options, self.config, prior=prior)
        )

    async def _walk(self, start: Any, options: Options, watch: Watch, tree_nodes: int) -> MCTSResult:
        walk = Walk(self.config)
        stopped_by = await self._drive(walk, walk.run(start, options), watch)
        walk.back_up()
        root = walk.root
        if root is None or (place := walk.best(root)) is None:
            return MCTSResult(_fallback("mcts_no_simulated_action"), method="exact", stopped_by=stopped_by)
        values = {root.tools[tried].name: root.scores[tried] for tried in root.tried()}
        return MCTSResult(
            decision=_exact_decision(root.tools[place], values),
            principal_variation=walk.path(),
            root_values=values,
            method="exact",
            stopped_by=stopped_by,
            transitions=walk.nodes,
            tree=walk.snapshot(tree_nodes),
        )

    async def _solve(
        self, graph: SuppliedGraph, start: int, options: Options, watch: Watch, tree_nodes: int
    ) -> MCTSResult:
        depth, discount = self.config.max_depth, self.config.discount
        for found in solve_graph(graph, options, depth, discount):
            if found is not None:
                tree = unroll(graph, start, options, found, depth, discount, tree_nodes)
                return replace(_solved(options, found), tree=tree)
            if stopped := watch.stops():
                return MCTSResult(_fallback("mcts_no_simulated_action"), method="exact", stopped_by=stopped)
            if watch.clock() - watch.breathed >= BREATHE_EVERY:
                await asyncio.sleep(0)
                watch.breathed = watch.clock()
        raise AssertionError("a graph always has a solution")

    # Driving a search: stop it, breathe, and answer what it asks.

    async def _drive(self, search: TreeSearch, running: Search, watch: Watch) -> str:
        answer: Any = None
        while True:
            try:
                request = running.send(answer)
            except StopIteration:
                return search.stopped_by
            answer = None
            if request is None:
                if stopped := watch.stops():
                    return stopped
                await watch.pause(search)
                continue
            try:
                answer = await _within(watch, self._answer(search, request))
            except _Stopped as stop:
                return stop.by

    async def _answer(self, search: TreeSearch, request: Request) -> Any:
        if isinstance(request, AskPrior):
            assert self.policy_router is not None
            state = request.state if search.graph is None else search.graph.harness_state(request.state)
            return await self.policy_router.route(state, request.tools)
        if isinstance(request, AskTools):
            tools = tuple(await self.environment.tools(request.state))
            _check_names(tools)
            return _unknown(tools)
        step: SimulatedStep = await self.environment.transition(request.state, request.tool)
        reward = _finite(step.reward, f"the reward of {request.tool.name}")
        value = _finite(await self.environment.evaluate(step.state), "the value of a state")
        return Step(step.state, reward, bool(step.terminal), value)


def solve(graph: SuppliedGraph, root: str | HarnessState, *, max_depth: int = 4, discount: float = 0.95) -> MCTSResult:
    """The best first step over a supplied graph, exactly: every path of up to `max_depth` steps is weighed.

    `root` is a state of the graph or its id. Raises SearchGraphError for another, ValueError for bounds out of theirs.
    """
    MCTSConfig(max_depth=max_depth, discount=discount)  # checks them
    options = graph.options[graph.number_of(root)]
    if not options.tools:
        return MCTSResult(_fallback("mcts_no_tools"), method="exact")
    return next(
        _solved(options, found) for found in solve_graph(graph, options, max_depth, discount) if found is not None
    )


class _Stopped(Exception):
    """A search is to end while it waits; `by` tells why."""

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by


async def _within(watch: Watch, answer: Awaitable[T]) -> T:
    """An answer of the environment or the policy router, or _Stopped: one that hangs must not hold the caller."""
    left = watch.left()
    if left is None and watch.cancel is None:
        return await answer
    try:
        async with asyncio.timeout(None if left is None else max(left, 0)) as limit:
            with _cancelling(watch, limit):
                return await answer
    except TimeoutError:
        if limit.expired():
            raise _Stopped(watch.stops() or "deadline") from None
        raise


@contextmanager
def _cancelling(watch: Watch, limit: asyncio.Timeout) -> Iterator[None]:
    """Have a limit end as soon as the search is cancelled."""
    if (cancel := watch.cancel) is None:
        yield
        return
    loop = asyncio.get_running_loop()
    looking: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal looking
        if looking is not None and cancel():
            limit.reschedule(loop.time())
        else:
            looking = loop.call_later(LOOK_EVERY, look)

    look()
    try:
        yield
    finally:
        if looking is not None:
            looking.cancel()


def _answer(search: Puct | BestPath, method: str, stopped_by: str, tree_nodes: int) -> MCTSResult:
    root = search.root
    place = None if root is None else search.best(root)
    if root is None or place is None:
        return MCTSResult(
            _fallback("mcts_no_simulated_action"),
            policy_evaluations=search.policy_evaluations,
            method=method,
            stopped_by=stopped_by,
        )
    tried = [one for one in (root.order or range(len(root.tools))) if root.counts[one] > 1]
    visits = {root.tools[one].name: root.visits_of(one) for one in tried}
    values = {root.tools[one].name: root.scores[one] for one in tried}
    total = sum(visits.values())
    shares = {name: count / total for name, count in visits.items()}
    known = isinstance(search, BestPath) and not root.open
    confidence = _share_of_best(values) if known else shares[root.tools[place].name]
    return MCTSResult(
        decision=_selected(root.tools[place], confidence, shares),
        principal_variation=search.path(),
        root_visits=visits,
        root_values=values,
        simulations=search.simulations,
        policy_evaluations=search.policy_evaluations,
        method=method,
        stopped_by=stopped_by,
        transitions=search.nodes,
        tree=search.snapshot(tree_nodes),
    )


def _solved(options: Options, found: Solution) -> MCTSResult:
    values = {tool.name: value for tool, value in zip(options.tools, found.values, strict=True)}
    tool = next(tool for tool in options.tools if tool.name == found.path[0])
    return MCTSResult(
        decision=_exact_decision(tool, values), principal_variation=found.path, root_values=values, method="exact"
    )


def _exact_decision(tool: ToolDescriptor, values: dict[str, float]) -> RouteDecision:
    return RouteDecision(tool=tool.name, category=tool.category, confidence=_share_of_best(values), source="local")


def _share_of_best(values: dict[str, float]) -> float:
    best = max(values.values())
    return 1 / sum(1 for value in values.values() if value == best)


def _selected(tool: ToolDescriptor, confidence: float, shares: dict[str, float]) -> RouteDecision:
    top, *others = sorted(shares.values(), reverse=True)
    return RouteDecision(
        tool=tool.name,
        category=tool.category,
        confidence=confidence,
        probabilities=shares,
        source="local",
        top_probability=top,
        margin=top - others[0] if others else None,
    )


def _fallback(reason: str) -> RouteDecision:
    return RouteDecision(fallback=True, fallback_reason=reason)


def _unknown(tools: Sequence[ToolDescriptor]) -> Options:
    """Tools of which nothing is known but their names, by name."""
    size = len(tools)
    return Options(
        tools=tuple(sorted(tools, key=lambda tool: tool.name)),
        targets=[None] * size,
        rewards=[0.0] * size,
        terminals=[False] * size,
        values=[0.0] * size,
        ends=[False] * size,
    )


def _check_names(tools: Sequence[ToolDescriptor]) -> None:
    seen: set[str] = set()
    for tool in tools:
        if not isinstance(tool.name, str) or not tool.name.strip():
            raise ValueError("tool names must be non-empty")
        if tool.name in seen:
            raise ValueError(f"duplicate tool name: {tool.name}")
        seen.add(tool.name)


def _finite(value: object, what: str) -> float:
    if isinstance(value, (int, float)) and abs(value) <= LARGEST:  # not a number is no larger, and not as large
        return float(value)
    raise ValueError(f"{what} must be a finite number, at most {LARGEST:g} in size")
