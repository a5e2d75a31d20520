"""Programs that people write against the library, as they write them: names, arguments and answers stay as they are."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from routing.engine import (
    ChoiceDecision,
    HarnessState,
    JevToolRouter,
    RiskLevel,
    RoutingConfig,
    RoutingMode,
    ToolDescriptor,
)


class FakeProvider:
    """All that a provider of one's own needs is this one method."""

    def __init__(self, *choices: str, confidence: float = 0.93) -> None:
        self.choices = list(choices)
        self.confidence = confidence
        self.asked = 0

    async def choose(self, *, state: str, instructions: str, criteria: Mapping[str, str]) -> ChoiceDecision:
        self.asked += 1
        chosen = self.choices.pop(0) if len(self.choices) > 1 else self.choices[0]
        rest = (1 - self.confidence) / (len(criteria) - 1)
        shares = {label: self.confidence if label == chosen else rest for label in criteria}
        return ChoiceDecision(choice=chosen, probabilities=shares, confidence=self.confidence)

    async def aclose(self) -> None:
        self.asked = -1


TOOLS = [
    ToolDescriptor(name="open_page", description="Open a page of the manual", category="inspect", risk=RiskLevel.LOW),
    ToolDescriptor(name="find_text", description="Find a text in the manual", category="inspect", risk=RiskLevel.LOW),
    ToolDescriptor(name="fix_text", description="Replace a text", category="mutate", risk=RiskLevel.MEDIUM),
]


async def quick_start(provider: FakeProvider) -> str:
    """Ask once, say what came of it, close the provider."""
    router = JevToolRouter(provider, RoutingConfig())
    try:
        decision = await router.route(
            HarnessState(
                goal="Correct the misspelt heading",
                observation="The heading is on page 12",
                last_action="find_text",
                constraints=["Leave the index alone"],
            ),
            TOOLS,
        )
        if decision.fallback:
            return f"planner: {decision.fallback_reason}"
        return f"{decision.tool} ({decision.confidence})"
    finally:
        await provider.aclose()


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        (FakeProvider("open_page"), "open_page (0.93)"),
        (FakeProvider("open_page", confidence=0.7), "planner: planner_confirmation"),
        (FakeProvider("open_page", confidence=0.4), "planner: low_confidence"),
        (FakeProvider("__fallback__"), "planner: no_matching_tool"),
    ],
)
def test_the_quick_start(provider, said):
    assert asyncio.run(quick_start(provider)) == said
    assert provider.asked == -1


def test_the_three_modes():
    async def reasons() -> list[str | None]:
        sure, unsure = FakeProvider("open_page"), FakeProvider("open_page", confidence=0.7)
        hybrid = RoutingConfig(
            mode=RoutingMode.HYBRID, direct_execution_threshold=0.85, fallback_threshold=0.60, adaptive_hierarchy=False
        )
        routers = [
            JevToolRouter(sure, config=hybrid),
            JevToolRouter(unsure, config=hybrid),
            JevToolRouter(unsure, RoutingConfig(mode=RoutingMode.JEV_ONLY)),
            JevToolRouter(None, RoutingConfig(mode=RoutingMode.PLANNER_ONLY)),
        ]
        return [(await router.route(HarnessState(goal="g"), TOOLS)).fallback_reason for router in routers]

    assert asyncio.run(reasons()) == [None, "planner_confirmation", None, "planner_only"]


def test_the_example_of_the_page_runs(capsys):
    page = (Path(__file__).parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)

    exec(compile(program, "library.md", "exec"), {"__name__": "example"})

    assert capsys.readouterr().out == "read_file 0.9 provider\n"


def test_tools_of_any_kind_are_made_descriptors():
    from routing.engine import MCPToolAdapter, normalize_tools  # type: ignore[attr-defined, unused-ignore]

    own = normalize_tools([{"name": "open_page", "description": "Open a page", "input_schema": {"type": "object"}}])
    listed = normalize_tools([{"name": "drop_page", "inputSchema": {}}], adapter=MCPToolAdapter())

    decision = asyncio.run(
        JevToolRouter(FakeProvider("open_page")).route(HarnessState(goal="Read on"), [*own, *listed])
    )

    assert (decision.tool, own[0].schema) == ("open_page", {"type": "object"})


