from __future__ import annotations

import copy

import pytest

from routing.choices import RevisionState
from routing.engine.canonical import document_digest
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.manifests import thaw
from routing.models import Entry, Revision
from routing.services import entries, registry, revisions
from tests.routing.conftest import DOCUMENT, EDITOR


def test_what_was_published_reads_back_as_it_was(published):
    live = revisions.live_document(published)

    assert live["endpoints"] == DOCUMENT["endpoints"]
    assert document_digest(live) == document_digest(DOCUMENT)


def test_working_copy_and_document_are_the_same_thing(published):
    assert registry.working_document(published) == revisions.live_document(published)


def test_publishing_what_is_live_makes_no_new_revision(published, by):
    again = revisions.publish(published, message="Nothing new", by=by)

    assert again.number == 2
    assert Revision.objects.filter(workspace=published).count() == 2


def test_one_revision_is_live_and_the_one_before_is_superseded(published):
    states = dict(Revision.objects.filter(workspace=published).values_list("number", "state"))

    assert states == {1: RevisionState.SUPERSEDED, 2: RevisionState.LIVE}


def test_a_document_equal_to_an_older_revision_gets_a_new_number(published, by):
    first = thaw(Revision.objects.get(workspace=published, number=1))
    registry.replace_working_copy(published, first, by=by)

    assert revisions.publish(published, message="Back", by=by).number == 3


def test_many_revisions_store_each_entry_once(published, by):
    before = Entry.objects.filter(workspace=published).count()
    for number in range(20):
        entries.edit(published, "endpoints", "notes", {"description": f"Notebook {number}"}, by=by)
        revisions.publish(published, message=f"Edit {number}", by=by)

    assert Entry.objects.filter(workspace=published).count() == before + 20


def test_every_revision_keeps_its_own_document(published, by):
    old = Revision.objects.get(workspace=published, number=2)
    entries.edit(published, "endpoints", "hitspec", {"use_when": ["call an HTTP interface"]}, by=by)
    revisions.publish(published, message="Other hint", by=by)

    assert thaw(old)["endpoints"][0]["use_when"] == ["fetch a public web page as readable Markdown text"]
    assert revisions.live_document(published)["endpoints"][0]["use_when"] == ["call an HTTP interface"]


def test_an_edit_lands_in_the_draft_and_not_in_what_is_live(published, by):
    entries.edit(published, "endpoints", "hitspec", {"tags": ["web"]}, by=by)

    changes = [change.as_dict() for change in registry.draft_changes(published)]
    assert changes == [
        {"path": "endpoints[hitspec].tags", "action": "changed", "before": ["web", "http"], "after": ["web"]}
    ]


def test_an_edit_that_breaks_a_rule_is_refused_with_its_field_and_saves_nothing(published, by):
    with pytest.raises(InvalidRegistry) as refused:
        entries.edit(published, "endpoints", "hitspec", {"use_when": ["ok", " "], "tags": ["x"]}, by=by)

    assert [detail["path"] for detail in refused.value.details] == ["use_when[1]"]
    assert registry.draft_changes(published) == []


def test_an_edit_of_something_that_changed_meanwhile_is_stale_and_shows_the_present_state(published, by):
    seen = entries.version(revisions.live_document(published)["endpoints"][0])
    entries.edit(published, "endpoints", "hitspec", {"tags": ["web"]}, by=by, read=seen)

    with pytest.raises(StaleDraft) as stale:
        entries.edit(published, "endpoints", "hitspec", {"tags": ["http"]}, by=by, read=seen)

    assert stale.value.details[0]["value"]["tags"] == ["web"]
    assert registry.working_document(published)["endpoints"][0]["tags"] == ["web"]


def test_a_discarded_draft_leaves_what_is_live(published, by):
    entries.edit(published, "endpoints", "hitspec", {"tags": ["web"]}, by=by)
    registry.discard_draft(published, by=by)

    assert registry.draft_changes(published) == []


def test_a_bad_document_is_refused_whole_with_every_problem(published, by):
    bad = copy.deepcopy(DOCUMENT)
    bad["endpoints"][0]["kind"] = "telepathy"
    bad["endpoints"][1]["name"] = "no__good"

    with pytest.raises(InvalidRegistry) as refused:
        registry.replace_working_copy(published, bad, by=by)

    assert {detail["path"] for detail in refused.value.details} >= {"endpoints[0].kind", "endpoints[1].name"}
    assert registry.draft_changes(published) == []


def test_an_unknown_endpoint_cannot_be_edited(published, by):
    with pytest.raises(NotFound):
        entries.edit(published, "endpoints", "nowhere", {"tags": []}, by=by)


def test_order_and_keys_of_schemas_survive(published, by):
    schema = {
        "type": "object",
        "required": ["z", "a"],
        "properties": {"z": {"type": "string"}, "a": {"type": "number"}},
    }
    document = copy.deepcopy(DOCUMENT)
    document["endpoints"][0]["tools"][0]["input_schema"] = schema
    registry.replace_working_copy(published, document, by=by)
    revisions.publish(published, message="Schema", by=by)

    live = revisions.live_document(published)["endpoints"][0]["tools"][0]["input_schema"]
    assert list(live) == ["type", "required", "properties"]
    assert list(live["properties"]) == ["z", "a"]


def test_the_number_of_changes_is_found_out_once_for_each_version_of_the_draft(published, django_assert_num_queries):
    entries.edit(published, "endpoints", "notes", {"description": "A book"}, by=EDITOR)
    assert registry.draft_change_count(published) == 1

    with django_assert_num_queries(0):
        assert registry.draft_change_count(published) == 1
    entries.edit(published, "endpoints", "hitspec", {"description": "A client"}, by=EDITOR)
    assert registry.draft_change_count(published) == 2

    revisions.publish(published, message="Both", by=EDITOR)
    published.refresh_from_db()
    assert registry.draft_change_count(published) == 0
