from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from routing.errors import InvalidRequest
from routing.events import GENESIS
from routing.models import ChainHead, Decision, Event, Minute, PendingEvent, Receipt, Workspace
from routing.services import decisions, ledger
from routing.services.ledger import Report
from routing.services.ledger.insert import insert


def report(id_: str, **facts) -> Report:
    return Report(**{"id": id_, "kind": "invocation", "target": "hitspec__fetch", "status": "started", **facts})


@pytest.fixture
def chain(published):
    """Five events in the chain of a workspace."""
    ledger.accept(published.pk, "default", "a-harness", [report(f"e{n}") for n in range(5)])
    ledger.write(published.pk)
    return published


def test_numbers_have_no_gap_and_every_row_follows_the_one_before(chain):
    rows = list(Event.objects.filter(workspace=chain).order_by("seq"))

    assert [row.seq for row in rows] == [1, 2, 3, 4, 5]
    assert [row.prev_hash for row in rows] == [GENESIS, *(row.hash for row in rows[:-1])]
    assert ledger.verify(chain).as_dict() == {
        "workspace": "acme",
        "from": 1,
        "to": 5,
        "checked": 5,
        "ok": True,
        "first_bad": None,
        "reason": None,
    }


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("target", "notes__delete_note"),
        ("status", "ok"),
        ("harness", "somebody"),
        ("data", {"attempt": 2}),
        ("reason_codes", ["x"]),
        ("event_id", "other"),
        ("kind", "domain_outcome"),
    ],
)
def test_a_changed_row_is_found_by_its_own_number(chain, column, value):
    Event.objects.filter(workspace=chain, seq=3).update(**{column: value})

    found = ledger.verify(chain)

    assert (found.ok, found.first_bad, found.reason) == (False, 3, "hash")


def test_a_row_that_was_rehashed_is_found_by_the_next(chain):
    row = Event.objects.get(workspace=chain, seq=2)
    Event.objects.filter(pk=row.pk).update(hash="f" * 64)

    assert ledger.verify(chain).first_bad in (2, 3)


@pytest.mark.parametrize(("removed", "missing"), [(1, 1), (3, 3), (5, 5)])
def test_a_removed_row_is_found_by_the_missing_number(chain, removed, missing):
    Event.objects.filter(workspace=chain, seq=removed).delete()

    found = ledger.verify(chain)

    assert (found.first_bad, found.reason) == (missing, "gap")


def test_swapped_rows_are_found_by_the_smaller_number(chain):
    Event.objects.filter(workspace=chain, seq=2).update(seq=99)
    Event.objects.filter(workspace=chain, seq=4).update(seq=2)
    Event.objects.filter(workspace=chain, seq=99).update(seq=4)

    found = ledger.verify(chain)

    assert (found.first_bad, found.reason) == (2, "order")


def test_a_range_is_verified_against_the_row_before_it(chain):
    found = ledger.verify(chain, 3, 4)

    assert (found.ok, found.checked) == (True, 2)


@pytest.mark.parametrize(
    ("column", "value"), [("data", "not json"), ("reason_codes", "x"), ("data", "[1"), ("reason_codes", "null")]
)
def test_a_row_whose_json_cannot_be_read_is_a_changed_row(chain, column, value):
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE routing_event SET {column} = %s WHERE seq = 3", [value])

    found = ledger.verify(chain)

    assert (found.checked, found.first_bad, found.reason) == (3, 3, "hash")


# What a column takes depends on the database: SQLite takes anything, PostgreSQL times that Python does not know.
STRANGE = {
    "sqlite": ["at = 'garbage'", "recorded_at = 17", "target = x'ff'", "harness = CAST(x'ff' AS TEXT)"],
    "postgresql": ["at = 'infinity'", "recorded_at = '-infinity'", "at = '4713-01-01 BC'"],
}


@pytest.mark.parametrize("change", STRANGE[connection.vendor])
def test_a_row_whose_values_are_of_no_kind_we_write_is_a_changed_row(chain, change):
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE routing_event SET {change} WHERE seq = 3")

    found = ledger.verify(chain)

    assert (found.first_bad, found.reason) == (3, "hash")


def cut(chain, above):
    Event.objects.filter(workspace=chain, seq__gt=above).delete()


def set_head(chain, seq):
    row = Event.objects.get(workspace=chain, seq=seq)
    ChainHead.objects.filter(workspace=chain).update(seq=seq, hash=row.hash)


def drop_head(chain):
    ChainHead.objects.filter(workspace=chain).delete()


@pytest.mark.parametrize(
    ("tamper", "first_bad"),
    [
        (lambda chain: drop_head(chain), 6),
        (lambda chain: (cut(chain, 3), drop_head(chain)), 4),
        (lambda chain: (cut(chain, 0), drop_head(chain)), 1),
        (lambda chain: (cut(chain, 3), set_head(chain, 3)), 4),
        (lambda chain: set_head(chain, 4), 5),
        (lambda chain: set_head(chain, 2), 3),
        (lambda chain: ChainHead.objects.filter(workspace=chain).update(seq=4), 5),
        (lambda chain: ChainHead.objects.filter(workspace=chain).update(seq=9), 6),
        (lambda chain: Workspace.objects.filter(pk=chain.pk).update(ledger_seq=2), 3),
    ],
    ids=[
        "no head",
        "cut, no head",
        "all gone",
        "cut, head forged",
        "head - 1",
        "head - 3",
        "number only",
        "head + 4",
        "note",
    ],
)
def test_an_end_that_nothing_vouches_for_is_a_gap(chain, tamper, first_bad):
    tamper(chain)

    found = ledger.verify(chain)

    assert (found.ok, found.first_bad, found.reason) == (False, first_bad, "gap")


