from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from control.web import replay_words
from routing.choices import DecisionState
from routing.models import Replay
from routing.services import entries, replays, workspaces
from tests.routing.conftest import EDITOR

FETCH = "fetch https://example.com/guide as Markdown"
PAGE, PANEL = reverse("publish", args=["acme"]), reverse("replay-draft", args=["acme"])


@pytest.fixture
def recorded(workspace, decide):
    workspaces.configure(workspace, {"record_queries": True}, by=EDITOR)
    return decide(FETCH)


@pytest.fixture
def edited(workspace):
    entries.edit(workspace, "endpoints", "hitspec", {"enabled": False}, by=EDITOR)
    return workspace


def shown(client, address: str = PAGE, **asked: Any) -> str:
    return client.get(address, asked).content.decode()


def panel(client, **asked: Any) -> str:
    return client.get(PANEL, asked, headers={"HX-Request": "true"}).content.decode()


def started(client) -> Replay:
    client.post(PANEL, headers={"HX-Request": "true"})
    return Replay.objects.order_by("-id").first()


def test_a_page_without_changes_has_no_panel(admin, recorded):
    assert 'id="replay"' not in shown(admin)


def test_where_nothing_is_recorded_the_panel_says_what_to_switch_on(admin, enter, edited):
    told = shown(admin)

    assert "Nothing is recorded here" in told and "Keep the texts of queries" in told
    assert 'hx-trigger="load, submit"' not in told
    assert "An administrator switches it on" in shown(enter("editor"))


def test_a_draft_that_was_never_replayed_is_when_the_page_is_opened(enter, recorded, edited):
    for role in ("editor", "reviewer", "administrator"):
        assert 'hx-trigger="load, submit"' in shown(enter(role))
    told = shown(enter("viewer"))
    assert 'hx-trigger="load, submit"' not in told and "has not been replayed yet" in told


def test_it_shows_how_far_it_is_and_looks_again_by_itself(admin, recorded, edited):
    row = started(admin)
    waiting = panel(admin)
    Replay.objects.filter(pk=row.pk).update(state=DecisionState.RUNNING, done=40, of=200)
    running = panel(admin)

    assert "Waiting for a worker." in waiting and 'hx-trigger="load delay:700ms, every 3s"' in waiting
    assert (
        "40 of 200 decisions made again." in running
        and '<progress aria-label="Decisions made again" max="200" value="40">' in running
    )
    assert 'hx-trigger="load, submit"' not in running


def test_what_would_change_is_counted_explained_and_linked(admin, recorded, edited):
    replays.run(started(admin).pk)
    told = panel(admin)

    assert "1 of 1 decision, replayed in" in told and "Lost matches 1" in told
    assert "hitspec__fetch can no longer be had, and nothing else fits well enough." in told
    assert "Changed: <bdi>endpoint hitspec</bdi>." in told
    assert reverse("decision", args=["acme", recorded.pk]) in told
    assert "hx-trigger" not in told
    assert "example.com" not in told


def test_one_kind_of_change_is_looked_at_alone(admin, recorded, edited):
    replays.run(started(admin).pk)

    assert "can no longer be had" in panel(admin, kind="lost")
    assert "can no longer be had" not in panel(admin, kind="won")
    assert "can no longer be had" in panel(admin, kind="no such kind")


def test_nothing_recorded_yet_is_told_apart_from_nothing_would_change(admin, workspace, decide, edited):
    decide(FETCH)
    workspaces.configure(workspace, {"record_queries": True}, by=EDITOR)
    replays.run(started(admin).pk)
    nothing = panel(admin)
    decide("write a note into the notebook")
    replays.run(started(admin).pk)

    assert "Nothing recorded yet" in nothing and "Of the last 1 decision none was recorded" in nothing
    assert "No recorded decision would change." in panel(admin)


def test_a_draft_that_changed_is_replayed_again_and_until_then_marked(admin, enter, recorded, edited):
    replays.run(started(admin).pk)
    entries.edit(edited, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)

    assert "The draft, or what is live, changed since it was replayed; it is replayed again." in shown(admin)
    assert "The draft changed since; this is about an earlier one." in shown(enter("viewer"))


def test_asking_again_for_what_is_under_way_asks_for_nothing(admin, recorded, edited):
    first, second = started(admin), started(admin)

    assert first.pk == second.pk and Replay.objects.count() == 1


def test_it_is_stopped_and_can_be_started_again(admin, recorded, edited):
    row = started(admin)
    response = admin.post(reverse("replay-stop", args=["acme", row.pk]), {"back": PAGE})

    assert response.url == PAGE
    assert replays.find(edited, row.pk).state == DecisionState.CANCELLED
    stopped = shown(admin)
    assert "It was stopped." in stopped and "Replay now" in stopped
    assert 'hx-trigger="load, submit"' not in stopped
    assert started(admin).state == DecisionState.QUEUED


