"""Deciding in this process, with the same functions that a server calls. Only what a question needs is imported."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from control.asking.arguments import FLAGS, read_history, read_text, read_tools
from control.asking.errors import BadInput, NoAnswer
from routing.engine.adapters import MCPToolAdapter, normalize_tools
from routing.engine.config import RoutingConfig
from routing.engine.decision_table import decide_early, direct_threshold, judge_choice, validate_tools
from routing.engine.errors import ProviderError, RouterConfigurationError, RouterError
from routing.engine.models import ActionSummary, HarnessState, RouteDecision, ToolDescriptor

if TYPE_CHECKING:
    from routing.engine import Catalog

OPENROUTER_KEY = "OPENROUTER_API_KEY"


def route(asked: argparse.Namespace) -> Mapping[str, Any]:
    if asked.policy is not None:
        raise BadInput("--policy: policies are a server's; give --url, or the thresholds themselves")
    if asked.tools_json is None:
        raise BadInput("--tools-json: is needed, since there is no catalog here to take tools from")
    config, tools, state = _config(asked), _tools(asked), _state(asked)
    started = time.monotonic()
    decision = decide(provider_of(asked), config, state, tools)
    elapsed_ms = (time.monotonic() - started) * 1000
    answer: dict[str, Any] = {
        "category": decision.category,
        "confidence": round(decision.confidence, 4),
        "fallback": decision.fallback,
        "fallback_reason": decision.fallback_reason,
        "tool": decision.tool,
    }
    return answer | _more(decision, config, tools, elapsed_ms) if asked.verbose else answer


def _more(
    decision: RouteDecision, config: RoutingConfig, tools: Sequence[ToolDescriptor], elapsed_ms: float
) -> dict[str, Any]:
    named = decision.tool or decision.proposed_tool
    chosen = next((tool for tool in tools if tool.name == named), None)
    direct, by = direct_threshold(config, chosen) if chosen else (config.direct_execution_threshold, "default")
    return {
        "probabilities": {name: round(chance, 4) for name, chance in decision.probabilities.items()},
        "proposed_tool": decision.proposed_tool,
        "thresholds": {"direct": direct, "fallback": config.fallback_threshold, "by": by},
        "source": decision.source,
        "latency_ms": round(elapsed_ms, 1),
        "k": decision.k,
        "top_probability": None if decision.top_probability is None else round(decision.top_probability, 4),
        "margin": None if decision.margin is None else round(decision.margin, 4),
    }


def provider_of(asked: argparse.Namespace) -> str:
    return asked.provider or ("openrouter" if os.environ.get(OPENROUTER_KEY) else "local")


def decide(provider: str, config: RoutingConfig, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
    """Raises BadInput for an account that is not set up, NoAnswer where mode jev_only lets an error through."""
    try:
        early = decide_early(config, tools)
        if early is not None:
            return early
        if provider == "local":
            return decide_here(config, state, tools)
        import asyncio  # only where something is waited for: it takes as long to load as a ranking

        return asyncio.run(_ask_openrouter(config, state, tools))
    except RouterConfigurationError as problem:
        raise BadInput(f"--provider openrouter: {problem}") from None
    except ProviderError as problem:
        raise NoAnswer(f"the provider did not answer: {problem}") from None
    except RouterError as problem:
        raise NoAnswer(f"the provider's answer is no decision: {problem}") from None
    except ValueError as problem:
        raise BadInput(f"--tools-json: {problem}") from None


def decide_here(config: RoutingConfig, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
    """The resolver's ranker over these tools, judged by the decision table."""
    from routing.providers.local import LocalProvider

    return judge_choice(LocalProvider().choose(state, tools), config, tools)


async def _ask_openrouter(config: RoutingConfig, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
    from routing.engine import JevToolRouter
    from routing.providers import OpenRouterConfig, OpenRouterJevProvider

    provider = OpenRouterJevProvider.from_config(OpenRouterConfig())
    try:
        decided: RouteDecision = await JevToolRouter(provider, config).route(state, list(tools))
        return decided
    finally:
        await provider.aclose()


def _config(asked: argparse.Namespace) -> RoutingConfig:
    given = {
        name: value
        for name, flag in FLAGS.items()
        if (value := getattr(asked, flag.removeprefix("--").replace("-", "_"))) is not None
    }
    try:
        return RoutingConfig(**given)
    except RouterConfigurationError as problem:
        text = str(problem)
        for name, flag in FLAGS.items():
            text = text.replace(name, flag)
        raise BadInput(text) from None


def _tools(asked: argparse.Namespace) -> list[ToolDescriptor]:
    try:
        tools = normalize_tools(read_tools(asked.tools_json), MCPToolAdapter())
        validate_tools(tools)
    except ValueError as problem:
        raise BadInput(f"--tools-json: {problem}") from None
    return tools


def _state(asked: argparse.Namespace) -> HarnessState:
    return HarnessState(
        goal=asked.goal,
        observation=asked.observation,
        last_action=asked.last_action,
        recent_actions=[ActionSummary(**action) for action in read_history(asked.recent_action)],
        constraints=list(asked.constraint),
    )


def resolve(asked: argparse.Namespace) -> Mapping[str, Any]:
    from routing.engine import resolve as ask

    query = asked.query if asked.query != "-" else read_text("-", "QUERY")
    catalog = _catalog(asked.registry)
    scope = "default" if asked.scope is None else asked.scope
    try:
        return ask(
            catalog, query, scope=scope, max_hits=5 if asked.max_hits is None else asked.max_hits, explain=asked.explain
        )
    except KeyError:
        raise BadInput(f"--scope: there is no scope {scope!r}") from None


def _catalog(registry: str | None) -> Catalog:
    from routing.engine import load_registry
    from routing.engine.errors import RegistryError

    if registry is None:
        document = _live_document()
    else:
        from routing.formats import read

        found = read(read_text(registry, "--registry"), filename=None if registry == "-" else registry)
        if found.document is None:
            problems = "; ".join(f"{problem['path'] or 'document'}: {problem['message']}" for problem in found.problems)
            raise BadInput(f"--registry: {problems}")
        document = found.document
    try:
        return load_registry(document)
    except RegistryError as problem:
        raise BadInput(f"--registry: {problem}") from None


def _live_document() -> Mapping[str, Any]:
    """The live registry of this installation, from its database."""
    from control.asking.installation import live_document

    return live_document()


def search(asked: argparse.Namespace) -> Mapping[str, Any]:
    from control.asking.lookahead import search as look_ahead

    return look_ahead(asked)
