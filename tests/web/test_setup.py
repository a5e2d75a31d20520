"""An empty workspace is set up: what is offered to whom, what ticks the steps, and what the demo leaves alone."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from control.demo import loading, requested
from control.keys import create_key
from control.models import DemoLoad, HarnessKey
from routing.errors import Superseded
from routing.models import AuditEntry, Revision
from routing.services import decisions, entries, ledger, registry, workspaces
from routing.services.decisions import Caller
from tests.cast import person
from tests.routing.conftest import EDITOR

HOSTILE = '<script>alert(1)</script>"\u202e'


@pytest.fixture
def bare(db):
    return registry.create_workspace("bare", by=EDITOR)


@pytest.fixture
def enter_bare(bare):
    def enter(role: str = "administrator") -> Client:
        client = Client()
        client.force_login(person(f"the-{role}", bare, role))
        return client

    return enter


def steps(client: Client, step: str = "") -> list[bool]:
    """Which of the four steps are ticked."""
    text = client.get(f"/w/bare/setup/progress?step={step}").content.decode()
    return [
        'class="done"' in part for part in re.split(r"<li", text.split('<ol class="steps">')[1].split("</ol>")[0])[1:]
    ]


def test_whoever_signs_in_to_nothing_is_led_there_until_they_leave(enter_bare):
    client = enter_bare()
    assert client.get("/")["Location"] == "/w/bare/setup"

    assert client.post("/w/bare/setup/leave")["Location"] == "/w/bare/"
    assert client.get("/")["Location"] == "/w/bare/"
    assert "Set up this workspace" in client.get("/w/bare/go?q=set+up").content.decode()
    assert "/w/bare/setup" in client.get("/w/bare/").content.decode()


def test_a_filled_workspace_is_opened_as_ever(admin):
    assert admin.get("/")["Location"] == "/w/acme/"


def test_each_step_is_ticked_by_what_is_there(enter_bare, bare, django_capture_on_commit_callbacks):
    client = enter_bare()
    assert steps(client) == [True, False, False, False]

    entries.add(bare, "endpoints", {"name": "mine", "kind": "declared", "tools": [{"name": "read"}]}, by=EDITOR)
    drafted = client.get("/w/bare/setup").content.decode()
    assert "1 endpoint waits" in drafted and steps(client) == [True, False, False, False]
    client.post("/w/bare/publish", {"message": "One"})
    assert steps(client) == [True, True, False, False]

    create_key(bare, "default", name="of the start", by=EDITOR.__class__(kind="system", name="switchyard"))
    assert steps(client) == [True, True, False, False]  # nobody may know of it before it is used
    made = client.post("/w/bare/setup/key", {"name": "laptop", "scope": "default"}).content.decode()
    assert re.search(r'id="plain"[^>]*>swy_[\w-]{40,}<', made) and "curl" in made
    assert steps(client) == [True, True, True, False]
    assert "swy_" not in client.get("/w/bare/setup").content.decode()

    decisions.resolve(Caller(workspace_id=bare.pk, scope="default", harness="laptop"), "read a file")
    ledger.write(bare.pk)
    assert steps(client) == [True, True, True, True]
    answer = client.get("/w/bare/setup/progress?step=decision").content.decode()
    assert "Your first decision" in answer and "laptop" in answer and 'hx-swap-oob="true"' in answer


def test_a_name_that_is_taken_or_hostile_is_said_beside_its_field(enter_bare, bare):
    client = enter_bare()
    first = client.post("/w/bare/setup/key", {"name": HOSTILE, "scope": "default"})
    assert first.status_code == 422 or "<script>alert" not in first.content.decode()
    client.post("/w/bare/setup/key", {"name": "laptop", "scope": "default"})
    again = client.post("/w/bare/setup/key", {"name": "laptop", "scope": "default"})

    assert again.status_code == 422 and "is named laptop" in again.content.decode()
    assert HarnessKey.objects.filter(workspace=bare, name="laptop").count() == 1


# --- the demo ---------------------------------------------------------------------------------------------------------
def test_the_demo_is_loaded_by_a_worker_and_its_way_is_told(enter_bare, bare, django_capture_on_commit_callbacks):
    client = enter_bare()
    assert client.post("/w/bare/setup", {"from": "demo"})["Location"] == "/w/bare/setup"
    client.post("/w/bare/setup", {"from": "demo"})  # a double click asks once
    row = DemoLoad.objects.get()
    waiting = client.get("/w/bare/setup").content.decode()
    assert "Waiting for a worker" in waiting and "No worker answers" in waiting and 'hx-trigger="load' in waiting

    requested.run(row.pk)
    requested.run(row.pk)

    part = client.get("/w/bare/setup", headers={"HX-Request": "true"}).content.decode()
    assert 'id="stage"' in part and "Make the key" in part and 'id="progress"' in part
    assert steps(client) == [True, True, False, False]
    assert len(loading.working.live_of(type(bare).objects.get(pk=bare.pk))["endpoints"]) == 71
    assert Revision.objects.filter(workspace=bare).count() == 2
    published = AuditEntry.objects.filter(workspace=bare, action="revision.published").first()
    assert published is not None and published.actor == "the-administrator"


def test_the_demo_is_not_offered_beside_anything_and_never_overwrites(enter_bare, bare):
    client = enter_bare()
    client.post("/w/bare/setup", {"from": "demo"})
    row = DemoLoad.objects.get()
    entries.add(bare, "scopes", {"name": "mine"}, by=EDITOR)  # somebody was quicker than the worker
    before = registry.draft_digest(bare)

    requested.run(row.pk)

    row.refresh_from_db()
    assert row.state == "failed" and registry.draft_digest(bare) == before
    page = client.get("/w/bare/setup").content.decode()
    assert "no longer empty" in page
    assert 'value="demo" aria-describedby="d-demo" disabled' in page
    assert "is not empty" in client.post("/w/bare/setup", {"from": "demo"}, follow=True).content.decode()
    with pytest.raises(Superseded):
        requested.request(bare, by=EDITOR)


def test_a_load_that_nobody_took_is_given_up_in_words_and_can_be_asked_for_again(enter_bare, bare):
    client = enter_bare()
    client.post("/w/bare/setup", {"from": "demo"})
    DemoLoad.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    first = DemoLoad.objects.get()

    assert "No worker took it up in time" in client.get("/w/bare/setup").content.decode()
    requested.run(first.pk)  # too late: whoever asked was told that nothing happened
    assert loading.is_empty(bare)
    client.post("/w/bare/setup", {"from": "demo"})
    assert DemoLoad.objects.count() == 2


def test_a_workspace_that_asks_for_approvals_gets_the_demo_as_a_proposal(bare):
    workspaces.configure(bare, {"approvals_needed": 1}, by=EDITOR)
    row = requested.request(bare, by=EDITOR)
    requested.run(row.pk)

    row.refresh_from_db()
    assert row.state == "finished" and "waits for approval" in row.said
    assert Revision.objects.get(workspace=bare, number=2).state == "proposed"


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("viewer", "does not fill the catalog"),
        ("auditor", "does not fill the catalog"),
        ("reviewer", "does not fill the catalog"),
        ("editor", "can load it"),
    ],
)
def test_each_role_reads_what_to_ask_for(enter_bare, bare, role, words):
    person("boss", bare)
    client = enter_bare(role)
    text = client.get("/w/bare/setup").content.decode()

    assert words in text and "boss" in text
    assert client.post("/w/bare/setup", {"from": "demo"}).status_code == 403
    key = client.get("/w/bare/setup?step=key").content.decode()
    assert ("Make the key" in key) == (role == "editor")
    assert client.get("/w/bare/setup?step=decision").status_code == 200
