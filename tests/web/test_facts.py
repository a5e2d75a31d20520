"""An endpoint's fields, edited one at a time on its page."""

from __future__ import annotations

import re
from html import unescape

import pytest

from control.web.forms.endpoint_fields import ALONE
from routing import working
from routing.models import Edit
from routing.services import entries
from tests.routing.conftest import EDITOR

PAGE = "/w/acme/endpoints/far"
HTMX = {"HX-Request": "true"}
VALUES = {
    "kind": ("openai", "openai"),
    "title": ("Far away", "Far away"),
    "owner": ("Search team", "Search team"),
    "capabilities": ("web-fetch 0.5 measured", [{"name": "web-fetch", "level": 0.5, "provenance": "measured"}]),
    "note": ("Ask first", "Ask first"),
    "url": ("https://one.example/mcp/v2", "https://one.example/mcp/v2"),
    "credential": ("env:OTHER", "env:OTHER"),
    "transport": ("sse", "sse"),
    "headers": ("X-Team: search", {"X-Team": "search"}),
    "model": ("m-1", "m-1"),
    "context_window": ("4,096", 4096),
    "effective_context": ("2048", 2048),
    "tool_tier": ("prose", "prose"),
    "cost_in": ("0.5", 0.5),
    "cost_out": ("1.5", 1.5),
    "priority": ("5", 5),
    "max_concurrency": ("3", 3),
    "data_zone": ("eu", "eu"),
    "plans_only": ("on", True),
    "adapters": ('[{"capability": "web-fetch"}]', [{"capability": "web-fetch"}]),
}


@pytest.fixture
def editor(enter):
    return enter("editor")


@pytest.fixture
def far(workspace):
    made = {"name": "far", "kind": "mcp", "url": "https://one.example/mcp", "credential": "env:FAR"}
    entries.add(workspace, "endpoints", made, by=EDITOR)
    return lambda: working.copy_of(workspace).entry("endpoints", "far")


def read_of(client, part: str) -> str:
    found = client.get(PAGE).context["facts"]
    return next(fact["form"].read for group in found for fact in group["facts"] if fact["key"] == part)


def post(client, part: str, **sent):
    return client.post(f"{PAGE}/edit/{part}", {"read": read_of(client, part)} | sent, headers=HTMX)


def test_every_field_is_saved_by_itself(editor, far):
    before = far()
    assert {*VALUES, "launch"} == {key for key in ALONE if not key.startswith("feature-")}
    for part, (text, value) in VALUES.items():
        if part == "kind":
            continue  # what a kind allows is tried below
        answer = post(editor, part, **{part: text})
        assert answer.status_code == 200 and far()[part] == value, part
    assert post(editor, "feature-vision", **{"feature-vision": "yes"}).status_code == 200
    assert far()["features"] == {"vision": True} and far()["name"] == before["name"]


def test_a_field_goes_back_to_its_default_and_is_undone_from_its_message(editor, far):
    post(editor, "owner", owner="Search team")
    answer = post(editor, "owner", owner="")
    assert "owner" not in far()

    toast = answer.content.decode().split("data-toast")[1].split("</form>")[0]
    fields = {name: unescape(value) for name, value in re.findall(r'name="([a-z_]+)" value="([^"]*)"', toast)}
    editor.post(f"{PAGE}/edit/owner", fields)
    assert far()["owner"] == "Search team"


def test_a_url_that_leads_elsewhere_asks_for_the_credential_beside_it(editor, far):
    asked = post(editor, "url", url="https://two.example/mcp")
    text = asked.content.decode()
    assert "entered again" in text and 'name="credential"' in text and 'value="https://two.example/mcp"' in text
    assert far()["url"] == "https://one.example/mcp"

    saved = post(editor, "url", url="https://two.example/mcp", credential="env:TWO")
    assert (far()["url"], far()["credential"]) == ("https://two.example/mcp", "env:TWO")

    toast = saved.content.decode().split("data-toast")[1].split("</form>")[0]
    fields = {name: unescape(value) for name, value in re.findall(r'name="([a-z_]+)" value="([^"]*)"', toast)}
    editor.post(f"{PAGE}/edit/url", fields)
    assert (far()["url"], far()["credential"]) == ("https://one.example/mcp", "env:FAR")


