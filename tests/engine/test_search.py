"""Look-ahead: what each method finds, when it stops, what it refuses."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import (
    HarnessState,
    MCTSConfig,
    MCTSToolRouter,
    ProviderError,
    RouteDecision,
    SearchGraphError,
    SearchProgress,
    SimulatedStep,
    SuppliedGraph,
    ToolDescriptor,
    solve,
)
from routing.engine.policies import effective
from tests.engine.searching import (
    Objects,
    Simulator,
    branching,
    branching_parts,
    edge,
    graphs,
    plain_puct,
    search,
    state,
    two_steps,
)

SMALL_SEARCHES = st.fixed_dictionaries(
    {
        "simulations": st.sampled_from([1, 2, 5, 17, 64, 300]),
        "max_depth": st.integers(1, 5),
        "exploration_constant": st.sampled_from([0.0, 0.3, 1.5, 4.0]),
        "discount": st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    }
)
PRIORS = st.none() | st.dictionaries(st.sampled_from("abcde"), st.sampled_from([0.1, 0.2, 0.2, 0.6]), min_size=1)


class Policy:
    """Thinks the same of every state. It counts how often it is asked."""

    def __init__(self, decision: RouteDecision) -> None:
        self.decision = decision
        self.asked: list[list[str]] = []

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        self.asked.append([tool.name for tool in tools])
        return self.decision


# --- PUCT --------------------------------------------------------------------------------------------------------------


@given(parts=graphs(), bounds=SMALL_SEARCHES, weights=PRIORS)
def test_puct_visits_exactly_what_the_plain_search_visits(
    parts: tuple[Objects, Objects], bounds: dict[str, Any], weights: dict[str, float] | None
) -> None:
    simulator = Simulator(*parts)
    plain = asyncio.run(plain_puct(simulator, simulator.states["s0"], MCTSConfig(**bounds), weights))
    visits = {child.tool: child.visits for child in plain.children}
    values = {child.tool: child.worth(bounds["discount"]) for child in plain.children}
    best = max(plain.children, key=lambda one: (one.visits, one.worth(bounds["discount"]), one.prior, one.tool))

    for environment, root in ((SuppliedGraph(*parts), "s0"), (simulator, simulator.states["s0"])):
        policy = None if weights is None else Policy(RouteDecision(tool=next(iter(weights)), probabilities=weights))
        found = search(environment, root, policy, **bounds)
        assert (found.root_visits, found.root_values) == (visits, values)
        assert (found.decision.tool, found.decision.confidence) == (best.tool, best.visits / bounds["simulations"])
        assert found.decision.probabilities == {one: count / bounds["simulations"] for one, count in visits.items()}
        assert found.simulations == bounds["simulations"]


@given(parts=graphs(), bounds=SMALL_SEARCHES, cap=st.integers(1, 12), method=st.sampled_from(["puct", "best_path"]))
def test_a_graph_and_a_simulator_of_it_are_searched_alike_within_any_number_of_nodes(
    parts: tuple[Objects, Objects], bounds: dict[str, Any], cap: int, method: str
) -> None:
    simulator = Simulator(*parts)
    asked = {**bounds, "max_nodes": cap, "method": method}

    supplied, simulated = (
        search(SuppliedGraph(*parts), "s0", **asked),
        search(simulator, simulator.states["s0"], **asked),
    )

    assert supplied == simulated
    assert supplied.transitions == simulator.transitions <= cap


@given(
    parts=graphs(),
    bounds=SMALL_SEARCHES,
    seed=st.integers(0, 9),
    method=st.sampled_from(["puct", "best_path", "exact"]),
)
def test_the_order_of_states_tools_and_transitions_does_not_matter(
    parts: tuple[Objects, Objects], bounds: dict[str, Any], seed: int, method: str
) -> None:
    shuffled = [random.Random(seed).sample(one, len(one)) for one in parts]
    shuffled[0] = [{**one, "tools": one["tools"][::-1]} for one in shuffled[0]]

    assert search(SuppliedGraph(*parts), "s0", method=method, **bounds) == search(
        SuppliedGraph(*shuffled), "s0", method=method, **bounds
    )


def test_more_simulations_change_their_mind_about_the_quick_step() -> None:
    assert search(two_steps(), "root", simulations=8).decision.tool == "quick"
    assert search(two_steps(), "root", simulations=16).decision.tool == "invest"
    assert search(two_steps(), "root", simulations=64, max_depth=1).decision.tool == "quick"


def test_fewer_simulations_than_tools_leave_the_rest_out() -> None:
    found = search(branching([5, 1], seed=1), "root", simulations=3)

    assert set(found.root_visits) == set(found.decision.probabilities) == {"t00", "t01", "t02"}
    assert sum(found.decision.probabilities.values()) == pytest.approx(1)


def test_a_deep_search_takes_the_way_that_does_not_nest() -> None:
    chain = [state(f"s{number}", "on") for number in range(999)] + [state("s999")]
    graph = SuppliedGraph(chain, [edge(f"s{number}", "on", f"s{number + 1}") for number in range(999)])

    assert search(graph, "s0", simulations=400, max_depth=200).root_visits == {"on": 400}  # the deepest that nests
    assert search(graph, "s0", simulations=400, max_depth=2000).principal_variation == ("on",) * 400


# --- Priors ------------------------------------------------------------------------------------------------------------


def test_priors_are_asked_for_once_and_decide_the_order() -> None:
    policy = Policy(RouteDecision(tool="t02", confidence=0.7, probabilities={"t01": 0.2}))
    found = search(branching([4, 4], seed=3), "root", policy, simulations=2)

    assert policy.asked == [["t00", "t01", "t02", "t03"]]
    assert found.policy_evaluations == 1
    assert list(found.root_visits) == ["t02", "t01"]  # the selected tool counts by its confidence


def test_a_fallback_of_the_policy_leaves_priors_equal() -> None:
    policy = Policy(RouteDecision(fallback=True, fallback_reason="low_confidence", probabilities={"t03": 0.9}))
    graph = branching([4, 4], seed=3)

    asked, unasked = search(graph, "root", policy), search(graph, "root")

    assert asked.root_visits == unasked.root_visits
    assert (asked.policy_evaluations, unasked.policy_evaluations) == (1, 0)


def test_a_single_first_tool_leaves_the_question_to_the_first_fork() -> None:
    policy = Policy(RouteDecision(tool="b", confidence=1.0))
    graph = SuppliedGraph([state("r", "on"), state("fork", "a", "b")], [edge("r", "on", "fork")])

    search(graph, "r", policy, simulations=8)

    assert policy.asked == [["a", "b"]]


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -1.0, 0.0, "much", None])
def test_weights_that_are_none_count_as_the_least(weight: Any) -> None:
    policy = Policy(RouteDecision(tool="t00", probabilities={"t00": weight, "t01": 0.5}))

    found = search(branching([2, 2], seed=3), "root", policy, simulations=1)

    assert list(found.root_visits) == ["t01"]


def test_errors_of_the_policy_and_of_the_environment_reach_the_caller() -> None:
    class Refusing(Simulator):
        async def transition(self, state: HarnessState, tool: ToolDescriptor) -> SimulatedStep:
            raise KeyError("no such step")

    class Absent:
        async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
            raise ProviderError("away")

    refusing = Refusing([state("r", "a", "b")], [])
    with pytest.raises(KeyError, match="no such step"):
        search(refusing, refusing.states["r"])
    with pytest.raises(ProviderError, match="away"):
        search(two_steps(), "root", Absent())


# --- Exact -------------------------------------------------------------------------------------------------------------


def weighed(parts: tuple[Objects, Objects], id_: str, left: int, discount: float) -> dict[str, float]:
    """Every path, by plain recursion."""
    states = {one["id"]: one for one in parts[0]}
    steps = {(one["from_state"], one["tool"]): one for one in parts[1]}
    found = {}
    for tool in states[id_]["tools"]:
        step = steps.get((id_, tool["name"])) or edge(id_, tool["name"], id_, -1.0, True)
        follows = states[step["to_state"]]["value"]
        if left > 1 and not step["terminal"] and states[step["to_state"]]["tools"]:
            follows = max(weighed(parts, step["to_state"], left - 1, discount).values())
        found[tool["name"]] = step["reward"] + discount * follows
    return found


@given(parts=graphs(), depth=st.integers(1, 5), discount=st.sampled_from([0.0, 0.5, 0.95, 1.0]))
def test_exact_is_what_weighing_every_path_finds(parts: tuple[Objects, Objects], depth: int, discount: float) -> None:
    wanted = weighed(parts, "s0", depth, discount)
    best = max(wanted.values())
    simulator = Simulator(*parts)

    solved = solve(SuppliedGraph(*parts), "s0", max_depth=depth, discount=discount)
    walked = search(simulator, simulator.states["s0"], method="exact", max_depth=depth, discount=discount)

    assert solved.root_values == wanted == walked.root_values
    assert solved.decision == walked.decision
    assert solved.decision.tool == max(tool for tool, value in wanted.items() if value == best)
    assert solved.decision.confidence == 1 / list(wanted.values()).count(best)
    assert solved.principal_variation == walked.principal_variation
    assert (solved.simulations, solved.root_visits, solved.decision.probabilities) == (0, {}, {})


@given(parts=graphs(), depth=st.integers(1, 5), discount=st.sampled_from([0.0, 0.5, 0.95, 1.0]))
def test_the_principal_line_of_exact_is_worth_what_is_told(
    parts: tuple[Objects, Objects], depth: int, discount: float
) -> None:
    solved = solve(SuppliedGraph(*parts), "s0", max_depth=depth, discount=discount)
    values = {one["id"]: one["value"] for one in parts[0]}
    steps = {(one["from_state"], one["tool"]): one for one in parts[1]}
    here, worth, weight = "s0", 0.0, 1.0
    for tool in solved.principal_variation:
        step = steps.get((here, tool)) or edge(here, tool, here, -1.0, True)
        here, worth, weight = step["to_state"], worth + weight * step["reward"], weight * discount
    assert solved.decision.tool is not None

    assert worth + weight * values[here] == pytest.approx(solved.root_values[solved.decision.tool])


def test_a_depth_beyond_the_graph_costs_nothing() -> None:
    assert solve(two_steps(), "root", max_depth=10**9).root_values == solve(two_steps(), "root").root_values


def test_auto_is_exact_over_a_graph_and_puct_elsewhere() -> None:
    simulator = Simulator([state("r", "a", "b")], [])

    assert search(two_steps(), "root", method="auto").method == "exact"
    assert search(simulator, simulator.states["r"], method="auto").method == "puct"


def test_exact_stops_where_nodes_run_out_and_says_so() -> None:
    parts = [state("r", "a", "b")], [edge("r", "a", "r", 0.1), edge("r", "b", "r", 0.2)]
    simulator = Simulator(*parts)

    found = search(simulator, simulator.states["r"], method="exact", max_depth=30, max_nodes=100)

    assert (found.decision.tool, found.stopped_by, found.transitions) == ("b", "nodes", 100)


# --- Best path ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("branches", [4, 8, 16])
def test_best_path_finds_the_best_of_chains_of_three_steps(branches: int) -> None:
    graphs_ = [branching([branches, 1, 1], seed) for seed in range(40)]

    right = sum(
        search(g, "root", method="best_path", simulations=32).decision.tool == solve(g, "root").decision.tool
        for g in graphs_
    )

    assert right == 40


@given(parts=graphs(most_states=4), depth=st.integers(1, 3), discount=st.sampled_from([0.5, 0.95]))
def test_best_path_is_exact_once_all_is_known(parts: tuple[Objects, Objects], depth: int, discount: float) -> None:
    exact = solve(SuppliedGraph(*parts), "s0", max_depth=depth, discount=discount)

    found = search(SuppliedGraph(*parts), "s0", method="best_path", simulations=100, max_depth=depth, discount=discount)

    assert found.root_values == pytest.approx(exact.root_values)
    assert exact.root_values[found.decision.tool or ""] == pytest.approx(max(exact.root_values.values()))
    assert found.simulations <= 4**3  # no path is gone twice


def test_each_visit_goes_down_to_the_depth_limit() -> None:
    assert len(search(branching([3, 3, 3, 3], 1), "root", method="best_path", simulations=1).principal_variation) == 4


@pytest.mark.parametrize("branches", [(4, 4, 4, 4), (2, 2, 2, 2, 2, 2), (8, 8, 8)], ids=str)
def test_best_path_regrets_at_most_half_of_what_puct_does_for_as_many_transitions(branches: tuple[int, ...]) -> None:
    depth, regrets = len(branches), {"best_path": 0.0, "puct": 0.0}
    for seed in range(30):
        graph = branching(branches, seed)
        values = solve(graph, "root", max_depth=depth).root_values
        spent = search(graph, "root", method="best_path", max_depth=depth).transitions
        for method in regrets:
            # PUCT also goes back to ends that it knows, so it gets more simulations for as many steps.
            found = search(graph, "root", method=method, max_depth=depth, simulations=500, max_nodes=spent)
            assert found.transitions <= spent
            regrets[method] += max(values.values()) - values[found.decision.tool or ""]

    assert regrets["best_path"] <= regrets["puct"] / 2


def test_best_path_asks_for_priors_too() -> None:
    policy = Policy(RouteDecision(tool="t02", confidence=0.7))

    found = search(branching([4, 4], seed=3), "root", policy, method="best_path", simulations=1)

    assert list(found.root_visits) == ["t02"]


# --- Stopping ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["puct", "best_path"])
def test_a_long_search_notices_within_a_tenth_of_a_second_that_it_is_cancelled(method: str) -> None:
    graph = branching([4] * 6, seed=1)
    config = MCTSConfig(simulations=5_000_000, max_depth=6, method=method)
    cancelled = threading.Event()
    noticed: list[float] = []

    async def cancel_later() -> Any:
        running = asyncio.create_task(MCTSToolRouter(graph, config=config).search("root", cancel=cancelled.is_set))
        await asyncio.sleep(0.05)
        cancelled.set()
        before = time.thread_time()
        found = await running
        noticed.append(time.thread_time() - before)
        return found

    found = asyncio.run(cancel_later())

    assert (found.stopped_by, noticed[0] < 0.1) == ("cancelled", True)
    assert 0 < found.simulations < 5_000_000
    assert sum(found.root_visits.values()) == found.simulations
    assert found.decision.tool is not None


def test_a_task_that_is_cancelled_ends() -> None:
    async def run() -> None:
        config = MCTSConfig(simulations=5_000_000)
        async with asyncio.timeout(0.05):
            await MCTSToolRouter(branching([4] * 4, seed=1), config=config).search("root")

    with pytest.raises(TimeoutError):
        asyncio.run(run())


class Clock:
    """Goes on by a millisecond whenever it is asked."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


