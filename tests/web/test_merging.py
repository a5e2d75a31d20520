"""Two forms over one entry: what each side changed is kept, and where both did a person chooses."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from control.web.merging import merge, read, written

FIELDS = ("title", "tags", "owner", "credential")
VALUES = st.one_of(st.none(), st.integers(0, 2), st.lists(st.integers(0, 1), max_size=1))
ENTRIES = st.fixed_dictionaries(dict.fromkeys(FIELDS, VALUES))
SENT = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, VALUES))


def mark(name: str, value: Any) -> str:
    return json.dumps([name, value]).replace(" ", "")


def marks(entry: dict[str, Any]) -> dict[str, str]:
    return {name: mark(name, value) for name, value in entry.items()}


@given(base=ENTRIES, theirs=ENTRIES, sent=SENT)
def test_each_side_keeps_what_it_alone_changed_and_nothing_else_is_written(base, theirs, sent):
    merged = merge(marks(base), theirs, sent, mark)
    mine = base | sent

    for name in FIELDS:
        after = merged.changes.get(name, theirs[name])
        if name in merged.conflicts:
            assert mine[name] != base[name] != theirs[name] != mine[name] and name not in merged.changes
        elif mine[name] != base[name]:
            assert after == mine[name]
        else:
            assert after == theirs[name]
    assert set(merged.kept) == {name for name in FIELDS if mine[name] == base[name] != theirs[name]}


@given(base=ENTRIES, theirs=ENTRIES, mine=ENTRIES)
def test_it_does_not_matter_who_saves_first(base, theirs, mine):
    one, other = merge(marks(base), theirs, mine, mark), merge(marks(base), mine, theirs, mark)

    assert set(one.conflicts) == set(other.conflicts)
    if not one.conflicts:
        assert theirs | one.changes == mine | other.changes


@given(theirs=ENTRIES, sent=SENT)
def test_without_marks_whatever_differs_has_to_be_chosen(theirs, sent):
    merged = merge({}, theirs, sent, mark)

    assert set(merged.conflicts) == {name for name, value in sent.items() if theirs[name] != value}
    assert not merged.changes


@given(base=ENTRIES, theirs=ENTRIES, value=st.integers(0, 2))
def test_a_credential_is_never_sent_to_an_address_that_was_not_read(base, theirs, value):
    merged = merge(
        marks(base),
        theirs,
        {"credential": value},
        mark,
        entered=("credential",),
        meant_for={"credential": "title"},
    )

    if theirs["title"] != base["title"]:
        assert "title" in merged.conflicts or "credential" in merged.conflicts
    elif theirs["credential"] == base["credential"]:
        assert merged.changes == {"credential": value}


@given(entry=ENTRIES)
def test_marks_come_back_from_a_form(entry):
    assert read(written(marks(entry))) == marks(entry)


def test_what_is_no_list_of_marks_has_none():
    assert read("") == read("abc def:") == {}
