from __future__ import annotations

import re
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from control.web import diffing
from routing.engine.diff import Change, diff
from routing.models import Revision
from routing.services import entries, registry, revisions
from tests.routing.conftest import DOCUMENT, EDITOR


@pytest.fixture
def edited(workspace):
    entries.edit(
        workspace,
        "endpoints",
        "hitspec",
        {"use_when": ["fetch a private web page as readable Markdown text", "read it"]},
        by=EDITOR,
    )
    return workspace


def test_what_changed_is_shown_by_thing_and_field_with_its_words_marked(admin, edited):
    (block,) = admin.get("/w/acme/publish").context["blocks"]

    assert (block.thing, block.field, block.summary) == ("hitspec", "use_when", "2 now, 1 before")
    assert [[span.text for span in line.spans if span.marked] for line in block.lines] == [
        ["public"],
        ["private"],
        ["- read it"],
    ]
    assert [line.sign for line in block.lines] == ["−", "+", "+"]


def test_publishing_makes_the_draft_live_with_its_message(admin, edited):
    seen = admin.get("/w/acme/publish").context["seen"]

    response = admin.post("/w/acme/publish", {"message": "Say it better", "seen": seen}, follow=True)

    edited.refresh_from_db()
    assert response.request["PATH_INFO"] == "/w/acme/revisions/3"
    assert "Revision 3 is live" in response.content.decode()
    assert (edited.live_revision.number, edited.live_revision.message, edited.live_revision.published_by) == (
        3,
        "Say it better",
        "the-administrator",
    )


def test_a_draft_that_changed_since_it_was_looked_at_is_not_published(admin, edited):
    seen = admin.get("/w/acme/publish").context["seen"]
    entries.edit(edited, "endpoints", "notes", {"description": "Somebody's last word"}, by=EDITOR)

    response = admin.post("/w/acme/publish", {"message": "Say it better", "seen": seen})

    edited.refresh_from_db()
    assert response.status_code == 409
    assert "The draft changed after you opened this page" in response.content.decode()
    assert "Say it better" in response.content.decode()
    assert edited.live_revision.number == 2


def test_a_message_is_asked_for(admin, edited):
    response = admin.post("/w/acme/publish", {"message": "  "})

    assert response.status_code == 422
    assert "Say in a sentence what changes and why." in response.content.decode()
    assert Revision.objects.filter(workspace=edited).count() == 2


def test_an_equal_draft_says_so_instead_of_offering_to_publish(admin):
    text = admin.get("/w/acme/publish").content.decode()

    assert "The draft is equal to the live revision." in text
    assert 'aria-disabled="true"' in text


def test_discarding_asks_first_and_then_brings_the_live_registry_back(admin, edited):
    assert "Discard 1 change?" in admin.get("/w/acme/publish/discard").content.decode()
    assert len(registry.draft_changes(edited)) == 1

    admin.post("/w/acme/publish/discard")

    assert registry.draft_changes(edited) == []


def test_revisions_are_listed_newest_first_with_the_live_one_marked(admin, edited):
    revisions.publish(edited, message="Say it <b>better</b>", by=EDITOR)

    response = admin.get("/w/acme/revisions")

    assert [(row.number, row.state) for row in response.context["rows"]] == [
        (3, "live"),
        (2, "superseded"),
        (1, "superseded"),
    ]
    assert "<b>better</b>" not in response.content.decode()


def test_a_revision_shows_its_changes_and_gives_its_document_away(admin, edited):
    revisions.publish(edited, message="Say it better", by=EDITOR)

    page, file = admin.get("/w/acme/revisions/3"), admin.get("/w/acme/revisions/3/export.yaml")

    assert [block.field for block in page.context["blocks"]] == ["use_when"]
    assert yaml.safe_load(file.content) == registry.working_document(edited)
    assert file["Content-Disposition"] == 'attachment; filename="acme-revision-3.yaml"'


def test_every_line_of_a_change_is_told(workspace):
    after = {
        **DOCUMENT,
        "endpoints": [DOCUMENT["endpoints"][0]],
        "scopes": [{"name": "default"}, {"name": "web-only", "endpoints": ["hitspec", "notes"]}],
    }

    blocks = diffing.blocks(diff(DOCUMENT, after))

    assert {(block.thing, block.field, block.action) for block in blocks} == {
        ("notes", "", "removed"),
        ("scope web-only", "endpoints", "changed"),
    }
    assert diffing.tally(diff(DOCUMENT, after)) == "1 removed, 1 changed"


def test_what_is_left_out_of_a_long_change_is_a_link_away(admin, workspace):
    tools = [{"name": f"tool-{number}", "description": f"Does thing {number}"} for number in range(40)]
    entries.add(workspace, "endpoints", {"name": "many", "kind": "declared", "tools": tools}, by=EDITOR)
    short = admin.get("/w/acme/publish").content.decode()

    address = re.search(r'href="(\?whole=[^"]+)#c-1">Show every line', short)[1].replace("&amp;", "&")
    whole = admin.get(f"/w/acme/publish{address}").content.decode()

    assert "Does thing 39" not in short
    assert "Does thing 39" in whole and "Show every line" not in whole


