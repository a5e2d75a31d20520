from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from routing import snapshot
from routing.errors import InvalidRequest, NotFound
from routing.models import AuditEntry, Decision, Event, Label, PendingEvent, ShadowDifference, ShadowPolicy
from routing.services import decisions, labels, ledger, registry, revisions
from routing.services.decisions import Caller, RouteRequest
from routing.services.shadow_policies import judging, running, taking, telling
from tests.routing.conftest import DOCUMENT, EDITOR

FETCH = "fetch https://example.com/guide as Markdown"
STRICT = {"name": "default", "resolver": {"confident_at": 0.999}, "router": {"direct_execution_threshold": 0.9999}}


def draft(workspace, *policies: dict[str, Any], **more: Any) -> None:
    registry.replace_working_copy(workspace, {**DOCUMENT, "policies": list(policies), **more}, by=EDITOR)


@pytest.fixture
def shadow(published) -> ShadowPolicy:
    draft(published, STRICT)
    return running.start(published, "default", by=EDITOR)


def resolved(caller: Caller, text: str = FETCH, **more: Any) -> dict[str, Any]:
    answer = decisions.resolve(caller, text, **more)
    ledger.write(caller.workspace_id)
    return answer


def routed(caller: Caller, **request: Any) -> Decision:
    row = decisions.request_route(str(uuid7()), caller, RouteRequest(goal=FETCH, **request))
    decisions.run(UUID(str(row.pk)))
    ledger.write(caller.workspace_id)
    row.refresh_from_db()
    return row


def found(row: ShadowPolicy) -> telling.Sums:
    row.refresh_from_db()
    return telling.sums(row)


# --- scoring ------------------------------------------------------------------------------------------------------------
def test_live_decisions_are_judged_again_counted_and_listed(caller, shadow):
    answer, route = resolved(caller), routed(caller)
    resolved(caller, "hello, how are you?")

    told = found(shadow)
    assert (told.seen, told.same, told.kinds) == (3, 1, {"same": 1, "would_be_ambiguous": 1, "would_fall_back": 1})
    assert told.scopes == {"default": told.kinds}
    of_route, of_resolve = ShadowDifference.objects.all()
    assert (of_resolve.kind, str(of_resolve.decision_id)) == ("would_be_ambiguous", answer["decision_id"])
    assert (of_resolve.live["status"], of_resolve.other["status"]) == ("confident", "ambiguous")
    assert (of_resolve.other["measure"], of_resolve.other["bar"]) == ("probability", 0.999)
    assert (of_route.decision_id, of_route.other["reason"]) == (route.pk, "planner_confirmation")
    assert (of_route.live["target"], of_route.other["target"]) == ("hitspec__fetch", None)


def test_what_was_answered_stays_as_it_is_without_a_shadow_policy(caller, published):
    plain_resolve, plain_route = resolved(caller), routed(caller)
    draft(published, STRICT)
    running.start(published, "default", by=EDITOR)
    resolve, route = resolved(caller), routed(caller)

    def without(told: dict[str, Any], *names: str) -> dict[str, Any]:
        return {name: value for name, value in told.items() if name not in ("decision_id", "latency_ms", *names)}

    assert without(resolve) == without(plain_resolve)
    assert without(route.answer, "source", "requests") == without(plain_route.answer, "source", "requests")
    kept = [
        without(event.data)
        for event in Event.objects.filter(decision_id__in=[resolve["decision_id"], plain_resolve["decision_id"]])
    ]
    assert kept[0] == kept[1]


def test_no_word_of_a_request_is_kept_for_it(caller, shadow):
    resolved(caller, "fetch https://example.com/canary-zwiebel as Markdown")
    kept = [*ShadowPolicy.objects.values_list(), *ShadowDifference.objects.values_list()]

    assert len(kept) == 2
    assert "zwiebel" not in str(kept)


def test_advice_is_scored_too(caller, shadow):
    activity = decisions.Activity(goal="read a page", phase="research", activity=FETCH)
    decisions.advise(caller, activity)
    ledger.write(caller.workspace_id)

    assert found(shadow).seen == 1


def test_the_values_are_those_of_when_it_began(caller, shadow, published):
    draft(published, {"name": "default", "resolver": {"confident_at": 0.1}})
    resolved(caller)

    assert found(shadow).kinds == {"would_be_ambiguous": 1}
    assert running.drafted(published, "default") != shadow.values


def test_only_the_scopes_that_were_chosen_are_scored(caller, published):
    draft(published, STRICT)
    row = running.start(published, "default", scopes=["web-only"], by=EDITOR)
    resolved(caller)
    resolved(Caller(workspace_id=published.pk, scope="web-only", harness="h"))

    assert found(row).scopes == {"web-only": {"would_be_ambiguous": 1}}


def test_a_share_of_the_decisions_is_scored(caller, published):
    draft(published, STRICT)
    row = running.start(published, "default", share=0.01, by=EDITOR)
    ids = [resolved(caller)["decision_id"] for _ in range(5)]
    wanted = sum(int(one[-8:], 16) < 0.01 * 2**32 for one in ids)

    assert found(row).seen == wanted


