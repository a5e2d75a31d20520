from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from control.api.schemas import out
from routing.models import Replay
from routing.services import ledger, registry, replays, workspaces
from tests.routing.conftest import DOCUMENT, EDITOR

FETCH = "fetch https://example.com/guide as Markdown"
OFF = {**DOCUMENT, "endpoints": [DOCUMENT["endpoints"][0] | {"enabled": False}, DOCUMENT["endpoints"][1]]}


@pytest.fixture
def recording(workspace):
    workspaces.configure(workspace, {"record_queries": True}, by=EDITOR)
    return workspace


@pytest.fixture
def decided(api, recording) -> str:
    _, answer = api.post("/resolve", {"query": FETCH})
    ledger.write(recording.pk)
    return answer["decision_id"]


def test_a_replay_is_promised_and_its_answer_is_polled(api, decided):
    status, promised = api.post("/simulate/diff", {"registry": OFF, "wait_ms": 0})
    assert (status, promised["decision_id"], promised["state"]) == (202, None, "queued")
    assert promised["poll"] == f"/api/v1/simulate/diff/{promised['id']}"

    waiting = api.get(promised["poll"].removeprefix("/api/v1"))
    replays.run(UUID(promised["id"]))
    status, body = api.get(promised["poll"].removeprefix("/api/v1"))

    assert (waiting[0], waiting[1]["state"], waiting[1]["result"]) == (200, "queued", None)
    assert (status, body["state"], body["progress"]) == (200, "finished", {"done": 1, "of": 1})
    out.SimulateDiffOut.model_validate(body)
    result = body["result"]
    assert result["compared"] == sum(result["counts"].values()) == 1
    assert [flip["decision_id"] for flip in result["flips"]] == [decided]
    assert (result["flips_truncated"], result["expectations"]) == (False, {"passed": 0, "failed": []})


@pytest.mark.django_db(transaction=True)
def test_finished_in_time_it_is_the_answer(api, decided, monkeypatch):
    monkeypatch.setattr(replays.workers, "_send", lambda pk: replays.run(UUID(pk)))
    status, body = api.post("/simulate/diff", {"registry": OFF})

    assert (status, body["state"], body["result"]["counts"]["became_no_match"]) == (200, "finished", 1)


def test_a_revision_may_be_the_candidate_and_an_older_one_the_other_side(api, decided, recording):
    registry.replace_working_copy(recording, OFF, by=EDITOR)
    proposed = registry.propose_draft(recording, message="", by=EDITOR).number

    _, promised = api.post("/simulate/diff", {"revision": proposed, "against": proposed, "wait_ms": 0})
    replays.run(UUID(promised["id"]))
    _, same = api.get(f"/simulate/diff/{promised['id']}")
    _, promised = api.post("/simulate/diff", {"revision": proposed, "wait_ms": 0})
    replays.run(UUID(promised["id"]))
    _, off = api.get(f"/simulate/diff/{promised['id']}")

    assert (same["result"]["counts"]["same"], off["result"]["counts"]["became_no_match"]) == (1, 1)


def test_without_recording_it_is_disabled(api, workspace):
    status, body = api.post("/simulate/diff", {"registry": DOCUMENT})

    assert (status, body["error"]["code"]) == (409, "replay_disabled")
    assert not Replay.objects.exists()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, ""),
        ({"registry": DOCUMENT, "revision": 1}, ""),
        ({"registry": DOCUMENT, "window": {"last": 0}}, "window.last"),
        ({"registry": DOCUMENT, "window": {"last": 100_001}}, "window.last"),
        ({"registry": DOCUMENT, "window": {"last": True}}, "window.last"),
        ({"registry": DOCUMENT, "window": {"since": "yesterday"}}, "window.since"),
        ({"registry": DOCUMENT, "window": {"days": 3}}, "window.days"),
        ({"registry": DOCUMENT, "window": {"scopes": ["unheard"]}}, "window.scopes[0]"),
        ({"registry": DOCUMENT, "wait_ms": 30_001}, "wait_ms"),
    ],
)
def test_what_is_not_known_or_out_of_bounds_is_refused_with_its_place(api, recording, body, path):
    status, answer = api.post("/simulate/diff", body)

    assert (status, answer["error"]["code"]) == (422, "invalid_request")
    assert answer["error"]["details"][0]["path"] == path


def test_a_window_that_ends_before_it_begins_is_refused(api, recording):
    now = timezone.now()
    window = {"since": now.isoformat(), "until": (now - timedelta(hours=1)).isoformat()}

    assert api.post("/simulate/diff", {"registry": DOCUMENT, "window": window})[0] == 422


def test_a_bad_document_is_told_with_all_its_problems(api, recording):
    bad = {"version": 1, "endpoints": [{"name": "A"}, {"name": "b", "kind": "nothing"}]}
    status, body = api.post("/simulate/diff", {"registry": bad})

    assert (status, body["error"]["code"]) == (422, "invalid_registry")
    assert len(body["error"]["details"]) > 1


@pytest.mark.parametrize("body", [{"revision": 99}, {"registry": DOCUMENT, "against": 99}])
def test_a_revision_that_is_not_there_is_not_found(api, recording, body):
    assert api.post("/simulate/diff", body)[0] == 404


def test_a_replay_of_another_workspace_is_not_found(api, recording):
    other = registry.create_workspace("other", by=EDITOR)
    foreign = Replay.objects.create(workspace=other, by="x", against=1, digest="x")

    assert [api.get(f"/simulate/diff/{pk}")[0] for pk in (foreign.pk, uuid4(), "nothing")] == [404, 404, 404]


def test_one_that_failed_says_so(api, recording, monkeypatch):
    _, promised = api.post("/simulate/diff", {"registry": OFF, "wait_ms": 0})
    Replay.objects.filter(pk=promised["id"]).update(document=b"nothing")
    replays.run(UUID(promised["id"]))

    status, body = api.get(f"/simulate/diff/{promised['id']}")
    assert (status, body["state"], body["result"]) == (200, "failed", None)


def test_a_key_that_reads_no_registry_sees_decisions_of_its_own_scope_alone(api, make_api, decided, recording):
    narrow, fellow = (make_api("web-only", rights=("decide", "simulate"), name=name) for name in ("one", "other"))
    elsewhere = make_api("default", rights=("simulate",), name="third")
    _, own = narrow.post("/resolve", {"query": FETCH})
    ledger.write(recording.pk)

    _, promised = narrow.post("/simulate/diff", {"registry": OFF, "wait_ms": 0})
    replays.run(UUID(promised["id"]))
    _, body = fellow.get(f"/simulate/diff/{promised['id']}")
    refused = narrow.post("/simulate/diff", {"registry": OFF, "window": {"scopes": ["web-only", "default"]}})
    _, whole = api.post("/simulate/diff", {"registry": OFF, "wait_ms": 0})

    assert [flip["decision_id"] for flip in body["result"]["flips"]] == [own["decision_id"]]
    assert (refused[0], refused[1]["error"]["details"][0]["path"]) == (422, "window.scopes[1]")
    assert [one.get(f"/simulate/diff/{promised['id']}")[0] for one in (elsewhere, api)] == [404, 200]
    assert narrow.get(f"/simulate/diff/{whole['id']}")[0] == 404
