"""The short way of resolve: says what the ordinary way says, and promises what it promises."""

from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
import threading
import time
from typing import Any

import pytest

from control.api import express
from control.asgi import application, django_application
from control.keys import create_key, revoke_key
from routing import bus, generation
from routing.errors import Unavailable
from routing.models import Decision, Event, PendingEvent
from routing.services import decisions, ledger, meaning, registry, revisions, workspaces
from tests.control.api.asking import JSON, Heard, ask, heard
from tests.embeddings import embeddings_server
from tests.routing.conftest import DOCUMENT, EDITOR

FETCH = {"query": "fetch https://example.com/guide as Markdown"}
ACCEPT = sys.modules["routing.services.ledger.accept"]  # its package has a function of this name
pytestmark = pytest.mark.django_db(transaction=True)


def without_own(answer: Any) -> Any:
    return {name: value for name, value in answer.items() if name != "decision_id"}


@pytest.mark.parametrize(
    "body",
    [
        FETCH,
        {**FETCH, "explain": True, "max_hits": 1, "tier": "lexical", "session_id": "s-1"},
        {"query": "hello, how are you?"},
        {"query": "x" * 2049},
        {"activity": {"goal": "read a guide", "phase": "research", "activity": FETCH["query"]}},
    ],
)
def test_both_ways_say_the_same(key, body):
    short, ordinary = heard(key, body), heard(key, body, straight=True)

    assert short.took_the_short_way
    assert (short.status, without_own(short.body)) == (ordinary.status, without_own(ordinary.body))
    framing = {"content-length", "transfer-encoding", "x-request-id"}
    assert {name: short.headers[name] for name in short.headers.keys() - framing} == {
        name: ordinary.headers[name] for name in ordinary.headers.keys() - framing
    }


def test_a_request_keeps_the_id_that_its_sender_gave_when_it_is_harmless(key):
    assert heard(key, FETCH, JSON, ("x-request-id", "mine-1")).headers["x-request-id"] == "mine-1"
    assert heard(key, FETCH, JSON, ("x-request-id", "no spaces")).headers["x-request-id"] != "no spaces"


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{", [JSON], 400, "bad_json"),
        (b"[]", [JSON], 422, "invalid_request"),
        (b"", [JSON], 422, "invalid_request"),
        ({"query": "a", "bogus": 1}, [JSON], 422, "invalid_request"),
        ({"query": "a", "max_hits": True}, [JSON], 422, "invalid_request"),
        (FETCH, [("content-type", "text/plain")], 415, "unsupported_media_type"),
        (b" " * (1024 * 1024 + 1), [JSON], 413, "too_large"),
        (FETCH, [JSON, ("authorization", "Bearer swy_other")], 401, "unauthenticated"),
    ],
)
def test_what_is_wrong_with_a_request_is_told_by_the_ordinary_way(key, body, headers, status, code):
    answer = heard(key, body, *headers)

    assert not answer.took_the_short_way
    assert (answer.status, answer.body["error"]["code"]) == (status, code)
    assert answer.headers["x-request-id"] == answer.body["error"]["request_id"]


def test_a_key_that_is_unknown_missing_or_lacks_the_right_is_refused(key, workspace):
    _, reader = create_key(workspace, "default", name="reader", rights=["read"], by=EDITOR)
    generation.refresh_all()

    assert [heard(wrong, FETCH).status for wrong in ("swy_unknown", "", reader)] == [401, 401, 403]


def test_a_revoked_key_is_refused_at_the_next_request_after_the_process_has_looked(key, workspace):
    row, plain = create_key(workspace, "default", name="short-lived", by=EDITOR)
    generation.refresh_all()
    assert heard(plain, FETCH).took_the_short_way

    revoke_key(row, by=EDITOR)
    generation.refresh_all()
    answer = heard(plain, FETCH)

    assert (answer.status, answer.took_the_short_way) == (401, False)
    assert heard(key, FETCH).status == 200


def test_the_watcher_of_a_process_refuses_a_revoked_key_within_a_second(key, workspace):
    revoke_key(workspace.keys.get(name="a-harness"), by=EDITOR)
    until = time.monotonic() + 1

    while heard(key, FETCH).status == 200 and time.monotonic() < until:
        time.sleep(0.02)

    assert heard(key, FETCH).status == 401


