"""Several endpoints or tools at once: one step, asked first where something stops, taken back as one."""

from __future__ import annotations

import re

import pytest

from routing import working
from routing.models import AuditEntry, Edit
from routing.services import entries, registry
from tests.routing.conftest import EDITOR

HTMX = {"HX-Request": "true"}


@pytest.fixture
def editor(enter):
    return enter("editor")


@pytest.fixture
def post(editor, workspace):
    """Post a deed as the list's form does; `seen` is the draft's version of this moment unless it is given."""

    def post(page: str, do: str, *picks: str, headers=None, **fields):
        workspace.refresh_from_db()
        given = {"do": do, "pick": picks, "seen": workspace.draft_version, "back": f"/w/acme/{page}?q=x", **fields}
        return editor.post(f"/w/acme/bulk/{page}", given, headers=headers or {})

    return post


def endpoint(workspace, name: str):
    return working.copy_of(workspace).entry("endpoints", name)


def tool(workspace, name: str):
    return next(one for one in endpoint(workspace, "notes")["tools"] if one["name"] == name)


def said(client, response) -> str:
    return client.get(response["Location"]).content.decode()


# --- endpoints ----------------------------------------------------------------------------------------------------------
def test_tags_are_added_and_removed_in_one_step_that_is_undone_as_one(editor, workspace, post):
    before = registry.working_document(workspace)

    answer = post("endpoints", "tag", "hitspec", "notes", tags="paper, web")
    assert (answer.status_code, answer["Location"]) == (302, "/w/acme/endpoints?q=x")
    text = said(editor, answer)
    assert "2 endpoints: tagged paper, web in the draft" in text
    assert endpoint(workspace, "hitspec")["tags"] == ["web", "http", "paper"]
    assert endpoint(workspace, "notes")["tags"] == ["paper", "web"]
    assert Edit.objects.filter(workspace=workspace, revision=None).count() == 1
    entry = AuditEntry.objects.filter(workspace=workspace, action="endpoint.changed").latest("seq")
    assert entry.target == "2 endpoints"

    toast = text[text.index("data-toast") :]
    undone = editor.post(re.search(r'action="([^"]+)"', toast)[1], {"next": "/w/acme/endpoints?q=x"})
    assert (undone.status_code, undone["Location"]) == (302, "/w/acme/endpoints?q=x")
    assert registry.working_document(workspace) == before

    post("endpoints", "untag", "hitspec", "notes", tags="web")
    assert endpoint(workspace, "hitspec")["tags"] == ["http"]


def test_switching_off_asks_first_and_names_what_stops(editor, workspace, post, decide):
    decide()
    entries.edit(workspace, "endpoints", "hitspec", {"capabilities": ["web-fetch"]}, by=EDITOR)
    entries.edit(workspace, "scopes", "default", {"default_endpoint": "hitspec"}, by=EDITOR)

    answer = post("endpoints", "disable", "hitspec")
    text = answer.content.decode()
    assert answer.status_code == 200 and "Switch off hitspec?" in text
    assert "Scope web-only loses all 2 tools that it reaches." in text
    assert "Scope default loses 2 of the 4 tools that it reaches." in text
    assert "Capability web-fetch: no other endpoint that is switched on carries it." in text
    assert "Scope default names hitspec as its default endpoint." in text
    assert "1 decision of the last 30 days" in text
    assert 'href="/w/acme/endpoints/hitspec#replay">See what would change without it</a>' in text
    assert endpoint(workspace, "hitspec").get("enabled", True) is True

    answer = post("endpoints", "disable", "hitspec", confirmed="on")
    assert endpoint(workspace, "hitspec")["enabled"] is False
    assert "hitspec: switched off in the draft" in said(editor, answer)
    post("endpoints", "enable", "hitspec", "notes")
    assert "enabled" not in endpoint(workspace, "hitspec")


def test_what_was_chosen_from_an_older_draft_is_asked_about_and_nothing_is_lost(workspace, post):
    workspace.refresh_from_db()
    seen = workspace.draft_version
    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)

    answer = post("endpoints", "tag", "hitspec", "notes", tags="mine", seen=seen)
    text = answer.content.decode()
    assert answer.status_code == 200 and "Somebody changed the draft since" in text
    assert endpoint(workspace, "notes")["tags"] == ["paper"]

    hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', text)
    assert [value for name, value in hidden if name == "pick"] == ["hitspec", "notes"]
    post("endpoints", "tag", "hitspec", "notes", tags="mine", seen=dict(hidden)["seen"], confirmed="on")
    assert endpoint(workspace, "notes")["tags"] == ["paper", "mine"]


