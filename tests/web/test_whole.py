"""Two people and the full form of one entry."""

from __future__ import annotations

from typing import Any

import pytest

from routing import working
from routing.models import AuditEntry, Edit
from routing.services import entries, tools
from tests.routing.conftest import EDITOR

ENDPOINT = "/w/acme/endpoints/hitspec/form"
SCOPE = "/w/acme/scopes/web-only/edit"


@pytest.fixture
def editor(enter):
    return enter("editor")


def body(workspace, section="endpoints", name="hitspec") -> dict[str, Any]:
    return working.copy_of(workspace).entry(section, name) or {}


def as_posted(form) -> dict[str, str]:
    """The fields of a scope's form as a browser sends them."""
    states = {f"{name}_state": state for name, state in form.states.items()}
    texts = {name: "\n".join(names) for name, names in form.names.items()}
    more = {name: text for name, text in form.more.items() if text or name != "harness_disabled"}
    return states | texts | more | {"mode": form.mode, "expose": form.expose, "policy": form.policy}


def opened(client, address: str) -> dict[str, str]:
    """Everything that the form posts as it was opened."""
    form = client.get(address).context["form"]
    if address == SCOPE:
        return as_posted(form) | {"read": form.meeting.read, "do": "save"}
    lines = [line for group in form.fields for line in group["fields"]]
    return {line["key"]: line["value"] for line in lines} | {"read": form.meeting.read}


def test_edits_of_different_fields_are_both_kept_without_asking(editor, workspace):
    form = opened(editor, ENDPOINT)
    entries.edit(workspace, "endpoints", "hitspec", {"title": "Theirs", "features": {"vision": True}}, by=EDITOR)

    saved = editor.post(ENDPOINT, {**form, "tags": "q", "feature-streaming": "yes"}, follow=True)

    after = body(workspace)
    assert (after["title"], after["tags"]) == ("Theirs", ["q"])
    assert after["features"] == {"streaming": True, "vision": True}
    assert f"Also kept: what {EDITOR.name} changed in title, vision" in saved.content.decode()


def test_a_form_that_says_nothing_new_writes_nothing(editor, workspace):
    form = opened(editor, ENDPOINT)
    entries.edit(workspace, "endpoints", "hitspec", {"title": "Theirs"}, by=EDITOR)
    edits = Edit.objects.count()

    assert editor.post(ENDPOINT, form).status_code == 302

    assert body(workspace)["title"] == "Theirs" and Edit.objects.count() == edits


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("cost_in", "nan", "It must be a finite number. Allowed: 0 or more."),
        ("cost_out", "9" * 400, "It must be a finite number. Allowed: 0 or more."),
        ("capabilities", "git inf", "It must be a finite number."),
        ("adapters", '[{"score": {"min": NaN}}]', "It must be a finite number."),
        ("enabled", "perhaps", "Choose on or off."),
        ("feature-vision", "perhaps", "Choose yes or no."),
    ],
)
def test_what_no_document_can_hold_is_refused_beside_its_field(editor, workspace, field, text, said):
    before = body(workspace)

    answer = editor.post(ENDPOINT, opened(editor, ENDPOINT) | {field: text})

    assert answer.status_code == 422 and said in answer.context["form"].problems[field][0]
    assert body(workspace) == before


def test_a_field_that_both_changed_is_chosen_and_not_reverted_by_saving_again(editor, workspace):
    form = opened(editor, ENDPOINT) | {"title": "Mine", "tags": "q"}
    entries.edit(workspace, "endpoints", "hitspec", {"title": "Theirs", "owner": "Search team"}, by=EDITOR)

    asked = editor.post(ENDPOINT, form)
    sides = asked.context["form"].meeting.conflicts
    text = asked.content.decode()
    again = {**form, "owner": "Search team", "read": asked.context["form"].meeting.read}
    unchosen = editor.post(ENDPOINT, again)

    assert (asked.status_code, unchosen.status_code) == (409, 409) and list(sides) == ["title"]
    assert (sides["title"].theirs, sides["title"].mine, sides["title"].who) == ("Theirs", "Mine", EDITOR.name)
    assert 'value="Mine"' in text and 'value="Search team"' in text and f"what {EDITOR.name} changed in owner" in text
    assert body(workspace)["title"] == "Theirs" and "tags" not in body(workspace).get("tags", [])

    editor.post(ENDPOINT, {**again, "choose-title": f"mine:{sides['title'].mark}"})
    after = body(workspace)
    assert (after["title"], after["tags"], after["owner"]) == ("Mine", ["q"], "Search team")


