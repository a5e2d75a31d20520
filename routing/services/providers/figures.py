"""What calls to providers came to: added up by the hour in the database. Numbers and names of models, no text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from routing.engine.models import Usage
from routing.latency import Latencies, bucket_of
from routing.models import ProviderHour
from routing.services.providers import settings

KEPT = timedelta(days=92)
MOST_VERSIONS = 16  # in an hour; what is more is counted together
OTHERS = "others"
PER_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call to an account: what was sent for it, how long it took, and what came. `failure`: class of error, or empty."""

    provider: str
    took_ms: float
    requests: int
    failure: str = ""
    model: str | None = None
    usage: Usage | None = None


def record(workspace_id: Any, calls: Iterable[Call]) -> None:
    by_provider: dict[str, list[Call]] = {}
    for call in calls:
        by_provider.setdefault(call.provider, []).append(call)
    for provider, made in sorted(by_provider.items()):  # in one order, so that nobody waits in a circle
        with transaction.atomic():
            row = _hour(workspace_id, provider)
            for call in made:
                _add(row, call, settings.of(workspace_id, provider).token_price)
            row.save()


def record_shadow(workspace_id: Any, provider: str, outcome: str) -> None:
    """Count a decision that a shadow was asked about: agreed, differed, failed or skipped."""
    with transaction.atomic():
        row = _hour(workspace_id, provider)
        row.shadow = _counted(row.shadow, outcome)
        row.save(update_fields=["shadow"])


def spent(workspace_id: Any, provider: str) -> float:
    """What an account has cost since the month began (UTC)."""
    rows = ProviderHour.objects.filter(workspace_id=workspace_id, provider=provider, hour__gte=month_began())
    return float(rows.aggregate(cost=Sum("cost"))["cost"] or 0.0)


def has_budget(workspace_id: Any, provider: str) -> bool:
    """Whether the account may cost more this month. Calls that are under way may still go over by their own price."""
    settled = settings.of(workspace_id, provider)
    return settled.monthly_budget is None or not settled.is_spent_by(spent(workspace_id, provider))


def month_began(now: datetime | None = None) -> datetime:
    return (now or timezone.now()).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def this_hour() -> datetime:
    return timezone.now().replace(minute=0, second=0, microsecond=0)


def _hour(workspace_id: Any, provider: str) -> ProviderHour:
    """The row of this hour, locked; the first of an hour drops those that are too old."""
    hour = this_hour()
    row, made = ProviderHour.objects.get_or_create(workspace_id=workspace_id, provider=provider, hour=hour)
    if made:
        old = ProviderHour.objects.filter(workspace_id=workspace_id, provider=provider, hour__lt=hour - KEPT)
        old.delete()
    return ProviderHour.objects.select_for_update().get(pk=row.pk)


def _add(row: ProviderHour, call: Call, price: float | None) -> None:
    row.calls += 1
    row.requests += call.requests
    if call.failure:
        row.failures = _counted(row.failures, call.failure)
        return
    row.latency = _counted(row.latency, bucket_of(call.took_ms))
    if call.model:
        known = call.model in row.versions or len(row.versions) < MOST_VERSIONS
        row.versions = _counted(row.versions, call.model if known else OTHERS)
    usage = call.usage or Usage()
    row.input_tokens += usage.input_tokens or 0
    row.output_tokens += usage.output_tokens or 0
    cost = cost_of(usage, price)
    row.cost += cost or 0.0
    row.unpriced += cost is None


def cost_of(usage: Usage, price: float | None) -> float | None:
    """As the provider told it, else by the price that operators gave; None where nobody knows."""
    if usage.cost is not None:
        return usage.cost
    if price is None or usage.input_tokens is None:
        return None
    return usage.input_tokens * price / PER_MILLION


def _counted(counts: Mapping[str, int], name: str) -> dict[str, int]:
    return dict(Counter(counts) + Counter({name: 1}))


# --- reading ------------------------------------------------------------------------------------------------------------
@dataclass(slots=True, kw_only=True)
class Summary(Latencies):
    """Hours of one account, added up."""

    calls: int = 0
    requests: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    latency: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    versions: dict[str, Version] = field(default_factory=dict)
    shadow: Counter[str] = field(default_factory=Counter)

    def add(self, row: ProviderHour) -> None:
        self.calls += row.calls
        self.requests += row.requests
        self.failures.update(row.failures)
        self.latency.update(row.latency)
        self.input_tokens += row.input_tokens
        self.output_tokens += row.output_tokens
        self.cost += row.cost
        self.unpriced += row.unpriced
        self.shadow.update(row.shadow)
        for name, calls in row.versions.items():
            known = self.versions.setdefault(name, Version(name=name, first=row.hour, last=row.hour))
            known.calls += calls
            known.first, known.last = min(known.first, row.hour), max(known.last, row.hour)

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def failed_share(self) -> float | None:
        return self.failed / self.calls if self.calls else None


@dataclass(slots=True, kw_only=True)
class Version:
    """A version of a model that answered: how often, and in which hours first and last."""

    name: str
    first: datetime
    last: datetime
    calls: int = 0


def summaries(workspace_id: Any, since: datetime) -> dict[str, Summary]:
    """By account."""
    found: dict[str, Summary] = {}
    for row in ProviderHour.objects.filter(workspace_id=workspace_id, hour__gte=since):
        found.setdefault(row.provider, Summary()).add(row)
    return found


def by_day(workspace_id: Any, provider: str, since: datetime) -> list[tuple[date, Summary]]:
    """One account's days (UTC), newest first; days without a call are left out."""
    found: dict[date, Summary] = {}
    for row in ProviderHour.objects.filter(workspace_id=workspace_id, provider=provider, hour__gte=since):
        found.setdefault(row.hour.date(), Summary()).add(row)
    return sorted(found.items(), key=lambda item: item[0], reverse=True)
