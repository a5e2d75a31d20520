from __future__ import annotations

import re

import pytest
from django.test import Client

from routing.models import AuditEntry, CapabilityRow
from routing.services import entries, registry, revisions
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web import crowd
from tests.web.test_tools import publish

HTMX = {"HX-Request": "true"}
WORDS = [
    {
        "name": "web-fetch",
        "description": "Retrieves a known address",
        "synonyms": ["download a page", "ophalen"],
        "keywords": ["address"],
        "prefer": ["hitspec"],
    },
    {"name": "old-fetch", "deprecated": True, "replaced_by": "web-fetch"},
]


@pytest.fixture
def words(workspace):
    """Two capabilities; one of the endpoints carries one of them, and another word that is nowhere explained."""
    first, second = DOCUMENT["endpoints"]
    carried = [{"name": "web-fetch", "level": 0.8}, "left-over"]
    publish(
        workspace,
        {**DOCUMENT, "endpoints": [{**first, "capabilities": carried}, second], "capabilities": WORDS},
    )
    return lambda: CapabilityRow.objects.get(workspace=workspace, name="web-fetch")


@pytest.fixture
def editor(enter):
    return enter("editor")


def read_mark(client, part: str = "synonyms") -> str:
    text = client.get("/w/acme/capabilities/web-fetch").content.decode()
    return re.search(r'name="read" value="([^"]+)"', text[text.index(f'id="part-{part}"') :])[1]


def save(client, part: str = "synonyms", headers=HTMX, **fields):
    return client.post(f"/w/acme/capabilities/web-fetch/edit/{part}", fields, headers=headers)


def test_the_list_counts_who_carries_a_word_and_names_words_without_an_entry(admin, words):
    response = admin.get("/w/acme/capabilities")
    rows = {row["name"]: row for row in response.context["rows"]}

    assert (rows["web-fetch"]["endpoints"], rows["web-fetch"]["tools"]) == (1, 2)
    assert rows["old-fetch"]["endpoints"] == 0
    assert [word["name"] for word in response.context["strangers"]] == ["left-over"]
    assert "ophalen" in response.content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=OPHALEN", ["web-fetch"]),
        ("q=address", ["web-fetch"]),
        ("use=no", ["old-fetch"]),
        ("use=yes", ["web-fetch"]),
        ("use=deprecated", ["old-fetch"]),
        ("sort=-endpoints", ["web-fetch", "old-fetch"]),
        ("sort=-capability", ["web-fetch", "old-fetch"]),
        ("q=nothing-like-it", []),
    ],
)
def test_filters_and_order_of_the_list(admin, words, query, found):
    assert [row["name"] for row in admin.get(f"/w/acme/capabilities?{query}").context["rows"]] == found


def test_the_map_shows_levels_and_gaps(admin, words):
    response = admin.get("/w/acme/coverage")
    rows = {row["name"]: row for row in response.context["rows"]}

    assert response.context["columns"] == ["hitspec"]
    assert [cell and cell.level for cell in rows["web-fetch"]["cells"]] == [0.8]
    assert rows["old-fetch"]["cells"] == [None] and not rows["left-over"]["known"]
    assert response.context["silent"] == 1
    assert '<th scope="row">' in response.content.decode()


def test_a_wide_map_is_cut_both_ways_and_keeps_its_place(admin, workspace):
    document = crowd.document(70, 1)
    for endpoint in document["endpoints"]:
        endpoint["capabilities"] = ["long-context"]
    publish(workspace, document | {"capabilities": [{"name": f"word-{n:02}"} for n in range(60)]})

    first = admin.get("/w/acme/coverage")
    later = admin.get(first.context["sideways"]["next"])
    down = admin.get(later.context["next"])

    assert (len(first.context["columns"]), len(first.context["rows"])) == (30, 50)
    assert later.context["columns"][0] == "place-030"
    assert (down.context["columns"][0], down.context["rows"][0]["name"]) == ("place-030", "word-49")


def test_synonyms_are_saved_to_the_draft_each_on_its_line(editor, workspace, words):
    text = save(editor, value="fetch, or get\r\n\r\n  haal   op \nhaal op", read=read_mark(editor)).content.decode()

    assert words().details["synonyms"] == ["fetch, or get", "haal op"]
    assert "Synonyms of web-fetch saved to the draft" in text and "1 change" in text
    assert revisions.live_document(workspace)["capabilities"][0]["synonyms"] == ["download a page", "ophalen"]


