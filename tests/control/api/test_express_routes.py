"""The short way of route: says what the ordinary way says, and a request that it has kept is kept once."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, OperationalError

from control.api import express
from control.hub import hub
from routing import bus, generation
from routing.choices import DecisionState
from routing.models import Decision, Event
from routing.services import decisions, ledger, registry, revisions
from routing.services.decisions import desk, queue, running
from routing.services.providers import routers
from tests.control.api.asking import Heard, ask, heard
from tests.routing.conftest import EDITOR
from tests.workers import work_at_once

PATH = "/api/v1/route"
FETCH = {"goal": "fetch https://example.com/guide as Markdown"}
BROUGHT = {"goal": "read the parser", "tools": [{"name": "read_file", "description": "Read one file by its path"}]}
OWN = ("decision_id", "latency_ms")
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def working(monkeypatch) -> list[tuple[str, ...]]:
    """A worker that takes what it is sent as soon as it is committed; what it took together."""
    rounds: list[tuple[str, ...]] = []

    def take(*ids: UUID) -> None:
        rounds.append(tuple(map(str, ids)))
        decisions.run(*ids)

    work_at_once(monkeypatch, take)
    return rounds


def without_own(answer: Any) -> Any:
    return {name: value for name, value in answer.items() if name not in OWN}


def headers_of(answer: Heard) -> dict[str, str]:
    framing = {"content-length", "transfer-encoding", "x-request-id", "location"}
    return {name: value for name, value in answer.headers.items() if name not in framing}


@pytest.mark.parametrize(
    "body", [FETCH, BROUGHT, {**FETCH, "tools": []}, {**FETCH, "observation": "a timeout", "policy": "default"}]
)
def test_both_ways_say_the_same(key, working, body):
    routers.forget()  # what was decided for the same goal a moment ago, by another test even, would be said again
    short = heard(key, body, path=PATH)
    routers.forget()
    ordinary = heard(key, body, path=PATH, straight=True)

    assert short.took_the_short_way
    assert (short.status, without_own(short.body)) == (200, without_own(ordinary.body))
    assert headers_of(short) == headers_of(ordinary)
    assert Decision.objects.get(pk=short.body["decision_id"]).content is None


def test_a_route_that_no_worker_takes_is_a_promise_on_both_ways(key):
    short, ordinary = (heard(key, {**FETCH, "wait_ms": 0}, path=PATH, straight=straight) for straight in (False, True))

    assert short.took_the_short_way
    assert (short.status, short.body["state"], short.body.keys()) == (202, "queued", ordinary.body.keys())
    assert short.headers["location"] == short.body["poll"] == f"/api/v1/decisions/{short.body['decision_id']}"
    assert headers_of(short) == headers_of(ordinary)
    assert Decision.objects.get(pk=short.body["decision_id"]).state == DecisionState.QUEUED


def test_a_route_that_cannot_be_made_is_told_alike_on_both_ways(key, working, monkeypatch):
    def fail(*_: Any) -> None:
        raise ValueError("no matter what")

    monkeypatch.setattr(running, "DECIDERS", {"route": fail})
    short, ordinary = (heard(key, FETCH, path=PATH, straight=straight) for straight in (False, True))

    assert short.took_the_short_way
    assert (short.status, short.body["error"]["code"]) == (ordinary.status, "unavailable") == (503, "unavailable")
    assert short.body["error"]["message"] == ordinary.body["error"]["message"]
    assert short.headers["x-request-id"] == short.body["error"]["request_id"]
    assert headers_of(short) == headers_of(ordinary)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({**FETCH, "bogus": 1}, 422),
        ({**FETCH, "tools": [{"name": "a"}, {"name": "a"}]}, 422),
        ({**FETCH, "policy": "nobody's"}, 404),
        ({**FETCH, "session_id": "nobody-s"}, 404),
    ],
)
def test_a_refused_route_goes_the_ordinary_way_and_nothing_is_kept(key, body, status):
    answer = heard(key, body, path=PATH)

    assert (answer.status, answer.took_the_short_way) == (status, False)
    assert not Decision.objects.exists()


def test_a_route_of_a_session_counts_a_step_of_it(key, working):
    session = heard(key, {}, path="/api/v1/sessions", straight=True).body
    answer = heard(key, {**FETCH, "session_id": session["id"]}, path=PATH)

    assert answer.took_the_short_way
    assert answer.body["session"]["steps"] == session["steps"] + 1


def test_every_one_of_many_at_once_is_kept_once_and_they_are_made_together(key, workspace, working):
    async def many() -> list[Heard]:
        try:
            return await asyncio.gather(*(ask(key, BROUGHT, path=PATH) for _ in range(40)))
        finally:
            await express.stop()

    answers = asyncio.run(many())
    ledger.write(workspace.pk)

    assert {answer.status for answer in answers} == {200}
    promised = sorted(answer.body["decision_id"] for answer in answers)
    assert sorted(one for ids in working for one in ids) == promised
    assert len(working) < 40 and max(map(len, working)) <= running.MOST_TOGETHER
    assert sorted(Event.objects.values_list("decision_id", flat=True)) == promised
    assert ledger.verify(workspace).ok


def test_decisions_that_wait_for_a_provider_are_sent_one_by_one(key, workspace, working):
    document = registry.working_document(workspace)
    document["providers"] = [{"name": "away", "kind": "openrouter", "credential": "env:NOBODY_HAS_THIS"}]
    document["policies"] = [{"name": "default", "router": {"providers": ["away", "local"]}}]
    registry.replace_working_copy(workspace, document, by=EDITOR)
    revisions.publish(workspace, message="Ask elsewhere first", by=EDITOR)
    generation.refresh_all()
    caller = decisions.Caller(workspace_id=workspace.pk, scope="default", harness="h")
    ids = ["01a22d68-4b28-7056-a987-e37826fb4c75", "01a22d68-4b28-7056-a987-e37826fb4c76"]

    queue.keep([decisions.draft_route(one, caller, decisions.RouteRequest(**FETCH)) for one in ids])

    assert working == [(ids[0],), (ids[1],)]


def test_a_request_that_the_database_does_not_take_is_refused_and_not_tried_again(key, monkeypatch):
    tried: list[int] = []

    def refuse(_: Any, rows: list[Any]) -> None:
        tried.append(len(rows))
        raise OperationalError("database is locked")

    monkeypatch.setattr(queue, "insert", refuse)
    answer = heard(key, FETCH, path=PATH)

    assert (answer.status, answer.body["error"]["code"], answer.took_the_short_way) == (503, "unavailable", True)
    assert tried == [1]


def test_one_that_cannot_be_kept_spoils_it_for_no_other(key, workspace, monkeypatch):
    insert = queue.insert

    def refuse_one(model: Any, rows: list[Any]) -> None:
        if any(row["policy"] == "spoilt" for row in rows):
            raise IntegrityError("whatever")
        insert(model, rows)

    monkeypatch.setattr(queue, "insert", refuse_one)
    caller = decisions.Caller(workspace_id=workspace.pk, scope="default", harness="h")
    drafts = [
        decisions.draft_route(f"01a22d68-4b28-7056-a987-00000000000{n}", caller, decisions.RouteRequest(**FETCH))
        for n in range(3)
    ]
    drafts[1].row.policy = "spoilt"

    kept = desk._keep_all(drafts)

    assert [isinstance(one, Exception) for one in kept] == [False, True, False]
    assert Decision.objects.count() == 2


@pytest.mark.parametrize("error", [OperationalError("the database is away"), Decision.DoesNotExist()])
def test_a_kept_route_whose_end_cannot_be_read_is_a_promise(key, working, monkeypatch, error):
    class Blind(desk.Desk):
        async def look(self, decision_id: str) -> Decision:
            raise error

    monkeypatch.setattr(express, "_desk", Blind())
    answer = heard(key, FETCH, path=PATH)

    assert (answer.status, answer.took_the_short_way) == (202, True)
    assert Decision.objects.get(pk=answer.body["decision_id"]).state == DecisionState.FINISHED


def test_a_route_that_was_not_kept_for_an_unforeseen_reason_is_kept_by_the_ordinary_way(key, working, monkeypatch):
    class Broken(desk.Desk):
        async def keep(self, request: queue.Request) -> Decision:
            raise RuntimeError("no thread can be started")

    monkeypatch.setattr(express, "_desk", Broken())
    answer = heard(key, FETCH, path=PATH)

    assert (answer.status, answer.took_the_short_way) == (200, False)
    assert Decision.objects.count() == 1


def test_while_the_bus_is_away_a_route_is_kept_for_the_sweep(key, settings, monkeypatch):
    monkeypatch.setattr(bus, "_breaker", bus._Breaker())
    settings.BUS_URL = "unix:///nowhere.sock"

    answer = heard(key, {**FETCH, "wait_ms": 0}, path=PATH)

    assert (answer.status, answer.took_the_short_way) == (202, True)
    assert Decision.objects.get(pk=answer.body["decision_id"]).content


def test_who_goes_away_while_waiting_leaves_a_decision_that_is_made(key, workspace):
    async def leave() -> None:
        asked = asyncio.create_task(ask(key, FETCH, path=PATH))
        while not hub._waiting:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        asked.cancel()
        await asyncio.wait([asked])
        await express.stop()

    asyncio.run(leave())
    row = Decision.objects.get()
    decisions.run(row.pk)

    assert Decision.objects.get().state == DecisionState.FINISHED
    assert not hub._waiting
