from __future__ import annotations

import pytest

from routing import bus
from routing.errors import ExpectationsFailed, NeedsApproval, StaleDraft
from routing.models import AuditEntry
from routing.services import checks, registry, remarks, reviews, revisions, workspaces
from tests.routing.conftest import DOCUMENT, EDITOR

ASKED = {"name": "fetch", "query": "fetch a public web page as readable Markdown text"}
HOLDS = {**ASKED, "expect": {"recommendation": "hitspec__fetch"}}
FAILS = {**ASKED, "name": "notes", "expect": {"recommendation": "notes__add_note", "status": ["confident"]}}


def expecting(workspace, *expectations) -> None:
    registry.replace_working_copy(workspace, {**DOCUMENT, "expectations": list(expectations)}, by=EDITOR)


def last(workspace) -> AuditEntry:
    return AuditEntry.objects.filter(workspace=workspace).first()


def outcome(workspace) -> checks.Outcome:
    return checks.of(workspace.pk, registry.working_document(workspace), registry.draft_digest(workspace)).outcome


def test_expectations_are_asked_and_told_in_words(published):
    expecting(published, HOLDS, FAILS)
    found = outcome(published)

    assert (found.passed, found.asked, [one.name for one in found.broken]) == (1, 2, ["notes"])
    assert "the recommended tool" in found.broken[0].words


def test_a_document_that_does_not_do_what_it_expects_is_not_published(published):
    expecting(published, HOLDS, FAILS)

    with pytest.raises(ExpectationsFailed) as refused:
        revisions.publish(published, message="Go", by=EDITOR)

    published.refresh_from_db()
    assert published.live_revision.number == 2
    assert [detail["path"] for detail in refused.value.details] == ["expectations[notes]"]
    assert (last(published).result, last(published).after["code"]) == ("refused", "expectations_failed")


def test_an_emergency_goes_past_them_and_says_so(published):
    expecting(published, FAILS)
    revision = revisions.publish(published, message="Everything is down", emergency=True, by=EDITOR)

    assert revision.emergency
    assert (last(published).after["emergency"], last(published).after["expectations_failed"]) == (True, ["notes"])


def test_expectations_are_overridden_with_a_reason_that_is_kept(published):
    expecting(published, FAILS)
    revision = revisions.publish(published, message="Go", override="The tool is renamed next week", by=EDITOR)

    told = last(published).after
    assert not revision.emergency and "emergency" not in told
    assert (told["expectations_failed"], told["override_reason"]) == (["notes"], "The tool is renamed next week")


def test_an_override_stands_in_for_no_approval(published):
    workspaces.configure(published, {"approvals_needed": 1}, by=EDITOR)
    expecting(published, FAILS)

    with pytest.raises(NeedsApproval):
        revisions.publish(published, message="Go", override="They are outdated", by=EDITOR)


def test_a_draft_is_checked_beside_its_change_and_never_by_the_page(
    published, monkeypatch, django_capture_on_commit_callbacks
):
    sent: list[str] = []
    monkeypatch.setattr(checks.workers, "_send", sent.append)
    with django_capture_on_commit_callbacks(execute=True):
        expecting(published, HOLDS, FAILS)
    assert sent == [str(published.pk)]
    assert checks.known(published.pk, registry.draft_digest(published)) is None

    checks.check_draft(published.pk)
    checks.forget()  # another process than the one that asked
    monkeypatch.setattr(checks, "run_expectations", None)
    found = checks.known(published.pk, registry.draft_digest(published))

    assert found is not None
    assert [(one.name, one.is_met, one.target) for one in found.outcome.findings.values()] == [
        ("fetch", True, "hitspec__fetch"),
        ("notes", False, "hitspec__fetch"),
    ]


def test_a_bus_that_is_away_holds_up_no_edit(published, monkeypatch, django_capture_on_commit_callbacks):
    sent: list[str] = []
    monkeypatch.setattr(checks.workers, "_send", sent.append)

    def away() -> None:
        raise bus.BusAway("is away")

    monkeypatch.setattr(bus, "ping", away)
    with django_capture_on_commit_callbacks(execute=True):
        expecting(published, HOLDS)

    assert sent == []
    assert outcome(published).passed == 1  # whoever looks asks it then


def test_only_the_last_checks_are_kept_and_those_of_what_is_live(published, monkeypatch):
    monkeypatch.setattr(checks, "KEPT", 2)
    live = registry.draft_digest(published)
    checks.check_draft(published.pk)
    for number in range(4):
        expecting(published, {**HOLDS, "name": f"fetch {number}"})
        checks.check_draft(published.pk)

    kept = set(published.checks.values_list("digest", flat=True))
    assert live in kept
    assert len(kept) == 3


def test_a_refusal_outlives_what_was_rolled_back(published):
    workspaces.configure(published, {"approvals_needed": 1}, by=EDITOR)
    registry.replace_working_copy(published, {**DOCUMENT, "scopes": [{"name": "default"}]}, by=EDITOR)

    with pytest.raises(NeedsApproval):
        revisions.publish(published, message="Go", by=EDITOR)
    needs = last(published)
    with pytest.raises(StaleDraft):
        revisions.publish(published, message="Go", seen="sha256:0", by=EDITOR)

    assert not published.revisions.filter(number=3).exists()
    assert (needs.action, needs.target, needs.result, needs.message) == ("revision.published", "draft", "refused", "Go")
    assert (needs.after["code"], last(published).after["code"]) == ("needs_approval", "stale_draft")


# --- remarks ----------------------------------------------------------------------------------------------------------
def test_what_is_said_of_the_draft_goes_with_its_proposals_and_stays_with_the_revision(published):
    registry.replace_working_copy(published, {**DOCUMENT, "scopes": [{"name": "default"}]}, by=EDITOR)
    first = remarks.say(published, "scopes[web-only]", "Who uses it?", line=1, quote="name: web-only", by=EDITOR)
    done = remarks.say(published, "scopes[web-only]", "Really?", by=EDITOR)
    registry.propose_draft(published, message="One scope", by=EDITOR)
    remarks.answer(published, first.pk, "Nobody", by=EDITOR)
    remarks.resolve(published, done.pk, by=EDITOR)
    registry.replace_working_copy(published, {**DOCUMENT, "scopes": []}, by=EDITOR)
    registry.propose_draft(published, message="None", by=EDITOR)
    revisions.publish_revision(published, 4, message="None", by=EDITOR)

    kept = {number: revisions.find(published, number).remarks for number in (3, 4)}
    assert [one.text for one in kept[3].all()] == ["Really?"]
    assert [one.text for one in kept[4].all()] == ["Who uses it?", "Nobody"]


def test_an_answer_opens_a_resolved_thread_again(published):
    first = remarks.say(published, "scopes[web-only]", "Who uses it?", by=EDITOR)
    remarks.resolve(published, first.pk, by=EDITOR)
    remarks.answer(published, first.pk, "I do", by=EDITOR)

    first.refresh_from_db()
    assert first.resolved_at is None


def test_the_reviews_page_keeps_approvals_beside_remarks(published):
    workspaces.configure(published, {"approvals_needed": 1}, by=EDITOR)
    registry.replace_working_copy(published, {**DOCUMENT, "scopes": [{"name": "default"}]}, by=EDITOR)
    registry.propose_draft(published, message="One scope", by=EDITOR)
    ben = type(EDITOR)(kind="operator", name="ben")
    reviews.approve(published, 3, by=ben)
    remarks.say(published, "scopes[web-only]", "Fine", by=ben)

    assert revisions.find(published, 3).state == "approved"
