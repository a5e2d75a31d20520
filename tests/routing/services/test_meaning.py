"""The deep tier: vectors are made once, requests are encoded in time or not at all, and nothing else ever depends on it."""

from __future__ import annotations

import logging
import time

import numpy as np
import pytest

from routing import bus, generation, vectors
from routing.models import Decision, Event, PendingEvent, TextVector
from routing.services import decisions, ledger, meaning, registry, revisions, workspaces
from routing.snapshot import live
from tests.embeddings import embeddings_server
from tests.routing.conftest import DOCUMENT

pytestmark = pytest.mark.django_db

CANARY = "goalkeeper"
AMBIGUOUS = "the note"


def encode(text: str) -> list[float]:
    """Two axes: notes and the web; `goalkeeper` means the web to nobody but this encoder."""
    web = sum(word in text.lower() for word in ("fetch", "url", "web", CANARY))
    notes = sum(word in text.lower() for word in ("note", "write"))
    found = np.array([0.1 + web, 0.1 + notes, 0.1])
    return [float(one) for one in found]


@pytest.fixture
def server(settings):
    settings.DEEP_BUDGET_S = 5  # a busy machine is no reason to answer without it
    with embeddings_server(encode) as running:
        meaning.forget()
        yield running
    meaning.forget()


def model(url: str, **more):
    return {"name": "vectors", "kind": "openai", "url": url, "model": "tiny", "features": {"embeddings": True}, **more}


def publish(workspace, by, *endpoints, **more):
    workspaces.configure(workspace, {"allow_private": ["127.0.0.0/8"]}, by=by)
    document = {**DOCUMENT, **more, "endpoints": [*DOCUMENT["endpoints"], *endpoints]}
    registry.replace_working_copy(workspace, document, by=by)
    revisions.publish(workspace, message="With an encoder", by=by)


@pytest.fixture
def deep(published, by, server):
    """The server's vectors of the live catalog, made."""
    publish(published, by, model(server.url))
    meaning.make(published.pk)
    return server


def bare(answer):
    return {key: value for key, value in answer.items() if key not in ("decision_id", "tier")}


def test_a_request_is_encoded_where_the_deep_tier_is_asked_for(caller, deep):
    answer = decisions.resolve(caller, f"{CANARY} please", tier="deep", explain=True)

    first = answer["explanation"]["candidates"][0]
    assert answer["tier"] == "deep"
    assert first["namespaced"] == "hitspec__fetch"
    assert {one["field"] for one in first["contributions"]} == {"vector"}


def test_an_open_tier_asks_only_where_the_answer_would_be_ambiguous(caller, deep):
    before = len(deep.requests)

    clear = decisions.resolve(caller, "hello there")
    unclear = decisions.resolve(caller, AMBIGUOUS)

    assert decisions.resolve(caller, AMBIGUOUS, tier="static")["status"] == "ambiguous"
    assert (clear["tier"] == "deep", unclear["tier"]) == (False, "deep")
    assert deep.texts[-1] == AMBIGUOUS
    assert len(deep.requests) == before + 1


@pytest.mark.parametrize("mode", ["status", "redirect", "garbage", "short", "nan", "slow", "drip"])
def test_an_encoder_that_fails_changes_nothing_but_the_tier(caller, deep, mode, settings):
    settings.DEEP_BUDGET_S = 0.4
    deep.mode = mode
    began = time.monotonic()

    asked = decisions.resolve(caller, AMBIGUOUS, tier="deep", explain=True)

    assert time.monotonic() - began < 0.4 + 0.5
    assert bare(asked) == bare(decisions.resolve(caller, AMBIGUOUS, tier="static", explain=True))
    assert asked["tier"] == "static"
    assert "/elsewhere" not in {path for path, _, _ in deep.requests}


def test_an_encoder_that_is_away_changes_nothing_but_the_tier(published, caller, by, settings):
    settings.DEEP_BUDGET_S = 0.4
    with embeddings_server(encode) as server:
        publish(published, by, model(server.url))
        meaning.make(published.pk)
    meaning.forget()

    answer = decisions.resolve(caller, AMBIGUOUS)

    assert bare(answer) == bare(decisions.resolve(caller, AMBIGUOUS, tier="static"))