def test_a_head_with_another_hash_contradicts_the_newest_row(chain):
    ChainHead.objects.filter(workspace=chain).update(hash="f" * 64)

    found = ledger.verify(chain)

    assert (found.first_bad, found.reason) == (5, "hash")


def test_a_chain_that_begins_anew_in_the_place_of_a_removed_one_is_found(chain):
    Event.objects.filter(workspace=chain).delete()
    ChainHead.objects.filter(workspace=chain).delete()
    ledger.accept(chain.pk, "default", "a-harness", [report("new")])
    ledger.write(chain.pk)

    assert ledger.verify(chain).first_bad == 1


@pytest.mark.parametrize(("start", "end"), [(4, 3), (6, None), (None, 6), (9, 12)])
def test_a_range_that_the_chain_does_not_have_is_refused(chain, start, end):
    with pytest.raises(InvalidRequest):
        ledger.verify(chain, start, end)


def test_a_number_that_is_missing_at_the_end_may_be_asked_for(chain):
    Event.objects.filter(workspace=chain, seq=5).delete()

    assert ledger.verify(chain, 2, 5).first_bad == 5


def test_an_empty_chain_holds(published):
    assert ledger.verify(published).ok


def test_the_same_report_twice_is_kept_once_and_another_under_its_id_is_a_conflict(published):
    first = ledger.accept(published.pk, "default", "h", [report("a"), report("a")])
    again = ledger.accept(published.pk, "default", "h", [report("a"), report("a", target="notes__add_note")])
    ledger.write(published.pk)
    late = ledger.accept(
        published.pk, "default", "h", [report("a"), report("a", status="ok", kind="transport_outcome")]
    )

    assert (first.accepted, first.duplicates) == (1, 1)
    assert (again.accepted, again.duplicates, again.conflicts) == (0, 1, (1,))
    assert (late.accepted, late.duplicates, late.conflicts) == (0, 1, (1,))
    assert Event.objects.filter(workspace=published).count() == 1


def test_a_writer_that_dies_before_it_forgets_what_it_wrote_writes_nothing_twice(published):
    ledger.accept(published.pk, "default", "h", [report("a"), report("b")])
    waiting = list(PendingEvent.objects.filter(workspace=published).values("event_id", "body"))
    ledger.write(published.pk)
    PendingEvent.objects.bulk_create(PendingEvent(workspace=published, **row) for row in waiting)

    ledger.write(published.pk)

    assert Event.objects.filter(workspace=published).count() == 2
    assert not PendingEvent.objects.filter(workspace=published).exists()
    assert ledger.verify(published).ok


def test_outcomes_are_joined_to_the_decision_they_name(caller, published):
    answer = decisions.resolve(caller, "fetch https://example.com/guide as Markdown")
    ledger.write(published.pk)
    key = answer["decision_id"]
    ledger.accept(
        published.pk,
        "default",
        "h",
        [
            report("i", decision_id=key),
            report("t", kind="transport_outcome", status="ok", decision_id=key),
            report("d", kind="domain_outcome", status="failure", decision_id=key),
        ],
    )
    ledger.write(published.pk)

    row = Decision.objects.get(pk=key)
    minute = Minute.objects.get(workspace=published)
    assert (row.invoked, row.transport, row.domain) == (True, "ok", "failure")
    assert (
        minute.count,
        minute.recommended,
        minute.invoked,
        minute.returned,
        minute.achieved,
        minute.not_achieved,
    ) == (1, 1, 1, 1, 0, 1)


@pytest.mark.parametrize(
    ("invoked", "agreed"),
    [
        (["hitspec__fetch"], True),
        (["hitspec__hitspec_fetch"], True),  # the other spelling
        (["hitspec"], True),  # its endpoint is all that is known
        (["notes__add_note"], False),
        (["notes__add_note", "hitspec__fetch"], True),
        ([], None),
    ],
)
def test_what_was_called_is_held_against_what_was_recommended(caller, published, invoked, agreed):
    key = decisions.resolve(caller, "fetch https://example.com/guide as Markdown")["decision_id"]
    ledger.write(published.pk)
    for number, target in enumerate(invoked):
        ledger.accept(published.pk, "default", "h", [report(f"i{number}", decision_id=key, target=target)])
        ledger.write(published.pk)

    minute = Minute.objects.get(workspace=published)
    assert Decision.objects.get(pk=key).agreed is agreed
    assert (minute.agreed, minute.differed) == (int(agreed is True), int(agreed is False))


