"""Endpoints, tools and scopes: what would change without them, or in them, over the last thirty days."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from routing.models import Decision, Replay
from routing.services import entries, registry, replays, revisions, workspaces
from tests.routing.conftest import EDITOR

FETCH = "fetch https://example.com/guide as Markdown"
PAGES = {
    ("endpoint", "hitspec"): reverse("endpoint", args=["acme", "hitspec"]),
    ("tool", "hitspec__fetch"): reverse("tool", args=["acme", "hitspec__fetch"]),
    ("scope", "default"): reverse("scope", args=["acme", "default"]),
}


@pytest.fixture
def recorded(workspace, decide):
    workspaces.configure(workspace, {"record_queries": True}, by=EDITOR)
    return decide(FETCH), decide("write a note into the notebook")


def address(what: str, name: str) -> str:
    return reverse("replay-of", args=["acme", what, name])


def shown(client, path: str) -> str:
    return client.get(path).content.decode()


def replayed(client, what: str, name: str) -> str:
    client.post(address(what, name), headers={"HX-Request": "true"})
    replays.run(Replay.objects.order_by("-id").first().pk)
    return client.get(address(what, name), headers={"HX-Request": "true"}).content.decode()


@pytest.mark.parametrize(("thing", "page"), PAGES.items())
def test_nothing_starts_before_somebody_asks(admin, recorded, thing, page):
    told = shown(admin, page)

    assert 'id="replay"' in told and "Replay now" in told
    assert 'hx-trigger="load' not in told.partition('id="replay"')[2]
    assert not Replay.objects.exists()


@pytest.mark.parametrize(
    "thing", [("endpoint", "hitspec"), ("tool", "hitspec__fetch"), ("tool", "hitspec__hitspec_fetch")]
)
def test_what_would_change_without_it_is_told_and_the_draft_stays(admin, recorded, workspace, thing):
    before = registry.draft_digest(workspace)
    told = replayed(admin, *thing)

    assert "1 of 2 decisions" in told and "hitspec__fetch can no longer be had" in told
    assert "Switched off" in told
    assert registry.draft_digest(workspace) == before


def test_a_tool_alone_is_tried_while_its_siblings_stay(admin, recorded):
    told = replayed(admin, "tool", "notes__add_note")

    assert "1 of 2 decisions" in told and "notes__add_note can no longer be had" in told


def test_a_scope_is_tried_on_the_draft_with_its_own_decisions_alone(admin, recorded, workspace):
    entries.edit(workspace, "endpoints", "hitspec", {"enabled": False}, by=EDITOR)
    web_only, default = replayed(admin, "scope", "web-only"), replayed(admin, "scope", "default")

    assert "Nothing recorded yet" in web_only
    assert "1 of 2 decisions" in default


def test_older_decisions_than_thirty_days_are_left_out(admin, recorded):
    Decision.objects.filter(pk=recorded[0].pk).update(created_at=timezone.now() - timedelta(days=31))

    assert "0 of 1 decision" in replayed(admin, "endpoint", "hitspec")


def test_it_is_marked_when_what_is_live_changed_since(admin, recorded, workspace):
    replayed(admin, "endpoint", "hitspec")
    assert "What is live changed since." not in shown(admin, PAGES["endpoint", "hitspec"])

    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    revisions.publish(workspace, message="Tags", by=EDITOR)
    assert "What is live changed since." in shown(admin, PAGES["endpoint", "hitspec"])


def test_what_is_off_or_not_live_has_nothing_to_try(admin, recorded, workspace):
    entries.edit(workspace, "endpoints", "hitspec", {"enabled": False}, by=EDITOR)
    entries.add(workspace, "endpoints", {"name": "new", "kind": "declared"}, by=EDITOR)
    revisions.publish(workspace, message="Off", by=EDITOR)
    entries.add(workspace, "endpoints", {"name": "newer", "kind": "declared"}, by=EDITOR)

    assert 'id="replay"' not in shown(admin, PAGES["endpoint", "hitspec"])
    assert 'id="replay"' not in shown(admin, PAGES["tool", "hitspec__fetch"])
    assert 'id="replay"' not in shown(admin, reverse("endpoint", args=["acme", "newer"]))
    assert admin.post(address("endpoint", "hitspec")).status_code == 404
    assert admin.get(address("nothing", "hitspec")).status_code == 404


def test_where_nothing_is_recorded_one_line_says_so(admin, workspace):
    told = shown(admin, PAGES["endpoint", "hitspec"])

    assert "Nothing is recorded here, so nothing can be tried." in told and "Replay now" not in told


def test_without_script_the_page_of_the_thing_stands_for_the_panel(admin, recorded):
    for thing, page in PAGES.items():
        assert admin.post(address(*thing)).url == f"{page}#replay"