def test_an_encoder_that_goes_on_failing_is_left_alone_for_a_while(caller, deep, caplog):
    deep.mode = "status"
    before = len(deep.requests)
    for place in range(6):
        decisions.resolve(caller, f"{AMBIGUOUS} {place}", tier="deep")

    assert len(deep.requests) - before == meaning.FAILURES
    assert "left alone" in caplog.text and AMBIGUOUS not in caplog.text


def test_the_same_request_is_encoded_once_and_not_kept(caller, deep, django_db_blocker):
    vectors_before, texts_before = TextVector.objects.count(), len(deep.texts)

    tiers = [decisions.resolve(caller, f"{CANARY} please", tier="deep")["tier"] for _ in range(3)]

    assert tiers == ["deep"] * 3
    assert len(deep.texts) == texts_before + 1
    assert TextVector.objects.count() == vectors_before


def test_without_a_budget_nobody_is_asked(caller, deep, settings):
    settings.DEEP_BUDGET_S = 0
    before = len(deep.requests)

    assert decisions.resolve(caller, AMBIGUOUS, tier="deep")["tier"] == "static"
    assert len(deep.requests) == before


def test_a_text_of_a_catalog_is_encoded_once_whatever_is_published_later(published, by, deep, caplog):
    caplog.set_level(logging.INFO)
    first = list(deep.texts)
    extra = {"name": "fax", "kind": "declared", "tools": [{"name": "send_fax", "description": "Send a fax"}]}
    publish(published, by, model(deep.url), extra)

    assert vectors.of(live(published.pk)).missing == 2
    assert meaning.make(published.pk) == 2
    assert meaning.make(published.pk) == 0

    assert len(first) == len(set(first)) == len(vectors.texts(live(published.pk))) - 2
    assert deep.texts == [*first, "fax send fax: Send a fax", "Send a fax"]
    assert "2 of 2 made" in caplog.text


def test_another_model_has_vectors_of_its_own(published, by, deep):
    count = TextVector.objects.count()
    publish(published, by, model(deep.url, model="other"))

    assert vectors.of(live(published.pk)).vectors is None
    assert meaning.make(published.pk) == count
    assert TextVector.objects.count() == 2 * count


def test_until_the_vectors_are_there_the_tier_stays_static(published, caller, by, server):
    publish(published, by, model(server.url))

    assert decisions.resolve(caller, AMBIGUOUS, tier="deep")["tier"] == "static"
    assert server.requests == []


def test_the_sweep_has_missing_vectors_made_once_at_a_time(published, by, server, monkeypatch):
    sent = []
    monkeypatch.setattr(meaning, "_send", sent.append)
    meaning.sweep()
    publish(published, by, model(server.url))
    meaning.sweep()
    meaning.sweep()

    assert sent == [str(published.pk)]
    meaning.make(published.pk)
    meaning.sweep()
    assert sent == [str(published.pk)]
    assert bus.claim(claim(published), 5)


def test_a_run_that_fails_keeps_what_it_has_and_is_tried_again_later(published, by, server, monkeypatch, caplog):
    monkeypatch.setattr(meaning, "BATCH", 3)
    publish(published, by, model(server.url))
    whole, server_encode = len(vectors.texts(live(published.pk))), server.encode

    def encode_some(text):
        if len(server.texts) > 3:
            server.mode = "garbage"
        return server_encode(text)

    server.encode = encode_some
    assert meaning.make(published.pk) == 3
    assert not bus.claim(claim(published), 5)
    server.encode, server.mode = server_encode, "well"

    assert meaning.make(published.pk) == whole - 3
    assert "its answer is no JSON" in caplog.text


def claim(workspace):
    """The name under which the vectors of what is live are being made."""
    return meaning._work(workspace.pk, vectors.of(live(workspace.pk)))