def test_undo_brings_back_what_was_there(editor, words):
    text = save(editor, value="other words", read=read_mark(editor)).content.decode()
    toast = text[text.index("data-toast") :]

    save(
        editor,
        value=re.search(r'name="value" value="([^"]+)"', toast, re.S)[1],
        read=re.search(r'name="read" value="([^"]+)"', toast)[1],
    )

    assert words().details["synonyms"] == ["download a page", "ophalen"]


def test_an_emptied_part_is_left_out_of_the_document(editor, workspace, words):
    for part in ("synonyms", "keywords", "description"):
        save(editor, part, value=" ", read=read_mark(editor, part))

    assert registry.working_document(workspace)["capabilities"][0] == {"name": "web-fetch", "prefer": ["hitspec"]}


def test_what_breaks_a_rule_is_refused_beside_the_field_and_kept_in_it(editor, words):
    told = save(editor, value="good\nbad\u202eword", read=read_mark(editor)).content.decode()
    blank = save(editor, value="good\n\u2066", read=read_mark(editor)).content.decode()

    for text in (told, blank):
        assert 'aria-invalid="true"' in text and 'id="e-synonyms"' in text
    assert "good\nbad\u202eword</textarea>" in told
    assert words().details["synonyms"] == ["download a page", "ophalen"]


def test_a_description_of_ten_thousand_characters_is_kept_or_refused_and_never_cut(editor, words):
    long = "long " * 2000 + "end"

    text = save(editor, "description", value=long, read=read_mark(editor, "description")).content.decode()

    assert words().description == (long if "saved to the draft" in text else "Retrieves a known address")
    assert long in text


def test_two_people_who_edit_the_same_words_both_see_both(editor, workspace, words):
    read = read_mark(editor)
    entries.edit(workspace, "capabilities", "web-fetch", {"synonyms": ["theirs"]}, by=EDITOR)

    text = save(editor, value="mine", read=read).content.decode()
    assert (
        "This was changed while you did, by somebody else or in another tab." in text
        and "theirs" in text
        and "mine" in text
    )
    assert words().details["synonyms"] == ["theirs"]

    save(editor, value="mine", read=read, keep=re.search(r'name="keep" value="([^"]+)"', text)[1])
    assert words().details["synonyms"] == ["mine"]


def test_another_part_may_be_edited_meanwhile(editor, workspace, words):
    read = read_mark(editor)
    entries.edit(workspace, "capabilities", "web-fetch", {"keywords": ["theirs"]}, by=EDITOR)

    save(editor, value="mine", read=read)

    assert (words().details["synonyms"], words().details["keywords"]) == (["mine"], ["theirs"])


def test_the_page_works_without_script(editor, words):
    answer = save(editor, headers={}, value="mine", read=read_mark(editor))
    assert answer["Location"] == "/w/acme/capabilities/web-fetch"
    assert "Synonyms of web-fetch saved to the draft" in editor.get(answer["Location"]).content.decode()

    refused = save(editor, headers={}, value="\u2066", read=read_mark(editor))
    stale = save(editor, headers={}, value="again", read="nobody read this")
    assert (refused.status_code, stale.status_code) == (422, 409)
    assert 'id="e-synonyms"' in refused.content.decode() and "Keep mine" in stale.content.decode()


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_whoever_may_not_edit_sees_words_as_text_and_is_refused(enter, words, role):
    client = enter(role)
    text = client.get("/w/acme/capabilities/web-fetch").content.decode()

    assert "ophalen" in text and "<textarea" not in text
    assert save(client, value="mine", read="x").status_code == 403
    assert words().details["synonyms"] == ["download a page", "ophalen"]


@pytest.mark.parametrize(
    "page", ["tools", "tools/hitspec__fetch", "scopes", "scopes/default", "capabilities", "coverage"]
)
def test_a_viewer_sees_these_pages_and_an_auditor_is_told_why_not(enter, words, stranger, page):
    assert enter("viewer").get(f"/w/acme/{page}").status_code == 200
    assert enter("auditor").get(f"/w/acme/{page}").status_code == 403
    assert stranger.get(f"/w/acme/{page}").status_code == 404


