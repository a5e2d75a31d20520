"""One journey through real processes: a registry is imported and published, decisions are made and proved, processes die."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.installation import PREPARED, Installation, Stream, eventually, on_servers

pytestmark = [pytest.mark.flow, pytest.mark.xdist_group("journey")]

REGISTRY = Path(__file__).with_name("registry.yaml")
FETCH = "fetch https://example.com/guide as Markdown"
TARGET = "hitspec__fetch"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An empty installation into which the journey's registry was imported; on given servers when the environment names them."""
    place = tmp_path_factory.mktemp("journey")
    database_url, redis_url = os.environ.get("DATABASE_URL"), os.environ.get("REDIS_URL")
    start = (
        on_servers(place, database_url, redis_url)
        if database_url and redis_url
        else Installation.started(place, PREPARED)
    )
    with start as installation:
        report = json.loads(
            installation.command("import_registry", str(REGISTRY), "--publish", "-m", "Journey", "--json")
        )
        assert report["state"] == "live"
        eventually(lambda: resolve(installation)["revision"] == report["revision"], 2)
        yield installation


def resolve(running: Installation) -> dict[str, Any]:
    return dict(running.post("/api/v1/resolve", {"query": FETCH}).body)


def decision(running: Installation, decision_id: str) -> dict[str, Any]:
    return dict(running.get(f"/api/v1/decisions/{decision_id}").body)


def about(event: dict[str, str]) -> str | None:
    """The decision of a ledger's event in the stream; None for what has no place in the ledger."""
    return json.loads(event["data"])["decision_id"] if "id" in event else None


def chain_holds(running: Installation) -> bool:
    return bool(json.loads(running.command("verify_ledger", "--json"))["ok"])


def test_a_published_tool_is_recommended_at_once_and_routed_by_a_worker(running: Installation) -> None:
    advice = resolve(running)
    routed = running.post("/api/v1/route", {"goal": FETCH, "wait_ms": 20000})

    assert (advice["status"], advice["recommendation"]["namespaced"]) == ("confident", TARGET)
    assert (routed.status, routed.body["tool"], routed.body["fallback"]) == (200, TARGET, False)


def test_what_happened_is_streamed_and_read_back_and_the_stream_resumes(running: Installation) -> None:
    stream = Stream(running, "/api/v1/live/events")
    advice = resolve(running)["decision_id"]
    routed = running.post("/api/v1/route", {"goal": FETCH, "wait_ms": 20000}).body["decision_id"]
    waiting = {advice, routed}
    seen = stream.read_until(lambda event: waiting.discard(about(event)) or not waiting)
    stream.close()
    report = {"id": uuid4().hex, "kind": "invocation", "target": TARGET, "decision_id": routed, "status": "started"}
    accepted = running.post("/api/v1/events", {"events": [report]})
    resumed = Stream(running, "/api/v1/live/events", last_id=[event["id"] for event in seen if "id" in event][-1])
    following = resumed.read_until(lambda event: event.get("event") == "invocation")
    resumed.close()

    assert {event["event"] for event in seen if about(event) in (advice, routed)} == {"recommendation"}
    assert accepted.body == {"accepted": 1, "duplicates": 0, "rejected": []}
    assert json.loads(following[-1]["data"])["id"] == report["id"]
    eventually(lambda: decision(running, routed)["achieved"]["invoked"] is True, 5)
    events = running.get(f"/api/v1/events?decision_id={routed}").body["items"]
    assert sorted(event["kind"] for event in events) == ["invocation", "recommendation"]


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_route_survives_its_worker_and_is_decided_once(running: Installation, how: signal.Signals) -> None:
    with held_back(running, "decide", how):
        promised = running.post("/api/v1/route", {"goal": FETCH, "wait_ms": 300})
        advice = resolve(running)

    done = eventually(
        lambda: (row := decision(running, promised.body["decision_id"]))["state"] == "finished" and row, 60
    )
    assert (promised.status, promised.body["state"]) == (202, "queued")
    assert promised.headers["Location"] == promised.body["poll"]
    assert advice["status"] == "confident"
    assert done["target"] == TARGET
    kinds = [
        event["kind"] for event in eventually(lambda: decision(running, promised.body["decision_id"])["events"], 5)
    ]
    assert kinds == ["recommendation"]
    assert chain_holds(running)


@contextlib.contextmanager
def held_back(running: Installation, queue: str, how: signal.Signals) -> Iterator[None]:
    """While this lasts no worker takes from the queue. Then the one that slept wakes up, or is killed and replaced."""
    sleeping = running.workers(queue)
    running.signal(sleeping, signal.SIGSTOP)
    try:
        yield
    finally:
        running.signal(sleeping, signal.SIGCONT if how is signal.SIGSTOP else signal.SIGKILL)
    if how is signal.SIGKILL and running.services:
        running.restart(queue)
