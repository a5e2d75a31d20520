"""The pages of providers: what is shown, what is edited into the draft, and what holds at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from control.web import provider_settings
from routing import generation, working
from routing.engine.models import Usage
from routing.models import AuditEntry, Inspection, ProviderHour
from routing.services import inspections, registry, revisions, workspaces
from routing.services.providers import figures, settings
from routing.services.providers.accounts import breaker_of
from routing.services.providers.breakers import Admission
from routing.services.providers.figures import Call
from tests.fake_decisions import decisions_server
from tests.routing.conftest import EDITOR

KEY = "sk-test-0123456789abcdef"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_hour")]


@pytest.fixture
def jev(workspace):
    document = registry.working_document(workspace)
    document["providers"] = [
        {"name": "jev", "kind": "compatible", "url": "https://93.184.216.34/decide", "credential": "env:JEV_KEY"}
    ]
    document["policies"] = [{"name": "default", "router": {"providers": ["jev", "local"]}}]
    registry.replace_working_copy(workspace, document, by=EDITOR)
    revisions.publish(workspace, message="A provider", by=EDITOR)
    return workspace


def at(name: str, *more: str) -> str:
    return reverse(name, args=["acme", *more])


def body(workspace):
    return working.copy_of(workspace).entry("providers", "jev")


def shown(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_tells_how_each_stands_and_what_it_came_to(jev, admin):
    call = Call(provider="jev", took_ms=120, requests=1, model="jev-1", usage=Usage(input_tokens=9, cost=0.25))
    figures.record(jev.pk, [call, Call(provider="jev", took_ms=5, requests=2, failure="server")])
    page = shown(admin, at("providers"))

    assert "local" in page and "jev" in page and "Closed" in page
    assert "50 %" in page and "0.2500" in page


def test_a_page_shows_figures_failures_versions_and_days(jev, admin):
    figures.record(jev.pk, [Call(provider="jev", took_ms=120, requests=1, model="jev-20260917")])
    figures.record(jev.pk, [Call(provider="jev", took_ms=0, requests=1, failure="timeout")])
    old = timezone.now() - timedelta(days=40)
    ProviderHour.objects.create(workspace=jev, provider="jev", hour=old, calls=7777)
    page = shown(admin, at("provider", "jev"))

    assert "jev-20260917" in page and "Not in time" in page
    assert "7777" not in page and "7,777" not in page
    assert "1 answer told no cost" in page


def test_a_field_is_edited_into_the_draft_and_taken_back(jev, admin):
    address = at("provider-edit", "jev", "timeout_s")
    read = provider_settings.mark(body(jev), "timeout_s")
    answer = admin.post(address, {"value": "2.5", "read": read}, headers={"HX-Request": "true"})

    assert answer.status_code == 200
    assert body(jev)["timeout_s"] == 2.5
    admin.post(address, {"value": "", "read": provider_settings.mark(body(jev), "timeout_s")})
    assert "timeout_s" not in body(jev)


@pytest.mark.parametrize(("field", "text"), [("timeout_s", "soon"), ("max_retries", "9"), ("breaker_failures", "0")])
def test_what_is_out_of_bounds_is_said_beside_the_field_and_not_saved(jev, admin, field, text):
    before = body(jev)
    read = provider_settings.mark(before, field)
    answer = admin.post(at("provider-edit", "jev", field), {"value": text, "read": read})

    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.content.decode()
    assert body(jev) == before


def test_two_who_edit_one_field_both_keep_what_they_wrote(jev, admin):
    read = provider_settings.mark(body(jev), "max_retries")
    address = at("provider-edit", "jev", "max_retries")
    admin.post(address, {"value": "3", "read": read})
    answer = admin.post(address, {"value": "4", "read": read})

    assert answer.status_code == 409
    assert "This was changed while you did" in answer.content.decode()
    assert body(jev)["max_retries"] == 3


def test_what_is_sent_is_chosen_field_by_field(jev, admin):
    read = provider_settings.mark(body(jev), "send")
    admin.post(at("provider-edit", "jev", "send"), {"value": ["goal", "descriptions"], "read": read})

    assert body(jev)["send"] == ["goal", "descriptions"]


def test_zero_is_a_value_and_no_default(jev, admin):
    read = provider_settings.mark(body(jev), "max_retries")
    admin.post(at("provider-edit", "jev", "max_retries"), {"value": "0", "read": read})

    assert body(jev)["max_retries"] == 0


def test_an_account_is_made_led_elsewhere_with_its_credential_and_removed(jev, admin):
    made = {"name": "other", "kind": "openrouter", "credential": "env:OTHER_KEY"}
    admin.post(at("provider-new"), made)
    elsewhere = {"kind": "compatible", "url": "https://93.184.216.34/x", "credential": ""}
    refused = admin.post(at("provider-form", "other"), elsewhere | {"read": _read(jev, "other")})
    accepted = admin.post(
        at("provider-form", "other"), elsewhere | {"credential": "env:OTHER_KEY", "read": _read(jev, "other")}
    )

    assert (refused.status_code, accepted.status_code) == (422, 302)
    assert "must be entered again" in refused.content.decode()
    admin.post(at("provider-remove", "other"))
    assert working.copy_of(jev).entry("providers", "other") is None


def _read(workspace, name: str) -> str:
    from routing.services import entries

    return entries.version(working.copy_of(workspace).entry("providers", name))


def test_one_that_a_policy_asks_is_not_removed(jev, admin):
    admin.post(at("provider-remove", "jev"))

    assert body(jev) is not None


def test_a_circuit_is_shown_and_closed_at_once(jev, admin):
    entry = working.copy_of(jev).registry.providers[0]
    breaker = breaker_of(jev.pk, entry)
    for _ in range(5):
        breaker.failed(Admission(state="closed"), "server")
    before = shown(admin, at("provider", "jev"))
    admin.post(at("provider-reset", "jev"))

    assert "It failed 5 times in a row" in before
    assert breaker.standing().state == "closed"
    assert AuditEntry.objects.filter(action="provider.breaker_closed", target="provider jev").exists()


def test_budget_price_and_shadow_are_settled_beside_the_draft(jev, admin):
    given = {"monthly_budget": "25", "token_price": "0.042", "shadow_share": "10"}
    admin.post(at("provider-settle", "jev"), given)
    found = settings.of(jev.pk, "jev")
    refused = admin.post(at("provider-settle", "jev"), given | {"shadow_share": "140", "monthly_budget": "much"})

    assert (found.monthly_budget, found.token_price, found.shadow_share) == (25.0, 0.042, 0.1)
    assert refused.status_code == 422
    assert "Write a number" in refused.content.decode()
    assert settings.of(jev.pk, "jev") == found


def test_a_spent_budget_is_said_where_one_would_else_read_that_requests_are_sent(jev, admin):
    told = Usage(input_tokens=1, output_tokens=1, cost=0.5)
    figures.record(jev.pk, [Call(provider="jev", took_ms=5, requests=1, usage=told)])
    given = {"monthly_budget": "0.75", "token_price": "", "shadow_share": "0"}
    admin.post(at("provider-settle", "jev"), given)
    within = shown(admin, at("provider", "jev")), shown(admin, at("providers"))
    admin.post(at("provider-settle", "jev"), given | {"monthly_budget": "0.5"})
    over = shown(admin, at("provider", "jev")), shown(admin, at("providers"))

    assert "Requests are sent." in within[0] and "Requests are sent." not in over[0]
    assert "0.5000 of 0.5000 are spent" in over[0]
    assert ["budget spent" in page.lower() for page in (*within, *over)] == [False, False, True, True]


@pytest.mark.parametrize("typed", ["1,5", "0,500", "1,5000", "12,34.5", "1e999", "nan"])
def test_a_budget_that_could_be_misread_is_refused(jev, admin, typed):
    given = {"monthly_budget": typed, "token_price": "", "shadow_share": "0"}
    refused = admin.post(at("provider-settle", "jev"), given)

    assert refused.status_code == 422
    assert settings.of(jev.pk, "jev").monthly_budget is None


def test_thousands_may_be_set_apart(jev, admin):
    admin.post(at("provider-settle", "jev"), {"monthly_budget": "12,500.5", "token_price": "", "shadow_share": "0"})

    assert settings.of(jev.pk, "jev").monthly_budget == 12_500.5


def test_the_page_shows_what_was_just_saved_before_this_process_has_taken_it_over(jev, admin, monkeypatch):
    before = settings.of(jev.pk, "jev")
    monkeypatch.setattr(type(generation.watcher), "running", True)  # a thread that has not looked yet
    admin.post(at("provider-settle", "jev"), {"monthly_budget": "25", "token_price": "", "shadow_share": "10"})

    assert settings.of(jev.pk, "jev") == before
    assert 'name="monthly_budget" value="25"' in shown(admin, at("provider", "jev"))
    assert "25" in shown(admin, at("providers"))


def test_a_preview_is_the_very_bytes_that_would_leave_and_none_leaves(jev, admin):
    typed = {"goal": "fetch a page", "observation": "<b>seen</b>", "scope": "default", "policy": "default"}
    page = admin.post(at("provider-preview", "jev"), typed).content.decode()

    assert "&quot;goal&quot;:&quot;fetch a page&quot;" in page
    assert "&lt;b&gt;seen&lt;/b&gt;" in page and "<b>seen</b>" not in page
    assert "hitspec__fetch" in page


@pytest.mark.django_db(transaction=True)
def test_a_key_is_tested_by_a_worker_and_shown_nowhere(workspace, enter, monkeypatch, caplog):
    monkeypatch.setenv("JEV_KEY", KEY)
    monkeypatch.setattr(inspections.workers, "_send", inspections.run)
    admin = enter()
    workspaces.configure(workspace, {"allow_private": ["127.0.0.0/8"]}, by=EDITOR)
    said = []
    with decisions_server("ok", "echo:490", "html", "hang") as server:
        account = {"name": "jev", "kind": "compatible", "url": server.url, "credential": "env:JEV_KEY"}
        document = registry.working_document(workspace)
        document["providers"] = [account | {"timeout_s": 3, "max_retries": 0}]
        registry.replace_working_copy(workspace, document, by=EDITOR)
        for _ in range(4):
            admin.post(at("provider-test", "jev"))
            said.append(Inspection.objects.order_by("-id").first().said)
        page = shown(admin, at("provider", "jev"))

    assert "It answers in" in said[0]
    assert "credential is not accepted" in said[1]
    assert "no decision" in said[2]
    assert "not answer in time" in said[3]
    assert said[3] in page
    everything = page + " ".join(said) + str([*ProviderHour.objects.values_list(), *AuditEntry.objects.values_list()])
    assert KEY[:8] not in everything + caplog.text
