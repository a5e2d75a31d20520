from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from control.web.expecting import expects, mark_of
from control.web.forms.expectations import ExpectationForm
from routing.engine.validation import parse_document, to_document
from routing.models import Actor, AuditEntry, Decision, Recording
from routing.sealing import seal
from routing.services import checks, entries, labels, registry, revisions
from tests.engine.test_expectations import GRAPH, MET
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web.test_drafting import text_of

FETCH = "fetch a public web page as readable Markdown text"
HOLDS = {
    "name": "a page is fetched",
    "query": FETCH,
    "endpoint": "hitspec",
    "expect": {"recommendation": "hitspec__fetch"},
}
FAILS = {"name": "notes first", "query": FETCH, "expect": {"recommendation": "notes__add_note"}}
USUAL = {"do": "save", "name": "a page is fetched", "kind": "query", "query": FETCH, "scope": "default"}


@pytest.fixture
def editor(enter):
    return enter("editor")


@pytest.fixture
def expecting(workspace):
    def expecting(*expectations):
        registry.replace_working_copy(workspace, {**DOCUMENT, "expectations": list(expectations)}, by=EDITOR)

    return expecting


def held(workspace, name="a page is fetched"):
    return next(
        (one for one in registry.working_document(workspace).get("expectations", ()) if one["name"] == name), None
    )


def address(name, more=""):
    return f"/w/acme/expectations/{mark_of(name)}{more}"


def add(client, **fields):
    return client.post("/w/acme/new/expectation", USUAL | fields)


# --- the list -----------------------------------------------------------------------------------------------------------
def test_the_list_tells_how_each_stands_on_live_and_in_the_draft(admin, workspace, expecting):
    expecting(HOLDS)
    revisions.publish(workspace, message="One", by=EDITOR)
    expecting({**HOLDS, "note": "Always"}, FAILS)

    text = text_of(admin.get("/w/acme/expectations"))

    assert "Live: 1 of 1 hold" in text and "Draft: 1 of 2 hold" in text
    assert "changed in the draft" in text and 'confident, <bdi class="mono">hitspec__fetch</bdi>' in text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=notes__add", ["notes first"]),
        ("draft=missed", ["notes first"]),
        ("draft=met", ["a page is fetched"]),
        ("endpoint=hitspec", ["a page is fetched"]),
        ("change=new", ["a page is fetched", "notes first"]),
        ("scope=web-only", []),
    ],
)
def test_the_list_is_filtered(admin, expecting, query, found):
    expecting(HOLDS, FAILS)

    text = text_of(admin.get(f"/w/acme/expectations?{query}"))

    assert [one for one in ("a page is fetched", "notes first") if one in text] == found


def test_a_page_asks_no_expectation_that_was_asked(admin, workspace, expecting, monkeypatch):
    expecting(HOLDS)
    checks.check_draft(workspace.pk)
    monkeypatch.setattr(checks, "run_expectations", None)

    assert "Draft: 1 of 1 hold" in text_of(admin.get("/w/acme/expectations"))
    assert "expectation</a> holds" in text_of(admin.get("/w/acme/publish"))


def test_where_there_are_many_the_page_fetches_the_answer(admin, expecting, monkeypatch):
    monkeypatch.setattr("control.web.checking.EXPECTATIONS_AT_ONCE", 0)
    expecting(HOLDS)

    first = admin.get("/w/acme/expectations").content.decode()
    wanted = re.search(r'hx-get="([^"]*checks=now)" hx-trigger="load"', first)
    assert "They are being asked" in first and wanted

    assert "Draft: 1 of 1 hold" in text_of(admin.get(wanted[1].replace("&amp;", "&"), headers={"HX-Request": "true"}))