def test_what_left_the_draft_meanwhile_is_left_out_once_that_was_said(workspace, post):
    entries.remove(workspace, "endpoints", ["notes"], by=EDITOR)

    answer = post("endpoints", "tag", "hitspec", "notes", tags="mine")
    assert "notes is not in the draft, so left out." in answer.content.decode()
    assert "mine" not in endpoint(workspace, "hitspec")["tags"]


@pytest.mark.parametrize(
    ("do", "picks", "fields", "problem"),
    [
        ("tag", ("hitspec",), {"tags": " , "}, "Write the tag that you mean."),
        ("tag", (), {"tags": "x"}, "Choose at least one endpoint."),
        ("nothing", ("hitspec",), {}, "Choose what should be done."),
        ("enable", ("nowhere",), {}, "is not in the draft"),
        ("tag", ("hitspec",), {"tags": "x" * 300}, "must be at most 256 characters"),
        ("enable", ("hitspec",), {}, "Nothing to change"),
        ("enable", ("hitspec",), {"seen": "9" * 18}, "Somebody changed the draft"),
    ],
)
def test_bad_input_gets_a_clear_answer_and_changes_nothing(editor, workspace, post, do, picks, fields, problem):
    before = registry.working_document(workspace)

    answer = post("endpoints", do, *picks, **fields)

    assert problem in (said(editor, answer) if answer.status_code == 302 else answer.content.decode())
    assert registry.working_document(workspace) == before


def test_nobody_is_led_to_another_site(post):
    for back in ("https://evil.example/", "//evil.example/"):
        assert post("endpoints", "tag", "hitspec", tags="x", back=back)["Location"] == "/"


def test_with_script_the_question_is_a_dialog_and_an_answer_a_new_page(post):
    dialog = post("endpoints", "disable", "hitspec", headers=HTMX).content.decode()
    assert dialog.lstrip().startswith("<form") and "<html" not in dialog

    assert post("endpoints", "disable", headers=HTMX)["HX-Redirect"] == "/w/acme/endpoints?q=x"


def test_only_those_who_edit_choose_rows(enter):
    viewer, editor = enter("viewer"), enter("editor")
    for page in ("endpoints", "tools"):
        assert 'name="pick"' not in viewer.get(f"/w/acme/{page}").content.decode()
        assert 'name="pick"' in editor.get(f"/w/acme/{page}").content.decode()


# --- tools --------------------------------------------------------------------------------------------------------------
def test_traits_of_several_tools_are_set_and_taken_back(editor, workspace, post):
    answer = post("tools", "set", "notes__add_note", "notes__delete_note", risk="critical", category="paper")
    assert "2 tools: set to paper, critical in the draft" in said(editor, answer)
    assert [tool(workspace, name)["risk"] for name in ("add_note", "delete_note")] == ["critical"] * 2

    text = editor.get("/w/acme/tools").content.decode()
    assert text.count("category paper, risk critical in the draft") == 2
    post("tools", "infer", "notes__add_note", "notes__delete_note")
    assert "risk" not in tool(workspace, "add_note") and "effect" not in tool(workspace, "delete_note")


def test_tools_of_several_endpoints_are_switched_off_after_a_question(editor, workspace, post):
    picks = ("hitspec__hitspec_fetch", "hitspec__hitspec_validate", "notes__add_note")
    entries.edit(workspace, "scopes", "web-only", {"pins": ["hitspec__fetch"]}, by=EDITOR)

    text = post("tools", "disable", *picks).content.decode()
    assert "Switch off 3 tools?" in text and "hitspec__fetch, hitspec__validate and notes__add_note." in text
    assert "Scope web-only loses all 2 tools" in text and "loses 3 of the 4 tools" in text
    assert "Scope web-only names hitspec__fetch among its pins." in text
    assert "See what would change" not in text  # that is known of one at a time
    one = post("tools", "disable", "hitspec__hitspec_fetch").content.decode()
    assert 'href="/w/acme/tools/hitspec__fetch#replay">See what would change without it</a>' in one

    post("tools", "disable", *picks, confirmed="on")
    assert tool(workspace, "add_note")["enabled"] is False
    assert [one["enabled"] for one in endpoint(workspace, "hitspec")["tools"]] == [False, False]
    assert editor.get("/w/acme/tools").content.decode().count("<bdi>switched off in the draft</bdi>") == 3


