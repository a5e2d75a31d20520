from __future__ import annotations

import csv
import io
import json
import re

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from control.keys import create_key
from routing.events import AUDITED, chain_hash
from routing.models import AuditEntry
from routing.models.actor import SYSTEM
from routing.services import audit, entries, registry, revisions
from tests.cast import PASSWORD, person
from tests.routing.conftest import EDITOR

HOSTILE = "<script>alert(1)</script>\u202etxt"
ADDRESSES = ["audit", "audit/1", "audit/export.csv", "audit/export.jsonl"]


def newest(workspace, **only) -> AuditEntry:
    return AuditEntry.objects.filter(workspace=workspace, **only).order_by("-seq").first()


def told(response) -> list[AuditEntry]:
    return [row["entry"] for row in response.context["rows"]]


# --- who may ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("page", ADDRESSES)
@pytest.mark.parametrize(
    ("role", "status"),
    [("administrator", 200), ("auditor", 200), ("viewer", 403), ("editor", 403), ("reviewer", 403)],
)
def test_administrators_and_auditors_read_the_log_and_nobody_else(enter, page, role, status):
    assert enter(role).get(f"/w/acme/{page}").status_code == status


@pytest.mark.parametrize("page", ADDRESSES)
def test_a_stranger_finds_no_log_and_a_visitor_is_asked_to_sign_in(stranger, page):
    assert stranger.get(f"/w/acme/{page}").status_code == 404
    assert Client().get(f"/w/acme/{page}").status_code == 302


@pytest.mark.parametrize(("role", "offered"), [("auditor", True), ("administrator", True), ("editor", False)])
def test_the_navigation_offers_the_log_to_those_who_may_read_it(enter, role, offered):
    assert ('href="/w/acme/audit"' in enter(role).get("/w/acme/").content.decode()) == offered


# --- what doors tell ----------------------------------------------------------------------------------------------------
def test_whoever_is_refused_by_role_has_an_entry(enter, workspace):
    enter("viewer").post("/w/acme/publish?x=not-kept", {"message": "Mine"}, headers={"X-Request-Id": "req-7"})

    entry = newest(workspace)

    assert (entry.actor, entry.action, entry.target, entry.result) == (
        "the-viewer",
        "access.denied",
        "POST /w/acme/publish",
        "refused",
    )
    assert entry.after == {"status": 403, "lacks": "revision.publish", "role": "viewer"}
    assert (entry.request_id, entry.address) == ("req-7", "127.0.0.1")


def test_a_stranger_who_finds_nothing_has_an_entry_there(stranger, workspace):
    stranger.get("/w/acme/decisions")
    there = newest(workspace)
    before = AuditEntry.objects.count()
    stranger.get("/w/no-such-workspace/decisions")

    assert (there.actor, there.action, there.after["status"]) == ("a-stranger", "access.denied", 404)
    assert AuditEntry.objects.count() == before


def test_a_key_without_the_right_has_an_entry_and_a_use_of_a_right_that_administers_too(workspace):
    _, plain = create_key(workspace, "default", name="reader", rights=["read"], by=SYSTEM)
    _, strong = create_key(workspace, "default", name="ci", rights=["registry.publish"], by=SYSTEM)
    client = Client()
    call = {"path": "/api/v1/revisions/99/publish", "data": "{}", "content_type": "application/json"}

    assert client.post(**call, headers={"Authorization": f"Bearer {plain}"}).status_code == 403
    denied = newest(workspace)
    assert client.post(**call, headers={"Authorization": f"Bearer {strong}"}).status_code == 404
    used = newest(workspace)

    assert (denied.actor_kind, denied.actor, denied.action) == ("key", "reader", "access.denied")
    assert denied.after == {"status": 403, "lacks": "registry.publish"}
    assert (used.actor, used.action, used.target) == ("ci", "right.used", "POST /api/v1/revisions/99/publish")
    assert used.after["right"] == "registry.publish"
    assert plain not in str(denied.after) + str(used.after)


def test_signing_in_and_out_has_entries(workspace):
    person("ada", workspace)
    client = Client()
    client.post("/sign-in", {"username": "ada", "password": PASSWORD})
    client.post("/sign-out")

    last = AuditEntry.objects.filter(workspace=workspace).order_by("-seq")[:2]

    assert [(entry.action, entry.actor, entry.address) for entry in last] == [
        ("session.closed", "ada", "127.0.0.1"),
        ("session.opened", "ada", "127.0.0.1"),
    ]


