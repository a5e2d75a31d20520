"""What a workspace settles about its provider accounts beside the registry: budget, price, shadow. Audited; in memory to read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from routing import generation
from routing.errors import InvalidRequest
from routing.generation import Watched
from routing.models import Actor, ProviderSetting, Workspace
from routing.services import audit

FIELDS = ("monthly_budget", "token_price", "shadow_share")
_BOUNDS = {"monthly_budget": (True, math.inf), "token_price": (True, math.inf), "shadow_share": (False, 1.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """`monthly_budget` in the account's currency, None for none; `token_price` per million input tokens, where an answer tells
    no cost; `shadow_share` (0..1) of the decisions that it is asked about without being listened to."""

    monthly_budget: float | None = None
    token_price: float | None = None
    shadow_share: float = 0.0

    def is_spent_by(self, cost: float) -> bool:
        """Whether a month that has cost so much leaves nothing of the budget."""
        return self.monthly_budget is not None and cost >= self.monthly_budget


NOTHING = Settled()
Known = Mapping[Any, Mapping[str, Settled]]  # by workspace id, by provider


def of(workspace_id: Any, provider: str) -> Settled:
    return _known.get().get(workspace_id, {}).get(provider, NOTHING)


def kept(workspace_id: Any) -> dict[str, Settled]:
    """By provider, as the database has it: for pages, which are often read by whoever has just changed it."""
    return {row.provider: _settled(row) for row in ProviderSetting.objects.filter(workspace=workspace_id)}


def shadows(workspace_id: Any) -> list[tuple[str, float]]:
    """The accounts that are asked beside the live ones, each with its share."""
    return [(name, one.shadow_share) for name, one in _known.get().get(workspace_id, {}).items() if one.shadow_share]


@transaction.atomic
def settle(workspace: Workspace, provider: str, given: Mapping[str, float | None], *, by: Actor) -> Settled:
    """Set the given fields; those that are not named stay. Raises InvalidRequest with a problem for each field."""
    problems = [problem for name, value in given.items() if (problem := _problem(name, value))]
    if problems:
        raise InvalidRequest("The settings of this provider were not saved.", problems)
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    row = ProviderSetting.objects.filter(workspace=workspace, provider=provider).first() or ProviderSetting(
        workspace=workspace, provider=provider
    )
    before = {name: getattr(row, name) for name in given}
    for name, value in given.items():
        setattr(row, name, value)
    if before != dict(given):
        row.save()
        generation.bump()
        audit.record(workspace.pk, "provider.settled", f"provider {provider}", by=by, before=before, after=dict(given))
    return _settled(row)


def _problem(name: str, value: float | None) -> dict[str, Any] | None:
    if name not in _BOUNDS:
        return {"path": name, "message": "is no setting of a provider", "allowed": list(FIELDS)}
    optional, most = _BOUNDS[name]
    if value is None and optional:
        return None
    if value is None or not math.isfinite(value) or not 0 <= value <= most:
        allowed = "0 to 1" if most == 1 else "0 or more"
        return {"path": name, "message": f"must be a number, {allowed}", "value": value, "allowed": allowed}
    return None


def _settled(row: ProviderSetting) -> Settled:
    return Settled(monthly_budget=row.monthly_budget, token_price=row.token_price, shadow_share=row.shadow_share)


def _load(_: Known | None) -> Known:
    found: dict[Any, dict[str, Settled]] = {}
    for row in ProviderSetting.objects.all():
        found.setdefault(row.workspace_id, {})[row.provider] = _settled(row)
    return found


_known: Watched[Known] = Watched(_load)
