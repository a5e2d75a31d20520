"""Examinations of a workspace's documents, findings that are ignored, and edits that mend them."""

from __future__ import annotations

import pytest

from routing import bus
from routing.errors import InvalidRequest, NotFound, StaleDraft
from routing.models import AuditEntry, Examination, Workspace
from routing.services import entries, registry
from routing.services.doctor import examinations, ignoring, mending
from tests.routing.conftest import DOCUMENT, EDITOR

ORPHAN = {"tool_use_when": {"add_notes": ["write it down"]}}


def examined(workspace):
    examinations.make(workspace.pk)
    workspace.refresh_from_db()
    return examinations.of(workspace, examinations.draft_digest(workspace))


def orphan_of(workspace):
    return next(one for one in examined(workspace).findings if one["code"] == "hint_without_tool")


@pytest.fixture
def orphaned(published):
    entries.edit(published, "endpoints", "notes", ORPHAN, by=EDITOR)
    return published


def test_draft_and_live_are_examined_once_each(orphaned):
    assert examinations.make(orphaned.pk) == 2
    assert examinations.make(orphaned.pk) == 0
    assert Examination.objects.filter(workspace=orphaned).count() == 2


def test_a_draft_that_says_what_is_live_is_examined_together_with_it(published):
    assert examinations.make(published.pk) == 1


def test_a_change_of_the_draft_asks_the_workers(published, monkeypatch, django_capture_on_commit_callbacks):
    asked = []
    monkeypatch.setattr(examinations.workers, "_send", asked.append)

    with django_capture_on_commit_callbacks(execute=True):
        entries.edit(published, "endpoints", "notes", ORPHAN, by=EDITOR)

    assert asked == [str(published.pk)]


def test_nobody_looks_while_somebody_else_does_and_the_bus_may_be_away(orphaned, monkeypatch):
    assert bus.claim(f"examination:{orphaned.pk}", 10)
    assert examinations.make(orphaned.pk) == 0
    bus.release(f"examination:{orphaned.pk}")

    def away(*_):
        raise bus.BusAway

    monkeypatch.setattr(bus, "claim", away)
    assert examinations.make(orphaned.pk) == 2


def test_only_some_examinations_are_kept(published):
    for number in range(examinations.KEPT + 2):
        entries.edit(published, "endpoints", "notes", {"description": f"Notebook {number}"}, by=EDITOR)
        examinations.make(published.pk)

    assert Examination.objects.filter(workspace=published).count() == examinations.KEPT


def test_a_workspace_that_is_gone_is_nobody_to_look_at(db):
    assert examinations.make("01a2297f-9bcb-770a-b322-25f1a3d9350a") == 0


def test_ignoring_takes_a_finding_from_the_open_ones_and_can_be_taken_back(orphaned):
    finding = orphan_of(orphaned)
    before = ignoring.open_count(orphaned)

    ignoring.ignore(orphaned, finding["key"], "  The tool comes\nnext week ", by=EDITOR)

    assert ignoring.open_count(orphaned) == before - 1
    assert ignoring.ignored(orphaned)[finding["key"]].reason == "The tool comes next week"
    ignoring.heed(orphaned, finding["key"], by=EDITOR)
    assert ignoring.open_count(orphaned) == before
    assert [one.action for one in AuditEntry.objects.order_by("-pk_id")[:2]] == ["finding.heeded", "finding.ignored"]


def test_the_same_reason_twice_is_said_once(orphaned):
    key = orphan_of(orphaned)["key"]
    for reason in ("Not yet", " Not  yet", "Never"):
        ignoring.ignore(orphaned, key, reason, by=EDITOR)

    told = AuditEntry.objects.filter(action="finding.ignored").order_by("seq")
    assert [one.message for one in told] == ["Not yet", "Never"]


def test_what_is_ignored_stays_so_through_unrelated_edits_and_lapses_with_what_it_is_about(orphaned):
    ignoring.ignore(orphaned, orphan_of(orphaned)["key"], "Not yet", by=EDITOR)

    entries.edit(orphaned, "endpoints", "hitspec", {"description": "Else"}, by=EDITOR)
    assert orphan_of(orphaned)["key"] in ignoring.ignored(orphaned)
    entries.edit(orphaned, "endpoints", "notes", {"tool_use_when": {"add_notes": ["jot down"]}}, by=EDITOR)
    assert orphan_of(orphaned)["key"] not in ignoring.ignored(orphaned)


@pytest.mark.parametrize("reason", ["", "   ", "x" * 501])
def test_ignoring_needs_a_reason_of_some_length(orphaned, reason):
    key = orphan_of(orphaned)["key"]

    with pytest.raises(InvalidRequest) as refused:
        ignoring.ignore(orphaned, key, reason, by=EDITOR)

    assert refused.value.details[0]["path"] == "reason"


def test_what_nobody_found_is_neither_ignored_nor_mended(orphaned):
    orphan_of(orphaned)

    for act in (
        lambda: ignoring.ignore(orphaned, "x", "Why", by=EDITOR),
        lambda: mending.mend(orphaned, "x", by=EDITOR),
    ):
        with pytest.raises(NotFound):
            act()


def test_mending_makes_the_suggested_edit_and_the_finding_is_gone(orphaned):
    mending.mend(orphaned, orphan_of(orphaned)["key"], by=EDITOR)

    (notes,) = [one for one in registry.working_document(orphaned)["endpoints"] if one["name"] == "notes"]
    assert notes["tool_use_when"] == {"add_note": ["write it down"]}
    assert not [one for one in examined(orphaned).findings if one["code"] == "hint_without_tool"]


def test_nothing_is_mended_in_a_draft_that_nobody_has_examined(orphaned):
    key = orphan_of(orphaned)["key"]
    entries.edit(orphaned, "endpoints", "hitspec", {"description": "Else"}, by=EDITOR)

    with pytest.raises(StaleDraft):
        mending.mend(Workspace.objects.get(pk=orphaned.pk), key, by=EDITOR)


def test_an_edit_that_needs_words_is_left_to_people(published):
    clash = {**DOCUMENT, "capabilities": [{"name": "nobody"}]}
    registry.replace_working_copy(published, clash, by=EDITOR)
    (finding,) = [one for one in examined(published).findings if one["code"] == "capability_unused"]

    with pytest.raises(InvalidRequest):
        mending.mend(published, finding["key"], by=EDITOR)