def test_a_switch_and_a_feature_that_both_changed_are_told_in_words(editor, workspace):
    entries.edit(workspace, "endpoints", "hitspec", {"enabled": False, "features": {"vision": True}}, by=EDITOR)
    form = opened(editor, ENDPOINT) | {"feature-vision": "", "priority": "3"}
    entries.edit(workspace, "endpoints", "hitspec", {"features": {"vision": False}, "priority": None}, by=EDITOR)
    asked = editor.post(ENDPOINT, {**form, "read": form["read"].replace("enabled:", "other:"), "enabled": "on"})

    sides = asked.context["form"].meeting.conflicts
    assert {key: (one.theirs, one.mine) for key, one in sides.items()} == {
        "enabled": ("off", "on"),
        "feature-vision": ("no", []),
    }


def test_theirs_can_be_taken_and_what_is_chosen_on_old_sight_is_asked_again(editor, workspace):
    form = opened(editor, ENDPOINT) | {"title": "Mine", "tags": "q"}
    entries.edit(workspace, "endpoints", "hitspec", {"title": "Theirs"}, by=EDITOR)
    asked = editor.post(ENDPOINT, form)
    meeting = asked.context["form"].meeting
    again = {**form, "read": meeting.read}
    seen = meeting.conflicts["title"].mark
    entries.edit(workspace, "endpoints", "hitspec", {"title": "Newer"}, by=EDITOR)

    assert editor.post(ENDPOINT, {**again, "choose-title": f"mine:{seen}"}).status_code == 409
    assert body(workspace)["title"] == "Newer"
    assert editor.post(ENDPOINT, {**again, "choose-title": f"theirs:{seen}"}).status_code == 302
    assert (body(workspace)["title"], body(workspace)["tags"]) == ("Newer", ["q"])


@pytest.mark.parametrize("read", ["", "title:abc", "x" * 9000, "title:\u202e tags"])
def test_without_the_marks_of_what_was_read_nothing_is_overwritten(editor, workspace, read):
    form = opened(editor, ENDPOINT) | {"read": read}
    entries.edit(workspace, "endpoints", "hitspec", {"title": "Theirs"}, by=EDITOR)

    assert editor.post(ENDPOINT, {**form, "title": "Mine"}).status_code == 409
    assert body(workspace)["title"] == "Theirs"


def test_a_credential_is_not_sent_to_a_url_that_its_writer_never_saw(editor, workspace):
    entries.add(workspace, "endpoints", {"name": "far", "kind": "mcp", "url": "https://one.example/mcp"}, by=EDITOR)
    address = "/w/acme/endpoints/far/form"
    form = opened(editor, address) | {"credential": "env:FAR"}
    entries.edit(workspace, "endpoints", "far", {"url": "https://two.example/mcp"}, by=EDITOR)

    asked = editor.post(address, form)
    sides = asked.context["form"].meeting.conflicts
    assert asked.status_code == 409 and list(sides) == ["url"] and "credential" not in body(workspace, name="far")

    again = {**form, "read": asked.context["form"].meeting.read, "choose-url": f"theirs:{sides['url'].mark}"}
    assert editor.post(address, again).status_code == 302
    assert body(workspace, name="far")["credential"] == "env:FAR"


def test_edits_of_different_lists_of_a_scope_are_both_kept(editor, workspace):
    form = opened(editor, SCOPE)
    entries.edit(workspace, "scopes", "web-only", {"tools": []}, by=EDITOR)

    saved = editor.post(SCOPE, {**form, "deny": "notes"}, follow=True)

    after = body(workspace, "scopes", "web-only")
    assert (after["tools"], after["deny"]) == ([], ["notes"])
    assert f"Also kept: what {EDITOR.name} changed in tools" in saved.content.decode()


