"""The cache rules of advice: asked once for one activity, and anew when something that matters has changed."""

from __future__ import annotations

import pytest

from control.api.schemas import out
from routing import bus
from routing.models import Event
from routing.services import entries, ledger, revisions
from tests.routing.conftest import EDITOR

ACTIVITY = {"goal": "Read the guide", "phase": "research", "activity": "fetch https://example.com/guide as Markdown"}

NEVER_MADE = "01a22980-3479-7380-8d01-4e2eb5ac266f"


def ask(api, **changes):
    status, answer = api.post("/advice", ACTIVITY | changes)
    assert status == 200, answer
    out.AdviceOut.model_validate(answer)
    return answer


def count(workspace):
    ledger.write(workspace.pk)
    return Event.objects.filter(workspace=workspace, kind="recommendation").count()


def test_advice_names_the_tool_and_what_it_needs_and_nothing_more(api):
    answer = ask(api)

    assert (answer["status"], answer["target"], answer["cached"]) == ("confident", "hitspec__fetch", False)
    assert answer["hint"] == "Capability route · research → hitspec · fetch"


def test_the_same_activity_is_decided_once(api, workspace):
    first = ask(api)
    again = ask(api, activity="  FETCH https://example.com/guide   as markdown ", outcome="a text")

    assert again == first | {"cached": True}
    assert count(workspace) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"goal": "Something else"},
        {"phase": "planning"},
        {"activity": "fetch https://example.com/other as Markdown"},
        {"input_kinds": ["url"]},
        {"goal_id": "g-1"},
        {"reconsider": True},
    ],
)
def test_a_material_change_is_decided_anew(api, workspace, change):
    first = ask(api)
    other = ask(api, **change)

    assert (other["cached"], other["decision_id"] != first["decision_id"]) == (False, True)
    assert count(workspace) == 2


def test_a_goal_id_stands_for_the_goal(api):
    first = ask(api, goal_id="g-1")

    assert ask(api, goal_id="g-1", goal="Read that guide, please")["decision_id"] == first["decision_id"]


@pytest.mark.parametrize(
    ("kind", "status", "dropped"),
    [
        ("transport_outcome", "error", True),
        ("transport_outcome", "timeout", True),
        ("domain_outcome", "failure", True),
        ("transport_outcome", "ok", False),
        ("domain_outcome", "partial", False),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_advice_that_failed_is_not_repeated(api, kind, status, dropped):
    first = ask(api)
    api.post(
        "/events",
        {
            "events": [
                {
                    "id": "o",
                    "kind": kind,
                    "status": status,
                    "target": "hitspec__fetch",
                    "decision_id": first["decision_id"],
                }
            ]
        },
    )

    assert ask(api)["cached"] is not dropped


@pytest.mark.django_db(transaction=True)
def test_a_failure_told_by_another_scope_changes_nothing(api, make_api):
    first = ask(api)
    event = {
        "id": "o",
        "kind": "domain_outcome",
        "status": "failure",
        "target": "x",
        "decision_id": first["decision_id"],
    }
    make_api("web-only").post("/events", {"events": [event]})

    assert ask(api)["cached"]


def test_a_failed_decision_that_is_named_drops_its_advice(api):
    first = ask(api)

    assert ask(api, failed_decision_id=first["decision_id"])["cached"] is False


def test_only_the_advice_of_the_failed_decision_is_dropped_and_its_tool_may_come_back(api):
    first, other = ask(api), ask(api, phase="planning")
    anew = ask(api, failed_decision_id=first["decision_id"])

    assert (anew["cached"], anew["target"]) == (False, first["target"])
    assert anew["decision_id"] != first["decision_id"]
    assert ask(api, phase="planning") == other | {"cached": True}


def test_a_failed_decision_that_nobody_knows_drops_nothing(api):
    first = ask(api)

    assert ask(api, failed_decision_id=NEVER_MADE) == first | {"cached": True}


def test_a_failed_decision_that_cannot_be_one_is_refused_by_name(api):
    status, answer = api.post("/advice", ACTIVITY | {"failed_decision_id": "nope"})

    assert (status, answer["error"]["code"]) == (422, "invalid_request")
    assert [detail["path"] for detail in answer["error"]["details"]] == ["failed_decision_id"]


def test_a_new_catalog_is_asked_anew(api, workspace):
    ask(api)
    entries.edit(workspace, "endpoints", "hitspec", {"description": "Runs HTTP requests"}, by=EDITOR)
    revisions.publish(workspace, message="Describe", by=EDITOR)

    assert ask(api)["cached"] is False


def test_scopes_share_no_advice(api, make_api):
    ask(api)

    assert ask(make_api("web-only"))["cached"] is False


def test_no_match_is_remembered_briefly_and_has_no_hint(api, workspace):
    answer = ask(api, activity="hello, how are you?", goal="Talk", phase="break")
    key = next(key for key in bus.client().scan_iter(f"switchyard:advice:{workspace.pk}:*"))

    assert (answer["status"], answer["target"], answer["hint"]) == ("no_match", None, None)
    assert 0 < bus.client().ttl(key) <= 20


def test_no_word_of_an_activity_lies_on_the_bus(api, workspace):
    ask(api, goal="canaryword goal", phase="canaryword", activity="fetch the canaryword page as Markdown")

    kept = [bus.client().get(key) for key in bus.client().scan_iter(f"switchyard:advice:{workspace.pk}:*")]
    assert kept
    assert not any(b"canaryword" in value for value in kept)


def test_when_nothing_can_be_recorded_the_advice_is_unavailable_and_no_error(api, monkeypatch):
    from routing.errors import Unavailable
    from routing.services.decisions import advice

    def refuse(*_, **__):
        raise Unavailable("away")

    monkeypatch.setattr(advice, "resolve", refuse)
    answer = ask(api)

    assert (answer["status"], answer["target"], answer["decision_id"], answer["hint"]) == (
        "unavailable",
        None,
        None,
        None,
    )


def test_when_the_bus_is_away_advice_is_given_and_not_remembered(api, monkeypatch):
    def away(*_, **__):
        raise bus.BusAway("away")

    for name in ("find_advice", "keep_advice", "drop_advice"):
        monkeypatch.setattr(bus, name, away)

    assert [ask(api)["cached"], ask(api, failed_decision_id=NEVER_MADE)["cached"]] == [False, False]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"goal": "a", "phase": "b"}, "activity"),
        (ACTIVITY | {"goal": ""}, "goal"),
        (ACTIVITY | {"phase": "x" * 2049}, "phase"),
        (ACTIVITY | {"goal": "x" * 1500, "phase": "y" * 1500}, ""),
        (ACTIVITY | {"goal_id": "a b"}, "goal_id"),
        (ACTIVITY | {"mood": "calm"}, "mood"),
    ],
)
def test_a_bad_request_names_its_field(api, body, path):
    status, answer = api.post("/advice", body)

    assert (status, answer["error"]["code"]) == (422, "invalid_request")
    assert answer["error"]["details"][0]["path"] == path


def test_a_piece_of_advice_is_read_back_as_a_decision(api, workspace):
    key = ask(api)["decision_id"]
    ledger.write(workspace.pk)

    listed = api.get("/decisions", type="advice")[1]
    found = api.get(f"/decisions/{key}")[1]
    out.DecisionPageOut.model_validate(listed)
    out.DecisionDetailOut.model_validate(found)
    assert [item["id"] for item in listed["items"]] == [key]
    assert (found["type"], found["target"]) == ("advice", "hitspec__fetch")
    assert found["confidence"] in ("high", "medium")