def test_a_revoked_key_is_refused_while_something_that_takes_long_is_being_made(key, workspace):
    begun, may_end = threading.Event(), threading.Event()

    def make(previous: bool | None) -> bool:
        if previous is None:
            return True
        begun.set()
        return may_end.wait(20)

    slow = generation.Watched(make, takes_long=True)
    try:
        slow.refresh()
        revoke_key(workspace.keys.get(name="a-harness"), by=EDITOR)
        assert begun.wait(5)
        until = time.monotonic() + 1
        while heard(key, FETCH).status == 200 and time.monotonic() < until:
            time.sleep(0.02)

        assert heard(key, FETCH).status == 401
    finally:
        may_end.set()
        generation._watched.remove(slow)


def test_a_key_is_known_before_the_process_has_looked_again(key, workspace, settings):
    settings.SNAPSHOT_POLL_S = 60
    generation.watcher.stop()
    generation.watcher.start()
    _, plain = create_key(workspace, "default", name="newer", by=EDITOR)

    assert [heard(plain, FETCH).status, heard(plain, FETCH).took_the_short_way] == [200, True]


def test_a_scope_that_is_decided_on_a_worker_goes_the_ordinary_way(key, workspace):
    document = registry.working_document(workspace)
    document["policies"] = [{"name": "default", "lane": {"resolve": "worker"}}]
    registry.replace_working_copy(workspace, document, by=EDITOR)
    revisions.publish(workspace, message="Resolve on a worker", by=EDITOR)
    generation.refresh_all()

    answer = heard(key, {**FETCH, "wait_ms": 0})

    assert (answer.status, answer.took_the_short_way) == (202, False)


def test_a_process_that_keeps_nothing_fresh_asks_the_database(key):
    generation.watcher.stop()

    answer = heard(key, FETCH)

    assert (answer.status, answer.took_the_short_way) == (200, False)


def test_the_application_takes_the_short_way_for_resolve_and_route_alone():
    resolve = {"type": "http", "method": "POST", "path": "/api/v1/resolve"}

    assert express.takes(resolve) and express.takes({**resolve, "path": "/api/v1/route"})
    for other in ({"method": "GET"}, {"path": "/api/v1/advice"}, {"path": "/api/v1/resolve/"}, {"type": "websocket"}):
        assert not express.takes({**resolve, **other})
    assert application is not django_application


# --- what is promised -----------------------------------------------------------------------------------------------
def waiting(workspace) -> list[Any]:
    return [body for _, body in bus.read_events(workspace.pk, 100)]


def test_an_answer_is_given_when_the_bus_has_its_event(key, workspace):
    answer = heard(key, FETCH)

    assert [body["decision_id"] for body in waiting(workspace)] == [answer.body["decision_id"]]
    ledger.write(workspace.pk)
    row = Decision.objects.get(pk=answer.body["decision_id"])
    assert (row.harness, row.target, row.state) == ("a-harness", "hitspec__fetch", "finished")
    assert Event.objects.get(decision_id=answer.body["decision_id"]).kind == "recommendation"
    assert ledger.verify(workspace).ok


def test_every_one_of_many_at_once_is_kept_once(key, workspace):
    async def many() -> list[Heard]:
        try:
            return await asyncio.gather(*(ask(key, FETCH) for _ in range(40)))
        finally:
            await express.stop()

    answers = asyncio.run(many())

    assert {answer.status for answer in answers} == {200}
    promised = sorted(answer.body["decision_id"] for answer in answers)
    assert sorted(body["decision_id"] for body in waiting(workspace)) == promised
    ledger.write(workspace.pk)
    assert Event.objects.filter(workspace=workspace).count() == 40
    assert ledger.verify(workspace).ok


def test_the_writer_is_called_once_for_what_comes_together(key, workspace, monkeypatch):
    called: list[str] = []
    monkeypatch.setattr(ACCEPT, "_send", called.append)

    async def many() -> None:
        await asyncio.gather(*(ask(key, FETCH) for _ in range(8)))
        await express.stop()
        await asyncio.get_running_loop().shutdown_default_executor()

    asyncio.run(many())

    assert called == [str(workspace.pk)]


def test_while_the_bus_is_away_the_database_keeps_the_event(key, workspace, settings):
    settings.BUS_URL = "unix:///nowhere.sock"

    answer = heard(key, FETCH)

    assert (answer.status, answer.took_the_short_way) == (200, True)
    kept = PendingEvent.objects.get(workspace=workspace)
    assert kept.body["decision_id"] == answer.body["decision_id"]


