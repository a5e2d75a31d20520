from __future__ import annotations

import re

import pytest

from routing.models import EndpointRow
from routing.services import entries, registry
from tests.routing.conftest import EDITOR

HTMX = {"HX-Request": "true"}


@pytest.fixture
def hitspec(workspace):
    return lambda: EndpointRow.objects.get(workspace=workspace, name="hitspec")


@pytest.fixture
def editor(enter):
    return enter("editor")


def read_mark(client, part: str = "use_when", tool: str = "") -> str:
    text = client.get("/w/acme/endpoints/hitspec").content.decode()
    start = text.index(f'id="part-{part}"' if not tool else f'name="key" value="{tool}"') - (200 if tool else 0)
    return re.search(r'name="read" value="([^"]+)"', text[start:])[1]


def save(client, part: str = "use_when", headers=HTMX, **fields):
    return client.post(f"/w/acme/endpoints/hitspec/edit/{part}", fields, headers=headers)


def test_the_list_counts_tools_hints_and_decisions(admin, decide):
    decide()

    rows = {row["endpoint"].name: row for row in admin.get("/w/acme/endpoints").context["rows"]}

    assert (rows["hitspec"]["endpoint"].tool_count, rows["hitspec"]["hints"], rows["hitspec"]["decided"]) == (2, 1, 1)
    assert (rows["notes"]["hints"], rows["notes"]["decided"]) == (0, 0)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=note", ["notes"]),
        ("q=runner", ["hitspec"]),
        ("tag=web", ["hitspec"]),
        ("kind=mcp", []),
        ("enabled=yes", ["hitspec", "notes"]),
        ("enabled=no", []),
    ],
)
def test_filters_of_the_list(admin, query, names):
    assert [row["endpoint"].name for row in admin.get(f"/w/acme/endpoints?{query}").context["rows"]] == names


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("-endpoint", ["notes", "hitspec"]),
        ("-tools", ["hitspec", "notes"]),
        ("hints", ["notes", "hitspec"]),
        ("-decided", ["hitspec", "notes"]),
        ("nonsense", ["hitspec", "notes"]),
    ],
)
def test_the_list_is_sorted_by_its_heads(admin, decide, sort, names):
    decide()

    page = admin.get(f"/w/acme/endpoints?enabled=yes&sort={sort}")

    assert [row["endpoint"].name for row in page.context["rows"]] == names
    assert page.context["heads"]["kind"]["address"] == "/w/acme/endpoints?enabled=yes&sort=kind"


def test_a_hint_is_saved_to_the_draft_and_not_to_the_live_revision(editor, workspace, hitspec):
    response = save(editor, hint=["fetch a page", "read an article"], read=read_mark(editor))
    text = response.content.decode()

    assert hitspec().use_when == ["fetch a page", "read an article"]
    assert registry.revisions.live_document(workspace)["endpoints"][0]["use_when"] == [
        "fetch a public web page as readable Markdown text"
    ]
    assert "Hints saved to the draft" in text
    assert "1 change" in text


def test_undo_brings_back_what_was_there(editor, hitspec):
    text = save(editor, hint=["fetch a page"], read=read_mark(editor)).content.decode()
    toast = text[text.index("data-toast") :]

    save(
        editor,
        hint=re.findall(r'name="hint" value="([^"]+)"', toast),
        read=re.search(r'name="read" value="([^"]+)"', toast)[1],
    )

    assert hitspec().use_when == ["fetch a public web page as readable Markdown text"]


def test_adding_opens_an_empty_field_and_saves_nothing_yet(editor, hitspec):
    text = save(
        editor, hint=["fetch a public web page as readable Markdown text"], read=read_mark(editor), do="add"
    ).content.decode()

    assert text.count("<textarea") == 2
    assert "data-focus" in text.split("<textarea")[2]
    assert len(hitspec().use_when) == 1


@pytest.mark.parametrize(
    ("do", "after"),
    [
        ("up:1", ["b b", "a a", "c c"]),
        ("down:1", ["a a", "c c", "b b"]),
        ("remove:0", ["b b", "c c"]),
        ("up:0", ["a a", "b b", "c c"]),
        ("up:9", ["a a", "b b", "c c"]),
    ],
)
def test_hints_are_moved_and_removed(editor, workspace, hitspec, do, after):
    entries.edit(workspace, "endpoints", "hitspec", {"use_when": ["a a", "b b", "c c"]}, by=EDITOR)

    save(editor, hint=["a a", "b b", "c c"], read=read_mark(editor), do=do)

    assert hitspec().use_when == after