def test_wrong_passwords_have_entries_until_and_after_the_door_is_locked(workspace):
    person("ada", workspace)
    for password in ["not-the-password"] * 6:
        Client().post("/sign-in", {"username": "ada", "password": password})

    tries = AuditEntry.objects.filter(workspace=workspace, action__startswith="session.").order_by("seq")

    assert [entry.action for entry in tries] == ["session.refused"] * 4 + ["session.locked"] * 2
    assert {(entry.actor, entry.target, entry.result) for entry in tries} == {("visitor", "sign-in of ada", "refused")}
    assert "not-the-password" not in str([audit.said(entry) for entry in tries])


def test_a_try_under_an_unknown_name_is_kept_without_it_in_the_first_workspace(workspace):
    other = registry.create_workspace("other", by=EDITOR)
    Client().post("/sign-in", {"username": "my-password-by-mistake", "password": "x"})

    assert newest(workspace).target == "sign-in of an unknown name"
    assert not AuditEntry.objects.filter(workspace=other, action="session.refused").exists()


def test_reading_the_log_is_itself_an_entry(enter, workspace):
    auditor = enter("auditor")
    auditor.get("/w/acme/audit?action=changes&q=notes")
    read = newest(workspace)
    auditor.get("/w/acme/audit/1")
    one = newest(workspace)
    auditor.get("/w/acme/audit/export.csv")
    taken = newest(workspace)

    assert (read.actor, read.action, read.after) == (
        "the-auditor",
        "audit.read",
        {"filters": {"q": "notes", "action": "changes"}},
    )
    assert (one.action, one.target) == ("audit.read", "audit entry 1")
    assert (taken.action, taken.target) == ("audit.exported", "audit log as csv")


# --- the list -----------------------------------------------------------------------------------------------------------
def test_pages_follow_each_other_without_gap_or_repeat_although_reading_adds_entries(admin, workspace):
    for number in range(110):
        audit.record(workspace.pk, "test.done", f"thing {number}", by=EDITOR)

    first = admin.get("/w/acme/audit?action=test.done")
    second = admin.get(first.context["next_page"])
    third = admin.get(second.context["next_page"])

    numbers = [entry.target for page in (first, second, third) for entry in told(page)]
    assert numbers == [f"thing {number}" for number in reversed(range(110))]
    assert third.context["next_page"] == ""
    assert told(admin.get(third.context["previous_page"])) == told(second)


def test_the_log_is_read_from_its_beginning_too(admin, workspace):
    page = admin.get("/w/acme/audit?sort=time")

    assert [row["entry"].seq for row in page.context["rows"]][:3] == [1, 2, 3]
    assert page.context["heads"][0]["order"] == "ascending"
    assert "sort" not in page.context["csv"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("action=endpoint.changed", 1),
        ("action=changes&actor=an-editor&since=1h&target=endpoint", 1),
        ("action=changes&q=session", 0),
        ("actor=an-editor&action=endpoint.changed", 1),
        ("actor=nobody", 0),
        ("q=ENDPOINT+HITSPEC", 1),
        ("q=a-request", 1),
        ("q=a-reques", 0),
        ("target=hitspec", 1),
        ("result=refused", 0),
        ("action=endpoint.changed&since=1h", 1),
        ("since=2100-01-01T00:00:00Z", 0),
        ("action=endpoint.changed&until=2100-01-01T00:00:00%2B02:00", 1),
        ("until=2001-01-01", 0),
        ("action=endpoint.changed&since=nonsense&until=nonsense", 1),
        ("action=endpoint.changed&q=%00", 1),
    ],
)
def test_filters_say_what_is_shown(admin, workspace, query, found):
    with audit.origin("a-request", ""):
        entries.edit(workspace, "endpoints", "hitspec", {"tags": ["web"]}, by=EDITOR)

    response = admin.get(f"/w/acme/audit?{query}")

    assert (len(told(response)), response.context["total"]) == (found, found)


def test_a_moment_that_cannot_be_read_is_not_shown_as_a_filter(admin, workspace):
    response = admin.get("/w/acme/audit?since=nonsense&until=nonsense&result=done")

    assert [chip["name"] for chip in response.context["active"]] == ["result"]
    assert AuditEntry.objects.latest("seq").after == {"filters": {"result": "done"}}


def test_filtered_away_offers_to_take_each_filter_off(admin):
    text = admin.get("/w/acme/audit?q=nothing&result=refused").content.decode()

    assert "No entry fits these filters" in text
    assert 'href="/w/acme/audit?result=refused"' in text


def test_htmx_gets_the_list_alone(admin):
    response = admin.get("/w/acme/audit", headers={"HX-Request": "true"})

    assert response.content.decode().lstrip().startswith('<div id="list"')
    assert "HX-Request" in response["Vary"]


