"""The client of decision services against a real server: what is sent, what is read, how often, over how many connections."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import (
    InvalidProviderResponse,
    ProviderError,
    ProviderTimeoutError,
    RouterConfigurationError,
    Usage,
)
from routing.engine.registry import Provider
from routing.providers import OpenRouterConfig, OpenRouterJevProvider, place
from routing.providers.addresses import Destinations
from tests.fake_decisions import MODEL, FakeDecisions, decisions_server

KEY = "sk-test-0123456789abcdef"
ROOT = Path(__file__).parents[3]
CRITERIA = {"read_file": "inspect|r:l|Read", "write_file": "mutate|r:m|Write", "__fallback__": "nothing fits"}


def provider_of(server: FakeDecisions, *, retries: int = 0, confidence: str = "reported", **settings):
    ours = {name: settings.pop(name) for name in ("sleep", "jitter", "clock") if name in settings}
    config = OpenRouterConfig(**{"url": server.url, **settings})
    return OpenRouterJevProvider(KEY, config=config, max_retries=retries, confidence=confidence, **ours)


async def ask(provider: OpenRouterJevProvider, state: str = '{"goal":"look"}'):
    try:
        return await provider.choose(state=state, instructions="Pick one.", criteria=CRITERIA)
    finally:
        await provider.aclose()


# --- What is sent ---------------------------------------------------------------------------------------------------
@pytest.mark.asyncio
async def test_a_request_is_one_question_with_a_state_and_a_key():
    with decisions_server() as server:
        await ask(provider_of(server, path="/api/alpha/decisions", headers={"X-Title": "tests"}))

    (request,) = server.requests
    assert request.path == "/api/alpha/decisions"
    assert (request.headers["authorization"], request.headers["x-title"]) == (f"Bearer {KEY}", "tests")
    assert request.body == {
        "model": "typesafe/jev-1.13",
        "state": {"goal": "look"},
        "questions": {"route": {"type": "choice", "instructions": "Pick one.", "criteria": CRITERIA}},
    }
    assert request.labels == list(CRITERIA)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("state", "sent"),
    [
        ("plain", "plain"),
        ("[1]", "[1]"),
        ('{"goal":"é"}', {"goal": "é"}),
        ('{"n":NaN}', '{"n":NaN}'),
        ('{"n":1e999}', '{"n":1e999}'),
        ("lone \ud800", "lone ?"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
async def test_a_state_is_sent_as_an_object_where_it_is_one(state, sent):
    with decisions_server() as server:
        await ask(provider_of(server), state)

    assert server.requests[0].body["state"] == sent


@pytest.mark.asyncio
async def test_model_address_and_further_keys_are_configurable():
    with decisions_server() as server:
        config = OpenRouterConfig.typesafe(url=server.url, extra={"session_id": "s1"})
        await ask(OpenRouterJevProvider(KEY, config=config))

    (request,) = server.requests
    assert (request.path, request.body["model"], request.body["session_id"]) == ("/v1/systemone", "jev-1.13.0", "s1")


@pytest.mark.asyncio
async def test_a_dialect_of_ones_own_composes_and_reads():
    class Listed:
        most_labels = 9

        def compose(self, *, model, state, instructions, criteria):
            question = {"type": "choice", "instructions": instructions, "criteria": criteria}
            return {"model": "own", "state": state, "questions": {"route": question}}

        def read(self, payload, labels):
            from routing.providers.dialects import Answer

            return Answer(choice=payload["picked"], probabilities={}, confidence=0.5)

    with decisions_server({"picked": "write_file"}) as server:
        provider = provider_of(server, dialect=Listed())
        choice = await ask(provider)

    assert (choice.choice, choice.confidence, provider.most_labels) == ("write_file", 0.5, 9)
    assert server.requests[0].body["model"] == "own"


@pytest.mark.asyncio
async def test_fewer_than_two_labels_are_no_choice():
    with decisions_server() as server:
        provider = provider_of(server)
        with pytest.raises(ValueError, match="two labels"):
            await provider.choose(state="x", instructions="i", criteria={"a": "A"})

    assert (server.requests, provider.request_count) == ([], 0)


# --- What is read ---------------------------------------------------------------------------------------------------
@pytest.mark.asyncio
async def test_an_answer_keeps_what_it_cost_and_who_gave_it():
    with decisions_server() as server:
        choice = await ask(provider_of(server))

    assert (choice.choice, choice.confidence, choice.confidence_source) == ("read_file", 0.87, "reported")
    assert choice.probabilities == {"read_file": 0.9, "write_file": 0.05, "__fallback__": 0.05}
    assert (choice.model, choice.request_id, choice.requests) == (MODEL, "gen-1", 1)
    assert choice.usage == Usage(input_tokens=241, output_tokens=18, cost=0.0000108)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("mode", "rule", "choice", "confidence"),
    [
        ("ok", "reported", "read_file", 0.87),
        ("ok", "peak", "read_file", 0.85),  # (0.9 - 1/3) / (1 - 1/3)
        ("rounding", "reported", "read_file", 0.0),
        ("rounding", "peak", "read_file", 0.0),
        ("fallback", "reported", "__fallback__", 0.87),
        ("no_confidence", "reported", "read_file", 0.0),
        ("no_confidence", "peak", "read_file", 0.85),
        ("no_probabilities", "reported", "read_file", 0.87),
        ("no_probabilities", "peak", "read_file", 0.0),
    ],
)
async def test_confidence_is_the_reported_one_or_how_peaked_the_answer_is(mode, rule, choice, confidence):
    with decisions_server(mode) as server:
        found = await ask(provider_of(server, confidence=rule))

    assert (found.choice, found.confidence_source) == (choice, rule)
    assert found.confidence == pytest.approx(confidence)


def answer(**changes) -> dict:
    route = {"type": "choice", "choice": "read_file", "probabilities": {"read_file": 0.9}, "confidence": 0.8}
    return {"answers": {"route": {**route, **changes}}}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "said",
    [
        b"<html>",
        b"",
        b"null",
        b"[" * 100_000,
        b'\xff\xfe{"answers":{}}',
        {},
        {"answers": None},
        {"answers": []},
        {"answers": {"route": None}},
        {"answers": {"route": [1]}},
        answer(type="noul"),
        answer(choice=None),
        answer(choice=["read_file"]),
        answer(confidence=1.01),
        answer(confidence=-0.01),
        answer(confidence=True),
        answer(confidence=None),
        answer(confidence="0.8"),
        answer(confidence=float("nan")),
        answer(probabilities=None),
        answer(probabilities=[0.9]),
        answer(probabilities={"read_file": -3}),
        answer(probabilities={"read_file": 7}),
        answer(probabilities={"read_file": float("nan")}),
        answer(probabilities={"read_file": float("inf")}),
        answer(probabilities={"read_file": True}),
        answer(probabilities={"read_file": "0.9"}),
        answer(probabilities={"read_file": 0.9, "zzz": 7}),
        "list",
        "wrong_type",
        "unknown_label",
        "truncated",
        "huge",
    ],
)
async def test_what_is_no_decision_is_an_invalid_response_and_never_another_error(said):
    with decisions_server(said) as server, pytest.raises(InvalidProviderResponse) as caught:
        await ask(provider_of(server, retries=2))

    assert len(server.requests) == 1
    assert caught.value.__context__ is None


@pytest.mark.asyncio
async def test_labels_that_were_not_offered_are_dropped():
    with decisions_server(answer(probabilities={"read_file": 0.7, "zzz": 0.3})) as server:
        assert (await ask(provider_of(server))).probabilities == {"read_file": 0.7}


@pytest.mark.asyncio
@pytest.mark.parametrize("total", [0.99, 1.0, 1.01])
async def test_rounded_probabilities_need_not_add_up(total):
    said = answer(probabilities={"read_file": 0.5, "write_file": round(total - 0.5, 2)})
    with decisions_server(said) as server:
        choice = await ask(provider_of(server, confidence="peak"))

    assert choice.confidence == pytest.approx((max(0.5, total - 0.5) - 1 / 3) / (1 - 1 / 3))


@pytest.mark.asyncio
async def test_nothing_is_worked_out_from_what_is_no_distribution():
    said = answer(probabilities={"read_file": 0.9, "write_file": 0.9})
    with decisions_server(said) as server, pytest.raises(InvalidProviderResponse, match="more than 1"):
        await ask(provider_of(server, confidence="peak"))


@pytest.mark.asyncio
async def test_a_choice_that_is_not_the_likeliest_label_is_taken_and_told_to_the_log(caplog):
    with decisions_server(answer(probabilities={"read_file": 0.2, "write_file": 0.8})) as server:
        assert (await ask(provider_of(server))).choice == "read_file"

    assert "not its likeliest" in caplog.text


@pytest.mark.asyncio
@pytest.mark.parametrize("usage", [None, [], "free", {"cost": "dear", "input_tokens": -1, "output_tokens": True}])
async def test_a_bill_that_cannot_be_read_spoils_no_decision(usage):
    with decisions_server({**answer(), "usage": usage, "model": 7, "id": None}) as server:
        choice = await ask(provider_of(server))

    assert choice.usage in (None, Usage())
    assert (choice.model, choice.request_id) == (None, None)


# --- Failures and repeated requests ---------------------------------------------------------------------------------
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "request"),
        (401, "credential"),
        (402, "payment"),
        (403, "credential"),
        (404, "request"),
        (413, "request"),
        (422, "request"),
        (429, "overload"),
        (500, "server"),
        (502, "server"),
        (503, "server"),
        (529, "overload"),
        (307, "redirect"),
    ],
)
async def test_an_error_says_its_status_its_class_and_what_was_said(status, kind):
    mode = "redirect" if status == 307 else f"status:{status}"
    with decisions_server(mode) as server, pytest.raises(ProviderError, match=str(status)) as caught:
        await ask(provider_of(server))

    assert (caught.value.status, caught.value.kind, type(caught.value)) == (status, kind, ProviderError)
    assert ("not now" in str(caught.value)) is (status != 307)
    assert len(server.requests) == 1  # no redirect is followed, nothing is repeated unasked


class Sleeps(list):
    """A sleep that takes no time but moves its clock."""

    now = 50.0

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        self.now += seconds


@pytest.mark.asyncio
@pytest.mark.parametrize("failure", ["status:429", "status:500", "status:502", "status:503", "status:529", "reset"])
async def test_a_passing_failure_is_repeated_where_that_is_asked_for(failure):
    slept = Sleeps()
    with decisions_server(failure, failure, "ok") as server:
        provider = provider_of(server, retries=2, sleep=slept, clock=lambda: slept.now, jitter=lambda: 0.0)
        choice = await ask(provider)

    assert (choice.choice, choice.requests, len(server.requests), provider.request_count) == ("read_file", 3, 3, 3)
    assert slept == [0.125, 0.25]


@pytest.mark.asyncio
@pytest.mark.parametrize("failure", ["status:400", "status:401", "status:402", "status:404", "status:413", "redirect"])
async def test_a_lasting_failure_is_not_repeated(failure):
    with decisions_server(failure, "ok") as server, pytest.raises(ProviderError):
        await ask(provider_of(server, retries=5))

    assert len(server.requests) == 1


@pytest.mark.asyncio
async def test_the_last_failure_is_raised_when_repeating_was_in_vain():
    slept = Sleeps()
    with decisions_server("status:500", "status:503") as server, pytest.raises(ProviderError, match="503"):
        await ask(provider_of(server, retries=1, sleep=slept))

    assert len(server.requests) == 2


@pytest.mark.asyncio
async def test_a_pause_is_as_long_as_the_service_asks():
    slept = Sleeps()
    with decisions_server("status:429:2", "ok") as server:
        await ask(provider_of(server, retries=1, sleep=slept, clock=lambda: slept.now))

    assert slept == [2.0]


@pytest.mark.asyncio
async def test_no_pause_outlasts_the_deadline():
    slept = Sleeps()
    with decisions_server("status:429:30", "ok") as server, pytest.raises(ProviderError, match="429") as caught:
        await ask(provider_of(server, retries=3, sleep=slept, clock=lambda: slept.now))

    assert (slept, len(server.requests), caught.value.retry_after_s) == ([], 1, 30)


@pytest.mark.asyncio
async def test_repeated_requests_end_with_the_deadline():
    slept = Sleeps()
    with decisions_server("status:503") as server, pytest.raises(ProviderError):
        provider = provider_of(
            server, retries=100, sleep=slept, clock=lambda: slept.now, jitter=lambda: 1.0, timeout_seconds=5
        )
        await ask(provider)

    assert sum(slept) < 5
    assert slept == [0.25, 0.5, 1.0, 2.0]


def test_a_date_is_counted_from_the_date_of_the_answer():
    from routing.providers.openrouter import _retry_after

    headers = {"Retry-After": "Mon, 30 Nov 2026 10:00:07 GMT", "Date": "Mon, 30 Nov 2026 10:00:00 GMT"}
    assert _retry_after(httpx.Headers(headers)) == 7
    for odd in (
        {},
        {"Retry-After": "soon"},
        {"Retry-After": "-1"},
        {"Retry-After": "nan"},
        {"Retry-After": headers["Date"]},
    ):
        assert _retry_after(httpx.Headers(odd)) is None


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["hang", "slow", "drip"])
async def test_what_comes_too_late_is_a_timeout_by_the_deadline(mode):
    with decisions_server(mode, slow_s=3) as server:
        began = time.monotonic()
        with pytest.raises(ProviderTimeoutError) as caught:
            await ask(provider_of(server, retries=3, timeout_seconds=0.2))

    assert time.monotonic() - began < 1.5
    assert len(server.requests) == 1
    assert caught.value.kind == "timeout"


@pytest.mark.asyncio
async def test_calls_that_ended_too_late_or_were_given_up_leave_the_pool_whole():
    with decisions_server("hang", "hang", "hang", "reset", "ok") as server:
        async with provider_of(server, timeout_seconds=2.0, max_connections=2) as provider:

            async def fails(within_s: float) -> None:
                with pytest.raises((ProviderError, TimeoutError)):
                    await asyncio.wait_for(
                        provider.choose(state="x", instructions="i", criteria=CRITERIA), timeout=within_s
                    )

            await asyncio.gather(fails(9), fails(0.1))
            await fails(9)
            await fails(9)
            assert await asyncio.gather(*(_calls(provider, 4, 4) for _ in range(2)))


@pytest.mark.asyncio
async def test_a_server_that_is_not_there_is_a_provider_error():
    with decisions_server() as server:
        pass
    with pytest.raises(ProviderError) as caught:
        await ask(provider_of(server))

    assert (caught.value.kind, type(caught.value)) == ("connection", ProviderError)


@pytest.mark.asyncio
async def test_a_caller_that_gives_up_is_not_told_of_a_timeout():
    with decisions_server("hang") as server:
        provider = provider_of(server)
        task = asyncio.create_task(ask(provider))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


# --- Connections ----------------------------------------------------------------------------------------------------
async def _calls(provider: OpenRouterJevProvider, count: int, at_once: int) -> float:
    """Seconds that a call takes on average when so many are asked at once."""
    limit = asyncio.Semaphore(at_once)

    async def one() -> None:
        async with limit:
            await provider.choose(state="x", instructions="i", criteria=CRITERIA)

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(count)))
    return (time.perf_counter() - began) / count


@pytest.mark.asyncio
async def test_calls_at_once_open_no_more_connections_than_the_pool_holds():
    with decisions_server() as server:
        async with provider_of(server, timeout_seconds=30) as provider:
            for at_once in (64, 1, 64, 8, 64):
                await _calls(provider, 128, at_once)

    assert server.connections <= 16  # over the whole of it: none was lost and opened again
    assert len(server.requests) == 5 * 128


@pytest.mark.asyncio
async def test_calls_at_once_are_faster_than_one_after_another():
    with decisions_server(latency_s=0.01) as server:
        async with provider_of(server, timeout_seconds=30, max_connections=8) as provider:
            serial, together = await _calls(provider, 64, 1), await _calls(provider, 128, 64)

    assert (server.connections, server.most_open) == (8, 8)
    assert together < serial


@pytest.mark.asyncio
async def test_a_given_client_loses_no_connections_either():
    with decisions_server() as server:
        async with httpx.AsyncClient() as client:
            given_one = OpenRouterJevProvider(KEY, client, OpenRouterConfig(url=server.url, timeout_seconds=30))
            await _calls(given_one, 256, 64)

    assert server.connections <= 16


@pytest.mark.asyncio
async def test_errors_with_a_body_cost_no_connection():
    with decisions_server("status:503", "status:429", "status:400", "ok") as server:
        async with provider_of(server) as provider:
            for _ in range(3):
                with pytest.raises(ProviderError):
                    await provider.choose(state="x", instructions="i", criteria=CRITERIA)
            await provider.choose(state="x", instructions="i", criteria=CRITERIA)

    assert server.connections == 1


def test_event_loops_at_once_have_connections_of_their_own():
    with decisions_server(latency_s=0.01) as server:
        provider = provider_of(server)

        async def some() -> None:
            for _ in range(8):
                await provider.choose(state="x", instructions="i", criteria=CRITERIA)

        with ThreadPoolExecutor(2) as threads:
            for done in [threads.submit(asyncio.run, some()) for _ in range(2)]:
                done.result(timeout=30)

    assert (len(server.requests), server.connections) == (16, 2)


def test_a_provider_outlives_an_event_loop():
    with decisions_server() as server:
        provider = provider_of(server)

        async def once() -> str:
            return (await provider.choose(state="x", instructions="i", criteria=CRITERIA)).choice

        assert [asyncio.run(once()) for _ in range(2)] == ["read_file"] * 2


@pytest.mark.asyncio
async def test_closing_leaves_a_given_client_open_and_asks_no_more():
    with decisions_server() as server:
        async with httpx.AsyncClient() as client:
            given_one = OpenRouterJevProvider(KEY, client, OpenRouterConfig(url=server.url))
            await ask(given_one)
            assert not client.is_closed
            with pytest.raises(ProviderError, match="closed"):
                await ask(given_one)


# --- The key --------------------------------------------------------------------------------------------------------
@pytest.mark.asyncio
@pytest.mark.parametrize("before", [0, 470, 480, 490, 499, 500, 3990])
async def test_a_key_that_a_server_says_is_in_no_error_and_no_log(before, caplog):
    caplog.set_level(logging.DEBUG)
    with decisions_server(f"echo:{before}") as server, pytest.raises(ProviderError) as caught:
        await ask(provider_of(server))

    said = str(caught.value)
    everywhere = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert not any(KEY[at : at + 4] in said for at in range(len(KEY) - 3))
    assert not any(KEY[at : at + 8] in everywhere for at in range(len(KEY) - 7))  # ports and addresses are short
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert ("[REDACTED]" in str(caught.value)) is (before <= 490)


ODD_KEYS = st.text(st.sampled_from("abcdefghijklmnop0123456789\"'\\/%&é中𝄞"), min_size=12, max_size=40)


def mocked(key: str, respond) -> OpenRouterJevProvider:
    return OpenRouterJevProvider(key, httpx.AsyncClient(transport=httpx.MockTransport(respond)))


@given(ODD_KEYS, st.integers(0, 560), st.sampled_from(["text", "json", "ascii"]))
def test_no_error_shows_a_key_of_any_letters_at_any_cut(key, before, form):
    said = {"text": key, "json": json.dumps(key, ensure_ascii=False), "ascii": json.dumps(key)}[form]
    provider = mocked(key, lambda _: httpx.Response(500, text="·" * before + said))

    with pytest.raises(ProviderError) as caught:
        asyncio.run(provider.choose(state="x", instructions="i", criteria=CRITERIA))

    inner = said.strip('"')
    shown = str(caught.value).replace("[REDACTED]", "").partition(": ")[2]
    assert not any(inner[at : at + 6] in shown for at in range(len(inner) - 5))


@given(ODD_KEYS, st.sampled_from(["plain", "json", "ascii", "twice", "object"]), st.sampled_from(["state", "criteria"]))
def test_a_body_that_holds_the_key_in_any_spelling_is_not_sent(key, form, place):
    spelled = {
        "plain": key,
        "json": json.dumps(key, ensure_ascii=False),
        "ascii": json.dumps(key),
        "twice": json.dumps(json.dumps(key)),
        "object": json.dumps({"goal": f"use {key} now"}),
    }[form]
    sent = []
    provider = mocked(key, lambda request: sent.append(request) or httpx.Response(200, json=answer()))
    asked = (
        {"state": spelled, "criteria": CRITERIA}
        if place == "state"
        else {"state": "x", "criteria": {**CRITERIA, "b": spelled}}
    )

    with pytest.raises(ProviderError) as caught:
        asyncio.run(provider.choose(instructions="i", **asked))

    assert (sent, caught.value.kind, provider.request_count) == ([], "refused", 0)
    assert key not in str(caught.value)


@given(ODD_KEYS)
def test_a_key_of_any_letters_arrives_as_it_is(key):
    seen = []
    provider = mocked(key, lambda request: seen.append(request) or httpx.Response(200, json=answer()))

    asyncio.run(provider.choose(state="x", instructions="i", criteria=CRITERIA))

    assert dict(seen[0].headers.raw)[b"Authorization"].decode() == f"Bearer {key}"


@pytest.mark.asyncio
async def test_no_error_of_the_client_is_quoted_or_kept():
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"refused for Bearer {KEY}", request=request)

    with pytest.raises(ProviderError) as caught:
        await mocked(KEY, fail).choose(state="x", instructions="i", criteria=CRITERIA)

    assert str(caught.value) == "the decision provider cannot be reached (ConnectError)"
    assert caught.value.__context__ is caught.value.__cause__ is None


@pytest.mark.asyncio
async def test_a_key_said_as_a_model_is_not_kept():
    with decisions_server({**answer(), "model": f"jev {KEY}", "id": KEY}) as server:
        choice = await ask(provider_of(server))

    assert (choice.model, choice.request_id) == ("jev [REDACTED]", "[REDACTED]")


def test_a_provider_shows_where_it_asks_and_no_key():
    provider = OpenRouterJevProvider(KEY)

    assert "openrouter.ai" in repr(provider)
    assert KEY not in repr(provider) + repr(vars(provider))


def test_providers_that_answer_alike_are_known_by_the_same_name():
    def name(rule: str = "reported", **changes) -> str:
        return OpenRouterJevProvider(KEY, config=OpenRouterConfig(**changes), confidence=rule).identity

    assert name() == name(timeout_seconds=1, max_connections=2)
    assert len({name(), name("peak"), name(model="jev-2"), name(url="https://gateway.example")}) == 4


def test_providers_need_neither_django_nor_a_client_until_one_is_asked_for():
    program = (
        "import sys, routing.providers.local\n"
        "assert 'httpx' not in sys.modules\n"
        "from routing.providers import OpenRouterConfig, OpenRouterJevProvider\n"
        "assert 'httpx' in sys.modules and 'django' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, timeout=60)


# --- Configuration --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_a_key_that_is_not_set_is_named_by_its_variable(value):
    env = {} if value is None else {"OPENROUTER_API_KEY": value}
    with pytest.raises(RouterConfigurationError, match="OPENROUTER_API_KEY"):
        OpenRouterJevProvider.from_config(OpenRouterConfig(), env=env)


@pytest.mark.parametrize("key", ["", " ", "sk-secret\nvalue", "sk-secret\x00value", "sk-secret\udc80value"])
def test_a_key_that_no_header_carries_is_refused_and_not_shown(key):
    with pytest.raises(RouterConfigurationError) as caught:
        OpenRouterJevProvider(key)

    assert "secret" not in str(caught.value)


@pytest.mark.asyncio
async def test_space_around_a_key_does_not_belong_to_it():
    with decisions_server() as server:
        await ask(
            OpenRouterJevProvider.from_config(OpenRouterConfig(url=server.url), env={"OPENROUTER_API_KEY": f"{KEY}\n"})
        )

    assert server.requests[0].key == KEY


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "openrouter.ai"},
        {"url": "ftp://openrouter.ai"},
        {"url": "https://user:word@openrouter.ai"},
        {"url": "https://"},
        {"url": "https://h:99999999"},
        {"timeout_seconds": 0},
        {"timeout_seconds": float("nan")},
        {"max_connections": 0},
        {"dialect": "latin"},
        {"headers": {"Authorization": "x"}},
    ],
)
def test_a_configuration_that_cannot_work_is_refused_when_it_is_made(changes):
    with pytest.raises(RouterConfigurationError):
        OpenRouterConfig(**changes)


def test_a_key_in_the_address_is_refused():
    with pytest.raises(RouterConfigurationError) as caught:
        OpenRouterJevProvider(KEY, config=OpenRouterConfig(url=f"https://gateway.example/{KEY}/decisions"))

    assert KEY not in str(caught.value)


@pytest.mark.asyncio
@pytest.mark.parametrize("url", ["http://1.1.1.1", "http://169.254.169.254"])
async def test_a_key_goes_to_no_public_address_in_the_clear(url):
    provider = OpenRouterJevProvider(KEY, config=OpenRouterConfig(url=url))
    with pytest.raises(ProviderError) as caught:
        await ask(provider)

    assert (caught.value.kind, provider.request_count) == ("refused", 0)


@pytest.mark.asyncio
async def test_an_account_of_the_registry_becomes_a_provider():
    with decisions_server("status:503", "no_confidence") as server:
        account = Provider(
            name="gateway", kind="compatible", url=server.url, path="/v1/decisions", credential="env:GATEWAY_KEY",
            confidence="peak", model="jev", max_retries=1,
        )  # fmt: skip
        choice = await ask(OpenRouterJevProvider.from_account(account, env={"GATEWAY_KEY": KEY}))

    assert (choice.requests, server.requests[1].path, server.requests[1].body["model"]) == (2, "/v1/decisions", "jev")
    assert choice.confidence == pytest.approx(0.85)


def test_accounts_know_where_their_kind_is():
    env = {"OPENROUTER_API_KEY": KEY}
    shown = [
        repr(OpenRouterJevProvider.from_account(Provider(name="p", kind=kind), env=env))
        for kind in ("openrouter", "typesafe")
    ]

    assert "https://openrouter.ai/api/alpha/decisions" in shown[0]
    assert "https://api.typesafe.ai/v1/systemone" in shown[1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "local"}, "local"),
        ({"kind": "compatible"}, "url"),
        ({"credential": "vault:keys/jev"}, "vault:keys/jev"),
        ({"credential": "env:ABSENT"}, "ABSENT"),
    ],
)
def test_an_account_that_cannot_be_used_says_why(changes, said):
    account = Provider(**{"name": "p", "kind": "openrouter", **changes})
    with pytest.raises(RouterConfigurationError, match=said):
        OpenRouterJevProvider.from_account(account, env={"OPENROUTER_API_KEY": KEY})


# --- Hedging, keys read anew, and addresses that are looked at --------------------------------------------------------
@pytest.mark.asyncio
async def test_a_request_that_is_slow_is_sent_again_and_the_first_answer_is_taken():
    with decisions_server("hang", "ok") as server:
        provider = OpenRouterJevProvider(KEY, config=OpenRouterConfig(url=server.url), hedge_after_s=0.05)
        choice = await ask(provider)

    assert (choice.choice, choice.requests, len(server.requests)) == ("read_file", 2, 2)


@pytest.mark.asyncio
async def test_a_quick_answer_is_not_hedged_and_a_quick_failure_is_none_to_wait_for():
    with decisions_server("ok", "status:400") as server:
        provider = OpenRouterJevProvider(KEY, config=OpenRouterConfig(url=server.url), hedge_after_s=30)
        choice = await provider.choose(state="{}", instructions="Pick one.", criteria=CRITERIA)
        with pytest.raises(ProviderError) as caught:
            await ask(provider)

    assert (choice.requests, caught.value.status, len(server.requests)) == (1, 400, 2)


@pytest.mark.asyncio
async def test_two_tries_that_both_fail_are_one_failure():
    with decisions_server("late_reset", "reset", slow_s=0.2) as server:
        provider = OpenRouterJevProvider(KEY, config=OpenRouterConfig(url=server.url), hedge_after_s=0.02)
        with pytest.raises(ProviderError) as caught:
            await ask(provider)

    assert (caught.value.kind, len(server.requests)) == ("connection", 2)


@pytest.mark.asyncio
async def test_a_key_is_read_anew_for_each_choice_and_never_kept_in_an_error():
    keys = iter(["sk-first-00000000", "sk-first-00000000", "sk-second-1111111"])
    with decisions_server("ok", "echo:490") as server:
        provider = OpenRouterJevProvider(lambda: next(keys), config=OpenRouterConfig(url=server.url))
        await provider.choose(state="{}", instructions="Pick one.", criteria=CRITERIA)
        with pytest.raises(ProviderError) as caught:
            await ask(provider)

    assert [request.key for request in server.requests] == ["sk-first-00000000", "sk-second-1111111"]
    assert "sk-" not in str(caught.value)


@pytest.mark.asyncio
async def test_a_workspace_opens_private_addresses_and_nothing_is_sent_elsewhere():
    with decisions_server() as server:
        config = OpenRouterConfig(url=server.url)
        shut = OpenRouterJevProvider(KEY, config=config, allow=Destinations())
        with pytest.raises(ProviderError) as caught:
            await ask(shut)
        opened = OpenRouterJevProvider(KEY, config=config, allow=Destinations.of(["127.0.0.0/8"]))
        choice = await ask(opened)

    assert (caught.value.kind, shut.request_count) == ("refused", 0)
    assert "allow list" in str(caught.value)
    assert (choice.choice, len(server.requests)) == ("read_file", 1)


@pytest.mark.asyncio
async def test_the_address_that_was_looked_at_is_the_one_connected_to(monkeypatch):
    with decisions_server() as server:
        port = int(server.url.rpartition(":")[2])
        real, asked = place.socket.getaddrinfo, []

        def look_up(host, *more, **settings):
            asked.append(host)
            return real("127.0.0.1" if host == "jev.example" else host, *more, **settings)

        monkeypatch.setattr(place.socket, "getaddrinfo", look_up)
        config = OpenRouterConfig(url=f"http://jev.example:{port}")
        provider = OpenRouterJevProvider(KEY, config=config, allow=Destinations.of([f"jev.example:{port}"]))
        for _ in range(2):
            await provider.choose(state="{}", instructions="Pick one.", criteria=CRITERIA)
        await provider.aclose()

    assert asked.count("jev.example") == 1
    assert [request.headers["host"] for request in server.requests] == [f"jev.example:{port}"] * 2
    assert server.connections == 1
