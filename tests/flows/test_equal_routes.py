"""Equal routes through several web and worker processes become one call to the provider; the circuit is one for all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from control import processes
from tests.fake_decisions import decisions_server
from tests.installation import PREPARED, ROOT, Installation, eventually

pytestmark = [pytest.mark.flow, pytest.mark.embedded, pytest.mark.xdist_group("equal_routes")]
TOOLS = [{"name": "read_file", "description": "Read one file"}, {"name": "write_file", "description": "Replace a file"}]
MANY, THREADS = 50, 8


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    place = tmp_path_factory.mktemp("equal")
    variables = {
        "SWITCHYARD_WEB_PROCESSES": "2",
        "SWITCHYARD_DECIDE_THREADS": str(THREADS),
        "JEV_KEY": "sk-test-0123456789abcdef",
    }
    with Installation.started(place, PREPARED, **variables) as installation:
        # Another worker beside the installation's own, as a second machine has one.
        command = [sys.executable, "-m", *processes.decide_worker(THREADS)]
        command[command.index("decide@%h")] = "decide-2@%h"
        other = subprocess.Popen(command, cwd=ROOT, env=installation.environment, stdout=subprocess.DEVNULL)
        try:
            eventually(lambda: len(installation.workers("decide")) >= 2, 60)
            yield installation
        finally:
            other.kill()
            other.wait(timeout=20)


def publish(running: Installation, url: str, **more: Any) -> None:
    account = {"name": "jev", "kind": "compatible", "url": url, "credential": "env:JEV_KEY", "max_retries": 0, **more}
    document = {
        "version": 1,
        "providers": [account],
        "policies": [
            {"name": "default", "router": {"providers": [account["name"]]}},
            {"name": "idle", "router": {"mode": "planner_only"}},
        ],
        "scopes": [{"name": "default", "policies": ["idle"]}],
    }
    made = running.call("PUT", "/api/v1/registry", {"document": document, "message": "A provider"}).body
    published = running.post(f"/api/v1/revisions/{made['revision']}/publish", {"message": "A provider"})
    assert published.status == 200, published.body
    eventually(lambda: all(_revisions(running) == {made["revision"]} for _ in range(3)), 30)


def _revisions(running: Installation) -> set[int | None]:
    """By which the workers decide now. Nobody is asked for it."""
    with ThreadPoolExecutor(16) as pool:
        idle = {"goal": "nothing", "tools": TOOLS, "policy": "idle", "wait_ms": 30_000}
        return {one.body.get("revision") for one in pool.map(lambda _: running.post("/api/v1/route", idle), range(16))}


def ask(running: Installation, goal: str) -> Any:
    answer = running.post("/api/v1/route", {"goal": goal, "tools": TOOLS, "wait_ms": 30_000}, timeout=60)
    if answer.status == 202:  # whoever held it has died: it is decided again when its claim has ended
        poll = answer.body["poll"]
        return eventually(lambda: running.get(poll).body["answer"], 60)
    assert answer.status == 200, answer.body
    return answer.body


def together(running: Installation, goals: list[str]) -> list[Any]:
    with ThreadPoolExecutor(len(goals)) as pool:
        return list(pool.map(lambda goal: ask(running, goal), goals))


def test_fifty_equal_routes_make_one_call(running: Installation) -> None:
    with decisions_server("slow", slow_s=1.0) as server:
        publish(running, server.url, timeout_s=25)
        answers = together(running, ["read the same file"] * MANY)

    assert len(server.requests) == 1
    assert {answer["tool"] for answer in answers} == {"read_file"}
    sources = Counter(answer["source"] for answer in answers)
    assert sources["provider"] == 1
    assert set(sources) <= {"provider", "coalesced", "cache"}
    assert sum(answer["requests"] for answer in answers) == 1
    assert sum((answer["usage"] or {}).get("input_tokens", 0) for answer in answers) == 241


def test_all_processes_leave_a_provider_alone_that_fails(running: Installation) -> None:
    with decisions_server("status:503") as server:
        publish(running, server.url, name="failing", breaker_failures=3, breaker_open_s=300)
        for number in range(3):
            ask(running, f"read file {number}")
        answers = together(running, [f"read another file {number}" for number in range(12)])

    assert len(server.requests) == 3
    assert {answer["fallback_reason"] for answer in answers} == {"provider_error"}


def test_one_that_dies_while_it_asks_for_all_is_stepped_in_for(running: Installation) -> None:
    with decisions_server("hang", "ok") as server, ThreadPoolExecutor(MANY) as pool:
        publish(running, server.url, name="asked-twice", timeout_s=8)
        waiting = [pool.submit(ask, running, "read what a dying worker asked for") for _ in range(MANY)]
        eventually(lambda: server.requests)
        os.kill(asker(running, server.requests[0].port), signal.SIGKILL)
        # All others are answered by the one that steps in; the dead one's threads held at most so many.
        eventually(lambda: sum(one.done() for one in waiting) >= MANY - THREADS, 60)
        running.let_claims_end()
        answers = [one.result(timeout=60) for one in waiting]

    assert {(answer["tool"], answer["fallback"]) for answer in answers} == {("read_file", False)}
    # What the dead one held is decided again: by the one that stepped in, or by the one that was started in its place.
    assert 2 <= len(server.requests) <= 3
    assert sum(answer["requests"] for answer in answers) == len(server.requests) - 1
    assert [recommended(running, answer["decision_id"]) for answer in answers] == [1] * MANY


def recommended(running: Installation, decision_id: str) -> int:
    """How many recommendations the ledger has of it, once it has any."""
    events = eventually(lambda: running.get(f"/api/v1/decisions/{decision_id}").body["events"])
    return sum(event["kind"] == "recommendation" for event in events)


def asker(running: Installation, port: int) -> int:
    """The worker that holds the connection with this port at its end."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    socket = next(line[9] for line in lines if int(line[1].rpartition(":")[2], 16) == port)
    return next(
        pid
        for pid in running.workers("decide")
        for held in Path(f"/proc/{pid}/fd").iterdir()
        if held.is_symlink() and str(held.readlink()) == f"socket:[{socket}]"
    )
