from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from django.db import DatabaseError
from django.utils import timezone
from uuid_utils.compat import uuid7

from routing import bus
from routing.errors import NotFound
from routing.models import AuditEntry, Decision, Event, PendingEvent, Recording
from routing.services import decisions, ledger, registry, revisions, sessions, workspaces
from routing.services.decisions import RouteRequest
from routing.services.recordings import keeping, reading
from tests.routing.conftest import DOCUMENT, EDITOR

QUERY = "fetch https://user:pw@example.com/guide?token=hunter2 as Markdown, password: swordfish7"
MASKED = "fetch https://•••@example.com/guide?••• as Markdown, password: •••"


@pytest.fixture
def recording(published):
    workspaces.configure(published, {"record_queries": True}, by=EDITOR)
    return published


def resolved(caller, query: str = QUERY) -> Decision:
    answer = decisions.resolve(caller, query)
    ledger.write(caller.workspace_id)
    return Decision.objects.get(pk=answer["decision_id"])


def routed(caller, **request: Any) -> Decision:
    row = decisions.request_route(str(uuid7()), caller, RouteRequest(goal=QUERY, **request))
    decisions.run(UUID(str(row.pk)))
    ledger.write(caller.workspace_id)
    return row


def test_without_a_wish_nothing_is_recorded(caller):
    resolved(caller)
    routed(caller)

    assert not Recording.objects.exists()


def test_a_resolve_is_recorded_masked_and_sealed_where_the_workspace_wants_it(caller, recording):
    row = resolved(caller)

    kept = Recording.objects.get(decision=row)
    assert reading.opened(kept)["query"] == MASKED
    assert b"example.com" not in bytes(kept.sealed)
    assert kept.until - row.created_at == timedelta(days=7)


def test_a_policy_records_by_itself_for_its_own_days(workspace, caller):
    resolver = {"record_queries": True, "record_days": 2}
    document = {**DOCUMENT, "policies": [{"name": "default", "resolver": resolver}]}
    registry.replace_working_copy(workspace, document, by=EDITOR)
    revisions.publish(workspace, message="Record", by=EDITOR)
    row = resolved(caller)

    assert Recording.objects.get().until - row.created_at == timedelta(days=2)


def test_an_advice_is_recorded_as_the_text_that_was_resolved(caller, recording):
    activity = decisions.Activity(goal="read the guide", phase="research", activity="fetch a page")
    advice = decisions.advise(caller, activity)
    ledger.write(recording.pk)

    assert reading.read(recording, advice["decision_id"], by=EDITOR) == activity.text()


TOOLS = ({"name": "fetch", "description": "Fetch a web page as Markdown"},)


def publish_policy(workspace, **router: Any) -> None:
    document = {**DOCUMENT, "providers": [{"name": "away", "kind": "openrouter", "credential": "env:NOBODY_HAS_THIS"}]}
    registry.replace_working_copy(
        workspace, document | {"policies": [{"name": "default", "router": router}]}, by=EDITOR
    )
    revisions.publish(workspace, message="Who decides", by=EDITOR)


def test_a_route_is_recorded_with_its_text_where_the_local_provider_can_be_asked_again(caller, recording):
    row = routed(caller, observation="the token is sk-live-4f9a8b7c6d5e4f3a2b1c0d9e")

    content = reading.opened(kept := Recording.objects.get(decision=row))
    assert content["query"] == f"{MASKED}\nthe token is •••" and reading.has_text(kept)
    assert reading.read(recording, row.pk, by=EDITOR) == content["query"]


@pytest.mark.parametrize(("router", "more"), [({}, {"tools": TOOLS}), ({"providers": ["away", "local"]}, {})])
def test_any_other_route_is_recorded_as_what_its_provider_answered_and_no_word_of_the_request(
    caller, recording, router, more
):
    publish_policy(recording, **router)
    row = routed(caller, **more)

    kept = Recording.objects.get(decision=row)
    assert "guide" not in str(reading.opened(kept)) and not reading.has_text(kept)


