from __future__ import annotations

import pytest

from routing.errors import NotFound, StaleDraft
from routing.models import Actor, AuditEntry, Edit
from routing.services import entries, registry, undoing
from tests.routing.conftest import DOCUMENT, EDITOR

BEN = Actor(kind="operator", name="ben")


def last_edit(workspace) -> Edit:
    return Edit.objects.filter(workspace=workspace, revision=None).order_by("-id").first()


def body(workspace, name="notes"):
    return next(one for one in registry.working_document(workspace)["endpoints"] if one["name"] == name)


def test_the_last_edits_are_taken_back_one_by_one_until_the_draft_is_gone(published):
    digests = [registry.draft_digest(published)]
    for changes in ({"tags": ["a"]}, {"tags": ["a", "b"]}, {"description": "Paper", "enabled": False}):
        entries.edit(published, "endpoints", "notes", changes, by=EDITOR)
        digests.append(registry.draft_digest(published))

    for digest in reversed(digests[:-1]):
        undoing.undo(published, last_edit(published).pk, by=EDITOR)
        assert registry.draft_digest(published) == digest
        assert registry.working_document(published) == registry.checked(registry.working_document(published))[0]

    published.refresh_from_db()
    assert (last_edit(published), published.draft_by) == (None, "")


def test_what_was_added_and_removed_comes_back_in_its_place(published):
    before = registry.working_document(published)
    registry.replace_working_copy(
        published,
        {
            **DOCUMENT,
            "endpoints": [{"name": "new", "kind": "declared"}, DOCUMENT["endpoints"][1]],
            "scopes": [{"name": "default"}],
            "gateway": {"verbatim": True},
            "groups": {"paper": ["notes"]},
        },
        by=EDITOR,
    )

    undoing.undo(published, last_edit(published).pk, by=EDITOR)

    assert list(registry.working_document(published)["endpoints"]) == list(before["endpoints"])
    assert registry.working_document(published) == before


def test_what_others_changed_elsewhere_stays(published):
    entries.edit(published, "endpoints", "notes", {"description": "Mine"}, by=EDITOR)
    mine = last_edit(published)
    entries.edit(published, "endpoints", "notes", {"tags": ["theirs"]}, by=BEN)

    undoing.undo(published, mine.pk, by=EDITOR)

    assert (body(published)["description"], body(published)["tags"]) == ("Notebook", ["theirs"])
    published.refresh_from_db()
    assert (published.draft_by, last_edit(published).by) == ("ben", "ben")


def test_what_was_changed_again_is_refused_with_both_sides(published):
    entries.edit(published, "endpoints", "notes", {"description": "Mine", "tags": ["mine"]}, by=EDITOR)
    mine = last_edit(published)
    entries.edit(published, "endpoints", "notes", {"description": "Theirs"}, by=BEN)

    with pytest.raises(StaleDraft) as refused:
        undoing.undo(published, mine.pk, by=EDITOR)

    assert refused.value.details == [
        {
            "path": "endpoints[notes].description",
            "message": "changed since",
            "value": "Theirs",
            "before": "Notebook",
        }
    ]
    assert (body(published)["description"], body(published)["tags"]) == ("Theirs", ["mine"])


def test_an_entry_that_was_added_and_then_changed_by_another_is_not_taken_away(published):
    entries.add(published, "endpoints", {"name": "new", "kind": "declared"}, by=EDITOR)
    mine = last_edit(published)
    entries.edit(published, "endpoints", "new", {"description": "Theirs"}, by=BEN)

    with pytest.raises(StaleDraft):
        undoing.undo(published, mine.pk, by=EDITOR)

    assert body(published, "new")["description"] == "Theirs"


def test_an_undo_is_told_and_the_same_edit_is_not_taken_back_twice(published):
    entries.edit(published, "endpoints", "notes", {"tags": ["a"]}, by=BEN)
    edit = last_edit(published)
    undoing.undo(published, edit.pk, by=EDITOR)
    told = AuditEntry.objects.filter(workspace=published).first()

    assert (told.action, told.actor, told.target) == ("draft.undone", "an-editor", "ben: endpoints[notes].tags")
    assert [change["path"] for change in told.changes] == ["endpoints[notes].tags"]
    with pytest.raises(NotFound):
        undoing.undo(published, edit.pk, by=EDITOR)