@pytest.mark.parametrize("method", ["puct", "best_path"])
def test_a_deadline_ends_a_search_with_its_best_so_far(method: str) -> None:
    config = MCTSConfig(simulations=5_000_000, deadline_ms=50, method=method, max_depth=6)
    router = MCTSToolRouter(branching([4] * 6, seed=1), config=config, clock=Clock())

    found = asyncio.run(router.search("root"))

    assert found.stopped_by == "deadline"
    assert 0 < found.simulations < 5_000
    assert found.decision.tool is not None


@pytest.mark.parametrize("method", ["puct", "best_path", "exact"])
def test_a_simulator_that_hangs_does_not_hold_the_caller(method: str) -> None:
    class Hanging(Simulator):
        async def transition(self, state: HarnessState, tool: ToolDescriptor) -> SimulatedStep:
            if self.transitions == 3:
                await asyncio.Event().wait()
            return await super().transition(state, tool)

    hanging = Hanging([state("r", "a", "b")], [edge("r", "a", "r", 0.1), edge("r", "b", "r", 0.2)])
    found = search(hanging, hanging.states["r"], deadline_ms=50, method=method, max_depth=2)

    assert (found.stopped_by, found.transitions) == ("deadline", 3)
    # A visit that did not reach its end has found nothing yet.
    assert found.decision.tool == ("a" if method == "best_path" else "b")


