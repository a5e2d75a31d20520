"""What events mean for decisions and for the dashboard's minutes: facts are set once, counts follow facts."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from routing import snapshot
from routing.choices import SESSION_CODES, DecisionType, EventKind
from routing.engine.naming import SEPARATOR
from routing.errors import NotFound
from routing.latency import bucket_of
from routing.models import Decision, Event, Minute

_RETURNED = {"ok": "returned", "error": "not_returned", "timeout": "not_returned"}
_ACHIEVED = {"success": "achieved", "failure": "not_achieved", "partial": "not_achieved"}
_PAID = (DecisionType.ROUTE, DecisionType.SEARCH)  # answers that a provider may have been paid for
Key = tuple[datetime, str, str, str]
Tallies = defaultdict[Key, defaultdict[str, Counter[str]]]  # column of a minute → what is counted there


def count(workspace_id: Any, rows: Sequence[Event]) -> None:
    """Fold a batch of new rows into decisions and minutes, within the writer's transaction."""
    changes: dict[Key, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    tallies: Tallies = defaultdict(lambda: defaultdict(Counter))
    for row in rows:
        if row.kind == EventKind.RECOMMENDATION:
            _count_recommendation(row, changes, tallies)
    _count_costs(workspace_id, rows, changes)
    _set_facts(workspace_id, [row for row in rows if row.kind != EventKind.RECOMMENDATION and row.decision_id], changes)
    _apply(workspace_id, changes, tallies)


def minute_of(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _count_recommendation(row: Event, changes: Any, tallies: Tallies) -> None:
    key = _key(row)
    changes[key]["count"] += 1
    changes[key]["recommended"] += 1 if row.target else 0
    if row.data.get("latency_ms") is not None:
        tallies[key]["latency"][bucket_of(row.data["latency_ms"])] += 1
    if row.data.get("source"):
        tallies[key]["sources"][str(row.data["source"])] += 1
    if row.data.get("fallback_reason"):
        tallies[key]["fallbacks"][str(row.data["fallback_reason"])] += 1
    for code in row.reason_codes:
        if code in SESSION_CODES:
            tallies[key]["turns"][code] += 1


def _key(row: Event) -> Key:
    return minute_of(row.at), row.scope, str(row.data.get("type", DecisionType.RESOLVE)), row.status or ""


def _count_costs(workspace_id: Any, rows: Iterable[Event], changes: Any) -> None:
    """What providers were paid for these answers: the decision knows it, the ledger's row does not."""
    asked = {
        known: row
        for row in rows
        if row.kind == EventKind.RECOMMENDATION
        and row.data.get("type") in _PAID
        and (known := _as_uuid(row.decision_id)) is not None
    }
    if not asked:
        return
    paid = Decision.objects.filter(workspace_id=workspace_id, pk__in=list(asked), cost__isnull=False)
    for decision_id, cost in paid.values_list("pk", "cost"):
        changes[_key(asked[decision_id])]["cost"] += cost


def _set_facts(workspace_id: Any, rows: Iterable[Event], changes: Any) -> None:
    by_decision: dict[uuid.UUID, list[Event]] = defaultdict(list)
    for row in rows:
        if (key := _as_uuid(row.decision_id)) is not None:
            by_decision[key].append(row)
    if not by_decision:
        return
    decisions = Decision.objects.filter(workspace_id=workspace_id, pk__in=list(by_decision))
    for decision in decisions:
        own = [row for row in by_decision[decision.pk] if row.scope == decision.scope]
        if own:
            _set_decision_facts(decision, own, changes)


def _as_uuid(text: str | None) -> uuid.UUID | None:
    try:
        return uuid.UUID(text or "")
    except ValueError:
        return None


def _set_decision_facts(decision: Decision, rows: Iterable[Event], changes: Any) -> None:
    before = _facts(decision)
    for row in rows:
        if row.kind == EventKind.INVOCATION:
            decision.invoked = True
            decision.agreed = decision.agreed or _agrees(decision, row.target)
        elif row.kind == EventKind.TRANSPORT_OUTCOME:
            decision.transport = row.status
        elif row.kind == EventKind.DOMAIN_OUTCOME:
            decision.domain = row.status
    decision.save(update_fields=["invoked", "transport", "domain", "agreed"])
    key = (minute_of(decision.created_at), decision.scope, decision.type, decision.status or "")
    after = _facts(decision)
    for name in after - before:
        changes[key][name] += 1
    for name in before - after:
        changes[key][name] -= 1


def _agrees(decision: Decision, invoked: str | None) -> bool | None:
    """Whether this is what was recommended, in whatever spelling, or its endpoint alone; None where nothing was, or
    nobody says what was invoked."""
    if not decision.target or not invoked:
        return None
    if invoked in (decision.target, decision.target.partition(SEPARATOR)[0]):
        return True
    try:
        return snapshot.live(decision.workspace_id).catalog.names.public(invoked) == decision.target
    except NotFound:
        return False


def _facts(decision: Decision) -> set[str]:
    """Which counters of its minute a decision stands in. Returning counts only where a call was reported, achieving only
    where something returned: each stage of the funnel is part of the one before."""
    facts = set()
    if decision.invoked:
        facts.add("invoked")
        if decision.agreed is not None:
            facts.add("agreed" if decision.agreed else "differed")
        if (returned := _RETURNED.get(decision.transport or "")) is not None:
            facts.add(returned)
        if decision.transport == "ok" and (achieved := _ACHIEVED.get(decision.domain or "")) is not None:
            facts.add(achieved)
    return facts


def _apply(workspace_id: Any, changes: dict[Key, dict[str, int]], tallies: Tallies) -> None:
    for key, counts in changes.items():
        at, scope, type_, status = key
        minute, _ = Minute.objects.get_or_create(
            workspace_id=workspace_id, at=at, scope=scope, type=type_, status=status
        )
        for name, amount in counts.items():
            setattr(minute, name, max(0, getattr(minute, name) + amount))
        for column, counted in tallies.get(key, {}).items():
            setattr(minute, column, dict(Counter(getattr(minute, column)) + counted))
        minute.save()
