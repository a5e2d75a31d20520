"""What would leave for an account: the very bytes, made by the same router and the same dialect, and sent to nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from routing.engine.config import RoutingConfig
from routing.engine.models import FALLBACK, ChoiceDecision, HarnessState
from routing.engine.registry import Provider
from routing.engine.router import JevToolRouter
from routing.providers.openrouter import OpenRouterConfig, config_of, written
from routing.services.decisions.offers import from_scope
from routing.services.providers.routers import offered, told
from routing.snapshot import Live


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Where requests would go, and the body of each; the second of two is what would follow the first label."""

    address: str
    bodies: tuple[bytes, ...]


def preview(live: Live, entry: Provider, policy: str, scope: str, state: HarnessState) -> Preview:
    """For the live catalog's candidates under a policy. Raises RouterConfigurationError for an account that cannot be asked,
    KeyError for a policy or scope that is not there."""
    config, rules = config_of(entry), live.catalog.policy(policy)
    live.catalog.scope(scope)
    tools = from_scope(live.catalog, scope, state, rules).descriptors
    recorder = _Recorder(config)
    router = JevToolRouter(recorder, RoutingConfig.from_policy(rules.router))
    asyncio.run(router.route(told(entry, state), offered(entry, tools)))
    return Preview(address=config.address, bodies=tuple(recorder.bodies))


@dataclass(slots=True)
class _Recorder:
    """Takes down what it is asked, and chooses the first label."""

    config: OpenRouterConfig
    bodies: list[bytes] = field(default_factory=list)

    @property
    def most_labels(self) -> int | None:
        return self.config.wire.most_labels

    async def choose(self, *, state: str, instructions: str, criteria: Mapping[str, str]) -> ChoiceDecision:
        self.bodies.append(written(self.config, state=state, instructions=instructions, criteria=criteria))
        return ChoiceDecision(next(iter(criteria), FALLBACK), {}, 1.0)
