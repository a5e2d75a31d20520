"""Searches and sessions while real processes die: each is made once and counted once, and nothing hangs."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bench.searches import LARGE, graph
from tests.installation import Installation, eventually

pytestmark = [pytest.mark.flow, pytest.mark.embedded, pytest.mark.xdist_group("installation")]
FINAL = ("finished", "failed", "cancelled")


@pytest.fixture(scope="module")
def running(installation: Installation) -> Installation:
    scopes = [{"name": "default", "policies": ["default", "large"]}]
    document = {"version": 1, "policies": [LARGE], "scopes": scopes}
    proposed = installation.call("PUT", "/api/v1/registry", {"document": document}).body
    published = installation.post(f"/api/v1/revisions/{proposed['revision']}/publish", {"message": "Large"})
    assert published.status == 200, published.body
    asked = {"query": "anything"}
    eventually(lambda: installation.post("/api/v1/resolve", asked).body["revision"] == published.body["revision"])
    return installation


def long_search(running: Installation, simulations: int) -> str:
    asked = {**graph(), "method": "puct", "simulations": simulations, "policy": "large", "wait_ms": 0}
    return str(running.post("/api/v1/searches", asked).body["id"])


def search(running: Installation, id_: str) -> dict[str, Any]:
    return dict(running.get(f"/api/v1/searches/{id_}").body)


def recommendations(running: Installation, id_: str) -> int:
    found = running.get(f"/api/v1/events?decision_id={id_}&kind=recommendation").body["items"]
    return len(found)


def test_a_search_goes_on_after_its_worker_was_killed(running: Installation) -> None:
    id_ = long_search(running, 2_000_000)
    eventually(lambda: search(running, id_)["progress"]["simulations"], 60)
    running.signal(running.workers("search"), signal.SIGKILL)
    running.let_claims_end()

    found = eventually(lambda: (now := search(running, id_))["state"] in FINAL and now, 180)

    assert (found["state"], found["result"]["simulations"]) == ("finished", 2_000_000)
    eventually(lambda: recommendations(running, id_) == 1)
    running.command("verify_ledger")


def test_a_wish_to_cancel_reaches_a_search_that_runs(running: Installation) -> None:
    id_ = long_search(running, 5_000_000)
    eventually(lambda: search(running, id_)["progress"]["simulations"], 60)
    began = time.monotonic()
    assert running.post(f"/api/v1/searches/{id_}/cancel", {}).status == 200

    found = eventually(lambda: (now := search(running, id_))["state"] in FINAL and now, 20)

    assert (found["state"], found["result"]["stopped_by"]) == ("cancelled", "cancelled")
    assert 0 < found["result"]["simulations"] < 5_000_000
    assert time.monotonic() - began < 5  # measured on a quiet machine by bench/searches.py


def test_a_session_counts_each_route_once_although_workers_die(running: Installation) -> None:
    tools = [{"name": "read_file", "description": "Read a file", "risk": "low"}]
    session = running.post("/api/v1/sessions", {}).body["id"]

    def route(number: int) -> Any:
        if number in (4, 12):
            running.signal(eventually(lambda: running.workers("decide")), signal.SIGKILL)
        asked = {"goal": "read the file a.toml", "tools": tools, "session_id": session, "wait_ms": 0}
        return running.post("/api/v1/route", asked)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(route, range(16)))
    ids = [answer.body["decision_id"] for answer in answers if answer.status == 202]
    assert len(ids) == 16
    running.let_claims_end()  # those of the living, too: whoever lost its claim counts nothing
    eventually(lambda: all(running.get(f"/api/v1/decisions/{one}").body["state"] == "finished" for one in ids), 120)
    assert running.get(f"/api/v1/sessions/{session}").body["steps"] == 16