def test_other_policies_are_left_alone(caller, published):
    draft(published, {"name": "fast", "router": {"direct_execution_threshold": 0.99}})
    row = running.start(published, "fast", by=EDITOR)
    resolved(caller)

    assert found(row).seen == 0


def test_what_cannot_be_judged_again_is_counted_as_that(caller, published):
    draft(published, {"name": "default", "router": {"candidates": 5}, "resolver": {"tier": "lexical"}})
    row = running.start(published, "default", by=EDITOR)
    resolved(caller)
    routed(caller)

    told = found(row)
    assert told.unjudged == {"ranks_otherwise": 1, "asks_otherwise": 1}
    assert (told.judged, told.not_judged, told.seen) == (0, 2, 2)


def test_tools_that_a_harness_brings_are_judged_by_their_own_risk(caller, published):
    draft(published, {"name": "default", "execution": {"rules": [{"effect": "read", "verdict": "ask"}]}})
    row = running.start(published, "default", by=EDITOR)
    bring = (
        {"name": "fetch_page", "description": FETCH, "risk": "low", "annotations": {"readOnlyHint": True}},
        {"name": "send_mail"},
    )
    route = routed(caller, tools=bring)

    assert route.target == "fetch_page"
    assert found(row).kinds == {"other_verdict": 1}
    assert ShadowDifference.objects.get().other["verdict"] == "ask"


def test_an_event_that_is_written_twice_is_counted_once(caller, shadow):
    answer = decisions.resolve(caller, FETCH)
    ledger.write(caller.workspace_id)
    event = Event.objects.get(decision_id=answer["decision_id"])
    body = {"id": event.event_id, "kind": "recommendation", "shadow_policy": {"id": str(shadow.pk)}}
    PendingEvent.objects.create(workspace_id=caller.workspace_id, event_id=event.event_id, body=body)
    ledger.write(caller.workspace_id)

    assert found(shadow).seen == 1


# --- failures stay its own ------------------------------------------------------------------------------------------------
def test_a_shadow_policy_that_cannot_judge_costs_no_decision(caller, shadow, monkeypatch):
    def broken(*_: Any) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(judging, "compare", broken)
    answer = resolved(caller)

    assert Decision.objects.get(pk=answer["decision_id"]).status == "confident"
    assert found(shadow).unjudged == {"broken": 1}


def test_a_writer_that_cannot_keep_comparisons_keeps_the_ledger(caller, shadow, monkeypatch):
    def broken(*_: Any) -> Any:
        ShadowPolicy.objects.create(
            workspace_id=caller.workspace_id, policy="default"
        )  # breaks more than one constraint

    monkeypatch.setattr(judging, "_judge", broken)
    answer = resolved(caller)

    assert Event.objects.filter(decision_id=answer["decision_id"]).exists()
    assert Decision.objects.filter(pk=answer["decision_id"]).exists()
    assert found(shadow).seen == 0


def test_grounds_that_cannot_be_taken_along_cost_no_decision(caller, shadow, monkeypatch):
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(taking, "grounds_of_resolve", broken)
    monkeypatch.setattr(taking, "grounds_of_route", broken)

    assert resolved(caller)["status"] == "confident"
    assert routed(caller).status == "selected"
    assert found(shadow).seen == 0


def test_the_newest_differences_are_kept_and_counts_stay(caller, shadow, monkeypatch):
    monkeypatch.setattr(judging, "MOST_KEPT", 2)
    ids = [resolved(caller)["decision_id"] for _ in range(4)]

    assert found(shadow).different == shadow.listed == 4
    assert [str(one.decision_id) for one in shadow.differences.all()] == ids[:1:-1]


def test_a_difference_goes_with_its_decision(caller, shadow):
    answer = resolved(caller)
    Decision.objects.filter(pk=answer["decision_id"]).delete()

    assert not shadow.differences.exists()
    assert found(shadow).different == 1


# --- beginning ------------------------------------------------------------------------------------------------------------
def test_a_draft_that_judges_alike_has_nothing_to_score(published):
    draft(published, {"name": "default", "mcts": {"simulations": 7}})

    with pytest.raises(InvalidRequest, match="nothing to score"):
        running.start(published, "default", by=EDITOR)


def test_a_policy_that_changes_by_what_it_extends_is_scored(published):
    draft(published, {"name": "careful", "extends": "default"})
    revisions.publish(published, message="Careful", by=EDITOR)
    draft(published, {"name": "careful", "extends": "default"}, {"name": "default", "resolver": {"match_at": 0.7}})

    assert running.start(published, "careful", by=EDITOR).values["resolver"]["match_at"] == 0.7


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"days": 0}, "days"),
        ({"days": 31}, "days"),
        ({"share": 0.0}, "share"),
        ({"share": 1.1}, "share"),
        ({"scopes": ["no"]}, "scopes[0]"),
    ],
)
def test_bounds_are_told_by_name(published, asked, path):
    draft(published, STRICT)

    with pytest.raises(InvalidRequest) as problem:
        running.start(published, "default", by=EDITOR, **asked)
    assert problem.value.details[0]["path"] == path
    assert not ShadowPolicy.objects.exists()


