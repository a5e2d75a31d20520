"""What a route costs without its provider, beside a plain router that does everything anew for each call.

    python bench/router.py [--batches 7] [--json]
    python bench/router.py --short-list DIR

The plain router does what harness-router documents, written from its description in the obvious way: every call validates the
tools, writes the state as JSON, makes a key of the state and of all texts of all tools, and looks in an LRU; where that has
nothing it writes the criteria, estimates both shapes, asks and judges. Both routers ask the same provider, which answers at once,
in the same process, batch by batch in turn. Times are processor time of the one thread that works: microseconds for a route, the
median of the batches. Ratios compare; absolute figures belong to the machine.

With --short-list, DIR holds a large catalog and its questions (`catalog.json`, `queries.jsonl`); measured is how often a right tool is
among the 254 that a provider would be offered, and what finding them takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import statistics
import sys
import time
import tracemalloc
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from routing.engine import (
    ActionSummary,
    ChoiceDecision,
    HarnessState,
    JevToolRouter,
    RiskLevel,
    RouteDecision,
    RoutingConfig,
    ToolDescriptor,
    ToolSet,
)
from routing.engine.shortlist import shortlist

FALLBACK = "__fallback__"
SIZES = (4, 24, 48, 200)
NEVER = 1_000_000  # tools from which on a category is chosen first, where it is not to be

Route = Callable[[HarnessState, Sequence[ToolDescriptor]], Awaitable[RouteDecision]]


class InstantProvider:
    """The first label, surely, and a share for each. Answers are made once, so that the provider costs next to nothing."""

    def __init__(self) -> None:
        self.calls = 0
        self.delay_s = 0.0
        self.known: dict[tuple[int, str], ChoiceDecision] = {}

    async def choose(self, *, state: str, instructions: str, criteria: Mapping[str, str]) -> ChoiceDecision:
        self.calls += 1
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        first = next(iter(criteria))
        answer = self.known.get((len(criteria), first))
        if answer is None:
            rest = 0.03 / (len(criteria) - 1)
            shares = {label: 0.97 if label == first else rest for label in criteria}
            answer = self.known[len(criteria), first] = ChoiceDecision(first, shares, 0.96)
        return answer


class PlainRouter:
    """The documented behaviour in hybrid mode, nothing kept but decisions."""

    def __init__(self, provider: InstantProvider, config: RoutingConfig) -> None:
        self.provider = provider
        self.config = config
        self.cache: OrderedDict[Any, RouteDecision] = OrderedDict()

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        self.validate(tools)
        text = self.state_text(state)
        key = (text, tuple((tool.name, tool.description, tool.category, tool.risk) for tool in tools))
        if key in self.cache:
            self.cache.move_to_end(key)
            return self.cache[key]
        if len(tools) > self.config.hierarchical_threshold and self.smaller(text, tools):
            decision = await self.by_category(text, tools)
        else:
            decision = await self.flat(text, tools)
        if self.config.route_cache_size:
            self.cache[key] = decision
            while len(self.cache) > self.config.route_cache_size:
                self.cache.popitem(last=False)
        return decision

    def validate(self, tools: Sequence[ToolDescriptor]) -> None:
        names = [tool.name for tool in tools]
        if any(not name.strip() or name == FALLBACK for name in names) or len(set(names)) != len(names):
            raise ValueError("tool names must be told apart")

    def state_text(self, state: HarnessState) -> str:
        limit = self.config.state_field_limit
        told = {
            "goal": self.clip(state.goal, limit),
            "observation": self.clip(state.observation, limit),
            "last_action": state.last_action,
            "recent_actions": [
                {"tool": action.tool, "outcome": self.clip(action.outcome, max(64, limit // 2))}
                for action in state.recent_actions[-self.config.history_limit :]
            ],
            "constraints": [self.clip(text, limit) for text in state.constraints[: self.config.constraint_limit]],
        }
        kept = {name: value for name, value in told.items() if value is not None and value != []}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":"), default=str)

    def clip(self, text: str | None, limit: int) -> str | None:
        return text if text is None or len(text) <= limit else text[: limit - 1] + "…"

    def criterion(self, tool: ToolDescriptor) -> str:
        words = " ".join(tool.description.split())[: self.config.description_limit]
        return f"{tool.category}|r:{tool.risk.value[0]}|{words}"

    def groups(self, tools: Sequence[ToolDescriptor]) -> dict[str, list[ToolDescriptor]]:
        groups: dict[str, list[ToolDescriptor]] = {}
        for tool in tools:
            groups.setdefault(str(tool.category).strip().lower(), []).append(tool)
        return groups

    def category_criteria(self, groups: Mapping[str, Sequence[ToolDescriptor]]) -> dict[str, str]:
        return {
            category: f"{category}:{','.join(tool.name for tool in groups[category][:6])}"
            + (",..." if len(groups[category]) > 6 else "")
            for category in sorted(groups)
        }

    def smaller(self, text: str, tools: Sequence[ToolDescriptor]) -> bool:
        groups = self.groups(tools)
        if len(groups) < 2:
            return False

        def choice(some: Sequence[ToolDescriptor]) -> int:
            return len(text) + sum(len(tool.name) + len(self.criterion(tool)) for tool in some) + 12 + 96

        first = sum(len(label) + len(said) for label, said in self.category_criteria(groups).items())
        two = len(text) + first + 12 + 64 + max(choice(group) for group in groups.values())
        return two <= choice(tools) * (1 - self.config.hierarchical_min_savings_ratio)

    async def ask(self, text: str, criteria: dict[str, str]) -> ChoiceDecision:
        criteria[FALLBACK] = "Nothing fits; let the planner act."
        choice = await self.provider.choose(state=text, instructions="Choose the next one.", criteria=criteria)
        if choice.choice not in criteria or not 0 <= choice.confidence <= 1:
            raise ValueError("no answer")
        return choice

    async def flat(self, text: str, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        choice = await self.ask(text, {tool.name: self.criterion(tool) for tool in tools})
        return self.judged(choice, choice.confidence, tools)

    async def by_category(self, text: str, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        groups = self.groups(tools)
        first = await self.ask(text, self.category_criteria(groups))
        group = groups[first.choice]
        second = await self.ask(text, {tool.name: self.criterion(tool) for tool in group})
        return self.judged(second, min(first.confidence, second.confidence), group)

    def judged(self, choice: ChoiceDecision, confidence: float, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        told: dict[str, Any] = {"confidence": confidence, "probabilities": dict(choice.probabilities)}
        if choice.choice == FALLBACK:
            return RouteDecision(fallback=True, fallback_reason="no_matching_tool", **told)
        category = next(tool.category for tool in tools if tool.name == choice.choice)
        if confidence < self.config.fallback_threshold:
            return RouteDecision(category=category, fallback=True, fallback_reason="low_confidence", **told)
        if confidence < self.config.direct_execution_threshold:
            return RouteDecision(category=category, fallback=True, fallback_reason="planner_confirmation", **told)
        return RouteDecision(tool=choice.choice, category=category, **told)


def tools_of(count: int, categories: int) -> list[ToolDescriptor]:
    return [
        ToolDescriptor(f"tool_{place:03d}", "word " * 20, f"cat{place % categories}", RiskLevel.LOW)
        for place in range(count)
    ]


def state_of(number: int | str = "") -> HarnessState:
    return HarnessState(
        goal=f"Fix the failing parser test {number}",
        observation="The assertion points to src/parser.py, line 42",
        last_action="search_code",
        recent_actions=[ActionSummary("search_code", "3 matches")],
        constraints=["Do not modify generated files"],
    )


async def in_turn(
    routes: Mapping[str, Callable[[], Awaitable[object]]], *, calls: int, batches: int
) -> dict[str, float]:
    """Microseconds of processor time for a call of each, the median of the batches."""
    taken: dict[str, list[float]] = {name: [] for name in routes}
    for call in routes.values():
        for _ in range(calls // 10 + 1):
            await call()
    for _ in range(batches):
        for name, call in routes.items():
            began = time.process_time()
            for _ in range(calls):
                await call()
            taken[name].append((time.process_time() - began) / calls * 1e6)
    return {name: statistics.median(times) for name, times in taken.items()}


async def measure(batches: int) -> dict[str, dict[str, float]]:
    """`<what> <tools>` -> {plain, ours with a ToolSet, ours with a list}."""
    found: dict[str, dict[str, float]] = {}
    for size in SIZES:
        flat = {"hierarchical_threshold": NEVER}
        same = state_of()
        found[f"exact hit, {size} tools"] = await compared(
            RoutingConfig(**flat), tools_of(size, 4), lambda same=same: same, calls=2000, batches=batches
        )
        found[f"flat miss, {size} tools"] = await compared(
            RoutingConfig(**flat), tools_of(size, 4), new_states(), calls=400, batches=batches
        )
    for size, categories in ((48, 4), (200, 8)):
        found[f"category first, {size} tools"] = await compared(
            RoutingConfig(), tools_of(size, categories), new_states(), calls=400, batches=batches
        )
    return found


def new_states() -> Callable[[], HarnessState]:
    numbers = iter(range(1 << 60))
    return lambda: state_of(next(numbers))


async def compared(
    config: RoutingConfig, tools: list[ToolDescriptor], state: Callable[[], HarnessState], **how: int
) -> dict[str, float]:
    given: dict[str, tuple[Route, Sequence[ToolDescriptor]]] = {
        "plain": (PlainRouter(InstantProvider(), config).route, tools),
        "ToolSet": (JevToolRouter(InstantProvider(), config).route, ToolSet(tools)),
        "list": (JevToolRouter(InstantProvider(), config).route, tools),
    }
    return await in_turn({name: _call(route, some, state) for name, (route, some) in given.items()}, **how)


def _call(
    route: Route, tools: Sequence[ToolDescriptor], state: Callable[[], HarnessState]
) -> Callable[[], Awaitable[RouteDecision]]:
    return lambda: route(state(), tools)


async def calls_of_fifty() -> dict[str, int]:
    """Provider calls that fifty equal routes at once come to."""
    found = {}
    for name in ("plain", "ours"):
        provider = InstantProvider()
        provider.delay_s = 0.02
        router = PlainRouter(provider, RoutingConfig()) if name == "plain" else JevToolRouter(provider)
        await asyncio.gather(*(router.route(state_of(), tools_of(4, 2)) for _ in range(50)))
        found[name] = provider.calls
    return found


async def kept_kib() -> dict[str, float]:
    """Memory of a full cache of decisions over 200 tools, whose texts are new objects in each call."""
    found = {}
    for name in ("plain", "ours"):
        config = RoutingConfig(hierarchical_threshold=NEVER)
        router = (PlainRouter if name == "plain" else JevToolRouter)(InstantProvider(), config)
        tracemalloc.start()
        for number in range(config.route_cache_size):
            await router.route(state_of(number), tools_of(200, 8))
        found[name] = tracemalloc.get_traced_memory()[0] / 1024
        tracemalloc.stop()
    return found


def short_list(place: Path, limit: int = 254) -> dict[str, float]:
    """Over the questions that have a tool: the share whose tool is offered, and the milliseconds that finding takes."""
    listed = json.loads((place / "catalog.json").read_text())["tools"]
    tools = ToolSet(
        ToolDescriptor(f"{tool['server']}__{tool['name']}", tool.get("description") or "") for tool in listed
    )
    began = time.process_time()
    catalog = tools.catalog
    compiled = time.process_time() - began
    names = [tool.name for tool in tools]
    offered, taken = [], []
    for line in (place / "queries.jsonl").read_text().splitlines():
        question = json.loads(line)
        if question["gold"]:
            began = time.process_time()
            found = shortlist(catalog, names, HarnessState(question["query"]), limit)
            taken.append((time.process_time() - began) * 1000)
            offered.append(not set(question["gold"]).isdisjoint(found))
    return {
        "tools": len(tools),
        "questions": len(offered),
        "offered": statistics.fmean(offered),
        "compile_ms": compiled * 1000,
        "p50_ms": statistics.median(taken),
        "p99_ms": statistics.quantiles(taken, n=100)[98],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--short-list", type=Path, metavar="DIR")
    args = parser.parse_args()
    if args.short_list:
        print(json.dumps(short_list(args.short_list)))
        return
    times = asyncio.run(measure(args.batches))
    calls, kept = asyncio.run(calls_of_fifty()), asyncio.run(kept_kib())
    if args.json:
        print(json.dumps({"python": platform.python_version(), "us": times, "calls_of_50": calls, "kept_kib": kept}))
        return
    print(f"{'µs of processor time':28}{'plain':>10}{'ToolSet':>10}{'list':>10}{'plain / ToolSet':>18}")
    for what, row in times.items():
        figures = "".join(f"{row[name]:10.1f}" for name in ("plain", "ToolSet", "list"))
        print(f"{what:28}{figures}{row['plain'] / row['ToolSet']:18.1f}")
    print(f"provider calls of fifty equal routes at once: plain {calls['plain']}, ours {calls['ours']}")
    print(f"a full cache over 200 tools, KiB: plain {kept['plain']:.0f}, ours {kept['ours']:.0f}")


if __name__ == "__main__":
    main()
