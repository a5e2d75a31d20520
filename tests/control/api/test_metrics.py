"""GET /metrics: counts that only grow, of the key's own workspace, for keys with the right alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from control.keys import create_key
from routing import bus, totals
from routing.models import Minute
from routing.models.actor import SYSTEM
from routing.services import ledger, registry
from tests.control.api import test_route_providers as routed
from tests.fake_decisions import decisions_server
from tests.routing.conftest import EDITOR
from tests.workers import work_at_once

pytestmark = pytest.mark.django_db(transaction=True)
FETCH = "fetch https://example.com/guide as Markdown"


@pytest.fixture
def read(workspace, client) -> Callable[[], dict[Any, float]]:
    """The samples, each by its name and its labels' values in alphabetical order of the labels, without the workspace's."""
    _, key = create_key(workspace, "default", rights=["metrics"], by=SYSTEM)

    def read() -> dict[Any, float]:
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code == 200 and answer["Content-Type"].startswith("text/plain; version=0.0.4")
        families = text_string_to_metric_families(answer.content.decode())
        samples = [one for family in families for one in family.samples]
        assert {one.labels.pop("workspace") for one in samples} == {"acme"}
        return {(one.name, *(one.labels[label] for label in sorted(one.labels))): one.value for one in samples}

    return read


def test_decisions_and_what_became_of_them_are_counted(workspace, api, read):
    assert read()["switchyard_ledger_events_total",] == 0
    answers = [api.post("/resolve", {"query": query})[1] for query in (FETCH, FETCH, "thanks a lot")]
    done = {"decision_id": answers[0]["decision_id"], "target": answers[0]["recommendation"]["namespaced"]}
    reports = [
        {"id": "1", "kind": "invocation", **done},
        {"id": "2", "kind": "transport_outcome", "status": "ok", **done},
        {"id": "3", "kind": "domain_outcome", "status": "failure", **done},
    ]
    assert api.post("/events", {"events": reports})[0] == 200
    ledger.write(workspace.pk)

    found = read()
    assert found["switchyard_decisions_total", "default", answers[0]["status"], "resolve"] == 2
    assert found["switchyard_decisions_total", "default", "no_match", "resolve"] == 1
    assert found["switchyard_decision_latency_seconds_bucket", "+Inf", "resolve"] == 3
    assert found["switchyard_invocations_total", "recommended", "resolve"] == 1
    assert found["switchyard_transport_outcomes_total", "ok", "resolve"] == 1
    assert found["switchyard_domain_outcomes_total", "failure", "resolve"] == 1
    assert found["switchyard_ledger_events_total",] == 6
    assert (found["switchyard_live_revision",], found["switchyard_worker_up", "decide"]) == (2, 0)


def test_minutes_of_earlier_days_are_read_once_and_counted_still(workspace, read, django_assert_max_num_queries):
    now = timezone.now()
    for days, count in ((0, 1), (1, 10), (40, 100), (400, 1000)):
        Minute.objects.create(
            workspace=workspace,
            at=(now - timedelta(days=days)).replace(second=0, microsecond=0),
            scope="default",
            type="route",
            status="direct",
            count=count,
            latency={"3": count},
            cost=count / 4,
        )
    name = ("switchyard_decisions_total", "default", "direct", "route")
    assert [read()[name] for _ in range(2)] == [1111, 1111]

    Minute.objects.filter(count__gte=100).delete()  # only seen where they are read again
    found = totals.totals(workspace, now)
    assert (found.decisions["default", "route", "direct"], found.latency["route", "3"], found.cost) == (
        1111,
        1111,
        277.75,
    )
    assert totals.totals(workspace, now + timedelta(days=1)).decisions["default", "route", "direct"] == 11


def test_requests_that_wait_are_told(workspace, api, read, monkeypatch):
    assert api.post("/route", {"goal": "read it", "tools": [{"name": "read_file"}], "wait_ms": 0})[0] == 202

    assert read()["switchyard_decisions_waiting", "queued", "route"] == 1


def test_the_circuit_and_the_month_of_a_provider_are_told(workspace, api, read, monkeypatch):
    monkeypatch.setenv("JEV_KEY", routed.KEY)
    work_at_once(monkeypatch)
    with decisions_server("ok", "status:503") as server:
        routed.publish(workspace, server.url, breaker_failures=1, breaker_open_s=300)
        for number in range(2):
            routed.ask(api, f"read the file number {number}")

    found = read()
    assert found["switchyard_provider_calls_total", "jev"] == 2
    assert found["switchyard_provider_failures_total", "server", "jev"] == 1
    assert found["switchyard_provider_tokens_total", "input", "jev"] == 241
    assert [found["switchyard_provider_circuit", "jev", one] for one in ("closed", "half_open", "open")] == [
        0,
        0,
        1,
    ]


def test_the_bus_may_be_away(read, monkeypatch):
    def away(*_):
        raise bus.BusAway("gone")

    monkeypatch.setattr(bus, "hearts", away)

    assert read()["switchyard_worker_up", "ledger"] == 0


def test_a_key_without_the_right_a_stranger_and_another_method_are_refused(make_api, client):
    lacking = make_api(rights=("read", "decide"))._headers()

    refused = client.get("/metrics", headers=lacking)
    unknown = client.get("/metrics", headers={"Authorization": "Bearer swy_nonsense"})
    posted = client.post("/metrics")

    assert [one.status_code for one in (refused, unknown, posted)] == [403, 401, 405]
    assert [one.json()["error"]["code"] for one in (refused, unknown, posted)] == [
        "forbidden",
        "unauthenticated",
        "method_not_allowed",
    ]


def test_another_workspace_is_not_told_of(workspace, api, read):
    other = registry.create_workspace("others", by=EDITOR)
    Minute.objects.create(workspace=other, at=timezone.now(), scope="default", type="route", status="direct", count=7)

    assert 7 not in read().values()
