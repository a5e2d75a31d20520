"""The engine's routers of this process: one for each provider under each policy, with its caches.

Local providers are asked in the thread that decides; accounts on the loop of `services.providers.loop`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from routing.engine import Catalog
from routing.engine.config import RoutingConfig
from routing.engine.models import ChoiceDecision, HarnessState, RouteDecision, ToolDescriptor
from routing.engine.policies import EffectivePolicy
from routing.engine.registry import Provider
from routing.engine.router import JevToolRouter
from routing.engine.toolset import ToolSet
from routing.providers.local import LocalProvider
from routing.services.providers import accounts, loop
from routing.services.providers.accounts import Account
from routing.snapshot import Live

LOCAL = Provider(name="local", kind="local")
MOST = 128  # routers that a process keeps; those that were not used for longest go first
Tools = Sequence[ToolDescriptor]
Route = Callable[[HarnessState, Tools], RouteDecision]


def entries_of(live: Live, names: Sequence[str]) -> list[Provider]:
    """The accounts of these names, in their order; `local` always exists."""
    known = {one.name: one for one in live.catalog.registry.providers}
    return [known.get(name, LOCAL) for name in names if name in known or name == LOCAL.name]


def local(live: Live, policy: EffectivePolicy, scope: str | None) -> Route:
    """Routes by the resolver's ranker: over a scope's catalog, or, without one, over what a caller brings."""
    catalog = live.catalog
    key = (live.workspace_id, live.digest, policy.name, scope, catalog.calibration)
    return _kept.get(key, lambda: _locally(catalog if scope is not None else None, policy, scope))


def _locally(catalog: Catalog | None, policy: EffectivePolicy, scope: str | None) -> Route:
    router = JevToolRouter(LocalProvider(catalog, scope=scope), RoutingConfig.from_policy(policy.router))
    lock = threading.Lock()

    def route(state: HarnessState, tools: Tools) -> RouteDecision:
        with lock:
            return router.route_here(state, tools)

    return route


def remote(live: Live, policy: EffectivePolicy, entry: Provider) -> Route:
    """Routes by an account. Raises RouterConfigurationError for one that nobody can be asked by."""
    account = accounts.of(live, entry)
    key = (live.workspace_id, live.digest, policy.name, account)
    return _kept.get(key, lambda: _remotely(account, policy))


def _remotely(account: Account, policy: EffectivePolicy) -> Route:
    config = RoutingConfig.from_policy(policy.router)
    if "goal" not in account.entry.send:
        config = replace(config, goal_cache_size=0)  # all goals look alike
    under = _Under(account, takes_recent=bool(config.route_cache_size), timeout_s=policy.router["provider_timeout_s"])
    router = JevToolRouter(under, config)

    def route(state: HarnessState, tools: Tools) -> RouteDecision:
        return loop.run(router.route(told(account.entry, state), offered(account.entry, tools)))

    return route


class _Under:
    """An account as a policy has it asked: within its deadline, and where nothing is to be kept, for no answer of before."""

    def __init__(self, account: Account, *, takes_recent: bool, timeout_s: float | None) -> None:
        self._account = account
        self._more: dict[str, Any] = {"takes_recent": takes_recent, "timeout_s": timeout_s}

    @property
    def identity(self) -> str:
        return self._account.identity

    @property
    def most_labels(self) -> int | None:
        return self._account.most_labels

    async def choose(self, *, state: str, instructions: str, criteria: Mapping[str, str]) -> ChoiceDecision:
        return await self._account.choose(state=state, instructions=instructions, criteria=criteria, **self._more)


def told(entry: Provider, state: HarnessState) -> HarnessState:
    """What of a state leaves for an account: the fields that its `send` names."""
    sends = frozenset(entry.send)
    return HarnessState(
        goal=state.goal if "goal" in sends else "",
        observation=state.observation if "observation" in sends else None,
        last_action=state.last_action if "last_action" in sends else None,
        recent_actions=state.recent_actions if "recent_actions" in sends else [],
        constraints=state.constraints if "constraints" in sends else [],
    )


def offered(entry: Provider, tools: Tools) -> Tools:
    """The tools as an account is told them: without descriptions where it is not sent any."""
    if "descriptions" in entry.send:
        return tools
    return ToolSet(replace(tool, description="") for tool in tools)


class _Kept:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._routes: OrderedDict[Hashable, Route] = OrderedDict()

    def get(self, key: tuple[Any, ...], make: Callable[[], Route]) -> Route:
        with self._lock:
            route = self._routes.get(key)
            if route is None:
                route = self._routes[key] = make()
                while len(self._routes) > MOST:
                    self._routes.popitem(last=False)
            self._routes.move_to_end(key)
            return route

    def forget(self) -> None:
        with self._lock:
            self._routes.clear()


_kept = _Kept()
forget = _kept.forget
