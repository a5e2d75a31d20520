"""A canary in real processes: web and workers answer its audience by it and all others by what is live, until it is stopped."""

from __future__ import annotations

import copy

import pytest
import yaml

from tests.flows.test_journey import FETCH, REGISTRY
from tests.installation import Installation, eventually

pytestmark = [pytest.mark.flow, pytest.mark.embedded, pytest.mark.xdist_group("installation")]
ROUTE = {"goal": FETCH, "wait_ms": 20000}


def test_web_and_workers_answer_each_group_by_its_own_revision(installation: Installation) -> None:
    document = yaml.safe_load(REGISTRY.read_text()) | {"scopes": [{"name": "default"}, {"name": "web"}]}
    installation.call("PUT", "/api/v1/registry", {"document": document})
    first = installation.get("/api/v1/revisions").body["items"][0]["revision"]
    installation.post(f"/api/v1/revisions/{first}/publish", {"message": "First"})
    changed = copy.deepcopy(document)
    changed["endpoints"][1]["description"] = "Notes of the team"
    second = installation.call("PUT", "/api/v1/registry", {"document": changed}).body["revision"]
    key = eventually(lambda: installation.command("create_key", "web").strip())

    started = installation.post(f"/api/v1/revisions/{second}/canary", {"scopes": ["web"]})
    eventually(lambda: installation.post("/api/v1/resolve", {"query": FETCH}, key=key).body["revision"] == second)
    routed = [
        eventually(lambda: route(installation, None) == first),
        eventually(lambda: route(installation, key) == second),
    ]
    stopped = installation.post(f"/api/v1/revisions/{second}/canary/stop", {"reason": "Seen enough"})

    assert (started.status, stopped.body["state"], routed) == (200, "stopped", [True, True])
    eventually(lambda: installation.post("/api/v1/resolve", {"query": FETCH}, key=key).body["revision"] == first)
    eventually(lambda: route(installation, key) == first)


def route(running: Installation, key: str | None) -> int:
    """By which revision a worker decides for a key."""
    return int(running.post("/api/v1/route", ROUTE, key=key).body["revision"])
