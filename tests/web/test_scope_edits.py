from __future__ import annotations

import re
from html import unescape

import pytest

from control.models import HarnessKey
from routing.services import registry


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
    back = editor.post(re.search(r'action="([^"]+)"', toast)[1], fields)

    assert back["Location"] == "/w/acme/scopes/web-only"

    assert held() == before


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"endpoints": "nobody <script>"}, "endpoints"),
        ({"policy": "none-such"}, "policy"),
        ({"deny": "hitspec__x"}, "deny"),
        ({"endpoints_state": "king"}, "endpoints"),
        ({"tools_state": ""}, "tools"),
        ({"mode": "king"}, "mode"),
        ({"expose": "king"}, "expose"),
    ],
)
def test_what_is_not_there_is_refused_beside_its_list(editor, held, fields, at):
    before = held()

    answer = save(editor, **fields)

    assert answer.status_code == 422 and (said := answer.context["form"].problems[at])
    assert said.split("<")[0] in unescape(answer.content.decode())
    assert held() == before and "<script>" not in answer.content.decode().split("<main")[1]


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


def test_what_a_request_may_choose_and_what_is_known_of_the_harness_are_edited(editor, held):
    save(
        editor,
        policies="fast\r\ndefault",
        data_zones_state="these",
        data_zones="eu",
        tool_schema_budget_bytes="2048",
        default_endpoint="hitspec",
        harness_type="codex",
        harness_path="~/.codex/config.toml",
        harness_disabled="on",
    )
    assert held() == {
        "name": "web-only",
        "endpoints": ["hitspec"],
        "tool_schema_budget_bytes": 2048,
        "policies": ["fast", "default"],
        "data_zones": ["eu"],
        "default_endpoint": "hitspec",
        "harness": {"type": "codex", "path": "~/.codex/config.toml", "disabled": True},
    }
    page = editor.get("/w/acme/scopes/web-only/edit").content.decode()
    assert "fast\ndefault</textarea>" in page and 'harness_disabled" checked' in page

    save(editor)  # a form without these fields leaves them alone
    assert held()["harness"]["type"] == "codex" and held()["policies"] == ["fast", "default"]
    save(editor, harness_type="", harness_path="~/x", policies="", data_zones_state="all", tool_schema_budget_bytes="0")
    assert held()["harness"] == {"path": "~/x"} and held()["tool_schema_budget_bytes"] == 0
    assert "policies" not in held() and "data_zones" not in held()


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"policies": "none-such"}, "policies"),
        ({"tool_schema_budget_bytes": "much"}, "tool_schema_budget_bytes"),
        ({"tool_schema_budget_bytes": "-1"}, "tool_schema_budget_bytes"),
        ({"default_endpoint": "nobody"}, "default_endpoint"),
        ({"harness_type": "x" * 65}, "harness_type"),
        ({"harness_path": "a\x07b", "harness_type": ""}, "harness_path"),
    ],
)
def test_what_does_not_fit_how_a_scope_is_served_stands_beside_its_field(editor, held, fields, at):
    before = held()

    answer = save(editor, **fields)

    assert answer.status_code == 422 and answer.context["form"].problems[at]
    assert held() == before


def test_two_people_who_tell_of_one_harness_merge_field_by_field(editor, enter, held):
    read = opened(editor)
    save(enter("administrator"), harness_type="codex", harness_path="")
    answer = save(editor, read=read, harness_type="", harness_path="~/x")

    assert answer.status_code == 302
    assert held()["harness"] == {"type": "codex", "path": "~/x"}