@pytest.mark.parametrize("deadline_ms", [None, 60_000])
def test_who_cancels_does_not_wait_for_an_opinion_that_hangs(deadline_ms: float | None) -> None:
    cancelled = threading.Event()

    class Hanging:
        async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
            cancelled.set()
            await asyncio.Event().wait()
            raise AssertionError

    config = MCTSConfig(method="puct", deadline_ms=deadline_ms)
    router = MCTSToolRouter(branching([2], seed=1), policy_router=Hanging(), config=config)
    found = asyncio.run(asyncio.wait_for(router.search("root", cancel=cancelled.is_set), 10))

    assert (found.stopped_by, found.simulations, found.decision.tool) == ("cancelled", 0, None)


def test_a_timeout_of_the_simulator_itself_is_its_own() -> None:
    class Slow(Simulator):
        async def evaluate(self, state: HarnessState) -> float:
            raise TimeoutError("the simulator's own")

    slow = Slow([state("r", "a", "b")], [])
    with pytest.raises(TimeoutError, match="own"):
        search(slow, slow.states["r"], deadline_ms=10_000)


@pytest.mark.parametrize("method", ["puct", "best_path", "exact"])
def test_a_search_that_is_cancelled_at_once_has_no_answer(method: str) -> None:
    simulator = Simulator([state("r", "a", "b")], [])
    router = MCTSToolRouter(simulator, config=MCTSConfig(method=method))

    found = asyncio.run(router.search(simulator.states["r"], cancel=lambda: True))

    assert (found.decision.tool, found.decision.fallback_reason) == (None, "mcts_no_simulated_action")
    assert (found.stopped_by, found.simulations) == ("cancelled", 0)