def test_a_stranger_changes_nothing_and_a_visitor_is_asked_to_sign_in(stranger, words):
    assert save(stranger, value="mine").status_code == 404
    assert save(Client(), headers={}, value="mine").status_code == 401
    assert stranger.get("/w/acme/capabilities/web-fetch").status_code == 404


def test_what_is_not_there_is_not_found(editor, words):
    assert editor.get("/w/acme/capabilities/nothing").status_code == 404
    assert save(editor, "name", value="x").status_code == 404
    assert editor.post("/w/acme/capabilities/nothing/edit/synonyms", {"value": "x"}).status_code == 404


def test_an_empty_vocabulary_teaches_how_to_begin(admin, workspace):
    publish(workspace, DOCUMENT)

    assert "synonyms: [download a page" in admin.get("/w/acme/capabilities").content.decode()
    assert "Nothing to map yet" in admin.get("/w/acme/coverage").content.decode()


def test_as_many_queries_for_many_words_as_for_few(admin, workspace, django_assert_max_num_queries):
    document = crowd.document(60, 2)
    for number, endpoint in enumerate(document["endpoints"]):
        endpoint["capabilities"] = [f"word-{number % 40:02}"]
    publish(workspace, document | {"capabilities": [{"name": f"word-{n:02}"} for n in range(40)]})
    admin.get("/w/acme/capabilities")

    for page in ("capabilities", "coverage", "capabilities/word-01"):
        with django_assert_max_num_queries(13):
            assert admin.get(f"/w/acme/{page}").status_code == 200


def test_hostile_words_are_shown_safely(admin, workspace):
    publish(workspace, crowd.hostile())

    for page in ("capabilities", "capabilities/long-context", "coverage"):
        assert "<script>alert" not in admin.get(f"/w/acme/{page}").content.decode()


def test_a_new_capability_lands_in_the_draft(editor, workspace, words):
    fields = {"name": "page-print", "description": "", "synonyms": "afdrukken\nprint it", "keywords": ""}
    answer = editor.post("/w/acme/new/capability", fields)

    assert answer["Location"] == "/w/acme/capabilities/page-print"
    made = registry.working_document(workspace)["capabilities"][-1]
    assert made == {"name": "page-print", "synonyms": ["afdrukken", "print it"]}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "Not A Name"}, "name"),
        ({"name": "web-fetch"}, "name"),
        ({"name": "fine", "synonyms": "bad\u202eword"}, "synonyms"),
    ],
)
def test_a_new_capability_is_refused_beside_the_field_and_nothing_is_saved(editor, workspace, words, fields, field):
    before = registry.working_document(workspace)
    answer = editor.post("/w/acme/new/capability", fields)

    assert answer.status_code == 422 and list(answer.context["form"].errors) == [field]
    assert f'id="id_{field}-e"' in answer.content.decode()
    assert registry.working_document(workspace) == before


def test_a_word_that_is_nowhere_explained_is_one_click_from_its_form(editor, words):
    assert "new/capability?name=left-over" in editor.get("/w/acme/capabilities").content.decode()
    assert 'value="left-over"' in editor.get("/w/acme/new/capability?name=left-over").content.decode()


def test_a_capability_that_is_used_stays_and_the_refusal_says_by_what(editor, words):
    for ask in (lambda: editor.get("/w/acme/capabilities/web-fetch/delete"), lambda: delete(editor, "web-fetch")):
        told = editor.get(ask()["Location"]).content.decode()
        assert "it is used by endpoint hitspec and capability old-fetch" in told
    assert words().name == "web-fetch"


def test_a_capability_that_nothing_uses_goes_after_a_question(editor, workspace, words):
    assert "Delete capability old-fetch?" in editor.get("/w/acme/capabilities/old-fetch/delete").content.decode()
    assert delete(editor, "old-fetch")["Location"] == "/w/acme/capabilities"
    assert [one["name"] for one in registry.working_document(workspace)["capabilities"]] == ["web-fetch"]


def delete(client, name):
    return client.post(f"/w/acme/capabilities/{name}/delete")


def prefer(client, *names, do="", headers=HTMX, **fields):
    return save(client, "prefer", headers, value=list(names), do=do, read=read_mark(client, "prefer"), **fields)


