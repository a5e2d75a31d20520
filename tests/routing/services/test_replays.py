from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from routing.choices import DecisionState
from routing.errors import InvalidRegistry, InvalidRequest, NotFound, ReplayDisabled
from routing.models import Decision, Event, Replay
from routing.services import decisions, ledger, registry, replays, revisions, workspaces
from routing.services.decisions import Caller, RouteRequest
from routing.services.replays import Window, findings, running
from tests.routing.conftest import DOCUMENT, EDITOR

FETCH = "fetch https://example.com/guide as Markdown"
OFF = {**DOCUMENT, "endpoints": [DOCUMENT["endpoints"][0] | {"enabled": False}, DOCUMENT["endpoints"][1]]}


@pytest.fixture
def recording(published):
    workspaces.configure(published, {"record_queries": True}, by=EDITOR)
    return published


@pytest.fixture
def resolved(caller, recording):
    """Decisions that were recorded, by their ids."""

    def resolved(*texts: str, scope: str = "default") -> list[str]:
        who = Caller(workspace_id=recording.pk, scope=scope, harness="h")
        found = [decisions.resolve(who, text)["decision_id"] for text in texts]
        ledger.write(recording.pk)
        return found

    return resolved


def made(workspace, document=OFF, **more) -> Replay:
    row = replays.request(workspace, document, who="ada", **more)
    replays.run(row.pk)
    return replays.find(workspace, row.pk)


def test_a_replay_counts_and_names_what_would_change(resolved, recording):
    fetched, _ = resolved(FETCH, "write a note into the notebook")
    row = made(recording)

    told = replays.describe(row)
    assert (told["state"], told["progress"]) == ("finished", {"done": 2, "of": 2})
    result = told["result"]
    assert (result["compared"], result["skipped"]) == (2, 0)
    assert result["counts"]["same"] == result["counts"]["became_no_match"] == 1
    (flip,) = result["flips"]
    assert (flip["decision_id"], flip["scope"]) == (fetched, "default")
    assert (flip["before"]["target"], flip["after"]["target"]) == ("hitspec__fetch", None)
    assert row.document is None


def test_it_stores_no_text_and_makes_no_event_and_no_decision(resolved, recording):
    resolved(FETCH)
    events = Event.objects.count()
    row = made(recording)

    assert "guide" not in str(Replay.objects.filter(pk=row.pk).values_list().get())
    assert Event.objects.count() == events


def test_without_recording_there_is_nothing_to_replay(published):
    with pytest.raises(ReplayDisabled):
        replays.request(published, OFF, who="ada")


def test_a_policy_that_records_is_enough(workspace, published):
    policies = [{"name": "default", "resolver": {"record_queries": True}}]
    registry.replace_working_copy(workspace, {**DOCUMENT, "policies": policies}, by=EDITOR)
    revisions.publish(workspace, message="Record", by=EDITOR)

    assert replays.request(workspace, OFF, who="ada").state == DecisionState.QUEUED


def test_decisions_without_a_recording_are_skipped(caller, published, resolved):
    workspaces.configure(published, {"record_queries": False}, by=EDITOR)
    resolved(FETCH)
    workspaces.configure(published, {"record_queries": True}, by=EDITOR)
    resolved(FETCH)

    result = made(published).result
    assert (result["compared"], result["skipped"]) == (1, 1)


def test_the_window_bounds_what_is_replayed(resolved, recording):
    resolved(FETCH, FETCH, "fetch a page")
    resolved(FETCH, scope="web-only")
    now = timezone.now()

    def compared(**window) -> int:
        return made(recording, window=Window(**window)).result["compared"]

    assert compared() == 4
    assert compared(last=2) == 2
    assert compared(scopes=("web-only",)) == 1
    assert (compared(until=now), compared(since=now), compared(until=now - timedelta(hours=1))) == (4, 0, 0)