def simulator() -> Any:
    """A world of three steps, where the quick way is worth less than the one that is prepared."""
    from routing.engine import SimulatedStep  # type: ignore[attr-defined, unused-ignore]

    ways = {"start": ["fix_text", "find_text"], "found": ["open_page"]}
    steps = {
        ("start", "fix_text"): ("guessed", 0.6, True),
        ("start", "find_text"): ("found", 0.05, False),
        ("found", "open_page"): ("done", 1.0, True),
    }

    class Simulator:
        async def tools(self, state: HarnessState) -> list[ToolDescriptor]:
            return [tool for tool in TOOLS if tool.name in ways.get(state.goal, [])]

        async def transition(self, state: HarnessState, tool: ToolDescriptor) -> Any:
            following, reward, terminal = steps[state.goal, tool.name]
            return SimulatedStep(HarnessState(following), reward=reward, terminal=terminal)

        async def evaluate(self, state: HarnessState) -> float:
            return 0.0

    return Simulator()


@pytest.mark.parametrize("with_prior", [False, True])
def test_looking_ahead(with_prior):
    from routing.engine import MCTSConfig, MCTSToolRouter  # type: ignore[attr-defined, unused-ignore]

    provider = FakeProvider("find_text", confidence=0.9)
    mcts = MCTSToolRouter(
        simulator(),
        policy_router=JevToolRouter(provider) if with_prior else None,
        config=MCTSConfig(simulations=64, max_depth=4, max_policy_evaluations=1),
    )
    start, tools = HarnessState("start"), [TOOLS[1], TOOLS[2]]

    result = asyncio.run(mcts.search(start, tools))

    assert result.decision.tool == "find_text"
    assert tuple(result.principal_variation) == ("find_text", "open_page")
    assert sum(result.root_visits.values()) == result.simulations == 64
    assert (result.policy_evaluations, provider.asked) == ((1, 1) if with_prior else (0, 0))
    assert asyncio.run(mcts.route(start, tools)).tool == "find_text"


def test_a_session_counts_steps_and_sees_loops():
    from routing.engine import RoutingSession  # type: ignore[attr-defined, unused-ignore]

    session = RoutingSession(JevToolRouter(FakeProvider("open_page")))

    async def work() -> list[bool]:
        loops = []
        for page in (1, 2, 2, 2):
            decision = await session.route(HarnessState(goal="Read on", observation=f"page {page}"), TOOLS)
            assert decision.tool is not None
            loops.append(session.record_execution(decision.tool, arguments={"page": page}, result_class="success"))
        return loops

    assert asyncio.run(work()) == [False, False, False, True]
    assert session.steps == 4


def test_a_session_leaves_it_to_the_planner_after_two_fallbacks():
    from routing.engine import RoutingSession  # type: ignore[attr-defined, unused-ignore]

    session = RoutingSession(JevToolRouter(FakeProvider("__fallback__")))

    async def work() -> list[str | None]:
        reasons = [(await session.route(HarnessState(goal=goal), TOOLS)).fallback_reason for goal in "abc"]
        session.reset_fallbacks()
        return [*reasons, (await session.route(HarnessState(goal="d"), TOOLS)).fallback_reason]

    nothing = "no_matching_tool"
    assert asyncio.run(work()) == [nothing, nothing, "fallback_circuit_open", nothing]


def test_advice_is_no_permission():
    from routing.engine import DefaultExecutionPolicy  # type: ignore[attr-defined, unused-ignore]

    async def allowed() -> list[bool]:
        policy = DefaultExecutionPolicy()
        found = []
        for tool in TOOLS:
            decision = await JevToolRouter(FakeProvider(tool.name)).route(HarnessState(goal="g"), TOOLS)
            found.append(await policy.allow(decision, tool))
        return found

    assert asyncio.run(allowed()) == [True, True, False]
