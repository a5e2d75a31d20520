from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from routing import bus
from routing.choices import DecisionState
from routing.errors import InvalidRequest, NotFound
from routing.models import Decision, Event
from routing.sealing import unseal
from routing.services import decisions, ledger, registry, revisions
from routing.services.decisions import Caller, RouteRequest, claims, running
from tests.routing.conftest import DOCUMENT, EDITOR

CANARY = "canary-7Q2x-do-not-keep"


def ask(caller: Caller, **request) -> Decision:
    return decisions.request_route(
        str(uuid4()), caller, RouteRequest(**{"goal": "fetch https://example.com/guide as Markdown", **request})
    )


def test_a_resolve_is_answered_with_its_decision_and_written_to_the_ledger(caller, published):
    answer = decisions.resolve(caller, "fetch https://example.com/guide as Markdown")
    ledger.write(published.pk)

    row = Decision.objects.get(pk=answer["decision_id"])
    event = Event.objects.get(workspace=published, kind="recommendation")
    assert (answer["status"], answer["recommendation"]["namespaced"]) == ("confident", "hitspec__fetch")
    assert (row.target, row.status, row.revision) == ("hitspec__fetch", "confident", answer["revision"])
    assert (event.decision_id, event.target, event.data["type"]) == (answer["decision_id"], "hitspec__fetch", "resolve")
    assert row.candidates[0]["target"] == "hitspec__fetch"


def test_a_query_over_the_limit_has_no_decision_and_no_event(caller, published):
    answer = decisions.resolve(caller, "x" * 2049)
    ledger.write(published.pk)

    assert answer == {"error": "query exceeds 2048 bytes", "max_query_bytes": 2048}
    assert not Decision.objects.filter(workspace=published).exists()
    assert not Event.objects.filter(workspace=published).exists()


def test_a_key_whose_scope_left_the_registry_finds_nothing(published):
    with pytest.raises(NotFound):
        decisions.resolve(Caller(workspace_id=published.pk, scope="gone", harness="h"), "fetch a page")


def test_a_route_waits_encrypted_and_its_text_is_erased_with_the_result(caller):
    row = ask(caller, goal=f"fetch {CANARY}")
    stored = bytes(Decision.objects.get(pk=row.pk).content or b"")
    decisions.run(UUID(str(row.pk)))
    done = Decision.objects.get(pk=row.pk)

    assert CANARY.encode() not in stored
    assert unseal(stored)["goal"] == f"fetch {CANARY}"
    assert (done.state, done.content) == (DecisionState.FINISHED, None)
    assert CANARY not in str(done.answer)


def test_a_route_over_the_scope_selects_by_public_name(caller):
    row = ask(caller)
    decisions.run(UUID(str(row.pk)))

    answer = Decision.objects.get(pk=row.pk).answer
    assert answer["tool"] == "hitspec__fetch"
    assert (answer["source"], answer["provider"], answer["fallback"]) == ("provider", "local", False)
    assert answer["execution"] == {"verdict": "allow", "rule": "default.low"}
    assert answer["k"] == len(answer["probabilities"])
    assert answer["catalog_revision"].startswith("catalog-v1-")


def test_the_verdict_names_the_rule_that_decided_and_changes_no_choice(workspace):
    rules = [{"effect": "erase", "verdict": "deny"}, {"tool": "hitspec__hitspec_fetch", "verdict": "ask"}]
    document = {**DOCUMENT, "policies": [{"name": "default", "execution": {"rules": rules}}]}
    registry.replace_working_copy(workspace, document, by=EDITOR)
    revisions.publish(workspace, message="Rules", by=EDITOR)
    row = ask(Caller(workspace_id=workspace.pk, scope="default", harness="h"))
    decisions.run(UUID(str(row.pk)))

    done = Decision.objects.get(pk=row.pk)
    assert done.answer["tool"] == "hitspec__fetch"
    assert done.answer["execution"] == done.execution == {"verdict": "ask", "rule": "rules[1]"}
    ledger.write(workspace.pk)
    assert Event.objects.get(decision_id=str(row.pk)).data["verdict"] == "ask"