# --- What can be seen --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["puct", "best_path"])
def test_progress_tells_how_the_tree_stands(method: str) -> None:
    seen: list[tuple[int, int, int]] = []

    def look(progress: SearchProgress) -> None:
        tree = progress.tree(50)
        seen.append((progress.simulations, sum(node.visits for node in tree if node.depth == 1), len(tree)))
        assert progress.of == 2000
        assert len(progress.principal_variation) >= (1 if progress.simulations else 0)

    router = MCTSToolRouter(branching([4] * 5, seed=1), config=MCTSConfig(simulations=2000, max_depth=5, method=method))
    asyncio.run(router.search("root", progress=look, progress_every_ms=0))

    assert len(seen) >= 10
    assert all(simulations == visits for simulations, visits, _ in seen)
    assert seen[-1][2] == 50


@given(parts=graphs(), bounds=SMALL_SEARCHES, method=st.sampled_from(["puct", "best_path"]), most=st.integers(1, 40))
def test_a_tree_holds_the_most_visited_nodes_each_after_its_parent(
    parts: tuple[Objects, Objects], bounds: dict[str, Any], method: str, most: int
) -> None:
    router = MCTSToolRouter(SuppliedGraph(*parts), config=MCTSConfig(method=method, **bounds))
    found = asyncio.run(router.search("s0", tree_nodes=most))
    by_id = {node.id: node for node in found.tree}

    assert len(found.tree) == min(most, found.transitions + 1)
    assert (found.tree[0].parent, found.tree[0].state, found.tree[0].visits) == (None, "s0", found.simulations)
    for node in found.tree[1:]:
        parent = by_id[node.parent if node.parent is not None else -1]
        assert (parent.depth, parent.id < node.id, parent.visits >= node.visits) == (node.depth - 1, True, True)
    shown = {node.tool: (node.visits, node.value) for node in found.tree if node.depth == 1}
    assert (
        shown.items()
        <= {tool: (found.root_visits[tool], found.root_values[tool]) for tool in found.root_visits}.items()
    )