def test_one_at_a_time_scores_a_policy(shadow, published):
    with pytest.raises(InvalidRequest, match="runs already"):
        running.start(published, "default", by=EDITOR)


def test_a_policy_that_is_nowhere_is_not_found_and_one_that_is_only_drafted_is_told(published):
    draft(published, {"name": "fresh"})

    with pytest.raises(NotFound):
        running.start(published, "nothing", by=EDITOR)
    with pytest.raises(InvalidRequest, match="not live"):
        running.start(published, "fresh", by=EDITOR)


def test_old_ones_are_forgotten(published, monkeypatch):
    monkeypatch.setattr(running, "KEPT", 2)
    draft(published, STRICT)
    for _ in range(4):
        row = running.start(published, "default", by=EDITOR)
        running.stop(published, row.pk, by=EDITOR)

    newest = telling.newest(published, "default")
    assert newest and newest.pk == row.pk
    assert ShadowPolicy.objects.count() == 2


# --- ending ---------------------------------------------------------------------------------------------------------------
def test_what_was_stopped_scores_no_more_and_says_who_did_it(caller, shadow, published):
    running.stop(published, shadow.pk, by=EDITOR)
    running.stop(published, shadow.pk, by=EDITOR)
    resolved(caller)

    assert found(shadow).seen == 0
    assert (shadow.ended_because, shadow.ended_by) == ("stopped", "an-editor")
    assert not snapshot.live(published.pk).shadows
    told = list(
        AuditEntry.objects.filter(action__startswith="shadow_policy").order_by("seq").values_list("action", "target")
    )
    assert told == [("shadow_policy.started", "policy default"), ("shadow_policy.ended", "policy default")]


def test_it_ends_by_itself_when_its_time_is_over(caller, shadow):
    ShadowPolicy.objects.update(
        began_at=timezone.now() - timedelta(days=2), until=timezone.now() - timedelta(seconds=1)
    )

    assert running.end_due() == 1
    resolved(caller)
    assert (found(shadow).seen, shadow.ended_because) == (0, "time")
    assert running.end_due() == 0


def test_it_ends_when_the_policy_is_published(caller, shadow, published):
    revisions.publish(published, message="Stricter", by=EDITOR)
    assert not snapshot.live(published.pk).shadows  # before anybody has looked
    resolved(caller)

    assert running.end_due() == 1
    assert (found(shadow).seen, shadow.ended_because) == (0, "published")


def test_a_publication_of_other_things_lets_it_go_on(caller, published):
    draft(published, {"name": "default", "turns": {"keep_last_turns": 9}}, STRICT | {"name": "careful"})
    revisions.publish(published, message="Careful", by=EDITOR)
    draft(published, STRICT)
    row = running.start(published, "default", by=EDITOR)
    draft(published, {"name": "default", "turns": {"keep_last_turns": 5}})
    revisions.publish(published, message="Turns", by=EDITOR)
    resolved(caller)

    assert running.end_due() == 0
    assert found(row).seen == 1


def test_it_ends_when_the_policy_is_removed(published):
    draft(published, {"name": "careful"})
    revisions.publish(published, message="Careful", by=EDITOR)
    draft(published, {"name": "careful", "resolver": {"match_at": 0.7}})
    row = running.start(published, "careful", by=EDITOR)
    draft(published)
    revisions.publish(published, message="Without", by=EDITOR)

    assert running.end_due() == 1
    row.refresh_from_db()
    assert row.ended_because == "removed"


def test_a_process_that_has_not_heard_of_the_publication_before_it_ends_nothing(shadow):
    ShadowPolicy.objects.update(revision=99, base={})

    assert running.end_due() == 0


def test_nobody_stops_what_is_not_there(published):
    with pytest.raises(NotFound):
        running.stop(published, uuid4(), by=EDITOR)


# --- what came of it --------------------------------------------------------------------------------------------------------
def test_labels_and_outcomes_say_how_many_live_answers_were_right(caller, shadow, published):
    first, second, third = (resolved(caller)["decision_id"] for _ in range(3))
    labels.say(published, UUID(first), "wrong", by=EDITOR)
    for one, status in ((first, "success"), (second, "success")):
        report = ledger.Report(
            id=f"o-{one}", kind="domain_outcome", target="hitspec__fetch", decision_id=one, status=status
        )
        ledger.accept(published.pk, "default", "h", [report])
    ledger.write(published.pk)

    told = telling.known(shadow)["would_be_ambiguous"]
    assert (told.right, told.wrong) == (
        1,
        1,
    )  # what somebody says stands over what was reported; of one nothing is known
    assert third not in (first, second)


def test_people_who_differ_say_nothing(caller, shadow, published):
    decision = UUID(resolved(caller)["decision_id"])
    labels.say(published, decision, "wrong", by=EDITOR)
    Label.objects.create(
        workspace=published, decision_id=decision, verdict="right", person="ben", by="ben", at=timezone.now()
    )

    assert telling.known(shadow)["would_be_ambiguous"].total == 0
