"""Lists that two people changed at the same time: kept from both sides where neither touched what the other did."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.web.joining import join, marks
from routing import working
from routing.services import entries
from tests.routing.conftest import EDITOR

HTMX = {"HX-Request": "true"}
LISTS = st.lists(st.sampled_from("abcdef"), unique=True)


@pytest.mark.parametrize(
    ("base", "theirs", "mine", "joined"),
    [
        ("ab", "abx", "aby", "abxy"),
        ("ab", "xab", "yab", "yxab"),
        ("abc", "ac", "abcd", "acd"),
        ("abc", "bc", "ab", "b"),
        ("abc", "bac", "abcd", "bacd"),
        ("abc", "abcd", "cba", "cbad"),
        ("", "x", "y", "xy"),
        ("abc", "axc", "abcd", "axcd"),
    ],
)
def test_each_side_keeps_what_it_did(base, theirs, mine, joined):
    assert join("mark" + marks(list(base)), list(theirs), list(mine)) == list(joined)


@pytest.mark.parametrize(
    ("base", "theirs", "mine"), [("abc", "axc", "ayc"), ("abc", "ac", "axc"), ("abc", "cba", "bac")]
)
def test_what_both_touched_is_chosen_by_a_person(base, theirs, mine):
    assert join("mark" + marks(list(base)), list(theirs), list(mine)) is None


def test_elements_with_a_name_are_there_once_and_tables_come_together_by_their_keys():
    web, notes = {"name": "web", "level": 0.5}, {"name": "notes", "level": 0.5}
    read = "mark" + marks([web, notes])

    assert join(read, [web | {"level": 1}, notes], [web, notes | {"level": 1}]) == [
        web | {"level": 1},
        notes | {"level": 1},
    ]
    assert join("mark" + marks([]), [web], [web | {"level": 1}]) is None
    assert join("mark" + marks({"a": "b"}), {"a": "x"}, {"a": "b", "c": "d"}) == {"a": "x", "c": "d"}
    assert join("mark" + marks({"a": "b"}), {"a": "x"}, {"a": "y"}) is None


def test_what_was_not_read_or_is_too_long_is_not_brought_together():
    assert join("mark", ["a"], ["b"]) is None
    assert join("mark.123", ["a"], ["b"]) is None
    long = [str(n) for n in range(500)]
    assert join("mark" + marks(long), [*long, "a"], [*long, "b"]) is None


@given(base=LISTS, theirs=LISTS, mine=LISTS)
def test_nothing_of_either_side_is_lost_and_nothing_comes_back(base, theirs, mine):
    joined = join("mark" + marks(base), theirs, mine)

    if joined is not None:
        wanted = (set(base) & set(theirs) & set(mine)) | (set(theirs) - set(base)) | (set(mine) - set(base))
        assert sorted(joined) == sorted(wanted)


# --- on the pages -----------------------------------------------------------------------------------------------------
def body(workspace, section, name):
    return working.copy_of(workspace).entry(section, name)


def mark_of(client, address: str, action: str, key: str = "") -> str:
    page = client.get(address).content.decode()
    forms = [form.split("</form>")[0] for form in page.split(f'action="{action}"')[1:]]
    form = next(form for form in forms if not key or f'name="key" value="{key}"' in form)
    return re.search(r'name="read" value="([^"]+)"', form)[1]


@pytest.mark.parametrize(
    ("part", "mine", "theirs", "both"),
    [
        ("tags", {"value": "web, http, mine"}, ["web", "http", "theirs"], ["web", "http", "theirs", "mine"]),
        ("capabilities", {"capabilities": "mine 0.5"}, ["theirs"], ["theirs", {"name": "mine", "level": 0.5}]),
    ],
)
def test_one_field_of_an_endpoint_keeps_both_sides_and_its_undo_takes_back_one(
    enter, workspace, part, mine, theirs, both
):
    editor, edit = enter("editor"), f"/w/acme/endpoints/hitspec/edit/{part}"
    read = mark_of(editor, "/w/acme/endpoints/hitspec", edit)
    entries.edit(workspace, "endpoints", "hitspec", {part: theirs}, by=EDITOR)

    answer = editor.post(edit, {**mine, "read": read}, headers=HTMX).content.decode()

    assert body(workspace, "endpoints", "hitspec")[part] == both
    assert "beside what an-editor changed there" in answer
    toast = answer.split('id="toasts"')[-1] if 'id="toasts"' in answer else answer.split("data-toast")[1]
    fields = dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', toast.split("</form>")[0]))
    editor.post(edit, fields, headers=HTMX)
    assert body(workspace, "endpoints", "hitspec")[part] == theirs


def test_hints_that_two_people_add_stand_below_one_another_and_the_same_hint_is_chosen(enter, workspace):
    editor, edit = enter("editor"), "/w/acme/endpoints/hitspec/edit/use_when"
    first = body(workspace, "endpoints", "hitspec")["use_when"][0]
    read = mark_of(editor, "/w/acme/endpoints/hitspec", edit)
    entries.edit(workspace, "endpoints", "hitspec", {"use_when": [first, "their own words"]}, by=EDITOR)

    answer = editor.post(edit, {"hint": [first, "my own words"], "read": read}, headers=HTMX).content.decode()

    assert body(workspace, "endpoints", "hitspec")["use_when"] == [first, "their own words", "my own words"]
    assert "their own words</textarea>" in answer and "my own words</textarea>" in answer

    entries.edit(workspace, "endpoints", "hitspec", {"use_when": ["they say it otherwise"]}, by=EDITOR)
    apart = editor.post(edit, {"hint": ["I say it otherwise"], "read": read}, headers=HTMX).content.decode()
    assert "they say it otherwise" in apart
    assert body(workspace, "endpoints", "hitspec")["use_when"] == ["they say it otherwise"]


def test_execution_rules_that_two_people_add_are_both_kept_in_their_order(enter, workspace):
    rules = [{"verdict": "ask", "effect": "erase"}, {"verdict": "deny", "risk": "critical"}]
    entries.add(workspace, "policies", {"name": "careful", "execution": {"rules": rules}}, by=EDITOR)
    editor, edit = enter("editor"), "/w/acme/policies/careful/edit/execution"
    read = mark_of(editor, "/w/acme/policies/careful", edit, "rules")
    theirs = [{"verdict": "allow", "tool": "hitspec__fetch"}, *rules]
    entries.edit(workspace, "policies", "careful", {"execution": {"rules": theirs}}, by=EDITOR)

    sent = [*rules, {"verdict": "ask", "effect": "write"}]
    columns = {
        fact: [str(rule.get(fact, "")) for rule in sent]
        for fact in ("verdict", "effect", "risk", "category", "tool", "endpoint", "min_confidence")
    }
    answer = editor.post(edit, {**columns, "key": "rules", "read": read}, headers=HTMX).content.decode()

    assert body(workspace, "policies", "careful")["execution"]["rules"] == [*theirs, sent[-1]]
    assert "beside what an-editor changed there" in answer


def test_a_full_form_keeps_what_others_put_into_its_lists(enter, workspace):
    editor = enter("editor")
    page = editor.get("/w/acme/scopes/web-only/edit").content.decode()
    read = re.search(r'name="read" value="([^"]+)"', page)[1]
    entries.edit(workspace, "scopes", "web-only", {"endpoints": ["hitspec", "notes"], "deny": ["notes"]}, by=EDITOR)

    lists = {"endpoints_state": "these", "endpoints": "hitspec", "tools_state": "all", "pins_state": "gateway"}
    answer = editor.post("/w/acme/scopes/web-only/edit", {**lists, "deny": "hitspec__validate", "read": read})

    assert answer.status_code == 302
    assert body(workspace, "scopes", "web-only")["endpoints"] == ["hitspec", "notes"]
    assert body(workspace, "scopes", "web-only")["deny"] == ["notes", "hitspec__validate"]


def test_lists_of_an_endpoint_come_together_in_its_full_form_beside_a_field_that_is_chosen(enter, workspace):
    editor, address = enter("editor"), "/w/acme/endpoints/hitspec/form"
    read = re.search(r'name="read" value="([^"]+)"', editor.get(address).content.decode())[1]
    entries.edit(workspace, "endpoints", "hitspec", {"tags": ["web", "http", "theirs"], "owner": "them"}, by=EDITOR)
    sent = {"name": "hitspec", "kind": "declared", "tags": "http, mine", "owner": "me", "read": read}

    asked = editor.post(address, sent)
    again = re.search(r'name="read" value="([^"]+)"', asked.content.decode())[1]
    mark = re.search(r'name="choose-owner" value="(mine:[^"]+)"', asked.content.decode())[1]
    done = editor.post(address, {**sent, "read": again, "choose-owner": mark})

    assert (asked.status_code, done.status_code) == (409, 302)
    assert "http, mine" in asked.content.decode()
    assert body(workspace, "endpoints", "hitspec")["tags"] == ["http", "theirs", "mine"]
    assert body(workspace, "endpoints", "hitspec")["owner"] == "me"