def test_an_answer_that_nothing_keeps_is_not_given(key, workspace, settings, monkeypatch):
    settings.BUS_URL = "unix:///nowhere.sock"

    def refuse(*_: Any) -> None:
        raise Unavailable("The decision could not be recorded, so it is not given.")

    monkeypatch.setattr(ACCEPT, "_keep_instead", refuse)

    answer = heard(key, FETCH)

    assert (answer.status, answer.body["error"]["code"]) == (503, "unavailable")
    assert not PendingEvent.objects.filter(workspace=workspace).exists()


def test_one_who_goes_away_takes_nobody_elses_event_along(workspace):
    async def handed() -> bool:
        handover = bus.Handover()
        gone, stays = (asyncio.ensure_future(handover.push(workspace.pk, {"id": name})) for name in ("gone", "stays"))
        await asyncio.sleep(0)
        gone.cancel()
        taken = await stays
        await handover.close()
        return taken

    asyncio.run(handed())

    assert "stays" in [body["id"] for body in waiting(workspace)]


def test_a_fault_of_the_short_way_is_logged_without_the_text_of_the_request(key, monkeypatch, caplog):
    async def fail(*_: Any, **__: Any) -> None:
        raise ValueError(FETCH["query"])

    monkeypatch.setattr(decisions, "resolve_on_loop", fail)

    assert heard(key, FETCH).status == 200
    assert "ValueError" in caplog.text
    assert FETCH["query"] not in caplog.text


@pytest.fixture
def silent_bus(settings, monkeypatch) -> Any:
    """A bus that accepts connections, on a socket as `up` uses it, and says nothing."""
    patience = 0.5
    monkeypatch.setattr(bus, "_PATIENCE_S", patience)
    monkeypatch.setattr(bus, "_SUSPICIOUS_S", 0.1)
    monkeypatch.setattr(bus, "_breaker", bus._Breaker())
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{directory}/bus.sock")
        silent.listen(64)
        settings.BUS_URL = f"unix://{directory}/bus.sock"
        yield patience


def kept(workspace) -> list[str]:
    return sorted(row.body["decision_id"] for row in PendingEvent.objects.filter(workspace=workspace))


def test_a_bus_that_does_not_answer_holds_up_one_answer_and_is_then_left_alone(key, workspace, silent_bus):
    first = heard(key, FETCH)
    began = time.monotonic()
    second = heard(key, FETCH)

    assert (first.status, second.status) == (200, 200)
    assert time.monotonic() - began < silent_bus
    assert kept(workspace) == sorted(answer.body["decision_id"] for answer in (first, second))


def test_many_who_meet_a_silent_bus_at_once_wait_for_it_once_and_together(key, workspace, silent_bus):
    async def many() -> tuple[list[Heard], float, Heard, float]:
        try:
            began = time.monotonic()
            asked = [asyncio.create_task(ask(key, FETCH)) for _ in range(12)]
            await asyncio.sleep(2.5 * bus._SUSPICIOUS_S)
            late = time.monotonic()
            later = await ask(key, FETCH)
            late = time.monotonic() - late
            assert not any(one.done() for one in asked)
            return await asyncio.gather(*asked), time.monotonic() - began, later, late
        finally:
            await express.stop()

    answers, took, later, late = asyncio.run(many())

    assert all((answer.status, answer.took_the_short_way) == (200, True) for answer in (*answers, later))
    assert took < 2 * silent_bus
    assert late < silent_bus / 2
    assert kept(workspace) == sorted(answer.body["decision_id"] for answer in (*answers, later))


def test_what_a_silent_bus_took_all_the_same_is_one_event(key, workspace, monkeypatch):
    """It had been read, and only its answer came too late: then bus and database both have it."""
    monkeypatch.setattr(bus, "_PATIENCE_S", 0.2)
    monkeypatch.setattr(bus, "_breaker", bus._Breaker())
    sent = bus.Handover._sent

    async def sent_late(handover: bus.Handover, batch: Any) -> Any:
        answer = await sent(handover, batch)
        await asyncio.sleep(1)
        return answer

    monkeypatch.setattr(bus.Handover, "_sent", sent_late)

    async def many() -> list[Heard]:
        try:
            return await asyncio.gather(*(ask(key, FETCH) for _ in range(6)))
        finally:
            await express.stop()

    answers = asyncio.run(many())
    monkeypatch.setattr(bus, "_breaker", bus._Breaker())
    promised = sorted(answer.body["decision_id"] for answer in answers)

    assert kept(workspace) == promised and waiting(workspace)
    ledger.write(workspace.pk)
    assert sorted(Event.objects.filter(workspace=workspace).values_list("decision_id", flat=True)) == promised
    assert waiting(workspace) == []
    assert ledger.verify(workspace).ok