# --- What is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [
        {"simulations": 0},
        {"simulations": True},
        {"simulations": 1.5},
        {"max_depth": 0},
        {"max_policy_evaluations": -1},
        {"exploration_constant": -0.1},
        {"exploration_constant": float("inf")},
        {"discount": 1.01},
        {"discount": float("nan")},
        {"min_prior": 0},
        {"method": "random"},
        {"deadline_ms": 0},
        {"max_nodes": 0},
    ],
    ids=str,
)
def test_bounds_out_of_theirs_are_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bounds))):
        MCTSConfig(**bounds)


def test_a_policy_s_block_is_a_configuration() -> None:
    assert MCTSConfig.from_policy(effective("default", ()).mcts) == MCTSConfig(method="auto", deadline_ms=10_000)


def test_names_that_say_nothing_are_refused_but_the_reserved_one_is_not() -> None:
    def first(*names: str) -> Any:
        tools = [ToolDescriptor(name, "") for name in names]
        return asyncio.run(MCTSToolRouter(two_steps()).search("root", tools)).decision

    for names in (["quick", " "], ["quick", "quick"]):
        with pytest.raises(ValueError, match="tool name"):
            first(*names)
    assert first("__fallback__").tool == "__fallback__"
    assert first("quick").tool == "quick"
    assert first().fallback_reason == "mcts_no_tools"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), None, "1"], ids=str)
