"""POST /route by an account of the registry: every way in which a decision service can fail, through the API and a worker."""

from __future__ import annotations

import json

import pytest

from routing import bus
from routing.models import AuditEntry, Decision, Event, ProviderHour
from routing.services import ledger, registry, revisions, workspaces
from routing.services.providers import routers
from tests.fake_decisions import MODEL, decisions_server
from tests.routing.conftest import EDITOR
from tests.routing.services.test_providers import TABLE
from tests.workers import work_at_once

KEY = "sk-test-0123456789abcdef"
CANARY = "canary7q2x"
TOOLS = [
    {"name": "read_file", "description": "Read one file by its path"},
    {"name": "write_file", "description": "Replace a file"},
]
STATUS = {
    "provider_error": 502,
    "invalid_provider_response": 502,
    "provider_timeout": 504,
    "provider_unconfigured": 503,
}
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("one_hour")]


@pytest.fixture(autouse=True)
def working(monkeypatch):
    """A worker that takes each id as soon as it is committed, and has the account's key."""
    work_at_once(monkeypatch)
    monkeypatch.setenv("JEV_KEY", KEY)
    yield
    routers.forget()


def publish(workspace, url: str, *names: str, **more) -> None:
    account = {"name": "jev", "kind": "compatible", "url": url, "credential": "env:JEV_KEY", "max_retries": 0, **more}
    workspaces.configure(workspace, {"allow_private": ["127.0.0.0/8"]}, by=EDITOR)
    document = registry.working_document(workspace)
    document["providers"] = [account]
    known = {"providers": list(names or ["jev"])}
    document["policies"] = [
        {"name": "default", "router": known},
        {"name": "strict", "router": {**known, "mode": "jev_only"}},
    ]
    document["scopes"] = [{"name": "default", "policies": ["default", "strict"]}]
    registry.replace_working_copy(workspace, document, by=EDITOR)
    revisions.publish(workspace, message="A provider", by=EDITOR)


def ask(api, goal: str = f"{CANARY} read the file", **more):
    return api.post("/route", {"goal": goal, "tools": TOOLS, "wait_ms": 20_000, **more})


def test_an_answer_tells_who_decided_and_what_it_cost(api, workspace):
    with decisions_server() as server:
        publish(workspace, server.url)
        status, answer = ask(api)
        _, again = ask(api)

    told = {name: answer[name] for name in ("tool", "source", "provider", "model", "requests", "usage")}
    assert status == 200
    assert told == {
        "tool": "read_file",
        "source": "provider",
        "provider": "jev",
        "model": MODEL,
        "requests": 1,
        "usage": {"input_tokens": 241, "output_tokens": 18, "cost": 0.0000108},
    }
    assert (again["source"], again["requests"], again["usage"]) == ("cache", 0, None)
    ledger.write(workspace.pk)
    event = Event.objects.get(decision_id=answer["decision_id"])
    assert (event.data["provider"], event.data["model"], event.data["source"]) == ("jev", MODEL, "provider")


@pytest.mark.parametrize(("mode", "reason", "code", "failure"), TABLE)
def test_a_provider_that_fails_is_a_fallback_or_by_jev_only_an_error(
    api, workspace, caplog, mode, reason, code, failure
):
    with decisions_server(mode) as server:
        publish(workspace, server.url, timeout_s=0.4 if code == "provider_timeout" else 10)
        status, answer = ask(api)
        failed, error = ask(api, policy="strict")

    assert (status, answer["fallback_reason"], answer["tool"], answer["execution"]) == (200, reason, None, None)
    assert (failed, error["error"]["code"]) == (STATUS[code], code)
    (detail,) = error["error"]["details"]
    assert detail["path"] == "decision_id"
    row = Decision.objects.get(pk=detail["value"])
    assert (row.state, row.error_code, row.content) == ("failed", code, None)
    ledger.write(workspace.pk)
    assert Event.objects.filter(decision_id=answer["decision_id"]).count() == 1
    _nothing_leaks(caplog, json.dumps([answer, error]))


def _nothing_leaks(caplog, answers: str) -> None:
    """Neither the key nor a word of the request stands anywhere: in rows, events, the audit log, the bus, logs or answers."""
    tables = [Decision, Event, ProviderHour, AuditEntry]
    rows = str([list(model.objects.values_list()) for model in tables])
    client = bus.client()
    kept = str([client.dump(key) for key in client.scan_iter("switchyard:*")])
    logs = " ".join(record.getMessage() for record in caplog.records)
    for text in (rows, kept, logs, answers):
        assert CANARY not in text
        assert KEY[:8] not in text


def test_a_missing_variable_is_said_by_its_code(api, workspace, monkeypatch):
    publish(workspace, "http://127.0.0.1:9", credential="env:NOT_SET_HERE")

    assert ask(api)[1]["fallback_reason"] == "missing_openrouter_api_key"
    status, error = ask(api, policy="strict")
    assert (status, error["error"]["code"]) == (503, "provider_unconfigured")


def test_low_confidence_is_no_failure_and_calls_nobody_else(api, workspace):
    with decisions_server("fallback") as server:
        publish(workspace, server.url, "jev", "local")
        answer = ask(api)[1]

    assert (answer["fallback_reason"], answer["provider"], len(server.requests)) == ("no_matching_tool", "jev", 1)


def test_a_circuit_that_is_open_leaves_the_provider_alone_and_the_next_one_decides(api, workspace):
    with decisions_server("status:503") as server:
        publish(workspace, server.url, "jev", "local", breaker_failures=2)
        answers = [ask(api, f"read the file number {n}")[1] for n in range(4)]

    assert len(server.requests) == 2
    assert {answer["provider"] for answer in answers} == {"local"}
    assert [answer["source"] for answer in answers] == ["local"] * 4
    assert ProviderHour.objects.get().failures == {"server": 2, "open": 2}


def test_without_the_bus_decisions_go_on_with_what_each_process_knows(api, workspace, monkeypatch):
    def away(*_, **__):
        raise bus.BusAway("gone")

    monkeypatch.setattr(bus, "evaluate", away)
    with decisions_server("status:503", "ok") as server:
        publish(workspace, server.url, breaker_failures=1, breaker_open_s=60)
        answers = [ask(api, f"read the file number {n}")[1] for n in range(3)]

    assert len(server.requests) == 1
    assert [answer["fallback_reason"] for answer in answers] == ["provider_error"] * 3