def test_a_credential_is_refused_for_a_url_that_was_not_read(editor, far, workspace):
    read = read_of(editor, "credential")
    entries.edit(workspace, "endpoints", "far", {"url": "https://one.example/mcp/v2"}, by=EDITOR)

    answer = editor.post(f"{PAGE}/edit/credential", {"read": read, "credential": "env:MINE"}, headers=HTMX)

    assert "Keep mine" in answer.content.decode() and far()["credential"] == "env:FAR"


def test_what_was_left_empty_is_kept_and_what_is_removed_goes(editor, far):
    edits = Edit.objects.count()
    post(editor, "credential", credential="")
    assert far()["credential"] == "env:FAR" and Edit.objects.count() == edits
    post(editor, "credential", **{"drop-credential": "on", "credential": ""})
    assert "credential" not in far()


@pytest.mark.parametrize(
    ("part", "text", "words"),
    [
        ("priority", "soon", "whole number"),
        ("context_window", "-5", "1 or more"),
        ("context_window", "12,8000", "whole number"),
        ("cost_in", "0,5", "number"),
        ("credential", "sk-123456789", "reference"),
        ("adapters", "[{", "JSON list"),
        ("adapters", '[{"a": 1}]', "Unknown key. Allowed: capability"),
        ("launch", "host:files", "not both"),
        ("kind", "declared", "is not for kind declared"),
        ("url", "http://169.254.169.254/", "cannot be used"),
    ],
)
@pytest.mark.parametrize("headers", [HTMX, {}])
def test_what_is_refused_is_said_and_kept_in_the_field(editor, far, part, text, words, headers):
    before = far()
    sent = {"read": read_of(editor, part), part: text}

    answer = editor.post(f"{PAGE}/edit/{part}", sent, headers=headers)

    assert words in answer.content.decode() and answer.status_code == (200 if headers else 422)
    assert text in unescape(answer.content.decode()) and far() == before


def test_both_sides_of_a_field_are_shown(editor, far, workspace):
    read = read_of(editor, "title")
    entries.edit(workspace, "endpoints", "far", {"title": "Theirs"}, by=EDITOR)

    answer = editor.post(f"{PAGE}/edit/title", {"read": read, "title": "Mine"})
    text = answer.content.decode()
    assert answer.status_code == 409 and "Theirs" in text and 'value="Mine"' in text and far()["title"] == "Theirs"

    keep = re.search(r'name="keep" value="([^"]+)"', text)[1]
    editor.post(f"{PAGE}/edit/title", {"read": read, "title": "Mine", "keep": keep})
    assert far()["title"] == "Mine"


def test_those_who_only_look_see_what_is_given(enter, far):
    text = enter("viewer").get(PAGE).content.decode()

    assert "https://one.example/mcp" in text and "env:FAR" in text and 'id="part-url"' not in text


def test_the_head_and_the_capabilities_say_at_once_what_was_saved(editor, far):
    titled = post(editor, "title", title="Far away").content.decode()
    carried = post(editor, "capabilities", capabilities="web-fetch 0.5").content.decode()
    moved = post(editor, "kind", kind="openai").content.decode()

    head = titled.split('id="head"')[1].split("</header>")[0]
    assert "Far away" in head and "Discover tools" in head
    assert "web-fetch" in carried.split('id="caps"')[1] and 'id="caps"' not in titled
    assert "Discover tools" not in moved.split('id="head"')[1].split("</header>")[0]
    assert 'id="head"' not in post(editor, "url", url="no address").content.decode()
