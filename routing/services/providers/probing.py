"""The test of an account: one harmless question, asked with its key by a worker. What is told of it shows neither key nor answer."""

from __future__ import annotations

import time
from typing import Any

from routing import working
from routing.engine.errors import InvalidProviderResponse, ProviderError, RouterConfigurationError
from routing.engine.models import FALLBACK, ChoiceDecision
from routing.models import Workspace
from routing.providers.addresses import Destinations
from routing.providers.place import CallFailed
from routing.services.providers import figures, loop, settings
from routing.services.providers.asking import words_for
from routing.services.providers.figures import Call

STATE = '{"goal":"Say hello"}'
INSTRUCTIONS = "Choose the tool to use next; if none fits, choose __fallback__."
CRITERIA = {"greet": "general|r:l|Say hello", FALLBACK: "Nothing here fits; let the planner act."}


def probe(workspace: Workspace, name: str) -> tuple[str, dict[str, Any]]:
    """Ask an account of the draft; what it came to in a sentence, and in figures. Raises CallFailed.

    The breaker is neither asked nor told: whoever tests wants to know how it stands at this moment.
    """
    entry = next((one for one in working.copy_of(workspace).registry.providers if one.name == name), None)
    if entry is None:
        raise CallFailed("it is no longer in the draft", "gone")
    from routing.providers import OpenRouterJevProvider  # a process that asks nobody needs no HTTP client

    async def ask() -> ChoiceDecision:
        async with OpenRouterJevProvider.from_account(
            entry, allow=Destinations.of(workspace.allow_private)
        ) as provider:
            return await provider.choose(state=STATE, instructions=INSTRUCTIONS, criteria=CRITERIA)

    began = time.monotonic()
    try:
        choice = loop.run(ask())
    except RouterConfigurationError as problem:
        raise CallFailed(str(problem), "secret") from None
    except ProviderError as problem:
        _count(
            workspace, Call(provider=name, took_ms=0.0, requests=problem.requests, failure=problem.kind or "unknown")
        )
        raise CallFailed(words_for(problem), problem.kind or "answer") from None
    except InvalidProviderResponse as problem:
        _count(workspace, Call(provider=name, took_ms=0.0, requests=problem.requests, failure="answer"))
        raise CallFailed("what it answers is no decision", "protocol") from None
    took_ms = (time.monotonic() - began) * 1000
    call = Call(provider=name, took_ms=took_ms, requests=choice.requests, model=choice.model, usage=choice.usage)
    _count(workspace, call)
    cost = figures.cost_of(choice.usage, settings.of(workspace.pk, name).token_price) if choice.usage else None
    model = f", by {choice.model}" if choice.model else ""
    confidence = "tells a confidence" if choice.confidence else "tells no confidence"
    return (
        f"It answers in {round(took_ms):,} ms{model}, and {confidence}.",
        {"model": choice.model, "took_ms": round(took_ms), "confidence": choice.confidence, "cost": cost},
    )


def _count(workspace: Workspace, call: Call) -> None:
    """A test costs what any call costs."""
    figures.record(workspace.pk, [call])