def test_a_hint_that_breaks_a_rule_is_refused_beside_its_field_and_kept_in_it(editor, hitspec):
    long = "w " * 150

    text = save(editor, hint=["fetch a page", "", long], read=read_mark(editor)).content.decode()

    third = text.split("<textarea")[3]
    assert 'aria-invalid="true"' in third.split(">")[0]
    assert "299 bytes" in third and "256 bytes" in third
    assert long.strip() in third
    assert len(hitspec().use_when) == 1 and "public" in hitspec().use_when[0]


def test_line_breaks_become_spaces(editor, hitspec):
    save(editor, hint=["fetch\r\n a page "], read=read_mark(editor))

    assert hitspec().use_when == ["fetch a page"]


def test_two_people_who_edit_the_same_hints_both_see_both(editor, workspace, hitspec):
    mark = read_mark(editor)
    entries.edit(workspace, "endpoints", "hitspec", {"use_when": ["theirs is here"]}, by=EDITOR)

    text = save(editor, hint=["mine is here"], read=mark).content.decode()

    assert "This was changed while you did, by somebody else or in another tab." in text
    assert "theirs is here" in text and "mine is here" in text
    assert re.search(r'id="draftchip" hx-swap-oob="true">\s*<a class="draftchip"', text)
    assert hitspec().use_when == ["theirs is here"]

    save(editor, hint=["mine is here"], read=mark, keep=re.search(r'name="keep" value="([^"]+)"', text)[1])

    assert hitspec().use_when == ["mine is here"]


def test_two_people_who_edit_different_parts_do_not_meet(editor, workspace, hitspec):
    mark = read_mark(editor)
    entries.edit(workspace, "endpoints", "hitspec", {"description": "Theirs"}, by=EDITOR)

    save(editor, hint=["mine is here"], read=mark)

    assert (hitspec().description, hitspec().use_when) == ("Theirs", ["mine is here"])


def test_both_sides_are_shown_without_script_too(editor, workspace):
    mark = read_mark(editor)
    entries.edit(workspace, "endpoints", "hitspec", {"use_when": ["theirs is here"]}, by=EDITOR)

    response = save(editor, headers={}, hint=["mine is here"], read=mark)

    assert response.status_code == 409
    assert "theirs is here" in response.content.decode() and "mine is here" in response.content.decode()


def test_without_script_a_saved_form_leads_back_to_the_page(editor, hitspec):
    response = save(editor, headers={}, hint=["fetch a page"], read=read_mark(editor))

    assert (response.status_code, response["Location"]) == (302, "/w/acme/endpoints/hitspec")
    assert "Hints saved to the draft" in editor.get(response["Location"]).content.decode()


def test_a_tool_s_hints_are_kept_under_the_name_that_the_endpoint_publishes(editor, hitspec):
    save(
        editor,
        "tool_use_when",
        key="hitspec_fetch",
        hint=["read an article"],
        read=read_mark(editor, tool="hitspec_fetch"),
    )

    assert hitspec().tool_use_when == {"hitspec_fetch": ["read an article"]}

    save(editor, "tool_use_when", key="hitspec_fetch", read=read_mark(editor, tool="hitspec_fetch"))

    assert hitspec().tool_use_when == {}


def test_a_tool_or_a_part_that_does_not_exist_cannot_be_edited(editor):
    assert save(editor, "tool_use_when", key="nothing", hint=["x"], read="x").status_code == 404
    assert save(editor, "tools", value="http://evil.example", read="x").status_code == 404


def test_tags_are_words_with_commas_between_them(editor, hitspec):
    save(editor, "tags", value=" web,http , ,web, pages", read=read_mark(editor, "tags"))

    assert hitspec().tags == ["web", "http", "pages"]


def test_the_page_shows_traits_with_their_provenance_and_who_reaches_what(admin):
    context = admin.get("/w/acme/endpoints/notes").context

    traits = {tool["public"]: tool["traits"] for tool in context["tools"]}
    assert (traits["notes__delete_note"].effect, traits["notes__delete_note"].provenance["effect"]) == (
        "erase",
        "declared",
    )
    assert traits["notes__add_note"].provenance["effect"] == "inferred"
    assert {one["scope"]: one["word"] for one in context["reach"]["lines"]} == {"default": "Full", "web-only": "None"}