def test_a_switch_reads_as_in_the_document():
    (block,) = diffing.blocks([Change(path="endpoints[x].enabled", action="changed", before=True, after=False)])

    assert [line.spans[0].text for line in block.lines] == ["true", "false"]


TROJAN = "Reads \u202eetirw dna\u202c a page\u200b\x07 😀"


def test_a_reviewer_sees_what_cannot_be_seen_and_an_emoji_as_it_is(admin, workspace):
    entries.edit(workspace, "endpoints", "hitspec", {"description": TROJAN}, by=EDITOR)
    entries.add(workspace, "endpoints", {"name": "paper", "kind": "declared", "description": TROJAN}, by=EDITOR)
    revisions.publish(workspace, message=f"Because {TROJAN}", by=EDITOR)

    for address in (
        "revisions/3",
        "revisions",
        "revisions/compare?from=2&to=3",
        "endpoints",
        "endpoints/paper",
        "audit",
    ):
        page = admin.get(f"/w/acme/{address}", follow=True).content.decode()
        body = re.sub(r"(?s)<textarea.*?</textarea>", "", page)
        assert not set(body) & set("\u202e\u202c\u200b\x07"), address
        assert r"\U0001F600" not in body, address
        if address.startswith("revisions") or address == "endpoints":
            assert ">U+202E</span>etirw dna<" in body, address
            assert "😀" in body, address


def test_what_ends_a_line_elsewhere_is_part_of_its_line():
    (block,) = diffing.blocks([Change(path="x", action="changed", before="a b\n", after="a\u2028b\x0bc\r\n")])

    assert [line.text for line in block.lines if line.kind == "add"] == ["a\u2028b\x0bc\r"]


def test_a_very_long_value_is_folded_and_none_of_it_is_lost(admin, workspace):
    long = " ".join(f"word{number}" for number in range(2000))
    entries.edit(workspace, "endpoints", "hitspec", {"description": long}, by=EDITOR)

    page = admin.get("/w/acme/publish").content.decode()

    (block,) = admin.get("/w/acme/publish").context["blocks"]
    (added,) = [line for line in block.lines if line.kind == "add"]
    (span,) = added.spans
    assert span.head + span.middle + span.tail == long
    assert f'<details class="more"><summary>{span.folded:,} more characters</summary>{span.middle}</details>' in page


def test_long_values_that_repeat_themselves_are_compared_in_bounded_time():
    start = time.process_time()
    for before, after in (("x y! " * 1000, "y x! z " * 1000), ("- x\n" * 3000, "x\n- y\n" * 3000)):
        (block,) = diffing.blocks([Change(path="x", action="changed", before=before, after=after)])
        assert block.lines
    assert time.process_time() - start < 3


@given(st.lists(st.sampled_from(["a", "b", " ", "c"])), st.lists(st.sampled_from(["a", "b", " ", "c"])))
def test_both_sides_of_a_change_are_told_whole(before, after):
    (block,) = diffing.blocks([Change(path="x", action="changed", before="".join(before), after="".join(after))])

    assert [line.text for line in block.lines if line.kind != "add"] == ["".join(before)]
    assert [line.text for line in block.lines if line.kind != "del"] == ["".join(after)]


def test_the_number_that_is_announced_is_the_one_that_goes_live(admin, edited):
    other = registry.put(edited, {**DOCUMENT, "groups": {"web": ["hitspec"]}}, message="Groups", seen=None, by=EDITOR)
    announced = admin.get("/w/acme/publish").content.decode()
    seen = admin.get("/w/acme/publish").context["seen"]

    admin.post("/w/acme/publish", {"message": "Go", "seen": seen})

    edited.refresh_from_db()
    assert f"Publish as revision {other[0].number}" in announced
    assert edited.live_revision.number == other[0].number == 3


def test_a_draft_unlike_the_open_proposal_gets_a_new_number(admin, edited):
    registry.put(edited, {**DOCUMENT, "groups": {"web": ["hitspec"]}}, message="Groups", seen=None, by=EDITOR)
    entries.edit(edited, "endpoints", "notes", {"description": "Another word"}, by=EDITOR)

    assert "Publish as revision 4" in admin.get("/w/acme/publish").content.decode()


def test_a_proposal_that_was_never_live_is_listed_as_not_published(admin, edited):
    for name in ("web", "net"):
        registry.put(edited, {**DOCUMENT, "groups": {name: ["hitspec"]}}, message=name, seen=None, by=EDITOR)

    listed = admin.get("/w/acme/revisions").content.decode()

    assert listed.count("Not published") == 1
    assert listed.count("</svg>Superseded") == 1  # revision 1, which was live
    assert "Every published registry" not in listed
    assert "Not published" in admin.get("/w/acme/revisions/3").content.decode()