def test_hostile_text_stays_text(admin, workspace):
    entry = audit.record(workspace.pk, "test.done", HOSTILE, by=EDITOR, message=HOSTILE, after={"name": HOSTILE})

    for page in ("audit", f"audit/{entry.seq}"):
        assert "<script>alert" not in admin.get(f"/w/acme/{page}").content.decode()


# --- one entry ----------------------------------------------------------------------------------------------------------
def test_an_entry_shows_before_and_after_and_its_place(admin, workspace):
    entries.edit(workspace, "endpoints", "notes", {"description": "Notes of the team"}, by=EDITOR)
    revisions.publish(workspace, message="Say whose notes", by=EDITOR)
    changed, published = newest(workspace, action="endpoint.changed"), newest(workspace, action="revision.published")

    text = admin.get(f"/w/acme/audit/{changed.seq}").content.decode()
    other = admin.get(f"/w/acme/audit/{published.seq}").content.decode()

    assert "<del>Notebook</del>" in text and "Notes of the team" in text
    assert f"follows {changed.seq - 1} and is followed by {changed.seq + 1}" in text
    assert changed.hash in text
    assert "Say whose notes" in other and 'href="/w/acme/revisions/3"' in other


@pytest.mark.parametrize("seq", ["0", "999999", "9" * 30])
def test_an_entry_that_is_not_there_is_not_found(admin, seq):
    assert admin.get(f"/w/acme/audit/{seq}").status_code == 404


def test_an_entry_of_another_workspace_cannot_be_reached_by_its_number(admin, workspace):
    other = registry.create_workspace("other", by=EDITOR)
    for _ in range(20):
        last = audit.record(other.pk, "test.done", by=EDITOR)

    assert admin.get(f"/w/acme/audit/{last.seq}").status_code == 404


# --- proof and export ---------------------------------------------------------------------------------------------------
def test_the_page_says_whether_the_chain_holds(admin, workspace):
    assert "Not verified yet" in admin.get("/w/acme/audit").content.decode()
    good = admin.post("/w/acme/audit/verify", follow=True).content.decode()
    AuditEntry.objects.filter(workspace=workspace, seq=3).update(actor="somebody")
    bad = admin.post("/w/acme/audit/verify", follow=True).content.decode()

    assert "Chain holds" in good
    assert "Chain broken" in bad and "entry 3" in bad


def test_verifying_needs_a_post_and_the_right(enter, admin):
    assert admin.get("/w/acme/audit/verify").status_code == 405
    assert enter("editor").post("/w/acme/audit/verify").status_code == 403
    assert enter("auditor").post("/w/acme/audit/verify").status_code == 302


def body(response) -> str:
    async def gathered() -> bytes:
        return b"".join([part async for part in response])

    return async_to_sync(gathered)().decode()


def exported(client, form: str, query: str = "") -> str:
    return body(client.get(f"/w/acme/audit/export.{form}{query}"))


def test_an_export_as_json_lines_holds_all_that_is_hashed(admin, workspace, monkeypatch):
    monkeypatch.setattr("control.web.audit.CHUNK", 3)
    rows = [json.loads(line) for line in exported(admin, "jsonl").splitlines()]

    assert [row["seq"] for row in rows] == list(range(len(rows), 0, -1))
    assert all(chain_hash(row["prev_hash"], row, AUDITED) == row["hash"] for row in rows)
    assert all(later["prev_hash"] == earlier["hash"] for later, earlier in zip(rows, rows[1:], strict=False))


def test_an_export_as_csv_holds_the_same_rows_and_runs_no_formula(admin, workspace):
    audit.record(workspace.pk, "test.done", "=HYPERLINK(1)", by=EDITOR, message='two\nlines, and "quotes"')

    rows = list(csv.DictReader(io.StringIO(exported(admin, "csv", "?action=test.done"))))

    assert [(row["action"], row["target"], row["message"]) for row in rows] == [
        ("test.done", "'=HYPERLINK(1)", 'two\nlines, and "quotes"')
    ]


def test_an_export_holds_what_its_filters_let_through(admin, workspace):
    response = admin.get("/w/acme/audit/export.jsonl?action=revision.published&since=1h")
    rows = [json.loads(line) for line in body(response).splitlines()]

    assert {row["action"] for row in rows} == {"revision.published"}
    assert "attachment" in response["Content-Disposition"] and response["Cache-Control"] == "no-store"
    page = admin.get("/w/acme/audit?action=revision.published&since=1h").content.decode()
    assert re.search(r'href="/w/acme/audit/export.csv\?action=revision.published&amp;since=1h"', page)
