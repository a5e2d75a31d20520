from __future__ import annotations

import html
import re

import pytest

from routing.models import Actor, Remark
from routing.services import entries, registry, remarks, revisions
from tests.routing.conftest import EDITOR

PATH = "endpoints[notes].description"
BEN = Actor(kind="operator", name="ben")


@pytest.fixture
def drafted(workspace):
    entries.edit(workspace, "endpoints", "notes", {"description": "Notes <b>of</b> the team"}, by=EDITOR)
    return workspace


def text_of(response) -> str:
    return response.content.decode()


def hidden(text: str) -> dict[str, str]:
    form = text[text.index('id="here"') :]
    found = re.findall(r'name="([a-z_]+)" value="([^"]*)"', form[: form.index("</form>")])
    return {name: html.unescape(value) for name, value in found}


def test_a_comment_is_written_under_its_line_and_stays_there(enter, drafted):
    reviewer = enter("reviewer")
    form = hidden(text_of(reviewer.get("/w/acme/publish", {"on": PATH, "line": 2})))
    response = reviewer.post("/w/acme/publish/remarks", {**form, "comment": "Which <i>team</i>?"}, follow=True)

    made, text = Remark.objects.get(), text_of(response)
    assert (made.path, made.line, made.quote) == (PATH, 2, "Notes <b>of</b> the team")
    assert response.redirect_chain[0][0] == f"/w/acme/publish#r-{made.pk}"
    assert "Which &lt;i&gt;team&lt;/i&gt;?" in text and "1 open comment" in text
    [block] = response.context["blocks"]
    assert [(len(part.lines), len(part.threads)) for part in block.segments] == [(2, 1), (0, 0)]


def test_a_comment_without_words_comes_back_with_its_place(enter, drafted):
    response = enter("editor").post("/w/acme/publish/remarks", {"path": PATH, "line": "2", "comment": " "})

    assert response.status_code == 422
    assert "Write what you want to say." in text_of(response) and hidden(text_of(response))["line"] == "2"
    assert not Remark.objects.exists()


def test_answers_and_resolving_from_the_revisions_own_page(enter, drafted):
    revision = registry.propose_draft(drafted, message="Words", by=EDITOR)
    first = remarks.say(drafted, PATH, "Which team?", line=1, quote="Notebook", number=revision.number, by=BEN)
    editor = enter("editor")
    place = {"page_of": "3", "page": "1"}
    answered = editor.post(f"/w/acme/publish/remarks/{first.pk}/answer", {**place, "comment": "Ours"}, follow=True)
    resolved = editor.post(f"/w/acme/publish/remarks/{first.pk}/resolve", {**place, "resolved": "yes"}, follow=True)

    assert answered.redirect_chain[0][0] == f"/w/acme/revisions/3#r-{first.pk}"
    assert "Ours" in text_of(answered)
    assert "resolved by <bdi>the-editor</bdi>" in text_of(resolved)
    assert resolved.context["unresolved"] == 0


def test_what_is_said_stays_with_the_revision_and_a_line_that_moved_says_so(admin, drafted):
    remarks.say(drafted, PATH, "Which team?", line=2, quote="Something else", by=BEN)
    remarks.say(drafted, "endpoints[gone]", "And this?", by=BEN)
    revisions.publish(drafted, message="Words", by=EDITOR)

    text = text_of(admin.get("/w/acme/revisions/3"))

    assert "That line has changed since; it said <code>Something else</code>" in text
    assert "About what is no longer changed" in text and "And this?" in text


@pytest.mark.parametrize(("role", "reads"), [("viewer", True), ("auditor", False)])
def test_whoever_may_not_propose_does_not_write_and_reads_what_the_registry_says_to_them(enter, drafted, role, reads):
    revisions.publish(drafted, message="Words", by=EDITOR)
    first = remarks.say(drafted, PATH, "Which team?", number=3, by=BEN)
    client = enter(role)
    text = text_of(client.get("/w/acme/revisions/3"))

    assert ("Which team?" in text) == reads
    assert "Reply" not in text and "sayit" not in text
    for address in ("publish/remarks", f"publish/remarks/{first.pk}/answer", f"publish/remarks/{first.pk}/resolve"):
        assert client.post(f"/w/acme/{address}", {"path": PATH, "comment": "x"}).status_code == 403


def test_remarks_of_another_workspace_cannot_be_answered(admin, drafted):
    other = registry.create_workspace("other", by=EDITOR)
    theirs = remarks.say(other, PATH, "Theirs", by=BEN)

    admin.post(f"/w/acme/publish/remarks/{theirs.pk}/answer", {"comment": "x"})

    assert Remark.objects.count() == 1


def test_many_changes_are_cut_into_pages_and_a_comment_finds_its_own(admin, workspace):
    names = [f"place-{number:03}" for number in range(120)]
    registry.replace_working_copy(
        workspace, {"version": 1, "endpoints": [{"name": name, "kind": "declared"} for name in names]}, by=EDITOR
    )
    first = admin.get("/w/acme/publish")
    asked = admin.get("/w/acme/publish", {"on": "endpoints[place-110]"})

    assert len(first.context["blocks"]) == 25 and first.context["cut"].pages > 4
    assert "1 to 25 of" in text_of(first)
    assert asked.context["cut"].number == 5 and 'id="here"' in text_of(asked)