@pytest.mark.parametrize(
    ("fields", "problem"),
    [({}, "Choose a category"), ({"risk": "huge"}, "risk is one of low"), ({"category": "x\ny"}, "control characters")],
)
def test_what_is_no_trait_is_refused(editor, workspace, post, fields, problem):
    assert problem in said(editor, post("tools", "set", "notes__add_note", **fields))
    assert registry.draft_changes(workspace) == []


def test_a_tool_that_the_draft_lost_says_so_and_cannot_be_chosen(editor, workspace):
    entries.remove(workspace, "endpoints", ["notes"], by=EDITOR)

    text = editor.get("/w/acme/tools").content.decode()

    assert text.count("not in the draft") == 2 and 'value="notes__add_note"' not in text


# --- one tool -----------------------------------------------------------------------------------------------------------
@pytest.fixture
def git(workspace):
    log = {"name": "log", "description": "Show the log", "annotations": {"readOnlyHint": True}}
    server = {"name": "git", "kind": "mcp", "url": "https://git.example/mcp", "tools": [log]}
    entries.add(workspace, "endpoints", server, by=EDITOR)
    return lambda: endpoint(workspace, "git")["tools"][0]


def read_of(client) -> str:
    text = client.get("/w/acme/tools/git__log").content.decode()
    return re.search(r'name="read" value="([^"]+)"', text)[1]


def test_a_trait_is_overridden_on_the_tools_page_and_goes_back_to_what_the_server_says(editor, git):
    assert "Low (annotation)" in editor.get("/w/acme/tools/git__log").content.decode()

    answer = editor.post("/w/acme/tools/git__log", {"read": read_of(editor), "risk": "high", "effect": ""})
    assert (answer.status_code, answer["Location"]) == (302, "/w/acme/tools/git__log")
    text = said(editor, answer)
    assert (git()["risk"], git()["overridden"]) == ("high", ["risk"])
    assert "git__log: risk high in the draft" in text and "Back to annotation" in text
    assert '<span class="tag line" id="t-risk-how">overridden</span>' in text

    editor.post("/w/acme/tools/git__log", {"read": read_of(editor), "infer": "risk", "category": "typed but not saved"})
    assert "risk" not in git() and "overridden" not in git() and "category" not in git()


def test_two_people_who_set_the_same_tool_both_hear_of_it(editor, git, workspace):
    read = read_of(editor)
    entries.edit(workspace, "endpoints", "git", {"tools": [{**git(), "risk": "critical"}]}, by=EDITOR)

    answer = editor.post("/w/acme/tools/git__log", {"read": read, "risk": "medium"})
    text = answer.content.decode()
    assert answer.status_code == 409 and "Take theirs" in text and "critical" in text.split("Take theirs")[1]
    assert '<option value="medium" selected>' in text and git()["risk"] == "critical"

    again = re.search(r'name="read" value="([^"]+)"', text)[1]
    chosen = re.search(r'name="choose-risk" value="(mine:[^"]+)"', text)[1]
    editor.post("/w/acme/tools/git__log", {"read": again, "risk": "medium", "choose-risk": chosen})
    assert git()["risk"] == "medium"


def test_a_bad_category_is_refused_beside_its_field_and_stays_in_it(editor, git):
    answer = editor.post("/w/acme/tools/git__log", {"read": read_of(editor), "category": "c" * 65})

    text = answer.content.decode()
    assert answer.status_code == 422 and "at most 64 characters" in text and "c" * 65 in text
    assert "category" not in git()


def test_only_those_who_edit_say_what_a_tool_is(enter, git):
    viewer = enter("viewer")
    assert 'name="risk"' not in viewer.get("/w/acme/tools/git__log").content.decode()
    assert viewer.post("/w/acme/tools/git__log", {"risk": "high"}).status_code == 403