def test_a_run_that_failed_keeps_the_next_publication_or_encoder_waiting_for_nothing(
    published, by, server, monkeypatch
):
    sent = []
    monkeypatch.setattr(meaning, "_send", sent.append)
    monkeypatch.setenv("VECTORS_KEY", "k")

    def attempts():
        """How many of two sweeps have the vectors made, in vain."""
        sent.clear()
        meaning.sweep()
        assert [meaning.make(one) for one in sent] == [0] * len(sent)
        meaning.sweep()
        return len(sent)

    server.mode = "garbage"
    publish(published, by, model(server.url, credential="env:NOT_SET_HERE"))
    assert attempts() == 1
    publish(published, by, model(server.url, credential="env:VECTORS_KEY"))
    assert attempts() == 1
    publish(published, by, model(server.url, credential="env:VECTORS_KEY", model="other"))
    assert attempts() == 1
    publish(published, by, model(server.url, credential="env:VECTORS_KEY", model="other", note="Mended by now"))
    assert attempts() == 1
    server.mode = "well"
    assert attempts() == 0


def test_a_run_is_of_what_is_live_even_where_the_process_has_not_looked_yet(published, by, server, monkeypatch):
    generation.refresh_all()
    monkeypatch.setattr(generation.Watcher, "running", property(lambda _: True))
    publish(published, by, model(server.url))

    assert meaning.make(published.pk) == len(server.texts) > 0


def test_a_run_ends_when_something_else_is_published(published, by, server, monkeypatch):
    monkeypatch.setattr(meaning, "BATCH", 3)
    publish(published, by, model(server.url))
    hold = bus.hold

    def hold_and_publish(work, seconds):
        hold(work, seconds)
        publish(published, by, model(server.url, model="other"))

    monkeypatch.setattr(bus, "hold", hold_and_publish)

    assert meaning.make(published.pk) == 3
    assert {body["model"] for _, _, body in server.requests} == {"tiny"}


def test_a_scope_that_is_bound_to_zones_sends_no_text_elsewhere(published, caller, by, server):
    bound = [{"name": "default", "data_zones": ["eu"]}, {"name": "web-only", "endpoints": ["hitspec"]}]
    publish(published, by, model(server.url), scopes=bound)
    meaning.make(published.pk)
    before = len(server.requests)
    outside = decisions.resolve(caller, AMBIGUOUS, tier="deep")["tier"]
    publish(published, by, model(server.url, data_zone="eu"), scopes=bound)
    inside = decisions.resolve(caller, AMBIGUOUS, tier="deep")["tier"]

    assert (outside, inside) == ("static", "deep")
    assert len(server.requests) == before + 1


def test_the_credential_is_sent_and_never_told(published, caller, by, server, monkeypatch, caplog):
    monkeypatch.setenv("VECTORS_KEY", "a-value-that-nobody-sees")
    publish(published, by, model(server.url, credential="env:VECTORS_KEY"))
    meaning.make(published.pk)
    server.mode = "status"
    for place in range(4):
        decisions.resolve(caller, f"{AMBIGUOUS} {place}", tier="deep")
    path, headers, body = server.requests[0]

    assert (path, headers["Authorization"]) == ("/v1/embeddings", "Bearer a-value-that-nobody-sees")
    assert body["model"] == "tiny"
    assert "a-value-that-nobody-sees" not in caplog.text


def test_a_credential_that_is_not_set_is_named_in_the_log(published, by, server, caplog):
    publish(published, by, model(server.url, credential="env:NOT_SET_HERE"))

    assert meaning.make(published.pk) == 0
    assert "the secret env:NOT_SET_HERE is not set" in caplog.text
    assert server.requests == []


def test_no_word_of_a_request_is_kept(caller, deep):
    decisions.resolve(caller, f"{CANARY} please", tier="deep")
    ledger.write(caller.workspace_id)
    kept = [*Decision.objects.values(), *Event.objects.values(), *PendingEvent.objects.values()]

    assert any(row.get("target") or row.get("status") for row in kept)
    assert CANARY not in repr(kept)


def test_without_an_encoder_there_is_no_deep_tier(published, caller):
    generation.refresh_all()

    assert vectors.of(live(published.pk)) is None
    assert decisions.resolve(caller, AMBIGUOUS, tier="deep")["tier"] == "static"


def test_an_encoder_in_a_private_network_is_left_alone_until_the_workspace_lets_it_through(
    caller, published, by, server
):
    publish(published, by, model(server.url))
    workspaces.configure(published, {"allow_private": []}, by=by)
    refused = meaning.make(published.pk)
    workspaces.configure(published, {"allow_private": ["127.0.0.0/8"]}, by=by)

    assert (refused, server.requests) == (0, [])
    assert meaning.make(published.pk) > 0
