"""Demo traffic against a server that answers as the API does."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from control.demo.outcomes import Report, simulate
from control.demo.requests import SHARES
from control.demo.traffic import CannotSend, Plan, Tally, Traffic, progress

Answering = Callable[[httpx.Request, dict[str, Any]], httpx.Response]
pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def outcomes_fall_due_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    def hastened(answer: Any, *, prefix: str, dice: Any) -> list[Report]:
        return [replace(report, after_s=report.after_s / 20) for report in simulate(answer, prefix=prefix, dice=dice)]

    monkeypatch.setattr("control.demo.traffic.simulate", hastened)


class Api:
    """The calls that traffic makes; remembers what was asked and reported."""

    def __init__(self, resolve: Answering | None = None) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.resolve = resolve or (lambda request, body: httpx.Response(200, json=confident(len(self.asked))))

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body, path = json.loads(request.content), request.url.path
        if path == "/api/v1/tools/search":
            return httpx.Response(200 if request.headers["Authorization"] != "Bearer wrong" else 401, json={})
        if path == "/api/v1/events":
            self.events += body["events"]
            return httpx.Response(200, json={"accepted": len(body["events"]), "duplicates": 0, "rejected": []})
        self.asked.append((path, request.headers["Authorization"], body))
        return self.resolve(request, body)


def confident(number: int) -> dict[str, Any]:
    return {
        "status": "confident",
        "decision_id": f"d{number}",
        "recommendation": {"namespaced": "a__one"},
        "alternatives": [],
    }


def plan(**changes: Any) -> Plan:
    facts = {
        "url": "http://x",
        "keys": {"default": "k"},
        "rate": 500.0,
        "duration_s": None,
        "count": 40,
        "seed": 1,
        "run": "r",
    }
    return Plan(**{**facts, **changes})


async def run(api: Any, wanted: Plan, *, stop_after_s: float | None = None) -> Tally:
    async with httpx.AsyncClient(transport=httpx.MockTransport(api)) as client:
        traffic = Traffic(wanted, client, say=lambda line: None)
        if stop_after_s is not None:
            asyncio.get_running_loop().call_later(stop_after_s, traffic.stopping.set)
        return await traffic.run()


async def test_every_planned_request_is_sent_with_the_key_of_its_audience() -> None:
    api = Api()

    tally = await run(api, plan(keys={name: f"key-{name}" for name in SHARES}, count=120), stop_after_s=2)

    assert tally.sent == len(api.asked) == 120
    assert {key for _, key, _ in api.asked} == {f"Bearer key-{name}" for name in SHARES}
    assert {path for path, _, _ in api.asked} == {"/api/v1/resolve", "/api/v1/route"}


async def test_what_is_reported_names_the_decision_and_follows_the_order_of_the_facts() -> None:
    api = Api()

    tally = await run(api, plan(count=25))

    kinds = Counter(event["kind"] for event in api.events)
    assert kinds["invocation"] >= kinds["transport_outcome"] >= kinds["domain_outcome"] > 0
    assert tally.reports["invoked"] == kinds["invocation"]
    assert all(event["decision_id"].startswith("d") and event["target"] == "a__one" for event in api.events)
    assert len({event["id"] for event in api.events}) == len(api.events)


async def test_a_promise_is_counted_and_nothing_is_reported_for_it() -> None:
    api = Api(lambda request, body: httpx.Response(202, json={"decision_id": "d", "state": "queued", "poll": "/x"}))

    tally = await run(api, plan(count=5))

    assert tally.answers["waiting"] == 5
    assert api.events == []


async def test_a_refused_key_is_said_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("control.demo.traffic.KEY_IS_KNOWN_WITHIN_S", 0)
    api = Api()

    with pytest.raises(CannotSend, match="answers 401 to the key of default"):
        await run(api, plan(keys={"default": "wrong"}))
    assert api.asked == []


async def test_a_server_that_is_away_is_said_with_the_way_to_start_it() -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(CannotSend, match=r"manage\.py up"):
        await run(away, plan())


async def test_a_server_that_goes_away_ends_the_run() -> None:
    def gone(request: httpx.Request, body: Any) -> httpx.Response:
        raise httpx.ConnectError("refused")

    api = Api(gone)

    with pytest.raises(CannotSend):
        await run(api, plan(count=10_000))
    assert len(api.asked) < 1000


async def test_a_stop_sends_no_more_and_says_what_stays_unreported() -> None:
    api = Api()

    tally = await run(api, plan(rate=200.0, count=100_000), stop_after_s=0.3)

    assert 5 <= tally.sent <= 100
    assert tally.problems["outcomes left unreported"] > 0


async def test_a_line_of_progress_shows_problems_only_when_there_are_some() -> None:
    tally = Tally(sent=3)
    assert "problems" not in progress(tally, 1.0)

    tally.problems["HTTP 503"] = 2
    assert "problems 2" in progress(tally, 1.0)