@pytest.mark.parametrize("of", ["reward", "value"])
def test_rewards_and_values_that_are_not_finite_are_refused(of: str, number: Any) -> None:
    class Wild(Simulator):
        async def evaluate(self, state: HarnessState) -> float:
            return number if of == "value" else 0.0  # type: ignore[no-any-return]

        async def transition(self, state: HarnessState, tool: ToolDescriptor) -> SimulatedStep:
            return SimulatedStep(state, number if of == "reward" else 0.0)

    wild = Wild([state("r", "a", "b")], [])
    with pytest.raises(ValueError, match="finite"):
        search(wild, wild.states["r"])


GOOD = [state("r", "a", "b"), state("s")], [edge("r", "a", "s")]


@pytest.mark.parametrize(
    ("states", "edges", "path"),
    [
        ([], [], "states"),
        ("r", [], "states"),
        ([*GOOD[0], state("r")], [], "states[2].id"),
        ([state(" ")], [], "states[0].id"),
        ([state("x" * 129)], [], "states[0].id"),
        ([{"id": "r"}], [], "states[0].goal"),
        ([{**state("r"), "colour": 1}], [], "states[0].colour"),
        ([state("r", value=float("nan"))], [], "states[0].value"),
        ([state("r", value=10**400)], [], "states[0].value"),
        ([state("r", value=True)], [], "states[0].value"),
        ([state("r", "a", "a")], [], "states[0].tools[1].name"),
        ([state("r", "a", " ")], [], "states[0].tools[1].name"),
        ([{**state("r"), "tools": [{"name": "a", "risk": "fatal"}]}], [], "states[0].tools[0].risk"),
        ([{**state("r"), "tools": [{"name": "a", "colour": 1}]}], [], "states[0].tools[0].colour"),
        (GOOD[0], [edge("q", "a", "s")], "transitions[0].from_state"),
        (GOOD[0], [edge("r", "a", "q")], "transitions[0].to_state"),
        (GOOD[0], [edge("r", "c", "s")], "transitions[0].tool"),
        (GOOD[0], [edge("r", "a", "s"), edge("r", "b", "s"), edge("r", "a", "r")], "transitions[2]"),
        (GOOD[0], [edge("r", "a", "s", float("inf"))], "transitions[0].reward"),
        (GOOD[0], [{**edge("r", "a", "s"), "terminal": "no"}], "transitions[0].terminal"),
        (GOOD[0], [{**edge("r", "a", "s"), "odds": 1}], "transitions[0].odds"),
        (GOOD[0], [{"from_state": "r", "tool": "a"}], "transitions[0].to_state"),
    ],
)
def test_a_graph_that_breaks_a_rule_is_refused_with_the_place(states: Any, edges: Any, path: str) -> None:
    with pytest.raises(SearchGraphError) as refused:
        SuppliedGraph(states, edges)

    assert [problem["path"] for problem in refused.value.problems] == [path]
    assert path in str(refused.value)


def test_every_problem_of_a_graph_is_told_at_once() -> None:
    with pytest.raises(SearchGraphError) as refused:
        SuppliedGraph(
            [state("r", "a"), state("r")], [edge("r", "b", "x", float("nan"))], max_states=1, max_transitions=0
        )

    paths = [problem["path"] for problem in refused.value.problems]
    assert paths == [
        "states",
        "states[1].id",
        "transitions",
        "transitions[0].reward",
        "transitions[0].to_state",
        "transitions[0].tool",
    ]


def test_a_root_that_the_graph_does_not_have_is_refused() -> None:
    for root in ("nowhere", HarnessState("elsewhere")):
        with pytest.raises(SearchGraphError, match="root_state"):
            search(two_steps(), root)
        with pytest.raises(SearchGraphError, match="root_state"):
            solve(two_steps(), root)


def test_a_state_is_known_by_its_id_itself_or_what_it_says() -> None:
    graph = two_steps()
    roots = ("root", graph.state("root"), HarnessState("root"))

    assert {search(graph, root, simulations=16).decision.tool for root in roots} == {"invest"}