def test_one_that_was_stopped_leaves_the_older_one_and_starts_by_itself_for_another_draft_alone(
    admin, recorded, edited
):
    replays.run(started(admin).pk)
    entries.edit(edited, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    replays.cancel(edited, started(admin).pk)
    stopped = shown(admin)
    entries.edit(edited, "endpoints", "notes", {"tags": ["desk"]}, by=EDITOR)

    assert "A newer one was stopped." in stopped and "Lost matches 1" in stopped
    assert 'hx-trigger="load, submit"' not in stopped
    assert 'hx-trigger="load, submit"' in shown(admin)


def test_stopping_leads_nowhere_else(admin, recorded, edited):
    row = started(admin)
    response = admin.post(reverse("replay-stop", args=["acme", row.pk]), {"back": "https://elsewhere.example/"})

    assert response.url == PAGE
    assert admin.post(reverse("replay-stop", args=["acme", uuid4()])).status_code == 404


def test_one_that_failed_says_why_and_is_not_started_by_itself(admin, recorded, edited):
    row = started(admin)
    ended = {"state": DecisionState.FAILED, "error": replays.DIED, "finished_at": timezone.now()}
    Replay.objects.filter(pk=row.pk).update(**ended)
    told = shown(admin)

    assert "The replay failed" in told and "3 workers died over this replay." in told
    assert 'hx-trigger="load, submit"' not in told and "Replay again" in told


def test_too_many_at_once_are_told_in_the_panel(admin, recorded, edited):
    for _ in range(8):
        Replay.objects.create(workspace=edited, by="x", against=1, digest="x")
    told = admin.post(PANEL, headers={"HX-Request": "true"}).content.decode()

    assert "8 replays are under way right now." in told
    assert 'hx-trigger="load, submit"' not in told


def test_without_script_the_page_stands_for_the_panel(admin, recorded, edited):
    assert admin.post(PANEL).url == f"{PAGE}#replay"
    assert admin.get(PANEL).url == f"{PAGE}#replay"


# --- words --------------------------------------------------------------------------------------------------------------
def side(status: str, target: str | None = None, *reasons: str, **more: Any) -> dict[str, Any]:
    return {"status": status, "target": target, "probability": 0.9, "gap": None, "runner": None} | {
        "reasons": list(reasons),
        **more,
    }


@pytest.mark.parametrize(
    ("kind", "before", "after", "says"),
    [
        (
            "clash",
            side("confident", "a__x"),
            side("ambiguous", "a__x", "close_scores", runner="b__x"),
            "b__x comes as close",
        ),
        (
            "clash",
            side("confident", "a__x"),
            side("ambiguous", "a__x", "low_probability"),
            "below what the policy asks for",
        ),
        ("settled", side("ambiguous", "a__x"), side("confident", "a__x"), "a__x is sure enough now"),
        ("won", side("no_match"), side("confident", "a__x"), "a__x is found now, with a probability of 0.90."),
        ("other", side("confident", "a__x"), side("confident", "b__x"), "b__x stands first now"),
        ("lost", side("confident", "a__x"), side("no_match", None, "scope_gone"), "Their scope is gone"),
        ("lost", side("selected", "a__x"), side("fallback", None, "low_confidence"), "."),
    ],
)
def test_each_change_is_explained_in_a_sentence(kind, before, after, says):
    told = replay_words.sentence({"kind": kind, "before": before, "after": after, "gone": False, "because": []})

    assert says in told and told.endswith(".")


@pytest.mark.parametrize(
    ("was", "now", "because", "says"),
    [
        (0.73, 0.73, ["policies[default]"], "as it was, 0.73, and less is asked for"),
        (0.7281, 0.7284, ["endpoints[git]", "policies[default]"], "as it was, 0.73, and less is asked for"),
        (0.61, 0.74, ["policies[default]"], "is 0.74, it was 0.61"),
        (0.7281, 0.7284, ["endpoints[git]"], "is 0.7284, it was 0.7281"),
    ],
)
def test_what_a_policy_settled_is_not_put_down_to_a_probability_that_stayed(was, now, because, says):
    before, after = side("ambiguous", "a__x") | {"probability": was}, side("confident", "a__x") | {"probability": now}
    group = {"kind": "settled", "before": before, "after": after, "gone": False, "because": because}

    assert says in replay_words.sentence(group)


def test_gaps_are_told_as_spans_where_decisions_differ():
    gaps = [[1.31, 1.31], [5.9, 7.24]]
    group = {"kind": "settled", "before": side("ambiguous"), "after": side("confident", "a__x"), "gone": False}
    told = replay_words.told(group | {"gaps": gaps, "because": ["policies[default]"]})

    assert (told["gap"], told["behind"]) == ("1.3 → 5.9 to 7.2", ["policy default"])
