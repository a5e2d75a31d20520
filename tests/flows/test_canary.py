"""A canary in real processes: web and workers answer its audience by it and all others by what is live, until it is stopped."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
import yaml

from tests.flows.test_journey import FETCH, REGISTRY
from tests.installation import Installation, eventually

pytestmark = [pytest.mark.flow, pytest.mark.embedded]
ROUTE = {"goal": FETCH, "wait_ms": 20000}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with Installation.started(tmp_path_factory.mktemp("canary"), "--empty") as installation:
        yield installation


def test_web_and_workers_answer_each_group_by_its_own_revision(running: Installation) -> None:
    document = yaml.safe_load(REGISTRY.read_text()) | {"scopes": [{"name": "default"}, {"name": "web"}]}
    running.call("PUT", "/api/v1/registry", {"document": document})
    first = running.get("/api/v1/revisions").body["items"][0]["revision"]
    running.post(f"/api/v1/revisions/{first}/publish", {"message": "First"})
    changed = copy.deepcopy(document)
    changed["endpoints"][1]["description"] = "Notes of the team"
    second = running.call("PUT", "/api/v1/registry", {"document": changed}).body["revision"]
    key = eventually(lambda: running.command("create_key", "web").strip())

    started = running.post(f"/api/v1/revisions/{second}/canary", {"scopes": ["web"]})
    eventually(lambda: running.post("/api/v1/resolve", {"query": FETCH}, key=key).body["revision"] == second)
    routed = [eventually(lambda: route(running, None) == first), eventually(lambda: route(running, key) == second)]
    stopped = running.post(f"/api/v1/revisions/{second}/canary/stop", {"reason": "Seen enough"})

    assert (started.status, stopped.body["state"], routed) == (200, "stopped", [True, True])
    eventually(lambda: running.post("/api/v1/resolve", {"query": FETCH}, key=key).body["revision"] == first)
    eventually(lambda: route(running, key) == first)


def route(running: Installation, key: str | None) -> int:
    """By which revision a worker decides for a key."""
    return int(running.post("/api/v1/route", ROUTE, key=key).body["revision"])
