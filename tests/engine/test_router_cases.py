"""The router's cases: what must be answered, asked for and refused, kind by kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from routing.engine import (
    ActionSummary,
    ChoiceDecision,
    HarnessState,
    InvalidProviderResponse,
    JevToolRouter,
    ProviderError,
    ProviderTimeoutError,
    RiskLevel,
    RouteDecision,
    RoutingConfig,
    RoutingMode,
    ToolDescriptor,
)

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "cases" / "router.json").read_text())["cases"]
ERRORS = {"provider": ProviderError, "timeout": ProviderTimeoutError, "invalid": InvalidProviderResponse}


class ScriptedProvider:
    """Answers as told, one answer after the other; the last one again and again."""

    def __init__(self, answers: Sequence[Mapping[str, Any]], *, delay_s: float = 0) -> None:
        self.answers = list(answers)
        self.delay_s = delay_s
        self.calls: list[dict[str, Any]] = []

    async def choose(self, *, state: str, instructions: str, criteria: Mapping[str, str]) -> ChoiceDecision:
        self.calls.append({"state": state, "instructions": instructions, "criteria": criteria})
        await asyncio.sleep(self.delay_s)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if "error" in answer:
            raise ERRORS[answer["error"]]("scripted")
        return ChoiceDecision(answer["choice"], answer["probabilities"], answer["confidence"])


def tools_of(told: Sequence[Mapping[str, Any]]) -> list[ToolDescriptor]:
    return [
        ToolDescriptor(
            tool["name"], tool.get("description", ""), tool.get("category"), RiskLevel(tool.get("risk", "medium"))
        )
        for tool in told
    ]


def state_of(told: Mapping[str, Any]) -> HarnessState:
    actions = [ActionSummary(**action) for action in told.get("recent_actions", [])]
    return HarnessState(**{**told, "recent_actions": actions})


def holds(decision: RouteDecision, expected: Mapping[str, Any], calls: int) -> None:
    for name, wanted in expected.items():
        got = calls if name == "provider_calls" else getattr(decision, name)
        assert got == (pytest.approx(wanted, abs=1e-9) if isinstance(wanted, float) else wanted), name


def route(case: Mapping[str, Any]) -> None:
    config, provider = RoutingConfig(**case["config"]), ScriptedProvider(case["provider"])
    router = JevToolRouter(None if config.mode is RoutingMode.PLANNER_ONLY else provider, config)

    async def ask() -> None:
        for place, (state, expected) in enumerate(zip(case["states"], case["expect"], strict=True)):
            tools = tools_of(case["tools_per_call"][place] if "tools_per_call" in case else case["tools"])
            if "raises" in expected:
                with pytest.raises(Exception, match=expected.get("message_contains")) as raised:
                    await router.route(state_of(state), tools)
                assert type(raised.value).__name__ == expected["raises"]
            else:
                holds(await router.route(state_of(state), tools), expected, len(provider.calls))

    asyncio.run(ask())


def concurrent(case: Mapping[str, Any]) -> None:
    provider = ScriptedProvider(case["provider"], delay_s=case["provider_delay_ms"] / 1000)
    router = JevToolRouter(provider, RoutingConfig(**case["config"]))

    async def ask() -> list[RouteDecision]:
        asked = (router.route(state_of(case["states"][0]), tools_of(case["tools"])) for _ in range(case["copies"]))
        return await asyncio.gather(*asked)

    for decision in asyncio.run(ask()):
        holds(decision, case["expect"][0], len(provider.calls))


def wire(case: Mapping[str, Any]) -> None:
    answer = {"choice": case["tools"][0]["name"], "confidence": 0.97, "probabilities": {}}
    provider = ScriptedProvider([answer])
    router = JevToolRouter(provider, RoutingConfig(**case["config"]))

    asyncio.run(router.route(state_of(case["state"]), tools_of(case["tools"])))

    (call,), expected = provider.calls, case["expect"]
    told, criteria = json.loads(call["state"]), call["criteria"]
    assert call["state"] == expected.get("state_json", call["state"])
    assert list(criteria) == list(expected.get("criteria", criteria))
    for label, text in expected.get("criteria", {}).items():
        assert criteria[label] if text == "<non-empty>" else criteria[label] == text
    for path, length in expected.get("lengths", {}).items():
        assert len(found_at(told, path)) == length
    for path in expected.get("ends_with_ellipsis", []):
        assert found_at(told, path).endswith("…")
    for label, beginning in expected.get("criteria_prefix", {}).items():
        assert criteria[label].startswith(beginning)
    for label, length in expected.get("criteria_len", {}).items():
        assert len(criteria[label]) == length


def found_at(told: Any, path: str) -> Any:
    """`recent_actions[0].outcome` of a state."""
    for part in path.replace("]", "").replace("[", ".").split("."):
        told = told[int(part)] if part.isdigit() else told[part]
    return told


KINDS: dict[str, Callable[[Mapping[str, Any]], None]] = {"route": route, "concurrent": concurrent, "wire": wire}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] in KINDS])
def test_case(case: Mapping[str, Any]) -> None:
    KINDS[case["kind"]](case)