def test_a_route_that_nothing_was_found_for_is_recorded_and_one_that_its_session_refused_is_not(caller, recording):
    publish_policy(recording, max_route_steps=1)
    row = decisions.request_route(str(uuid7()), caller, RouteRequest(goal="sing a lullaby about quokkas"))
    decisions.run(UUID(str(row.pk)))
    session = sessions.open_session(caller, policy=None, ttl_s=600)
    for _ in range(2):
        refused = routed(caller, session_id=session.id)

    assert Decision.objects.get(pk=refused.pk).source == "session"
    assert not Recording.objects.filter(decision=refused).exists()
    assert reading.has_text(Recording.objects.get(decision=row))


def test_a_route_is_recorded_as_what_its_provider_answered(caller, recording):
    row = routed(caller)

    content = reading.opened(Recording.objects.get(decision=row))
    (choice, confidence, shares), *_ = content["route"]["answers"]
    decided = Decision.objects.get(pk=row.pk).answer
    assert (choice, round(confidence, 4)) == ("hitspec__fetch", decided["confidence"])
    assert shares[choice] == confidence and content["route"]["of_catalog"]


def test_on_its_way_a_text_is_sealed_and_the_ledger_keeps_none_of_it(caller, recording):
    decisions.resolve(caller, QUERY)
    ((_, waiting),) = bus.read_events(recording.pk, 5)
    ledger.write(recording.pk)

    told = orjson.dumps([waiting, Event.objects.values_list("data", flat=True).first()]).decode()
    assert "guide" not in told and "swordfish7" not in told
    assert not bus.read_events(recording.pk, 5) and not PendingEvent.objects.exists()


def test_a_recording_that_cannot_be_made_or_kept_costs_no_decision(caller, recording, monkeypatch):
    def broken(*args: Any, **more: Any) -> Any:
        raise DatabaseError("no room")

    monkeypatch.setattr(keeping, "insert", broken)
    unkept = resolved(caller)
    monkeypatch.setattr(keeping, "masked", broken)
    unmade = resolved(caller)

    assert {unkept.status, unmade.status} == {"confident"}
    assert not Recording.objects.exists()


def test_a_reading_is_told_to_the_audit_log_without_the_text(caller, recording):
    row = resolved(caller)
    text = reading.read(recording, row.pk, by=EDITOR)

    entry = AuditEntry.objects.filter(workspace=recording).order_by("seq").last()
    assert (entry.action, entry.target) == ("query.read", f"decision {row.pk}")
    assert text == MASKED and "guide" not in str((entry.before, entry.after, entry.message))


def test_what_is_not_kept_cannot_be_read_and_tells_nothing(caller, recording):
    row = routed(caller, tools=TOOLS)
    before = AuditEntry.objects.count()

    with pytest.raises(NotFound):
        reading.read(recording, row.pk, by=EDITOR)
    with pytest.raises(NotFound):
        reading.read(recording, uuid4(), by=EDITOR)
    assert AuditEntry.objects.count() == before


def test_recordings_are_erased_when_their_time_is_over(caller, recording):
    old, new = resolved(caller), resolved(caller, "fetch a page")
    Recording.objects.filter(decision=old).update(until=timezone.now())
    reading.purge()

    assert [one.decision_id for one in Recording.objects.all()] == [new.pk]


def test_a_recording_whose_time_is_over_is_read_by_nobody_though_it_is_not_erased_yet(caller, recording):
    row = resolved(caller)
    Recording.objects.update(until=timezone.now())

    with pytest.raises(NotFound):
        reading.read(recording, row.pk, by=EDITOR)


def test_switching_recording_off_erases_what_was_recorded(caller, recording):
    resolved(caller)
    workspaces.configure(recording, {"record_queries": False}, by=EDITOR)

    assert not Recording.objects.exists()


def test_what_was_on_its_way_when_recording_was_switched_off_is_erased_with_the_next_purge(caller, recording):
    decisions.resolve(caller, QUERY)
    workspaces.configure(recording, {"record_queries": False}, by=EDITOR)
    ledger.write(recording.pk)
    assert Recording.objects.exists()

    reading.purge()
    assert not Recording.objects.exists()


def test_a_key_that_is_gone_leaves_a_recording_that_says_nothing(caller, recording, settings):
    row = resolved(caller)
    settings.ENCRYPTION_KEYS = ["5zZ4pTn2bE0VqTt9Zb0bq8Yy2M2i0r9rS0cM3lJ3o2A="]

    with pytest.raises(NotFound):
        reading.read(recording, row.pk, by=EDITOR)
