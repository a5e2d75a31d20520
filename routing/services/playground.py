"""Try a request on any catalog: ranked, judged and routed as for a harness, recorded nowhere.

The deep tier is left out: what somebody types goes to no encoder and to no provider.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from routing.engine import Catalog, Resolution, resolve_detailed
from routing.engine.config import RoutingConfig
from routing.engine.execution import Verdict
from routing.engine.meaning import AUTO, DEEP
from routing.engine.models import HarnessState, RouteDecision
from routing.engine.router import JevToolRouter
from routing.providers.local import LocalProvider
from routing.services.decisions.offers import from_scope
from routing.services.decisions.route import Bar, bar_of, verdict_of
from routing.services.providers.asking import undecided_under


def ranked(catalog: Catalog, scope: str, text: str, *, weigh_hints: bool = False) -> Resolution:
    """What a resolve would answer, with all its reasons. Raises KeyError for a scope that is not there."""
    tier = catalog.policy(catalog.scope(scope).policy).resolver["tier"]
    return resolve_detailed(
        catalog, text, scope=scope, explain=True, tier=AUTO if tier == DEEP else tier, weigh_hints=weigh_hints
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a route would be decided, by which bounds, and whether it might be run."""

    decision: RouteDecision
    offered: int
    bar: Bar
    verdict: Verdict | None  # of the execution rules; None where nothing was selected


def routed(catalog: Catalog, scope: str, policy: str, state: HarnessState) -> Tried:
    """A route among the scope's tools by the local provider, under a policy. Raises KeyError for a scope or policy that is
    not there.
    """
    catalog.scope(scope)
    rules = catalog.policy(policy)
    offer = from_scope(catalog, scope, state, rules)
    decision = undecided_under(rules, offer.descriptors)
    if decision is None:
        config = replace(RoutingConfig.from_policy(rules.router), route_cache_size=0, goal_cache_size=0)
        decision = JevToolRouter(LocalProvider(catalog, scope=scope), config).route_here(state, offer.descriptors)
    return Tried(
        decision=decision,
        offered=len(offer.tools),
        bar=bar_of(rules, offer, decision),
        verdict=verdict_of(offer, catalog.execution(policy), decision),
    )