def test_threads_that_meet_a_silent_bus_wait_at_once_and_a_late_one_not_at_all(silent_bus):
    def push() -> None:
        with pytest.raises(bus.BusAway):
            bus.push_event("w", {"id": "e"})

    threads = [threading.Thread(target=push) for _ in range(6)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    time.sleep(2.5 * bus._SUSPICIOUS_S)
    late = time.monotonic()
    push()
    late = time.monotonic() - late
    for thread in threads:
        thread.join()

    assert late < silent_bus / 2
    assert silent_bus <= time.monotonic() - began < 2 * silent_bus


def test_after_the_pause_one_tries_the_silent_bus_again_and_nobody_else_waits(key, workspace, silent_bus, monkeypatch):
    monkeypatch.setattr(bus, "_PAUSE_S", 0.0)
    heard(key, FETCH)

    def ping() -> None:
        with pytest.raises(bus.BusAway):
            bus.ping()

    tries = threading.Thread(target=ping)
    began = time.monotonic()
    tries.start()
    time.sleep(0.02)  # less than makes suspicious
    answer = heard(key, FETCH)
    took = time.monotonic() - began
    assert tries.is_alive()
    tries.join()

    assert answer.took_the_short_way
    assert took < silent_bus


def test_a_bus_that_answers_again_is_used_again(key, workspace, silent_bus, settings, bus_server, monkeypatch):
    monkeypatch.setattr(bus, "_PAUSE_S", 0.0)
    heard(key, FETCH)
    settings.BUS_URL = bus_server
    answers = [heard(key, FETCH), heard(key, FETCH)]

    assert [body["decision_id"] for body in waiting(workspace)] == [answer.body["decision_id"] for answer in answers]


# --- The deep tier on the loop --------------------------------------------------------------------------------------
UNCLEAR = {"query": "the note", "explain": True}


@pytest.fixture
def encoder(workspace, settings) -> Any:
    """An encoder of the registry, and the vectors of the live catalog."""
    settings.DEEP_BUDGET_S = 0.3
    meaning.forget()
    with embeddings_server(lambda text: [0.1 + ("delete" in text.lower()), 0.1 + ("write" in text.lower())]) as server:
        model = {"kind": "openai", "url": server.url, "model": "tiny", "features": {"embeddings": True}}
        endpoints = [*DOCUMENT["endpoints"], {"name": "vectors", **model}]
        workspaces.configure(workspace, {"allow_private": ["127.0.0.0/8"]}, by=EDITOR)
        registry.replace_working_copy(workspace, {**DOCUMENT, "endpoints": endpoints}, by=EDITOR)
        revisions.publish(workspace, message="With an encoder", by=EDITOR)
        meaning.make(workspace.pk)
        yield server
    meaning.forget()


def test_the_short_way_goes_deep_as_the_ordinary_way_does(encoder, key):
    short, ordinary = heard(key, UNCLEAR), heard(key, UNCLEAR, straight=True)

    assert short.took_the_short_way
    assert short.body["tier"] == "deep"
    assert without_own(short.body) == without_own(ordinary.body)
    assert encoder.texts.count("the note") == 1


def test_an_encoder_that_is_slow_keeps_nobody_else_waiting(encoder, key):
    encoder.mode = "slow"

    async def both() -> tuple[Heard, Heard, float, float]:
        try:
            await ask(key, {**UNCLEAR, "tier": "static"})  # whatever is made when first needed
            began = time.monotonic()
            unclear = asyncio.create_task(ask(key, UNCLEAR))
            await asyncio.sleep(0.02)
            clear = await ask(key, {**UNCLEAR, "tier": "static"})
            between = time.monotonic() - began
            return await unclear, clear, between, time.monotonic() - began
        finally:
            await express.stop()

    unclear, clear, between, whole = asyncio.run(both())

    assert unclear.took_the_short_way and clear.took_the_short_way
    assert (unclear.body["tier"], unclear.body["explanation"]) == ("static", clear.body["explanation"])
    assert between < 0.3 <= whole + 0.02
    assert whole < 0.3 + 0.5
