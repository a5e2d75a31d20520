"""Both lanes call one service: what a worker answers is what the web process would have answered."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from routing.models import Decision, Event
from routing.services import decisions, ledger, registry, revisions
from tests.routing.conftest import EDITOR
from tests.workers import work_at_once

FETCH = "fetch https://example.com/guide as Markdown"
pytestmark = pytest.mark.django_db(transaction=True)
OWN = ("decision_id", "revision", "tier")


@pytest.fixture
def on_a_worker(workspace):
    document = registry.working_document(workspace)
    document["policies"] = [{"name": "default", "lane": {"resolve": "worker"}}]
    registry.replace_working_copy(workspace, document, by=EDITOR)
    revisions.publish(workspace, message="Resolve on a worker", by=EDITOR)
    return workspace


@pytest.fixture
def working(monkeypatch):
    """A worker that takes each id as soon as it is committed."""
    work_at_once(monkeypatch)


def without_own(answer):
    return {key: value for key, value in answer.items() if key not in OWN}


def test_a_resolve_on_a_worker_answers_as_one_in_the_web_process(api, workspace, working):
    inline = api.post("/resolve", {"query": FETCH})[1]
    document = registry.working_document(workspace)
    document["policies"] = [{"name": "default", "lane": {"resolve": "worker"}}]
    registry.replace_working_copy(workspace, document, by=EDITOR)
    revisions.publish(workspace, message="Resolve on a worker", by=EDITOR)
    status, queued = api.post("/resolve", {"query": FETCH})

    assert status == 200
    assert without_own(queued) == without_own(inline)
    assert Decision.objects.get(pk=queued["decision_id"]).content is None


def test_no_word_of_a_query_stays_behind_when_a_worker_resolved_it(api, on_a_worker, working):
    canary = "canaryword"
    _, answer = api.post("/resolve", {"query": f"fetch the {canary} page as Markdown"})
    ledger.write(on_a_worker.pk)

    row = Decision.objects.get(pk=answer["decision_id"])
    event = Event.objects.get(workspace=on_a_worker, decision_id=answer["decision_id"])
    assert canary in answer["query"]
    assert canary not in json.dumps([row.answer, row.candidates, row.reason_codes, event.data])
    assert "matched_terms" not in json.dumps(row.answer)


def test_a_resolve_that_no_worker_takes_is_a_promise(api, on_a_worker):
    status, answer = api.post("/resolve", {"query": FETCH, "wait_ms": 0})

    assert (status, answer["state"]) == (202, "queued")
    decisions.run(UUID(answer["decision_id"]))
    ledger.write(on_a_worker.pk)
    found = api.get(answer["poll"].removeprefix("/api/v1"))[1]
    assert (found["state"], found["target"], found["answer"]) == ("finished", "hitspec__fetch", None)


def test_a_query_over_the_limit_is_refused_before_a_worker_sees_it(api, on_a_worker):
    assert api.post("/resolve", {"query": "x" * 2049})[1] == {
        "error": "query exceeds 2048 bytes",
        "max_query_bytes": 2048,
    }
    assert not Decision.objects.exists()


def test_a_route_is_answered_as_soon_as_its_worker_is_done(api, workspace, working):
    status, answer = api.post("/route", {"goal": FETCH})

    assert (status, answer["tool"], answer["state"]) == (200, "hitspec__fetch", "finished")