def test_a_tool_without_a_transition_stays_where_it_is_at_a_loss() -> None:
    graph = SuppliedGraph([state("r", "a", "b", value=0.5)], [edge("r", "a", "r", -0.9, True)])

    assert solve(graph, "r").root_values == pytest.approx({"a": -0.9 + 0.95 * 0.5, "b": -1 + 0.95 * 0.5})


def test_the_category_of_a_decision_is_the_tool_s_own() -> None:
    tools = [{"name": "read_file", "category": "Mine"}, {"name": "grep"}]
    graph = SuppliedGraph([{**state("r"), "tools": tools}], [edge("r", "read_file", "r", 1.0), edge("r", "grep", "r")])

    assert search(graph, "r").decision.category == solve(graph, "r").decision.category == "Mine"
    only = [ToolDescriptor("grep", "")]
    assert asyncio.run(MCTSToolRouter(graph).route("r", only)).category is None


# --- What it costs (docs/benchmarks.md has the figures; these bounds leave room for a busy machine) ---------------------


def quickest(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of processor time, the best of some."""
    took = []
    for _ in range(times):
        before = time.process_time()
        work()
        took.append(time.process_time() - before)
    return min(took)


@pytest.mark.parametrize("branches", [4, 8, 16])
def test_chains_of_three_steps_are_solved_within_a_millisecond(branches: int) -> None:
    graph = branching([branches, 1, 1], seed=1)

    assert quickest(lambda: solve(graph, "root", max_depth=3)) <= 0.001


def test_the_largest_graph_that_may_be_sent_is_solved_within_ten_milliseconds() -> None:
    rng = random.Random(1)
    states = [state(f"s{number}", *"abcd", value=rng.random()) for number in range(256)]
    edges = [edge(one["id"], tool, f"s{rng.randrange(256)}", rng.random()) for one in states for tool in "abcd"]
    graph = SuppliedGraph(states, edges, max_states=256, max_transitions=1024)

    assert quickest(lambda: solve(graph, "s0", max_depth=8)) <= 0.010


def test_a_graph_is_searched_several_times_as_fast_as_step_by_step() -> None:
    parts = branching_parts([4] * 4, seed=1)
    graph, simulator, config = SuppliedGraph(*parts), Simulator(*parts), MCTSConfig(simulations=4096)

    plain = quickest(lambda: asyncio.run(plain_puct(simulator, simulator.states["root"], config)))

    assert quickest(lambda: search(graph, "root", simulations=4096)) <= plain / 3


def test_rewards_so_large_that_sums_would_overflow_are_refused_with_their_place():
    with pytest.raises(SearchGraphError) as caught:
        SuppliedGraph([state("a", "x", "y")], [edge("a", "x", "a", 1e308), edge("a", "y", "a", -1e308)])
    assert [problem["path"] for problem in caught.value.problems] == ["transitions[0].reward", "transitions[1].reward"]


@given(graphs(), st.integers(1, 5), st.sampled_from([0.5, 0.95, 1.0]), st.sampled_from([1, 7, 500]))
def test_a_solved_graph_is_shown_as_the_tree_it_unfolds_into(
    parts: tuple[Objects, Objects], depth: int, discount: float, most: int
) -> None:
    graph = SuppliedGraph(*parts)
    root = graph.ids[0]
    router = MCTSToolRouter(graph, config=MCTSConfig(method="exact", max_depth=depth, discount=discount))
    found = asyncio.run(router.search(root, tree_nodes=most))
    if found.decision.fallback:
        assert found.tree == ()
        return
    by_id = {node.id: node for node in found.tree}
    assert len(found.tree) <= most and found.tree[0].value == max(found.root_values.values())
    for node in found.tree[1:]:
        assert node.parent in by_id and by_id[node.parent].depth == node.depth - 1 < depth
        left = depth - node.depth + 1
        assert node.tool is not None
        alone = solve(graph, by_id[node.parent].state or "", max_depth=left, discount=discount)
        assert node.value == pytest.approx(alone.root_values[node.tool])
    line, place = [], 0
    for tool in found.principal_variation:
        below = [node for node in found.tree if node.parent == place and node.tool == tool]
        if below:
            line.append(tool)
            place = below[0].id
    assert tuple(line) == found.principal_variation[: most - 1]
