"""The cast of the API's tests: a published workspace, a key that may do all, and callers that may not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from control.access import RIGHTS
from control.api import answers
from control.keys import create_key
from routing import generation
from routing.models import Actor, Workspace
from tests import baseline
from tests.cast import person
from tests.routing.conftest import EDITOR


@dataclass
class Api:
    """A harness at the API: its key, and calls that return status and body."""

    key: str | None
    client: Client

    def _headers(self) -> dict[str, str]:
        return {} if self.key is None else {"Authorization": f"Bearer {self.key}"}

    def get(self, path: str, **query: Any) -> tuple[int, Any]:
        response = self.client.get(f"/api/v1{path}", query, headers=self._headers())
        return response.status_code, response.json()

    def post(self, path: str, body: Any, content_type: str = "application/json") -> tuple[int, Any]:
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        response = self.client.post(f"/api/v1{path}", data, content_type=content_type, headers=self._headers())
        return response.status_code, response.json()


@pytest.fixture
def workspace(db) -> Workspace:
    workspace = baseline.two_endpoints()
    person(EDITOR.name, workspace)  # keys act as whoever made them
    return workspace


@pytest.fixture(autouse=True)
def looks_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests make a decision in the breath in which it is asked for: no message comes, and its row is looked at instead."""
    monkeypatch.setattr(answers, "LOOK_AGAIN_S", 0.01)


@pytest.fixture
def make_api(workspace):
    def make(scope: str = "default", rights: tuple[str, ...] = RIGHTS, by: Actor = EDITOR, **more: Any) -> Api:
        _, key = create_key(workspace, scope, rights=rights, by=by, **more)
        return Api(key, Client())

    return make


@pytest.fixture
def api(make_api) -> Api:
    return make_api(name="a-harness")


@pytest.fixture
def key(workspace, settings) -> Any:
    """A key of a process that keeps what it knows fresh, as a web process does."""
    _, plain = create_key(workspace, "default", name="a-harness", by=EDITOR)
    settings.SNAPSHOT_POLL_S = 0.05
    generation.refresh_all()
    generation.watcher.start()
    yield plain
    generation.watcher.stop()
