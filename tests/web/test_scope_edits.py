from __future__ import annotations

import re
from html import unescape

import pytest

from control.models import HarnessKey
from routing.services import entries, registry
from tests.routing.conftest import EDITOR


@pytest.fixture
def editor(enter):
    return enter("editor")


@pytest.fixture
def held(workspace):
    return lambda name="web-only": next(
        (one for one in registry.working_document(workspace)["scopes"] if one["name"] == name), None
    )


def opened(client, name="web-only"):
    return re.search(r'name="read" value="([^"]+)"', client.get(f"/w/acme/scopes/{name}/edit").content.decode())[1]


def save(client, name="web-only", **fields):
    fields.setdefault("read", opened(client, name))
    usual = {"endpoints_state": "these", "endpoints": "hitspec", "tools_state": "all", "pins_state": "gateway"}
    return client.post(f"/w/acme/scopes/{name}/edit", usual | {"do": "save"} | fields)


def test_lists_are_saved_in_each_of_their_states(editor, held):
    save(editor, endpoints_state="none")
    assert held()["endpoints"] == []
    save(editor, endpoints_state="all")
    assert "endpoints" not in held()
    save(editor, endpoints="notes\r\nhitspec\r\nnotes", tools_state="these", tools="notes__add_note", deny="hitspec")
    assert held() == {
        "name": "web-only",
        "endpoints": ["notes", "hitspec"],
        "tools": ["notes__add_note"],
        "deny": ["hitspec"],
    }
    save(
        editor,
        pins_state="these",
        pins="hitspec\nnotes",
        mode="direct",
        expose="all",
        policy="fast",
        endpoints_state="all",
    )
    assert held() == {
        "name": "web-only",
        "pins": ["hitspec", "notes"],
        "mode": "direct",
        "expose": "all",
        "policy": "fast",
    }


def test_what_the_draft_changes_in_reach_is_told_beside_live(editor, held):
    save(editor, endpoints="notes")

    changes = editor.get("/w/acme/scopes/web-only").context["changes"]

    assert (changes["more"], changes["less"], changes["total"]) == (2, 2, 2)
    assert changes["more_names"] == ["notes__add_note", "notes__delete_note"]


def test_the_picker_finds_and_adds_without_saving(editor, held):
    before = held()
    found = save(editor, do="find", find="delete").content.decode()
    added = save(editor, do="add:deny:notes__delete_note", find="delete")

    assert "add:deny:notes__delete_note" in found and held() == before
    assert added.context["form"].names["deny"] == ["notes__delete_note"]


def test_a_saved_scope_is_undone_from_its_message(editor, held):
    before = held()
    answer = save(editor, deny="hitspec__fetch")
    toast = editor.get(answer["Location"]).content.decode().split("data-toast")[1].split("</form>")[0]
    assert held()["deny"] == ["hitspec__fetch"]

    fields = {name: unescape(value) for name, value in re.findall(r'name="([a-z_]+)" value="([^"]*)"', toast)}
    editor.post("/w/acme/scopes/web-only/edit", fields)

    assert held() == before


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"endpoints": "nobody <script>"}, "endpoints"),
        ({"policy": "none-such"}, "policy"),
        ({"deny": "hitspec__x"}, "deny"),
    ],
)
def test_what_is_not_there_is_refused_beside_its_list(editor, held, fields, at):
    before = held()

    answer = save(editor, **fields)

    assert answer.status_code == 422 and answer.context["form"].problems[at]
    assert held() == before and "<script>" not in answer.content.decode().split("<main")[1]


def test_two_people_who_edit_a_scope_both_see_both(editor, workspace, held):
    read = opened(editor)
    entries.edit(workspace, "scopes", "web-only", {"deny": ["notes"]}, by=EDITOR)

    stale = save(editor, read=read, mode="direct")
    assert stale.status_code == 409 and "deny: notes" in stale.content.decode() and "mode" not in held()

    save(editor, read=read, mode="direct", keep=stale.context["conflict"]["read"])
    assert held()["mode"] == "direct"


def test_a_scope_is_made_copied_and_deleted_after_a_question_that_names_its_keys(editor, workspace, held):
    editor.post("/w/acme/new/scope", {"name": "empty"})
    made = editor.post("/w/acme/new/scope", {"name": "second", "like": "web-only"})
    taken = editor.post("/w/acme/new/scope", {"name": "second"})
    assert (made["Location"], taken.status_code) == ("/w/acme/scopes/second/edit", 422)
    assert (held("empty")["endpoints"], held("second")["endpoints"]) == ([], ["hitspec"])

    HarnessKey.objects.create(workspace=workspace, name="laptop", scope="second", digest="a" * 64, ends_with="abcd")
    assert "these keys are refused: laptop" in editor.get("/w/acme/scopes/second/delete").content.decode()
    editor.post("/w/acme/scopes/second/delete")
    assert held("second") is None


def test_who_may_not_edit_is_refused(enter, stranger, workspace, held):
    viewer = enter("viewer")

    assert "/edit" not in viewer.get("/w/acme/scopes/web-only").content.decode().split("<main")[1]
    assert viewer.get("/w/acme/scopes/web-only/edit").status_code == 403
    assert stranger.get("/w/acme/scopes/web-only/edit").status_code == 404
    assert viewer.get("/w/acme/scopes/nothing").status_code == 404
