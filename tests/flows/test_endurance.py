"""What is promised survives: processes are killed under load, and no text of a request is found anywhere afterwards."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.installation import PREPARED, Installation, eventually

pytestmark = [pytest.mark.flow, pytest.mark.embedded, pytest.mark.xdist_group("endurance")]

REGISTRY = Path(__file__).with_name("registry.yaml")
FETCH = "fetch https://example.com/guide as Markdown"
CANARY = "zq7canaryvx"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with Installation.started(tmp_path_factory.mktemp("endurance"), PREPARED) as installation:
        installation.command("import_registry", str(REGISTRY), "--publish", "-m", "Endurance")
        yield installation


class Load(threading.Thread):
    """Harnesses that ask without pause, and remember every decision that they were given or promised."""

    def __init__(self, running: Installation) -> None:
        super().__init__(daemon=True)
        self.running, self.done = running, threading.Event()
        self.resolved: set[str] = set()
        self.routed: set[str] = set()

    def run(self) -> None:
        while not self.done.is_set():
            self._ask("/api/v1/resolve", {"query": FETCH}, self.resolved)
            self._ask("/api/v1/route", {"goal": FETCH, "wait_ms": 500}, self.routed)

    def _ask(self, path: str, body: dict[str, Any], given: set[str]) -> None:
        try:
            answer = self.running.post(path, body)
        except (OSError, httpx.HTTPError):  # a web process died in the middle of an answer: nothing was promised
            return
        if answer.status in (200, 202):
            given.add(answer.body["decision_id"])


def test_nothing_that_was_answered_or_promised_is_lost_or_decided_twice(running: Installation) -> None:
    load = [Load(running) for _ in range(2)]
    for thread in load:
        thread.start()
    for part in ("valkey-server", "-Q decide", "-Q ledger", "uvicorn", "valkey-server"):
        before = sum(len(thread.resolved) for thread in load)
        killed = eventually(lambda part=part: running.pids(part), 20)
        running.signal(killed, signal.SIGKILL)
        eventually(lambda killed=killed, part=part: (now := running.pids(part)) and not set(now) & set(killed), 30)
        eventually(lambda before=before: sum(len(thread.resolved) for thread in load) > before + 4, 60)
    for thread in load:
        thread.done.set()
        thread.join(timeout=60)

    given = set().union(*(thread.resolved | thread.routed for thread in load))
    assert given
    for decision_id in given:
        eventually(lambda decision_id=decision_id: is_recorded_once(running, decision_id), 90)
    assert json.loads(running.command("verify_ledger", "--json"))["ok"]


def test_a_bus_that_hangs_holds_up_no_answer_and_loses_nothing(running: Installation) -> None:
    bus = running.pids("valkey-server")
    running.signal(bus, signal.SIGSTOP)
    try:
        resolved = [running.post("/api/v1/resolve", {"query": FETCH}) for _ in range(5)]
        promised = running.post("/api/v1/route", {"goal": FETCH, "wait_ms": 0})
    finally:
        running.signal(bus, signal.SIGCONT)

    assert [answer.status for answer in (*resolved, promised)] == [200] * 5 + [202]
    for answer in (*resolved, promised):
        decision_id = answer.body["decision_id"]
        eventually(lambda decision_id=decision_id: is_recorded_once(running, decision_id), 60)


def is_recorded_once(running: Installation, decision_id: str) -> bool:
    found = running.get(f"/api/v1/decisions/{decision_id}")
    if found.status != 200 or found.body["state"] != "finished":
        return False
    kinds = [event["kind"] for event in found.body["events"]]
    assert kinds in ([], ["recommendation"])
    return bool(kinds)


def test_no_text_of_a_request_is_left_in_database_bus_logs_or_answers_about_the_past(running: Installation) -> None:
    # What is recorded and replayed is sealed: it may be no more findable than where nothing is.
    running.command("workspace", "default", "--record-queries", "on")
    words = f"{CANARY} {FETCH}"
    asked = [
        running.post("/api/v1/resolve", {"query": words, "explain": True}),
        running.post("/api/v1/resolve", {"activity": {"goal": words, "phase": CANARY, "activity": words}}),
        running.post("/api/v1/tools/search", {"query": words}),
        running.get(f"/api/v1/tools/search?query={CANARY}"),
        running.post(
            "/api/v1/route", {"goal": words, "observation": CANARY, "constraints": [CANARY], "wait_ms": 20000}
        ),
        running.post(
            "/api/v1/route",
            {"goal": words, "tools": [{"name": "read_file", "description": CANARY}], "wait_ms": 20000},
        ),
        running.post("/api/v1/resolve", {"query": {"text": CANARY}}),
        running.post("/api/v1/events", {"events": [{"id": "c1", "kind": "invocation", "target": "x", "note": CANARY}]}),
    ]
    assert [answer.status for answer in asked] == [200, 200, 200, 200, 200, 200, 422, 200]
    for answer in (asked[0], asked[1], asked[4], asked[5]):
        decision_id = answer.body["decision_id"]
        eventually(lambda decision_id=decision_id: is_recorded_once(running, decision_id), 20)
        assert CANARY not in json.dumps(running.get(f"/api/v1/decisions/{decision_id}").body)
    assert CANARY not in json.dumps(running.get("/api/v1/events").body)
    candidate = {"version": 1, "scopes": [{"name": "default"}]}
    replayed = running.post("/api/v1/simulate/diff", {"registry": candidate, "wait_ms": 20000}).body
    assert replayed["result"]["compared"] >= 1 and CANARY not in json.dumps(replayed)

    running.stop()
    assert places_of(CANARY, running.directory) == []
    assert places_of(running.key, running.directory, but=("first-run.json",)) == []


def places_of(text: str, directory: Path, but: tuple[str, ...] = ()) -> list[str]:
    """Files below a directory whose bytes hold a text."""
    files = [file for file in directory.rglob("*") if file.is_file() and file.name not in but]
    return [str(file.relative_to(directory)) for file in files if text.encode() in file.read_bytes()]
