"""How fast look-ahead search is, how often it is right, and what that costs, beside the plain search that it came from.

    python bench/search.py [--graphs 200] [--batches 7]

The plain search is PUCT written word by word from the description of harness-router: one object for each node, a callback for each
step. It visits the same steps equally often as ours (asserted here), so only its speed is measured; both run in turns in this
process, and times are processor time, the best of the batches. All graphs are made from seeds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from routing.engine import MCTSConfig, MCTSToolRouter, RouteDecision, SuppliedGraph, solve
from tests.engine.searching import Simulator, branching, branching_parts, edge, plain_puct, search, state, uniform

Reward = Callable[[random.Random, int], float]
FAMILIES: dict[str, Reward] = {
    "every step pays -0.3 to 0.6": uniform,
    "the last step pays 0 to 1": lambda rng, left: 0.0 if left else rng.random(),
    "one step in ten pays 1": lambda rng, left: float(rng.random() < 0.1),
}
SHAPES = ((4, 4, 4, 4), (3, 3, 3, 3, 3), (2, 2, 2, 2, 2, 2), (8, 8, 8))


class Sure:
    """A policy router that is nearly sure of the first tool."""

    async def route(self, state: Any, tools: Sequence[Any]) -> RouteDecision:
        rest = 0.03 / (len(tools) - 1)
        return RouteDecision(tool="t00", confidence=0.97, probabilities={t.name: rest for t in tools} | {"t00": 0.97})


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--graphs", type=int, default=200)
    asked.add_argument("--batches", type=int, default=7)
    given = asked.parse_args()
    speeds(given.batches)
    exact_times(given.batches)
    stopping()
    optimality(given.graphs)
    regrets(given.graphs)


def speeds(batches: int) -> None:
    print("PUCT, simulations a second (4 branches, depth 4)\n")
    print("| prior | simulations | plain | over a graph | over a simulator | graph / plain | simulator / plain |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    parts = branching_parts([4] * 4, seed=1)
    graph, simulator = SuppliedGraph(*parts), Simulator(*parts)
    root = simulator.states["root"]
    weights = {"t00": 0.97, "t01": 0.01, "t02": 0.01, "t03": 0.01}
    for prior, policy in (("equal", None), ("0.97 for one", Sure())):
        for simulations in (64, 1024, 4096):
            config = MCTSConfig(simulations=simulations)
            told = weights if policy else None
            ours = {
                "graph": lambda config=config, policy=policy: MCTSToolRouter(graph, policy, config).search("root"),
                "simulator": lambda config=config, policy=policy: MCTSToolRouter(simulator, policy, config).search(
                    root
                ),
                "plain": lambda config=config, told=told: plain_puct(simulator, root, config, told),
            }
            took = asyncio.run(in_turns(ours, batches, max(2048 // simulations, 1)))
            plain = asyncio.run(ours["plain"]())
            assert asyncio.run(ours["graph"]()).root_visits == {child.tool: child.visits for child in plain.children}
            rate = {name: simulations / seconds for name, seconds in took.items()}
            print(
                f"| {prior} | {simulations:,} | {rate['plain']:,.0f} | {rate['graph']:,.0f} | {rate['simulator']:,.0f} "
                f"| {rate['graph'] / rate['plain']:.1f} | {rate['simulator'] / rate['plain']:.1f} |"
            )


async def in_turns(works: dict[str, Callable[[], Any]], batches: int, times: int) -> dict[str, float]:
    """Seconds of each work, the best of the batches."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(batches):
        for name, work in works.items():
            before = time.process_time()
            for _ in range(times):
                await work()
            best[name] = min(best[name], (time.process_time() - before) / times)
    return best


