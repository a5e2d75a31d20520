"""The router's cases that concern providers, sessions, loops and execution: the others are in tests/engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from routing.engine import (
    ChoiceDecision,
    DefaultExecutionPolicy,
    HarnessState,
    LoopGuard,
    RiskLevel,
    RouteDecision,
    RouterError,
    RoutingConfig,
    RoutingSession,
    ToolDescriptor,
    judge_choice,
)
from routing.providers import OpenRouterJevProvider

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "cases" / "router.json").read_text())["cases"]


def described(tool: Mapping[str, Any]) -> ToolDescriptor:
    risk = RiskLevel(tool.get("risk", "medium"))
    return ToolDescriptor(tool["name"], tool.get("description", ""), tool.get("category"), risk)


def provider_http(case: Mapping[str, Any]) -> None:
    told, expected, seen = case["response"], case["expect"], []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if "exception" in told:
            raise getattr(httpx, told["exception"])("scripted")
        return httpx.Response(told["status"], **{key: told[key] for key in ("json", "text") if key in told})

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    asked = OpenRouterJevProvider(api_key=case["api_key"], client=client).choose(
        state=case["state"], instructions="i", criteria=case["criteria"]
    )
    if "raises" in expected:
        with pytest.raises((RouterError, ValueError)) as raised:
            asyncio.run(asked)
        assert type(raised.value).__name__ == expected["raises"]
        assert expected.get("message_contains", "") in str(raised.value)
        assert expected.get("message_excludes", "\0") not in str(raised.value)
    else:
        choice = asyncio.run(asked)
        for name in {"choice", "confidence", "probabilities"} & set(expected):
            assert getattr(choice, name) == expected[name]
    assert len(seen) == expected.get("requests", 1)
    sent, wanted = seen[0], expected.get("request", {})
    assert json.loads(sent.content) == wanted.get("json", json.loads(sent.content))
    assert json.loads(sent.content)["state"] == wanted.get("json_state", json.loads(sent.content)["state"])
    assert {name: sent.headers[name] for name in wanted.get("headers", {})} == wanted.get("headers", {})


class PlainRouter:
    """The decision table over scripted choices, and nothing else of a router."""

    def __init__(self, answers: list[Mapping[str, Any]], config: RoutingConfig) -> None:
        self.answers = list(answers)
        self.config = config
        self.calls = 0

    async def route(self, state: HarnessState, tools: list[ToolDescriptor]) -> RouteDecision:
        self.calls += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if "error" in answer:
            return RouteDecision(fallback=True, fallback_reason="provider_error")
        choice = ChoiceDecision(answer["choice"], answer["probabilities"], answer["confidence"])
        return judge_choice(choice, self.config, tools)


def session(case: Mapping[str, Any]) -> None:
    config = RoutingConfig(**case["config"])
    router = PlainRouter(case["provider"], config)
    asked = RoutingSession(router, config)

    async def ask() -> None:
        for place, (state, expected) in enumerate(zip(case["states"], case["expect"], strict=True)):
            if place in case.get("reset_before", []):
                asked.reset_fallbacks()
            decision = await asked.route(HarnessState(**state), [described(tool) for tool in case["tools"]])
            assert {name: getattr(decision, name) for name in expected} == expected

    asyncio.run(ask())
    assert asked.steps == case.get("expect_steps", asked.steps)
    assert router.calls == case.get("expect_provider_calls", router.calls)


def loop(case: Mapping[str, Any]) -> None:
    guard = LoopGuard(max_same_action_repeats=case["max_same_action_repeats"])

    assert [guard.record(**action) for action in case["actions"]] == case["expect"]


def policy(case: Mapping[str, Any]) -> None:
    judge = DefaultExecutionPolicy(case["medium_min_confidence"])

    assert asyncio.run(judge.allow(RouteDecision(**case["decision"]), described(case["tool"]))) is case["expect"]


KINDS: dict[str, Callable[[Mapping[str, Any]], None]] = {
    "provider_http": provider_http,
    "session": session,
    "loop": loop,
    "policy": policy,
}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] in KINDS])
def test_case(case: Mapping[str, Any]) -> None:
    KINDS[case["kind"]](case)
