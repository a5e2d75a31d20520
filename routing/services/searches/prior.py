"""What the policy's providers think of the first tools, as a search asks for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from django.db import connection

from routing.engine import HarnessState, RouteDecision, ToolDescriptor
from routing.engine.policies import EffectivePolicy
from routing.services import providers
from routing.services.providers import Routed
from routing.snapshot import Live

LOCAL = "local"


class Opinion:
    """Asked while the search waits. `requests` counts what went to others than the provider in this process."""

    def __init__(self, live: Live, policy: EffectivePolicy) -> None:
        self._live = live
        self._policy = policy
        self.requests = 0

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        """Where no provider answers, a fallback: all tools are alike then."""
        routed = await self._beside(state, tools)
        if routed is None:
            return RouteDecision(fallback=True, fallback_reason="provider_error")
        if routed.provider != LOCAL:
            self.requests += routed.requests
        return routed.decision

    async def _beside(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> Routed | None:
        # A thread of asyncio's own pool is waited for when the loop ends: a provider that hangs would hold a search that
        # was cancelled or is over its deadline. This one goes on alone, so that what it costs is still counted.
        told: Future[Routed | None] = Future()
        told.set_running_or_notify_cancel()

        def ask() -> None:
            try:
                told.set_result(self._ask(state, tools))
            except BaseException as problem:
                told.set_exception(problem)

        threading.Thread(target=ask, name="prior", daemon=True).start()
        return await asyncio.wrap_future(told)

    def _ask(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> Routed | None:
        try:
            return providers.decide(self._live, self._policy, None, state, tools)
        except (providers.RouteFailed, ValueError):  # nobody answered, or a tool has the reserved name
            return None
        finally:
            connection.close()  # of this thread, which ends here