def test_a_route_never_offers_what_is_out_of_scope(published):
    row = ask(Caller(workspace_id=published.pk, scope="web-only", harness="h"), goal="write a note into the notebook")
    decisions.run(UUID(str(row.pk)))

    answer = Decision.objects.get(pk=row.pk).answer
    assert not any(name.startswith("notes__") for name in answer["probabilities"])
    assert answer["fallback"]


def test_tools_that_the_harness_brings_are_ranked_by_their_own_words(caller):
    tools = (
        {"name": "read_file", "description": "Read a file"},
        {"name": "send_mail", "description": "Send an e-mail"},
    )
    row = ask(caller, goal="read the file config.toml", tools=tools)
    decisions.run(UUID(str(row.pk)))

    answer = Decision.objects.get(pk=row.pk).answer
    assert answer["tool"] == "read_file"
    assert answer["catalog_revision"] is None
    assert set(answer["probabilities"]) == {"read_file", "send_mail", "__fallback__"}


def test_no_tools_is_a_fallback_of_its_own(caller):
    row = ask(caller, tools=())
    decisions.run(UUID(str(row.pk)))

    answer = Decision.objects.get(pk=row.pk).answer
    assert (answer["tool"], answer["fallback_reason"], answer["source"], answer["requests"]) == (
        None,
        "no_tools",
        "none",
        0,
    )


@pytest.mark.parametrize(
    ("names", "path"),
    [(["a", "a"], "tools[1].name"), ([" "], "tools[0].name"), (["a", "__fallback__"], "tools[1].name")],
)
def test_tools_that_cannot_be_told_apart_are_refused_and_nothing_is_kept(caller, names, path):
    with pytest.raises(InvalidRequest) as refused:
        ask(caller, tools=tuple({"name": name} for name in names))

    assert [detail["path"] for detail in refused.value.details] == [path]
    assert not Decision.objects.exists()


def test_a_policy_that_the_scope_does_not_allow_is_not_found(caller):
    with pytest.raises(NotFound):
        ask(caller, policy="fast")


def test_a_decision_is_made_once_however_often_its_message_comes(caller, published):
    row = ask(caller)
    for _ in range(3):
        decisions.run(UUID(str(row.pk)))
    ledger.write(published.pk)

    assert Event.objects.filter(workspace=published, decision_id=str(row.pk)).count() == 1


def test_a_worker_whose_claim_was_taken_over_changes_nothing(caller, published):
    row = ask(caller)
    slow = claims.claim(row.pk)
    Decision.objects.filter(pk=row.pk).update(claimed_until=timezone.now() - timedelta(seconds=1))
    decisions.sweep()
    decisions.run(UUID(str(row.pk)))
    late = running.fail(slow, "too late")

    assert late is False
    assert Decision.objects.get(pk=row.pk).state == DecisionState.FINISHED


def test_the_sweep_sends_again_what_was_lost_on_the_way(caller, monkeypatch):
    from routing.services.decisions import queue

    sent: list[str] = []
    monkeypatch.setattr(queue, "_send", lambda _, *ids: sent.extend(ids))
    monkeypatch.setattr(queue, "_call", lambda: None)  # whether or not another test has loaded the tasks
    row = ask(caller)
    Decision.objects.filter(pk=row.pk).update(enqueued_at=timezone.now() - timedelta(minutes=2))
    decisions.sweep()
    decisions.sweep()

    assert sent.count(str(row.pk)) == 1


def test_no_text_is_kept_for_longer_than_an_hour(caller):
    row = ask(caller)
    Decision.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(minutes=61))
    decisions.sweep()

    old = Decision.objects.get(pk=row.pk)
    assert (old.state, old.content) == (DecisionState.FAILED, None)
    assert "hour" in old.error