@pytest.mark.parametrize(("side", "tools"), [("mine", ["hitspec__fetch"]), ("theirs", [])])
def test_a_list_of_a_scope_that_both_changed_is_chosen(editor, workspace, side, tools):
    form = opened(editor, SCOPE) | {"tools_state": "these", "tools": "hitspec__fetch", "deny": "notes"}
    entries.edit(workspace, "scopes", "web-only", {"tools": [], "mode": "direct"}, by=EDITOR)

    asked = editor.post(SCOPE, form)
    shown = asked.context["form"]
    sides = shown.meeting.conflicts
    assert asked.status_code == 409 and (sides["tools"].theirs, sides["tools"].mine) == ("None", ["hitspec__fetch"])
    assert shown.mode == "direct" and body(workspace, "scopes", "web-only").get("deny") is None

    chosen = as_posted(shown) | {"read": shown.meeting.read, "choose-tools": f"{side}:{sides['tools'].mark}"}
    assert editor.post(SCOPE, chosen | {"do": "save"}).status_code == 302
    after = body(workspace, "scopes", "web-only")
    assert (after["tools"], after["deny"], after["mode"]) == (tools, ["notes"], "direct")


def test_the_scope_default_is_written_down_once_by_two_people(editor, workspace):
    address = "/w/acme/scopes/default/edit"
    entries.remove(workspace, "scopes", ["default"], by=EDITOR)
    form = as_posted(editor.get(address).context["form"]) | {"do": "save"}
    read = editor.get(address).context["form"].meeting.read
    entries.add(workspace, "scopes", {"name": "default", "tools": []}, by=EDITOR)

    assert editor.post(address, {**form, "read": read, "deny": "notes"}).status_code == 302
    assert body(workspace, "scopes", "default") == {"name": "default", "tools": [], "deny": ["notes"]}


def test_the_audit_log_names_only_what_a_person_changed(editor, workspace):
    form = opened(editor, ENDPOINT)
    entries.edit(workspace, "endpoints", "hitspec", {"title": "Theirs"}, by=EDITOR)
    editor.post(ENDPOINT, {**form, "tags": "q"})

    paths = [
        change["path"] for change in AuditEntry.objects.filter(workspace=workspace).order_by("-seq").first().changes
    ]
    assert paths and all(path.startswith("endpoints[hitspec].tags") for path in paths)


TOOL = "/w/acme/tools/notes__add_note"


def tool(workspace) -> dict[str, Any]:
    return next(one for one in body(workspace, name="notes")["tools"] if one["name"] == "add_note")


def traits(client) -> dict[str, str]:
    own = client.get(TOOL).context["own"]
    return {one.name: one.given for one in own.settings} | {"read": own.meeting.read}


def test_traits_that_two_people_set_are_both_kept(editor, workspace):
    form = traits(editor)
    tools.edit(workspace, [("notes", "add_note")], {"risk": "high"}, by=EDITOR)

    said = editor.post(TOOL, {**form, "category": "writing", "why": "They write"}, follow=True).content.decode()

    assert (tool(workspace)["risk"], tool(workspace)["category"]) == ("high", "writing")
    assert f"Also kept: what {EDITOR.name} changed in risk" in said
    assert Edit.objects.order_by("id").last().message == "They write"


def test_a_risk_that_both_set_is_chosen_and_never_lowered_unseen(editor, workspace):
    form = traits(editor) | {"risk": "low"}
    tools.edit(workspace, [("notes", "add_note")], {"risk": "high", "effect": "erase"}, by=EDITOR)

    asked = editor.post(TOOL, form)
    own = asked.context["own"]
    sides = own.meeting.conflicts["risk"]
    again = {one.name: one.given for one in own.settings} | {"read": own.meeting.read}
    assert (asked.status_code, sides.theirs, sides.mine, again["effect"]) == (409, "high", "low", "erase")
    assert editor.post(TOOL, again).status_code == 409 and tool(workspace)["risk"] == "high"

    assert editor.post(TOOL, {**again, "choose-risk": f"mine:{sides.mark}"}).status_code == 302
    assert (tool(workspace)["risk"], tool(workspace)["effect"]) == ("low", "erase")