def test_what_cannot_be_asked_for_is_refused_with_its_place(recording):
    with pytest.raises(InvalidRequest) as scopes:
        replays.request(recording, OFF, window=Window(scopes=("web-only", "unheard")), who="ada")
    with pytest.raises(InvalidRegistry):
        replays.request(recording, {"version": 1, "endpoints": [{"name": "no kind"}]}, who="ada")
    with pytest.raises(NotFound):
        replays.request(recording, OFF, against=99, who="ada")

    assert scopes.value.details[0]["path"] == "window.scopes[1]"
    assert not Replay.objects.exists()


def test_it_may_be_held_against_an_older_revision(resolved, recording):
    resolved(FETCH)
    registry.replace_working_copy(recording, OFF, by=EDITOR)
    revisions.publish(recording, message="Off", by=EDITOR)
    recording.refresh_from_db()
    resolved(FETCH)

    assert made(recording, against=1 + 1, document=DOCUMENT).result["counts"]["same"] == 2
    assert made(recording, document=DOCUMENT).result["counts"]["became_confident"] == 2


def test_a_recorded_route_follows_new_thresholds_without_a_provider(caller, recording, monkeypatch):
    row = decisions.request_route(str(uuid7()), caller, RouteRequest(goal=FETCH))
    decisions.run(UUID(str(row.pk)))
    ledger.write(recording.pk)
    monkeypatch.setattr("routing.services.providers.asking.decide", None)
    strict = [{"name": "default", "router": {"direct_execution_threshold": 1.0, "fallback_threshold": 1.0}}]

    (flip,) = made(recording, {**DOCUMENT, "policies": strict}).result["flips"]
    assert (flip["before"]["status"], flip["after"]["status"]) == ("selected", "fallback")


def hinted(text: str) -> dict:
    first, second = DOCUMENT["endpoints"]
    return {**DOCUMENT, "endpoints": [first, second | {"tool_use_when": {"add_note": [text]}}]}


def test_a_recorded_route_among_the_scopes_tools_follows_a_new_hint(caller, recording):
    goal = "sing a lullaby about quokkas"
    row = decisions.request_route(str(uuid7()), caller, RouteRequest(goal=goal))
    decisions.run(UUID(str(row.pk)))
    ledger.write(recording.pk)
    before = Decision.objects.get(pk=row.pk)

    result = made(recording, hinted(goal)).result
    (flip,) = result["flips"]
    assert (before.status, flip["before"]["status"]) == ("fallback", "fallback")
    assert (flip["after"]["status"], flip["after"]["target"]) == ("selected", "notes__add_note")

    registry.replace_working_copy(recording, hinted(goal), by=EDITOR)
    revisions.publish(recording, message="A hint", by=EDITOR)
    again = decisions.request_route(str(uuid7()), caller, RouteRequest(goal=goal))
    decisions.run(UUID(str(again.pk)))
    assert Decision.objects.get(pk=again.pk).target == flip["after"]["target"]


def test_a_route_that_another_provider_would_decide_under_the_candidate_is_not_guessed(caller, recording):
    goal = "sing a lullaby about quokkas"
    row = decisions.request_route(str(uuid7()), caller, RouteRequest(goal=goal))
    decisions.run(UUID(str(row.pk)))
    ledger.write(recording.pk)
    elsewhere = {
        "providers": [{"name": "away", "kind": "openrouter", "credential": "env:NOBODY_HAS_THIS"}],
        "policies": [{"name": "default", "router": {"providers": ["away"]}}],
    }

    assert made(recording, hinted(goal) | elsewhere).result["counts"]["same"] == 1


def test_expectations_of_the_candidate_are_asked(resolved, recording):
    wanted = {"name": "a page", "query": FETCH, "expect": {"recommendation": "hitspec__fetch"}}
    report = made(recording, {**OFF, "expectations": [wanted]}).result["expectations"]

    assert report == {"passed": 0, "failed": [{"name": "a page", "differs": ["recommendation"]}]}


def test_more_flips_than_are_told_are_counted_all_the_same(resolved, recording, monkeypatch):
    monkeypatch.setattr(findings, "MOST_FLIPS", 2)
    resolved(FETCH, FETCH, FETCH)
    result = made(recording).result

    assert (len(result["flips"]), result["flips_truncated"]) == (2, True)
    assert result["counts"]["became_no_match"] == 3
    (group,) = result["groups"]
    assert (group["count"], group["gone"], group["because"]) == (3, True, ["endpoints[hitspec]"])