def exact_times(batches: int) -> None:
    print("\nExact, over a supplied graph\n\n| graph | time |\n| --- | --- |")
    for branches in (4, 8, 16):
        graph = branching([branches, 1, 1], seed=1)
        took = best_of(batches, 50, lambda graph=graph: solve(graph, "root", max_depth=3))
        print(f"| {branches} chains of three steps | {took * 1e3:.3f} ms |")
    rng = random.Random(1)
    states = [state(f"s{number}", *"abcd", value=rng.random()) for number in range(256)]
    edges = [
        edge(one["id"], tool, f"s{rng.randrange(256)}", rng.uniform(-0.3, 0.6)) for one in states for tool in "abcd"
    ]
    graph = SuppliedGraph(states, edges)
    took = best_of(batches, 5, lambda: solve(graph, "s0", max_depth=8))
    print(f"| 256 states of 4 tools, depth 8 | {took * 1e3:.2f} ms |")
    print(f"| checking that graph | {best_of(batches, 1, lambda: SuppliedGraph(states, edges)) * 1e3:.0f} ms |")


def best_of(batches: int, times: int, work: Callable[[], Any]) -> float:
    took = []
    for _ in range(batches):
        before = time.process_time()
        for _ in range(times):
            work()
        took.append((time.process_time() - before) / times)
    return min(took)


def stopping() -> None:
    graph = branching([4] * 6, seed=1)
    config = MCTSConfig(simulations=5_000_000, max_depth=6)

    async def once() -> float:
        cancelled = threading.Event()
        running = asyncio.create_task(MCTSToolRouter(graph, config=config).search("root", cancel=cancelled.is_set))
        await asyncio.sleep(0.1)
        cancelled.set()
        before = time.perf_counter()
        await running
        return time.perf_counter() - before

    noticed = [asyncio.run(once()) * 1e3 for _ in range(9)]
    print(
        f"\nCancelled at 0.1 s of five million simulations: noticed after {statistics.median(noticed):.1f} ms ", end=""
    )
    print(f"(median of 9, at most {max(noticed):.1f} ms)")


def optimality(count: int) -> None:
    print(f"\nBest first step found, of {count} graphs (chains of three steps)\n")
    print("| branches | method | 8 | 16 | 32 | 64 | 256 | 1,024 |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for branches in (4, 8, 16):
        graphs = [branching([branches, 1, 1], seed) for seed in range(count)]
        best = [solve(graph, "root").decision.tool for graph in graphs]
        for method in ("puct", "best_path"):
            shares = []
            for simulations in (8, 16, 32, 64, 256, 1024):
                found = [search(g, "root", method=method, simulations=simulations).decision.tool for g in graphs]
                shares.append(sum(map(str.__eq__, found, best)) / count)  # type: ignore[arg-type]
            print(f"| {branches} | {method} | {' | '.join(f'{share:.1%}' for share in shares)} |", flush=True)


def regrets(count: int) -> None:
    print(f"\nRegret at equal transitions, mean of {count} graphs\n")
    print("| rewards | branches | simulations of best_path | transitions | puct | best_path | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for family, reward in FAMILIES.items():
        for shape in SHAPES:
            graphs = [branching(shape, seed, reward) for seed in range(count)]
            values = [solve(graph, "root", max_depth=len(shape)).root_values for graph in graphs]
            for simulations in (16, 32, 64):
                spent, ours, theirs = compare(graphs, values, len(shape), simulations)
                ratio = f"{ours / theirs:.2f}" if theirs else "-"
                print(
                    f"| {family} | {'·'.join(map(str, shape))} | {simulations} | {spent:.0f} | {theirs:.4f} | {ours:.4f} | {ratio} |",
                    flush=True,
                )


def compare(
    graphs: Sequence[SuppliedGraph], values: Sequence[Any], depth: int, simulations: int
) -> tuple[float, float, float]:
    """Transitions spent, and the regret of best_path and of PUCT when it has spent as many, however many simulations that takes."""
    spent = ours = theirs = 0.0
    for graph, value in zip(graphs, values, strict=True):
        best = max(value.values())
        found = search(graph, "root", method="best_path", max_depth=depth, simulations=simulations)
        other = search(graph, "root", max_depth=depth, simulations=4 * found.transitions, max_nodes=found.transitions)
        spent += found.transitions
        ours += best - value[found.decision.tool]
        theirs += best - value[other.decision.tool]
    return spent / len(graphs), ours / len(graphs), theirs / len(graphs)


if __name__ == "__main__":
    main()