def test_a_request_whose_key_is_gone_fails_with_its_reason(caller, settings):
    row = ask(caller)
    settings.ENCRYPTION_KEYS = ["x0N4hAWUq7m1n8Q2k7s3L1v9Zb5c6d7e8f9g0h1i2j0="]
    decisions.run(UUID(str(row.pk)))

    failed = Decision.objects.get(pk=row.pk)
    assert (failed.state, failed.content) == (DecisionState.FAILED, None)
    assert "key" in failed.error


def test_a_new_revision_answers_at_once_and_says_its_number(caller, published, by):
    before = decisions.resolve(caller, "translate a sentence into French")
    document = registry.working_document(published)
    document["endpoints"].append(
        {
            "name": "lingua",
            "kind": "declared",
            "tools": [{"name": "translate", "description": "Translate a sentence into another language"}],
        }
    )
    registry.replace_working_copy(published, document, by=by)
    revision = revisions.publish(published, message="Add lingua", by=by)
    after = decisions.resolve(caller, "translate a sentence into French")

    assert before["recommendation"] is None
    assert (after["recommendation"]["namespaced"], after["revision"]) == ("lingua__translate", revision.number)


def test_planner_only_asks_nobody(published, by):
    document = {
        **registry.working_document(published),
        "policies": [{"name": "default", "router": {"mode": "planner_only"}}],
    }
    registry.replace_working_copy(published, document, by=by)
    revisions.publish(published, message="Planner", by=by)
    row = ask(Caller(workspace_id=published.pk, scope="default", harness="h"), tools=({"name": "a"}, {"name": "a"}))
    decisions.run(UUID(str(row.pk)))

    assert Decision.objects.get(pk=row.pk).answer["fallback_reason"] == "planner_only"


def test_decisions_of_one_message_are_made_and_announced_together(
    caller, published, monkeypatch, django_capture_on_commit_callbacks
):
    told: list[list[str]] = []
    monkeypatch.setattr(bus, "tell", lambda messages: told.append([one["decision_id"] for one in messages]))
    ids = sorted(str(ask(caller).pk) for _ in range(3))

    with django_capture_on_commit_callbacks(execute=True):
        decisions.run(*map(UUID, ids))
    ledger.write(published.pk)

    assert set(Decision.objects.values_list("state", flat=True)) == {DecisionState.FINISHED}
    assert [sorted(one) for one in told[:1]] == [ids]
    assert sorted(Event.objects.filter(workspace=published).values_list("decision_id", flat=True)) == ids
    assert ledger.verify(published).ok


def test_one_that_cannot_be_made_now_holds_up_no_other_of_its_message(caller, monkeypatch):
    good, fails, later, taken = (str(ask(caller).pk) for _ in range(4))
    claims.claim(UUID(taken))
    decide = running.DECIDERS["route"]

    def choosy(row, content):
        if str(row.pk) == fails:
            raise KeyError("whatever")
        if str(row.pk) == later:
            raise bus.BusAway("silent")
        return decide(row, content)

    monkeypatch.setattr(running, "DECIDERS", {"route": choosy})
    with pytest.raises(bus.BusAway):
        decisions.run(*map(UUID, (good, fails, later, taken)))

    states = {str(row.pk): row.state for row in Decision.objects.all()}
    assert states == {good: "finished", fails: "failed", later: "running", taken: "running"}
    assert Decision.objects.get(pk=fails).content is None


def test_a_claim_that_was_lost_meanwhile_is_left_out_of_what_is_finished_together(caller, published):
    first, lost = (ask(caller) for _ in range(2))
    made = [(row, running._made(row)) for row in claims.claim_all([UUID(str(first.pk)), UUID(str(lost.pk))])]
    Decision.objects.filter(pk=lost.pk).update(claimed_until=timezone.now() - timedelta(seconds=1))
    decisions.sweep()
    decisions.run(UUID(str(lost.pk)))

    assert [str(row.pk) for row in running.finish_all(made)] == [str(first.pk)]
    ledger.write(published.pk)
    assert Event.objects.filter(workspace=published, kind="recommendation").count() == 2