def test_an_answer_of_the_same_revision_is_believed_and_any_other_asked_anew(resolved, recording):
    (decision,) = resolved(FETCH)
    Decision.objects.filter(pk=decision).update(status="ambiguous")  # as no replay would find it
    believed = made(recording, document=DOCUMENT).result["counts"]
    Decision.objects.filter(pk=decision).update(revision=1)
    anew = made(recording).result["flips"][0]["before"]

    assert believed["same"] == 1  # what sees the same is not asked at all
    assert anew["status"] == "confident"


def test_a_text_that_was_masked_is_asked_anew_on_both_sides(resolved, recording):
    (decision,) = resolved(FETCH + "?token=hunter2")
    Decision.objects.filter(pk=decision).update(status="ambiguous")

    assert made(recording).result["flips"][0]["before"]["status"] == "confident"


# --- workers ----------------------------------------------------------------------------------------------------------
def test_a_newer_replay_of_the_same_thing_takes_the_place_of_an_older_one(recording):
    older = replays.request(recording, OFF, about="draft", who="ada")
    newer = replays.request(recording, OFF, about="draft", who="ada")
    replays.run(older.pk)

    assert replays.find(recording, older.pk).state == DecisionState.CANCELLED
    assert replays.newest(recording, "draft").pk == newer.pk


def test_one_that_is_cancelled_while_it_runs_stops_and_keeps_nothing(resolved, recording, monkeypatch):
    resolved(FETCH, FETCH)
    row = replays.request(recording, OFF, who="ada")
    monkeypatch.setattr(running, "LOOK_EVERY_S", 0)
    passed = running._recorded

    def cancelling(*args):
        for one in passed(*args):
            replays.cancel(recording, row.pk)
            yield one

    monkeypatch.setattr(running, "_recorded", cancelling)
    replays.run(row.pk)

    found = replays.find(recording, row.pk)
    assert (found.state, found.result) == (DecisionState.CANCELLED, None)


def test_what_a_dead_worker_left_is_made_by_another(resolved, recording):
    resolved(FETCH)
    row = replays.request(recording, OFF, who="ada")
    lost = {"state": DecisionState.RUNNING, "claim": uuid4(), "claimed_until": timezone.now() - timedelta(seconds=1)}
    Replay.objects.filter(pk=row.pk).update(runs=1, **lost)
    replays.resume()
    replays.run(row.pk)

    assert replays.find(recording, row.pk).state == DecisionState.FINISHED


def test_one_that_its_workers_die_of_fails_with_words(recording):
    row = replays.request(recording, OFF, who="ada")
    lost = {"state": DecisionState.RUNNING, "claim": uuid4(), "claimed_until": timezone.now() - timedelta(seconds=1)}
    Replay.objects.filter(pk=row.pk).update(runs=3, **lost)
    replays.resume()

    found = replays.find(recording, row.pk)
    assert (found.state, found.error) == (DecisionState.FAILED, "3 workers died over this replay")
    assert found.finished_at is not None


def test_one_that_cannot_be_made_fails_with_words_and_quotes_nothing(resolved, recording, monkeypatch, caplog):
    def broken(*_):
        raise ValueError("fetch the guide")

    monkeypatch.setattr(running, "run_expectations", broken)
    row = made(recording)

    assert (row.state, row.error) == (DecisionState.FAILED, "it could not be made (ValueError)")
    assert "fetch the guide" not in caplog.text


def test_a_message_that_was_lost_is_sent_again(recording, monkeypatch):
    sent: list[str] = []
    monkeypatch.setattr(replays.workers, "_send", sent.append)
    row = replays.request(recording, OFF, who="ada")
    replays.resume()
    assert sent == []

    Replay.objects.filter(pk=row.pk).update(sent_at=timezone.now() - timedelta(minutes=1))
    replays.resume()
    replays.resume()
    assert sent == [str(row.pk)]
