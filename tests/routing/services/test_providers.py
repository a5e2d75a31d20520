"""Providers of a policy: who is asked, in which order, what is kept of it, and what is told where nobody answers."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from routing.engine.models import ActionSummary, HarnessState, RiskLevel, ToolDescriptor
from routing.models import ProviderHour
from routing.providers.local import LocalProvider
from routing.services import providers, registry, revisions, workspaces
from routing.services.providers import RouteFailed, routers, settings, shadows
from routing.snapshot import live
from tests.fake_decisions import MODEL, decisions_server

KEY = "sk-test-0123456789abcdef"
TOOLS = [
    ToolDescriptor("read_file", "Read one file by its path", "inspect", RiskLevel.LOW),
    ToolDescriptor("write_file", "Replace a file", "mutate", RiskLevel.MEDIUM),
]
STATE = HarnessState(goal="read the file config.toml")
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("one_hour")]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("JEV_KEY", KEY)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    yield
    routers.forget()


def account(server, name: str = "jev", **more):
    return {
        "name": name,
        "kind": "compatible",
        "url": server if isinstance(server, str) else server.url,
        "credential": "env:JEV_KEY",
        "max_retries": 0,
        **more,
    }


@pytest.fixture
def publish(published, by):
    """Publish accounts and a policy that asks them in this order."""

    def make(*accounts, names=None, **router):
        workspaces.configure(published, {"allow_private": ["127.0.0.0/8"]}, by=by)
        document = registry.working_document(published)
        document["providers"] = list(accounts)
        names = [one["name"] for one in accounts] if names is None else names
        document["policies"] = [{"name": "default", "router": {"providers": names, **router}}]
        registry.replace_working_copy(published, document, by=by)
        revisions.publish(published, message="Providers", by=by)
        return published.pk

    return make


def decide(workspace_id, state=STATE, tools=TOOLS):
    known = live(workspace_id)
    return providers.decide(known, known.catalog.policy("default"), None, state, tools)


def test_an_account_of_the_policy_is_asked_and_its_answer_is_told_with_what_it_cost(publish):
    with decisions_server() as server:
        workspace_id = publish(account(server))
        routed = decide(workspace_id)

    assert (routed.decision.tool, routed.decision.source, routed.provider) == ("read_file", "provider", "jev")
    assert (routed.model, routed.requests) == (MODEL, 1)
    assert (routed.usage.input_tokens, routed.usage.output_tokens, routed.usage.cost) == (241, 18, 0.0000108)
    row = ProviderHour.objects.get(workspace_id=workspace_id, provider="jev")
    assert (row.calls, row.requests, row.input_tokens, row.versions, row.failures) == (1, 1, 241, {MODEL: 1}, {})
    assert (row.cost, sum(row.latency.values())) == (0.0000108, 1)


def test_an_equal_request_is_answered_from_what_is_kept_and_costs_nothing(publish):
    with decisions_server() as server:
        workspace_id = publish(account(server))
        first, second = decide(workspace_id), decide(workspace_id)

    assert (second.decision.source, second.decision.tool) == ("cache", first.decision.tool)
    assert (second.requests, second.usage, second.model, len(server.requests)) == (0, None, MODEL, 1)


def test_the_next_provider_is_asked_where_one_does_not_answer(publish):
    with decisions_server("status:500") as first, decisions_server() as second:
        workspace_id = publish(account(first, "first", max_retries=0), account(second, "second"))
        routed = decide(workspace_id)

    assert (routed.provider, routed.decision.tool, routed.requests) == ("second", "read_file", 2)
    assert ProviderHour.objects.get(provider="first").failures == {"server": 1}


@pytest.mark.parametrize("mode", ["html", "reset", "status:401", "truncated", "list", "wrong_type"])
def test_the_local_provider_stands_in_where_an_account_gives_no_decision(publish, mode):
    with decisions_server(mode) as server:
        routed = decide(publish(account(server), names=["jev", "local"]))

    assert (routed.provider, routed.decision.source, routed.decision.tool) == ("local", "local", "read_file")
    assert (routed.requests, routed.usage) == (2, None)


TABLE = [
    ("status:401", "provider_error", "provider_error", "credential"),
    ("status:402", "provider_error", "provider_error", "payment"),
    ("status:404", "provider_error", "provider_error", "request"),
    ("status:429", "provider_error", "provider_error", "overload"),
    ("status:529", "provider_error", "provider_error", "overload"),
    ("status:500", "provider_error", "provider_error", "server"),
    ("redirect", "provider_error", "provider_error", "redirect"),
    ("reset", "provider_error", "provider_error", "connection"),
    ("hang", "provider_error", "provider_timeout", "timeout"),
    ("drip", "provider_error", "provider_timeout", "timeout"),
    ("echo:490", "provider_error", "provider_error", "credential"),
    ("html", "router_error", "invalid_provider_response", "answer"),
    ("truncated", "router_error", "invalid_provider_response", "answer"),
    ("huge", "router_error", "invalid_provider_response", "answer"),
    ("list", "router_error", "invalid_provider_response", "answer"),
    ("wrong_type", "router_error", "invalid_provider_response", "answer"),
    ("unknown_label", "router_error", "invalid_provider_response", "answer"),
]


@pytest.mark.parametrize(("mode", "reason", "code", "failure"), TABLE)
def test_what_goes_wrong_is_a_fallback_or_an_error_by_the_mode_and_tells_no_secret(
    publish, caplog, mode, reason, code, failure
):
    caplog.set_level(logging.DEBUG)
    goal = "canary-7Q2x read the file"
    timeout = 0.4 if code == "provider_timeout" else 10
    with decisions_server(mode) as server:
        workspace_id = publish(account(server, timeout_s=timeout))
        routed = decide(workspace_id, replace(STATE, goal=goal))
        publish(account(server, timeout_s=timeout), mode="jev_only")
        with pytest.raises(RouteFailed) as failed:
            decide(workspace_id, replace(STATE, goal=goal))

    assert (routed.decision.fallback_reason, routed.decision.tool, routed.provider) == (reason, None, "jev")
    assert failed.value.code == code
    assert ProviderHour.objects.get().failures == {failure: 2}
    said = " ".join(record.getMessage() for record in caplog.records) + str(failed.value)
    assert KEY[:8] not in said
    assert "canary" not in said


def test_an_account_whose_variable_is_not_set_says_so_by_the_mode(publish):
    absent = account("http://127.0.0.1:1", credential="env:NOT_SET_HERE")
    workspace_id = publish(absent)
    routed = decide(workspace_id)
    publish(absent, mode="jev_only")

    assert (routed.decision.fallback_reason, routed.decision.source, routed.requests) == (
        "missing_openrouter_api_key",
        "none",
        0,
    )
    with pytest.raises(RouteFailed) as failed:
        decide(workspace_id)
    assert failed.value.code == "provider_unconfigured"


def test_an_account_on_a_private_address_is_not_called_unless_the_workspace_says_so(publish, published, by):
    with decisions_server() as server:
        workspace_id = publish(account(server))
        workspaces.configure(published, {"allow_private": []}, by=by)
        routed = decide(workspace_id)

    assert (routed.decision.fallback_reason, server.requests) == ("provider_error", [])


def test_no_more_of_a_state_leaves_than_the_account_is_sent(publish):
    state = HarnessState(
        goal="secret-goal",
        observation="secret-observation",
        last_action="secret-last",
        recent_actions=[ActionSummary("secret-tool", "secret-outcome")],
        constraints=["plain-constraint"],
    )
    with decisions_server() as server:
        decide(publish(account(server, send=["constraints"])), state, [replace(t, description="secret") for t in TOOLS])

    (request,) = server.requests
    assert b"secret" not in request.raw
    assert b"plain-constraint" in request.raw
    assert set(request.labels) == {"read_file", "write_file", "__fallback__"}


def test_a_policy_may_give_a_provider_less_time_than_its_account_does(publish):
    with decisions_server("hang") as server:
        routed = decide(publish(account(server, timeout_s=60), provider_timeout_s=0.3))

    assert routed.decision.fallback_reason == "provider_error"
    assert ProviderHour.objects.get().failures == {"timeout": 1}


def test_a_slow_request_is_hedged_where_the_account_says_so(publish):
    with decisions_server("hang", "ok") as server:
        routed = decide(publish(account(server, hedge_after_s=0.05)))

    assert (routed.decision.tool, routed.requests) == ("read_file", 2)


def test_many_tools_are_chosen_from_by_category_first(publish):
    tools = [
        ToolDescriptor(f"{kind}_{n}", f"{kind} something number {n} " * 6, kind)
        for kind in ("read", "write", "send")
        for n in range(10)
    ]
    with decisions_server() as server:
        routed = decide(publish(account(server)), tools=tools)

    assert [len(request.labels) for request in server.requests] == [4, 11]
    assert (routed.requests, routed.usage.input_tokens) == (2, 482)
    assert routed.decision.category == "read"


def test_an_account_that_has_spent_its_budget_is_asked_nothing_more(publish, published, by):
    with decisions_server() as server:
        workspace_id = publish(account(server), names=["jev", "local"], route_cache_size=0)
        settings.settle(published, "jev", {"monthly_budget": 0.00001}, by=by)
        answered = [decide(workspace_id, replace(STATE, goal=f"read file {n}")).provider for n in range(3)]

    assert answered == ["jev", "local", "local"]
    assert ProviderHour.objects.get().failures == {"budget": 2}


def test_what_an_answer_does_not_price_is_priced_by_the_operators(publish, published, by):
    unpriced = {"answers": {"route": {"type": "choice", "choice": "read_file", "confidence": 0.9}}}
    with decisions_server({**unpriced, "usage": {"input_tokens": 1000}}) as server:
        workspace_id = publish(account(server), route_cache_size=0)
        decide(workspace_id)
        settings.settle(published, "jev", {"token_price": 0.5}, by=by)
        routed = decide(workspace_id, replace(STATE, goal="read another file"))

    row = ProviderHour.objects.get()
    assert routed.usage.cost == pytest.approx(0.0005)
    assert (row.cost, row.unpriced) == (pytest.approx(0.0005), 1)


def test_a_shadow_is_asked_beside_the_live_provider_and_never_listened_to(publish, published, by):
    with decisions_server("ok", "fallback", "reset") as server:
        workspace_id = publish(account(server, "watched"), names=["local"])
        settings.settle(published, "watched", {"shadow_share": 1.0}, by=by)
        for n in range(3):
            routed = decide(workspace_id, state := replace(STATE, goal=f"read the file number {n}"))
            known = live(workspace_id)
            shadows.consider(
                shadows.Made(
                    live=known,
                    policy=known.catalog.policy("default"),
                    scope=None,
                    state=state,
                    tools=TOOLS,
                    decision=routed.decision,
                )
            )
            shadows.wait()

    assert routed.provider == "local"
    row = ProviderHour.objects.get(provider="watched")
    assert row.shadow == {"agreed": 1, "differed": 1, "failed": 1}
    assert row.calls == 3


def test_an_entry_that_changed_is_another_account(publish):
    with decisions_server() as old, decisions_server() as new:
        decide(publish(account(old)))
        decide(publish(account(new)))

    assert (len(old.requests), len(new.requests)) == (1, 1)


def test_the_local_provider_is_asked_by_the_engines_router(publish, monkeypatch):
    asked = []
    real = LocalProvider.choose

    def choose(self, state, tools):
        asked.append(state.goal)
        return real(self, state, tools)

    monkeypatch.setattr(LocalProvider, "choose", choose)
    workspace_id = publish(names=["local"])
    found = [decide(workspace_id).decision for _ in range(2)]

    assert [one.source for one in found] == ["provider", "cache"]
    assert len(asked) == 1
