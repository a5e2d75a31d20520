"""Web, workers and bus die at every step of a route and of a search under load: what was accepted ends once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.searches import graph
from tests.installation import PREPARED, Installation, eventually

pytestmark = [pytest.mark.flow, pytest.mark.embedded, pytest.mark.xdist_group("endurance")]
HERE = Path(__file__).parent
TOOLS = [{"name": "read_file", "description": "Read one file"}, {"name": "write_file", "description": "Replace a file"}]
BUS = "bus"
# One death of each kind of process in each wave, and of the bus at a step of another; the steps are those of `faults`.
WAVES = [
    {"kept@web": "", "received@decide": "", "received@search": "", "gathered@ledger": "", "claimed@search": BUS},
    {"sent@web": "", "claimed@decide": "", "claimed@search": "", "appended@ledger": "", "kept@web": BUS},
    {"decided@decide": "", "decided@search": "", "written@ledger": "", "claimed@decide": BUS},
    {"finished@decide": "", "finished@search": "", "decided@decide": BUS},
    {"told@decide": "", "told@search": "", "gathered@ledger": BUS},
]


class Load(threading.Thread):
    """A harness that asks for routes and searches without pause, and remembers every one that was accepted."""

    def __init__(self, running: Installation) -> None:
        super().__init__(daemon=True)
        self.running, self.done = running, threading.Event()
        self.accepted: set[str] = set()

    def run(self) -> None:
        search = {**graph(), "simulations": 400, "wait_ms": 300}
        while not self.done.is_set():
            self._ask("/api/v1/route", {"goal": "read the file a.toml", "tools": TOOLS, "wait_ms": 300}, "decision_id")
            self._ask("/api/v1/searches", search, "id")

    def _ask(self, path: str, body: dict[str, Any], name: str) -> None:
        try:
            answer = self.running.post(path, body)
        except (OSError, httpx.HTTPError):  # a web process died in the middle of an answer: nothing was promised
            return
        if answer.status in (200, 202):
            self.accepted.add(answer.body[name])


@pytest.fixture(scope="module")
def armed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("armed")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, armed: Path) -> Iterator[Installation]:
    variables = {"PYTHONPATH": str(HERE / "faults"), "FAULTS": str(armed)}
    with Installation.started(tmp_path_factory.mktemp("faults"), PREPARED, **variables) as installation:
        yield installation


def test_every_request_that_was_accepted_ends_once_whoever_dies_at_whichever_step(
    running: Installation, armed: Path
) -> None:
    load = [Load(running) for _ in range(3)]
    for thread in load:
        thread.start()
    for wave in WAVES:
        before = sum(len(thread.accepted) for thread in load)
        for step, victim in wave.items():
            pids = eventually(lambda: running.pids("valkey-server"), 30) if victim == BUS else []
            aside = armed.with_name("aside")
            aside.write_text(" ".join(map(str, pids)))
            aside.rename(armed / step)
        eventually(lambda: not any(armed.iterdir()), 90)
        eventually(lambda before=before: sum(len(thread.accepted) for thread in load) > before + 4, 60)
    for thread in load:
        thread.done.set()
        thread.join(timeout=60)
    running.let_claims_end()  # those of the living, too: whoever lost its claim may not finish

    seen = [step for wave in WAVES for step, victim in wave.items() if victim == BUS or not step.endswith("@search")]
    assert running.said.count(" ended (") >= len(seen)  # a process that computes searches is started again by its pool
    accepted = set().union(*(thread.accepted for thread in load))
    for id_ in accepted:
        eventually(lambda id_=id_: has_ended_once(running, id_), 120)
    assert json.loads(running.command("verify_ledger", "--json"))["ok"]


def has_ended_once(running: Installation, id_: str) -> bool:
    found = running.get(f"/api/v1/decisions/{id_}").body
    kinds = [event["kind"] for event in found["events"]]
    assert kinds in ([], ["recommendation"])
    return bool(kinds) and found["state"] == "finished"