def test_an_outcome_from_another_scope_is_kept_and_never_joined(caller, published):
    answer = decisions.resolve(caller, "fetch https://example.com/guide as Markdown")
    ledger.write(published.pk)
    ledger.accept(published.pk, "web-only", "other", [report("i", decision_id=answer["decision_id"])])
    ledger.write(published.pk)

    assert Event.objects.filter(workspace=published, event_id="i").exists()
    assert not Decision.objects.get(pk=answer["decision_id"]).invoked


def test_an_outcome_that_arrives_before_its_invocation_counts_once_the_call_is_known(caller, published):
    key = decisions.resolve(caller, "fetch https://example.com/guide as Markdown")["decision_id"]
    ledger.write(published.pk)
    ledger.accept(published.pk, "default", "h", [report("t", kind="transport_outcome", status="ok", decision_id=key)])
    ledger.write(published.pk)
    before = Minute.objects.get(workspace=published)
    ledger.accept(published.pk, "default", "h", [report("i", decision_id=key)])
    ledger.write(published.pk)
    after = Minute.objects.get(workspace=published)

    assert (before.invoked, before.returned) == (0, 0)
    assert (after.invoked, after.returned) == (1, 1)


def test_workspaces_have_chains_of_their_own(chain, by):
    from routing.services import registry

    other = registry.create_workspace("other", by=by)
    ledger.accept(other.pk, "default", "h", [report("e0")])
    ledger.write(other.pk)

    assert Event.objects.get(workspace=other).seq == 1
    assert ledger.verify(chain).ok
    assert ledger.verify(other).ok


ids = st.sampled_from([f"id-{n}" for n in range(6)])
batches = st.lists(
    st.lists(st.tuples(ids, st.sampled_from(["hitspec__fetch", "notes__add_note"])), max_size=6), max_size=5
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=batches)
def test_whatever_is_sent_in_whatever_order_the_chain_is_gapless_and_holds(published, batches):
    Event.objects.filter(workspace=published).delete()
    ChainHead.objects.filter(workspace=published).delete()
    Receipt.objects.filter(workspace=published).delete()
    Workspace.objects.filter(pk=published.pk).update(ledger_seq=0)
    kept: dict[str, str] = {}
    for batch in batches:
        accepted = ledger.accept(published.pk, "default", "h", [report(id_, target=target) for id_, target in batch])
        fresh = {id_: target for id_, target in reversed(batch) if id_ not in kept}
        assert accepted.accepted == len(fresh)
        assert accepted.accepted + accepted.duplicates + len(accepted.conflicts) == len(batch)
        kept |= fresh
        ledger.write(published.pk)

    rows = list(Event.objects.filter(workspace=published).order_by("seq"))
    assert [row.seq for row in rows] == list(range(1, len(kept) + 1))
    assert {row.event_id: row.target for row in rows} == kept
    assert ledger.verify(published).ok


def test_a_report_about_a_decision_that_does_not_exist_is_kept(published):
    ledger.accept(
        published.pk,
        "default",
        "h",
        [report("x", decision_id=str(uuid.uuid4())), report("y", decision_id="not-a-uuid")],
    )

    assert ledger.write(published.pk) == 2


@pytest.mark.parametrize("cut", [False, True])
def test_writing_goes_on_after_somebody_removed_the_head_and_what_is_missing_stays_a_gap(chain, cut):
    ChainHead.objects.filter(workspace=chain).delete()
    if cut:
        Event.objects.filter(workspace=chain, seq__gt=3).delete()
    ledger.accept(chain.pk, "default", "h", [report("later")])
    ledger.write(chain.pk)

    found = ledger.verify(chain)
    assert Event.objects.get(workspace=chain, event_id="later").seq == 6
    assert (found.first_bad, found.reason) == ((4, "gap") if cut else (None, None))


def test_a_row_that_was_inserted_among_many_is_the_row_that_its_model_would_save(published):
    at = datetime(2026, 3, 1, 12, 30, 15, 250_001, tzinfo=UTC)
    given = {
        "workspace_id": published.pk,
        "type": "resolve",
        "created_at": at,
        "finished_at": at,
        "scope": "default",
        "harness": "a-härness %s ?",
        "target": None,
        "probability": 0.25,
        "reason_codes": ["score_tie"],
        "candidates": [{"target": "é", "score": 1.5, "fields": {}}],
    }
    ids = [uuid.uuid4(), uuid.uuid4()]

    insert(Decision, [{**given, "id": str(ids[0])}])
    Decision(**given, id=ids[1]).save(force_insert=True)

    inserted, saved = (Decision.objects.filter(pk=pk).values().get() for pk in ids)
    assert {**inserted, "id": None} == {**saved, "id": None}


def test_a_decision_that_is_known_already_is_left_as_it_is(published):
    row = {"id": str(uuid.uuid4()), "workspace_id": published.pk, "created_at": datetime.now(UTC), "type": "resolve"}
    row |= {"scope": "default", "harness": "first"}

    insert(Decision, [row])
    insert(Decision, [{**row, "harness": "second"}], skip_known=True)

    assert Decision.objects.get(pk=row["id"]).harness == "first"
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(Decision, [row])