def test_hostile_texts_are_shown_as_text(admin, workspace):
    entries.edit(
        workspace,
        "endpoints",
        "hitspec",
        {"use_when": ["<script>alert(1)</script> now"], "description": "</textarea>\u202e<script>alert(2)</script>"},
        by=EDITOR,
    )

    for page in ("/w/acme/endpoints", "/w/acme/endpoints/hitspec", "/w/acme/publish"):
        assert "<script>alert" not in admin.get(page).content.decode()


def test_the_page_says_who_names_it_with_links(admin, workspace):
    policy = {
        "name": "careful",
        "selection": {"fallback_endpoints": ["hitspec"]},
        "execution": {"rules": [{"verdict": "ask", "endpoint": "hitspec"}]},
    }
    entries.add(workspace, "policies", policy, by=EDITOR)
    entries.add(workspace, "capabilities", {"name": "web-fetch", "prefer": ["hitspec"]}, by=EDITOR)
    entries.edit(workspace, "scopes", "default", {"default_endpoint": "hitspec", "pins": ["hitspec__fetch"]}, by=EDITOR)

    response = admin.get("/w/acme/endpoints/hitspec")
    text = response.content.decode()

    assert {(one.noun, one.name): one.places for one in response.context["users"]} == {
        ("capability", "web-fetch"): ("among the endpoints that it prefers",),
        ("scope", "default"): ("among its pins (hitspec__fetch)", "as its default endpoint"),
        ("scope", "web-only"): ("in its list of endpoints",),
        ("policy", "careful"): ("among its fallback endpoints", "in execution rule 1"),
    }
    for address in ("capabilities/web-fetch", "scopes/default", "scopes/web-only", "policies/careful"):
        assert f'<a href="/w/acme/{address}">' in text
    assert "No scope, policy" in admin.get("/w/acme/endpoints/notes").content.decode()


def test_reach_in_the_draft_stands_beside_the_live_one_where_they_differ(admin, workspace):
    assert "in the draft:" not in admin.get("/w/acme/endpoints/notes").content.decode()
    entries.edit(workspace, "scopes", "web-only", {"endpoints": None, "tools": ["notes__add_note"]}, by=EDITOR)
    entries.add(workspace, "scopes", {"name": "new", "endpoints": ["notes"]}, by=EDITOR)

    reach = admin.get("/w/acme/endpoints/notes").context["reach"]
    text = admin.get("/w/acme/endpoints/notes").content.decode()

    lines = {one["scope"]: (one["shown"], one["draft"]) for one in reach["lines"]}
    assert lines == {"default": ((2, 2), (2, 2)), "web-only": ((0, 2), (1, 2)), "new": (None, (2, 2))}
    assert text.count("in the draft: ") == 2 and "in the draft: 1 of 2 tools" in text


def test_reach_of_an_endpoint_that_is_not_live_is_that_of_the_draft(admin, workspace):
    entries.add(workspace, "endpoints", {"name": "fresh", "kind": "declared", "tools": [{"name": "go"}]}, by=EDITOR)

    response = admin.get("/w/acme/endpoints/fresh")

    assert "nobody reaches it before it is published" in response.content.decode()
    assert {one["scope"]: one["word"] for one in response.context["reach"]["lines"]} == {
        "default": "Full",
        "web-only": "None",
    }


def test_what_an_endpoint_is_named_by_is_said_before_anybody_tries_to_remove_it(editor, workspace, hitspec):
    dialog = editor.get("/w/acme/endpoints/hitspec/remove", headers=HTMX).content.decode()
    assert "it cannot be removed" in dialog and "/w/acme/scopes/web-only" in dialog and "<form" not in dialog

    entries.edit(workspace, "scopes", "web-only", {"endpoints": ["notes"]}, by=EDITOR)
    assert "Remove hitspec?" in editor.get("/w/acme/endpoints/hitspec/remove", headers=HTMX).content.decode()
    editor.post("/w/acme/endpoints/hitspec/remove")
    assert not EndpointRow.objects.filter(workspace=workspace, name="hitspec").exists()
