"""Take along with a decision's event what it can be judged by again: numbers, codes and names that are in hand anyway.

Where no shadow policy scores a decision, that is one look into memory. Whatever goes wrong costs the comparison and never the
decision.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from routing.engine import Resolution
from routing.engine.meaning import AUTO
from routing.engine.models import RouteDecision
from routing.engine.policies import EffectivePolicy
from routing.engine.shadow_policy import Grounds, takes
from routing.engine.shadow_policy import of_resolve as grounds_of_resolve
from routing.engine.shadow_policy import of_route as grounds_of_route
from routing.events import timestamp
from routing.models import Decision
from routing.services import meaning
from routing.snapshot import Live, Shadow

if TYPE_CHECKING:
    from routing.services.decisions.offers import Offer

logger = logging.getLogger(__name__)
BODY = "shadow_policy"  # the part of an event's body that carries it to the writer
Body = Mapping[str, Any]


def of_resolve(
    live: Live,
    policy: str,
    scope: str,
    resolution: Resolution,
    *,
    query: str,
    tier: str | None,
    decision_id: str,
    at: datetime,
) -> dict[str, Body]:
    """What goes along with the event of a resolve or an advice; empty where no shadow policy scores it."""
    shadow = _scoring(live, live.catalog.policy(policy), scope, decision_id, at)
    if shadow is None:
        return {}

    def grounds() -> Grounds:
        before = None if resolution.before is None else _grounds(live, resolution.before, tier=tier, may_go_deep=True)
        deepens = (tier or shadow.beside.resolver["tier"]) == AUTO
        may_go_deep = deepens and meaning.may_ask(live, scope, query)
        return _grounds(live, resolution, tier=tier, may_go_deep=may_go_deep, before=before)

    return _carried(shadow, scope, grounds, decision_id, at)


def _grounds(live: Live, resolution: Resolution, **more: Any) -> Grounds:
    assert resolution.judged is not None  # a query that is too long has no decision
    return grounds_of_resolve(resolution.judged, live.catalog.calibration, **more)


def of_route(
    live: Live, policy: EffectivePolicy, row: Decision, offer: Offer, decision: RouteDecision, verdict: str | None
) -> dict[str, Body]:
    """The same of a route. `verdict` of its execution, if a tool was selected."""
    shadow = _scoring(live, policy, row.scope, str(row.pk), row.created_at)
    if shadow is None:
        return {}

    def grounds() -> Grounds:
        chosen = {one.choice for one in decision.answers} & offer.tools.keys()
        last = offer.tools.get(decision.answers[-1].choice) if decision.answers else None
        traits = None if last is None else last.traits
        return grounds_of_route(
            decision,
            {name: offer.tools[name].descriptor for name in chosen},
            of_catalog=offer.scope is not None,
            facts={
                "endpoint": last.endpoint if last else None,
                "category": traits.category if traits else None,
                "risk": traits.risk if traits else None,
                "effect": traits.effect if traits else None,
            },
            verdict=verdict,
        )

    return _carried(shadow, row.scope, grounds, str(row.pk), row.created_at)


def _scoring(live: Live, policy: EffectivePolicy, scope: str, decision_id: str, at: datetime) -> Shadow | None:
    shadow = live.shadows.get(policy.name)
    if shadow is None or at >= shadow.until or not takes(decision_id, shadow.share):
        return None
    if shadow.scopes and scope not in shadow.scopes:
        return None
    # Where another revision answers, its policy of that name may have other values than those that are compared.
    return shadow if shadow.beside is policy or shadow.beside == policy else None


def _carried(
    shadow: Shadow, scope: str, grounds: Callable[[], Grounds], decision_id: str, at: datetime
) -> dict[str, Body]:
    try:
        told = {"id": str(shadow.id), "decision_id": decision_id, "at": timestamp(at), "scope": scope}
        return {BODY: told | {"grounds": grounds()}}
    except Exception as error:  # its message may quote what was asked
        logger.error("a decision could not be taken to its shadow policy: %s", type(error).__name__)
        return {}
