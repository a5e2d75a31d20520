"""The working copy in memory says what the tables say, whatever was edited, taken back or rolled back."""

import pytest
from django.db import transaction

from routing import mapping, working
from routing.engine.canonical import digest_of
from routing.engine.validation import parse_document
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Workspace
from routing.services import entries, registry, revisions
from tests.routing.conftest import DOCUMENT, EDITOR

EDITS = (
    lambda w: entries.edit(w, "endpoints", "hitspec", {"use_when": ["fetch a page"]}, by=EDITOR),
    lambda w: entries.edit(w, "endpoints", "hitspec", {"tools": [{"name": "only"}]}, by=EDITOR),
    lambda w: entries.add(w, "endpoints", {"name": "last", "kind": "declared"}, by=EDITOR),
    lambda w: entries.add(w, "capabilities", {"name": "paper", "synonyms": ["sheet"]}, by=EDITOR),
    lambda w: entries.edit(w, "endpoints", "last", {"capabilities": ["paper"]}, by=EDITOR),
    lambda w: entries.add(w, "scopes", {"name": "narrow", "endpoints": ["last"]}, by=EDITOR),
    lambda w: entries.add(w, "policies", {"name": "careful", "router": {"direct_execution_threshold": 0.9}}, by=EDITOR),
    lambda w: entries.edit(w, "scopes", "narrow", {"policy": "careful"}, by=EDITOR),
    lambda w: entries.add(w, "providers", {"name": "here", "kind": "local"}, by=EDITOR),
    lambda w: entries.edit_many(w, "endpoints", ["notes", "last"], lambda _: {"enabled": False}, by=EDITOR),
    lambda w: entries.remove(w, "scopes", ["narrow"], by=EDITOR),
    lambda w: entries.remove(w, "endpoints", ["last"], by=EDITOR),
    lambda w: registry.replace_working_copy(w, DOCUMENT, by=EDITOR),
)


def assert_it_says_what_the_tables_say(workspace):
    copy, tables = working.copy_of(workspace), mapping.document_of(workspace)

    assert copy.digest == digest_of(tables)
    assert list(copy.document) == list(tables)
    assert copy.registry == parse_document(tables).registry


@pytest.mark.django_db(transaction=True)
def test_it_says_what_the_tables_say_after_every_edit(published):
    for edit in EDITS:
        edit(published)
        assert_it_says_what_the_tables_say(published)

    entries.edit(published, "endpoints", "notes", {"tags": ["x"]}, by=EDITOR)
    revisions.publish(published, message="Tags", by=EDITOR)
    assert_it_says_what_the_tables_say(published)
    assert working.live_of(Workspace.objects.get(pk=published.pk)) == working.copy_of(published).document


@pytest.mark.django_db(transaction=True)
def test_what_was_rolled_back_is_not_remembered(published):
    working.copy_of(published)

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        entries.edit(published, "endpoints", "notes", {"tags": ["rolled-back"]}, by=EDITOR)
        working.copy_of(published)
        raise ZeroDivisionError
    entries.edit(published, "endpoints", "notes", {"tags": ["kept"]}, by=EDITOR)

    assert working.copy_of(published).entry("endpoints", "notes")["tags"] == ["kept"]
    assert_it_says_what_the_tables_say(published)


@pytest.mark.django_db(transaction=True)
def test_an_edit_of_a_known_copy_reads_no_tool(published, django_assert_num_queries, django_assert_max_num_queries):
    entries.edit(published, "endpoints", "notes", {"tags": ["x"]}, by=EDITOR)

    with django_assert_max_num_queries(40) as asked:
        entries.edit(published, "endpoints", "notes", {"tags": ["y"]}, by=EDITOR)

    assert sum("routing_toolrow" in one["sql"] for one in asked.captured_queries) <= 1


def test_a_bulk_edit_is_all_or_nothing(published):
    before = working.copy_of(published).digest

    with pytest.raises(InvalidRegistry):
        entries.edit_many(
            published,
            "endpoints",
            ["notes", "hitspec"],
            lambda body: {"kind": "none such"} if body["name"] == "hitspec" else {"tags": ["x"]},
            by=EDITOR,
        )
    with pytest.raises(NotFound):
        entries.edit_many(published, "endpoints", ["notes", "nowhere"], lambda _: {"enabled": False}, by=EDITOR)

    assert digest_of(mapping.document_of(published)) == before


def test_a_bulk_edit_says_how_many_it_changed(published):
    turn_off = lambda _: {"enabled": False}  # noqa: E731

    assert entries.edit_many(published, "endpoints", ["notes", "hitspec", "notes"], turn_off, by=EDITOR) == 2
    assert entries.edit_many(published, "endpoints", ["notes", "hitspec"], turn_off, by=EDITOR) == 0


def test_what_others_refer_to_cannot_be_removed_and_they_are_named(published):
    entries.add(published, "scopes", {"name": "narrow", "endpoints": ["hitspec"]}, by=EDITOR)

    with pytest.raises(InvalidRegistry) as refused:
        entries.remove(published, "endpoints", ["hitspec"], by=EDITOR)

    assert "scopes" in refused.value.details[0]["path"]
    assert working.copy_of(published).entry("endpoints", "hitspec") is not None


def test_a_name_that_is_taken_is_refused_beside_the_name(published):
    with pytest.raises(InvalidRegistry) as refused:
        entries.add(published, "endpoints", {"name": "notes", "kind": "declared"}, by=EDITOR)

    assert [detail["path"] for detail in refused.value.details] == ["name"]


def test_a_new_entry_s_problems_have_paths_below_it(published):
    with pytest.raises(InvalidRegistry) as refused:
        entries.add(published, "endpoints", {"name": "new", "kind": "declared", "tags": [3]}, by=EDITOR)

    assert [detail["path"] for detail in refused.value.details] == ["tags[0]"]


def test_a_stale_edit_is_refused_with_what_is_there_now(published):
    read = entries.version(working.copy_of(published).entry("endpoints", "notes"))
    entries.edit(published, "endpoints", "notes", {"tags": ["theirs"]}, by=EDITOR)

    with pytest.raises(StaleDraft) as stale:
        entries.edit(published, "endpoints", "notes", {"tags": ["mine"]}, by=EDITOR, read=read)

    assert stale.value.details[0]["value"]["tags"] == ["theirs"]
