"""GET /metrics: figures of a key's workspace in the text format of Prometheus, for keys with the right `metrics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from control.api.auth import needs
from control.api.errors import Forbidden, problem, unauthenticated
from control.web.probes import WORKERS
from routing import bus, snapshot, totals
from routing.latency import BOUNDS_MS
from routing.models import Workspace
from routing.services.providers import accounts, breakers, figures

_may_read = needs("metrics")
CIRCUITS = (breakers.CLOSED, breakers.HALF_OPEN, breakers.OPEN)
OUTCOMES = {  # name of a counter, what it counts: label and what it is said by, and the facts of a decision behind it
    "invocations": (
        "Recommendations that were acted on, by what was called.",
        "called",
        {"agreed": "recommended", "differed": "other"},
    ),
    "transport_outcomes": ("Calls by whether they returned.", "outcome", {"returned": "ok", "not_returned": "failed"}),
    "domain_outcomes": (
        "Calls by whether they did what was wanted.",
        "outcome",
        {"achieved": "success", "not_achieved": "failure"},
    ),
}


async def metrics(request: HttpRequest) -> HttpResponse:
    """Counts since the workspace began; those of providers since the month began (UTC). Nothing of what was asked."""
    if request.method not in ("GET", "HEAD"):
        return problem(request, "method_not_allowed", "Only GET is answered here.")
    try:
        harness = await _may_read(request)
    except Forbidden as refused:
        return problem(request, refused.code, refused.message, refused.details)
    if harness is None:
        return unauthenticated(request)
    text = await sync_to_async(told)(harness.workspace_id)
    return HttpResponse(text, content_type=CONTENT_TYPE_PLAIN_0_0_4, headers={"Cache-Control": "no-store"})


def told(workspace_id: Any) -> bytes:
    workspace = Workspace.objects.select_related("live_revision").get(pk=workspace_id)
    registry = CollectorRegistry()
    registry.register(_Collected(Families(workspace.name), workspace))
    return generate_latest(registry)


class Families:
    """Makes families of samples that all name the workspace."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace

    def counter(self, name: str, told: str, labels: Iterable[str], counts: Mapping[Any, float]) -> Metric:
        return self._filled(CounterMetricFamily, name, told, labels, counts)

    def gauge(self, name: str, told: str, labels: Iterable[str], values: Mapping[Any, float]) -> Metric:
        return self._filled(GaugeMetricFamily, name, told, labels, values)

    def _filled(self, kind: Any, name: str, told: str, labels: Iterable[str], values: Mapping[Any, float]) -> Metric:
        family: Metric = kind(f"switchyard_{name}", told, labels=("workspace", *labels))
        for key, value in sorted(values.items()):
            family.add_metric((self._workspace, *(key if isinstance(key, tuple) else (key,))), value)  # type: ignore[attr-defined]
        return family

    def latencies(self, counted: Mapping[tuple[str, str], int]) -> Metric:
        family = HistogramMetricFamily(
            "switchyard_decision_latency_seconds", "How long decisions took.", labels=("workspace", "type")
        )
        for type_ in sorted({type_ for type_, _ in counted}):
            seen, buckets = 0, []
            for place, bound in enumerate(BOUNDS_MS):
                seen += counted.get((type_, str(place)), 0)
                # The last bucket holds whatever took longer, too.
                buckets.append(("+Inf" if place == len(BOUNDS_MS) - 1 else repr(bound / 1000), seen))
            family.add_metric((self._workspace, type_), buckets, sum_value=None)
        return family


class _Collected:
    """What the library asks for the families that it writes down."""

    def __init__(self, families: Families, workspace: Workspace) -> None:
        self._families, self._workspace = families, workspace

    def collect(self) -> Iterator[Metric]:
        make, workspace = self._families, self._workspace
        yield from _decisions(make, totals.totals(workspace, timezone.now()))
        yield from _standing(make, workspace)
        yield from _providers(make, workspace)


def _decisions(make: Families, found: totals.Totals) -> Iterator[Metric]:
    yield make.counter("decisions", "Recommendations.", ("scope", "type", "status"), found.decisions)
    yield make.latencies(found.latency)
    yield make.counter("decision_sources", "Recommendations by who answered.", ("type", "source"), found.sources)
    yield make.counter("fallbacks", "Choices that were handed back, by reason.", ("type", "reason"), found.fallbacks)
    for name, (said, label, facts) in OUTCOMES.items():
        counts = {(type_, facts[fact]): number for (type_, fact), number in found.facts.items() if fact in facts}
        yield make.counter(name, said, ("type", label), counts)
    yield make.counter("decision_cost", "What decisions cost, where providers tell it.", (), {(): found.cost})


def _standing(make: Families, workspace: Workspace) -> Iterator[Metric]:
    now, live = totals.waiting(workspace), workspace.live_revision
    yield make.gauge("decisions_waiting", "Requests without a decision yet.", ("type", "state"), now.decisions)
    yield make.gauge("ledger_events_waiting", "Events that are not in the ledger yet.", (), {(): now.events})
    yield make.counter("ledger_events", "Events in the ledger.", (), {(): now.chained})
    yield make.gauge(
        "live_revision", "The number of the live revision; 0 without one.", (), {(): live.number if live else 0}
    )
    try:
        beats = bus.hearts(WORKERS)
    except bus.BusAway:
        beats = dict.fromkeys(WORKERS, False)
    yield make.gauge("worker_up", "Whether workers of a queue answer; 0 too while the bus is away.", ("queue",), beats)


def _providers(make: Families, workspace: Workspace) -> Iterator[Metric]:
    found = figures.summaries(workspace.pk, figures.month_began())
    failures = Counter({(name, kind): number for name, one in found.items() for kind, number in one.failures.items()})
    tokens = {(name, "input"): one.input_tokens for name, one in found.items()}
    tokens |= {(name, "output"): one.output_tokens for name, one in found.items()}
    since = "since the month began (UTC)"
    yield make.counter(
        "provider_calls",
        f"Calls to provider accounts {since}.",
        ("provider",),
        {name: one.calls for name, one in found.items()},
    )
    yield make.counter("provider_failures", f"Calls that failed {since}, by class.", ("provider", "class"), failures)
    yield make.counter("provider_tokens", f"Tokens {since}.", ("provider", "direction"), tokens)
    yield make.counter(
        "provider_cost", f"What calls cost {since}.", ("provider",), {name: one.cost for name, one in found.items()}
    )
    states: dict[tuple[str, str], float] = {}
    for entry in snapshot.live(workspace.pk).catalog.registry.providers:
        state = accounts.breaker_of(workspace.pk, entry).standing().state
        states |= {(entry.name, one): float(one == state) for one in CIRCUITS}
    yield make.gauge(
        "provider_circuit", "1 for the state that an account's circuit is in.", ("provider", "state"), states
    )