# --- the form -----------------------------------------------------------------------------------------------------------
def test_a_new_one_lands_in_the_draft_and_in_the_audit_log(editor, workspace):
    answer = add(editor, endpoint="hitspec", status=["confident"], recommends="this", recommendation="hitspec__fetch")

    assert answer.status_code == 302
    assert held(workspace) == {
        "name": "a page is fetched",
        "query": FETCH,
        "endpoint": "hitspec",
        "expect": {"status": ["confident"], "recommendation": "hitspec__fetch"},
    }
    assert AuditEntry.objects.filter(workspace=workspace).first().action == "expectation.added"


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"name": " "}, "name"),
        ({"query": ""}, "query"),
        ({"scope": "nowhere"}, "scope"),
        ({"recommends": "this", "recommendation": "nothing__here"}, "recommendation"),
        ({"recommends": "this", "recommendation": ""}, "recommendation"),
        ({"status": ["certain"]}, "status"),
        ({"in_top_k": "two", "in_top_tools": "hitspec__fetch"}, "in_top_k"),
        ({"not_in_top_k": "2", "not_in_top_tools": "nothing__here"}, "not_in_top_tools"),
        ({"endpoint": "nowhere"}, "endpoint"),
        ({"offline": "nowhere"}, "offline"),
        ({"max_hits": "many"}, "max_hits"),
        ({"kind": "activity", "goal": "", "phase": "p", "activity": "a"}, "goal"),
        ({"kind": "search", "search": "{", "tool": "x"}, "search"),
        ({"kind": "search", "search": '{"root_state": "a", "states": [{"id": "b", "goal": "g"}]}'}, "search"),
        ({}, "expect"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(editor, workspace, fields, place):
    given = fields if place == "expect" else {"status": ["confident"]} | fields

    answer = add(editor, **given)

    assert answer.status_code == 422
    assert f'id="e-{place}"' in answer.content.decode()
    assert USUAL["query"] in answer.content.decode() or "query" in fields
    assert "expectations" not in registry.working_document(workspace)


def test_a_taken_name_is_refused(editor, expecting):
    expecting(HOLDS)

    assert "is the name of another expectation already" in text_of(add(editor, status=["confident"]))


@pytest.mark.parametrize(
    "expect", [*MET, {"not_confident_except": []}, {"recommendation": None}, {"not_in_top_k": {"k": 2, "tools": []}}]
)
@pytest.mark.parametrize(
    "asked",
    [
        {"query": "a"},
        {
            "activity": {"goal": "g", "phase": "p", "activity": "a", "outcome": "o", "input_kinds": ["url", "file"]},
            "scope": "web-only",
            "offline": ["notes"],
            "max_hits": 3,
            "endpoint": "notes",
            "note": "n",
        },
    ],
)
def test_a_form_gives_back_what_it_was_made_of(asked, expect):
    body = {"name": "x", **asked, "expect": {**expect, "note": "why"}}

    given = ExpectationForm.of(body).given()

    assert {"name": "x", **{key: value for key, value in given.items() if value is not None}} == body
    assert expects(expect) and all(expects(expect))


def test_a_search_goes_through_the_form_whole(editor, workspace):
    add(editor, kind="search", search=json.dumps(GRAPH), tool="invest")

    assert held(workspace)["search"] == GRAPH and held(workspace)["expect"] == {"tool": "invest"}
    assert registry.checked(registry.working_document(workspace))


def edited(client, **fields):
    page = client.get(address("a page is fetched")).content.decode()
    read = re.search(r'name="read" value="([^"]*)"', page)[1]
    return {
        **USUAL,
        "read": read,
        "endpoint": "hitspec",
        "recommends": "this",
        "recommendation": "hitspec__fetch",
    } | fields


def test_an_edit_is_saved_with_its_reason_and_can_be_taken_back(editor, workspace, expecting):
    expecting(HOLDS)
    fields = edited(editor, note="Since ever", why="Asked for")

    followed = editor.post(address(HOLDS["name"]), fields, follow=True)

    assert held(workspace) == HOLDS | {"note": "Since ever"}
    assert AuditEntry.objects.filter(workspace=workspace).first().message == "Asked for"
    assert "saved to the draft" in text_of(followed)


def test_one_is_renamed_together_with_its_other_fields_and_back_again(editor, workspace, expecting):
    expecting(HOLDS)

    followed = editor.post(address(HOLDS["name"]), edited(editor, name="pages are read", note="Now so"), follow=True)

    assert held(workspace) is None
    assert held(workspace, "pages are read") == HOLDS | {"name": "pages are read", "note": "Now so"}
    assert "Expectation “pages are read” saved to the draft" in text_of(followed)
    assert AuditEntry.objects.filter(action="expectation.renamed", target="expectation pages are read").exists()
    page = editor.get("/w/acme/expectations").content.decode()
    assert "pages are read" in page and "a page is fetched" not in page


def test_one_that_was_removed_while_it_was_edited_is_made_anew(editor, workspace, expecting):
    expecting(HOLDS)
    fields = edited(editor, note="Mine")
    entries.remove(workspace, "expectations", [HOLDS["name"]], by=EDITOR)

    answer = editor.post(address(HOLDS["name"]), fields)
    page = text_of(answer)
    assert answer.status_code == 409 and "removed or renamed while you edited it" in page and "Mine" in page
    editor.post(re.search(r'<form method="post" action="([^"]*)"', page[page.index("<h1") :])[1], fields)

    assert held(workspace) == HOLDS | {"note": "Mine"}


def test_a_taken_name_leaves_an_expectation_as_it_was(editor, workspace, expecting):
    expecting(HOLDS, FAILS)

    refused = editor.post(address(HOLDS["name"]), edited(editor, name=FAILS["name"], note="Now so"))

    assert refused.status_code == 422 and "is the name of another expectation already" in text_of(refused)
    assert held(workspace) == HOLDS


def test_two_people_meet_in_one_field_and_choose(editor, workspace, expecting):
    expecting(HOLDS)
    fields = edited(editor, note="mine")
    entries.edit(workspace, "expectations", HOLDS["name"], {"note": "theirs", "scope": "web-only"}, by=EDITOR)

    answer = editor.post(address(HOLDS["name"]), fields)

    assert answer.status_code == 409 and "theirs" in text_of(answer)
    assert held(workspace)["note"] == "theirs"


def test_it_is_asked_before_it_is_saved(editor, workspace):
    answer = add(editor, do="try", recommends="this", recommendation="notes__add_note")

    text = text_of(answer)
    assert "Asked just now" in text and "hitspec__fetch" in text and "Not met" in text
    assert "expectations" not in registry.working_document(workspace)
    assert not Decision.objects.exists()


def test_one_is_removed_after_a_question(editor, workspace, expecting):
    expecting(HOLDS)
    asked = text_of(editor.get(address(HOLDS["name"], "/remove")))
    editor.post(address(HOLDS["name"], "/remove"))

    assert "no longer asked before a publication" in asked
    assert held(workspace) is None


# --- where it is met ----------------------------------------------------------------------------------------------------
def test_an_endpoint_shows_what_guards_it(admin, workspace, expecting):
    expecting(HOLDS, FAILS)
    checks.check_draft(workspace.pk)

    hitspec, notes = (text_of(admin.get(f"/w/acme/endpoints/{name}")) for name in ("hitspec", "notes"))

    assert "a page is fetched" in hitspec and "notes first" not in hitspec
    assert "notes first" in notes and "Not met" in notes


def test_a_decision_is_made_an_expectation(editor, workspace, decide):
    decision = decide()
    page = editor.get(f"/w/acme/decisions/{decision.pk}").content.decode()
    wanted = re.search(r'href="(/w/acme/new/expectation\?decision=[^"]+)"', page)[1]

    form = editor.get(wanted).content.decode()

    assert "Its text was not recorded" in form
    assert 'value="hitspec__fetch"' in form and 'value="confident" checked' in form
    assert 'value="As decided: hitspec__fetch"' in form


def test_what_people_say_of_a_decision_suggests_an_expectation(editor, workspace, decide, expecting):
    decision = decide("jot down a thought about the page")
    labels.say(workspace, decision.pk, "wrong", "notes__add_note", by=EDITOR)

    suggested = text_of(editor.get("/w/acme/expectations"))
    form = text_of(editor.get(f"/w/acme/new/expectation?decision={decision.pk}"))
    expecting({**FAILS, "expect": {"not_recommended": ["notes__add_note"]}})

    assert "Said of decisions" in suggested and f"decision={decision.pk}" in suggested
    assert 'value="As it should be: notes__add_note"' in form and 'value="confident" checked' not in form
    assert "Said of decisions" not in text_of(editor.get("/w/acme/expectations"))


def test_of_several_labels_one_that_names_a_tool_begins_an_expectation(editor, workspace, decide):
    decision = decide("jot down a thought about the page")
    labels.say(workspace, decision.pk, "wrong", "notes__add_note", by=EDITOR)
    labels.say(workspace, decision.pk, "wrong", by=Actor(kind="operator", name="ben"))

    form = text_of(editor.get(f"/w/acme/new/expectation?decision={decision.pk}"))

    assert 'value="As it should be: notes__add_note"' in form


@pytest.mark.parametrize(("role", "reads"), [("administrator", True), ("editor", False)])
def test_a_recorded_text_is_taken_in_by_those_who_may_and_the_audit_log_is_told(enter, workspace, decide, role, reads):
    decision, client = decide(), enter(role)
    kept = {"until": timezone.now() + timedelta(days=1), "sealed": seal({"query": "the recorded words"})}
    Recording.objects.create(workspace=workspace, decision_id=decision.pk, **kept)
    address = f"/w/acme/new/expectation?decision={decision.pk}"

    offered = "Take in the recorded text" in text_of(client.get(address))
    filled = text_of(client.post(address, USUAL | {"query": "", "do": "recorded"}))

    assert (offered, "the recorded words" in filled) == (reads, reads)
    assert AuditEntry.objects.filter(action="query.read").exists() is reads


def test_a_viewer_is_offered_no_edit(enter, decide, expecting):
    expecting(HOLDS)
    viewer, decision = enter("viewer"), decide()

    assert "Make it an expectation" not in text_of(viewer.get(f"/w/acme/decisions/{decision.pk}"))
    assert "/new/expectation" not in viewer.get("/w/acme/expectations").content.decode()


# --- publishing ---------------------------------------------------------------------------------------------------------
def test_an_administrator_overrides_with_a_reason(admin, workspace, expecting):
    expecting(FAILS)
    page = text_of(admin.get("/w/acme/publish"))
    without = admin.post("/w/acme/publish", {"message": "Go"})
    nameless = admin.post("/w/acme/publish", {"message": "Go", "override": "on"})
    done = admin.post("/w/acme/publish", {"message": "Go", "override": "on", "reason": "Outdated", "confirmed": "on"})

    assert "Publish although they are not met" in page and "1 expectation is not met" in page
    assert (without.status_code, nameless.status_code, done.status_code) == (409, 422, 302)
    assert "Say why it goes live although" in text_of(nameless)
    told = AuditEntry.objects.filter(workspace=workspace, action="revision.published").first().after
    assert (told["expectations_failed"], told["override_reason"]) == (["notes first"], "Outdated")


def test_a_reviewer_overrides_nothing(enter, workspace, expecting):
    expecting(FAILS)
    reviewer = enter("reviewer")
    page = text_of(reviewer.get("/w/acme/publish"))
    forged = reviewer.post("/w/acme/publish", {"message": "Go", "override": "on", "reason": "x", "confirmed": "on"})

    assert "Publish although" not in page and "1 expectation is not met" in page
    assert forged.status_code == 403


def test_the_reason_survives_the_question_about_what_stops(admin, workspace):
    registry.replace_working_copy(
        workspace,
        {
            **DOCUMENT,
            "endpoints": DOCUMENT["endpoints"][:1],
            "scopes": [],
            "expectations": [{**FAILS, "expect": {"status": ["no_match"]}}],
        },
        by=EDITOR,
    )

    asked = admin.post("/w/acme/publish", {"message": "Go", "override": "on", "reason": "Outdated"})

    assert 'name="reason" value="Outdated"' in asked.content.decode()
    assert 'name="override" value="on"' in asked.content.decode()


def test_what_the_registry_reads_is_what_the_form_was_given(workspace):
    document = {**DOCUMENT, "expectations": [HOLDS, {"name": "s", "search": GRAPH, "expect": {"tool": "invest"}}]}

    assert to_document(parse_document(document).registry)["expectations"] == document["expectations"]