def test_endpoints_to_prefer_are_added_moved_and_removed(editor, words):
    prefer(editor, "hitspec", do="add", add="notes")
    assert words().details["prefer"] == ["hitspec", "notes"]
    prefer(editor, "hitspec", "notes", do="up:1")
    assert words().details["prefer"] == ["notes", "hitspec"]
    prefer(editor, "notes", "hitspec", do="down:0", headers={})
    assert words().details["prefer"] == ["hitspec", "notes"]
    prefer(editor, "hitspec", "notes", do="remove:0")
    assert words().details["prefer"] == ["notes"]


def test_an_endpoint_that_is_not_there_is_refused_and_stays_in_its_field(editor, words):
    text = prefer(editor, "hitspec", do="add", add="nowhere").content.decode()
    assert 'id="e-prefer"' in text and 'name="add" value="nowhere"' in text
    assert words().details["prefer"] == ["hitspec"]


def test_a_capability_is_deprecated_and_used_again(editor, workspace, words):
    entries.add(workspace, "capabilities", {"name": "page-print"}, by=EDITOR)
    mark = read_mark(editor, "deprecated")
    save(editor, "deprecated", {}, value="yes", instead="page-print", read=mark)
    text = editor.get("/w/acme/capabilities/web-fetch").content.decode()
    assert words().deprecated and words().details["replaced_by"] == "page-print"
    assert "Deprecation of web-fetch saved to the draft" in text and "Use it again" in text

    save(editor, "deprecated", {}, value="", instead="page-print", read=read_mark(editor, "deprecated"))
    assert not words().deprecated and "replaced_by" not in words().details


def test_a_replacement_that_is_not_there_is_refused_beside_its_field(editor, words):
    answer = save(editor, "deprecated", {}, value="yes", instead="nowhere", read=read_mark(editor, "deprecated"))
    assert answer.status_code == 422 and 'id="e-instead"' in answer.content.decode()
    stale = save(editor, "deprecated", {}, value="yes", instead="old-fetch", read="nobody read this")
    assert stale.status_code == 409 and "Deprecated, replaced by old-fetch" in stale.content.decode()
    assert not words().deprecated


def test_two_capabilities_become_one_in_one_step(editor, workspace, words):
    entries.add(workspace, "capabilities", {"name": "page-get", "synonyms": ["get it"]}, by=EDITOR)
    asked = editor.get("/w/acme/capabilities/web-fetch/merge?into=page-get").content.decode()
    assert "These name page-get instead: endpoint hitspec and capability old-fetch." in asked

    answer = editor.post("/w/acme/capabilities/web-fetch/merge", {"into": "page-get"})
    document = registry.working_document(workspace)
    assert answer["Location"] == "/w/acme/capabilities/page-get"
    old, kept = document["capabilities"]
    assert (old["name"], old["replaced_by"]) == ("old-fetch", "page-get")
    assert kept["synonyms"] == ["get it", "download a page", "ophalen"] and kept["prefer"] == ["hitspec"]
    assert document["endpoints"][0]["capabilities"][0]["name"] == "page-get"


def test_a_merge_is_one_edit_of_its_capability_that_is_taken_back_from_the_message(editor, workspace, words):
    entries.add(workspace, "capabilities", {"name": "page-get"}, by=EDITOR)
    before = registry.working_document(workspace)
    asked = editor.get("/w/acme/capabilities/web-fetch/merge?into=page-get").content.decode()
    read = asked.split('name="read" value="')[1].split('"')[0]
    entries.edit(workspace, "capabilities", "page-get", {"description": "Theirs"}, by=EDITOR)
    merge = "/w/acme/capabilities/web-fetch/merge"

    stale = editor.post(merge, {"into": "page-get", "read": read}, follow=True).content.decode()
    assert "Somebody changed web-fetch, page-get" in stale and words().name == "web-fetch"
    entries.edit(workspace, "capabilities", "page-get", {"description": None}, by=EDITOR)
    said = editor.post(merge, {"into": "page-get", "read": read, "why": "One word"}, follow=True).content.decode()

    entry = AuditEntry.objects.filter(workspace=workspace, action="capability.merged").get()
    assert (entry.target, entry.message) == ("capability web-fetch into page-get", "One word")
    undo = said.split('id="toasts"')[1].split('action="')[1].split('"')[0]
    editor.post(undo)
    assert registry.working_document(workspace) == before


def test_a_merge_into_nothing_or_itself_changes_nothing(editor, words):
    for into in ("", "nothing", "web-fetch"):
        assert editor.post("/w/acme/capabilities/web-fetch/merge", {"into": into}).status_code == 422
    assert words().name == "web-fetch"
