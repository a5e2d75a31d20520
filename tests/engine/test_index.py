"""The nth of many numbers, the weights of single postings, and parts that were compiled apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import load_registry, resolve, scope
from routing.engine.index import Index, foremost, nth_largest
from routing.engine.parts import FIELD_NAMES, NAME

NUMBERS = st.lists(st.integers(0, 40).map(float), min_size=1, max_size=1200)


@given(NUMBERS, st.integers(1, 60))
def test_the_nth_largest_is_where_sorting_puts_it(numbers: list[float], nth: int) -> None:
    ordered = sorted(numbers, reverse=True)

    assert nth_largest(np.array(numbers), nth) == (ordered[nth - 1] if len(numbers) >= nth else 0)


@given(NUMBERS, st.integers(1, 60))
def test_the_foremost_leave_out_none_of_the_first(numbers: list[float], nth: int) -> None:
    values = np.array(numbers)
    left_out = np.delete(values, foremost(values, nth))

    assert not len(left_out) or left_out.max() <= nth_largest(values, nth)


def test_a_posting_tells_the_weight_in_each_field() -> None:
    tool = {"name": "send_letter", "description": "Sends a parcel."}
    index = load_registry({"version": 1, "endpoints": [{"name": "post", "kind": "declared", "tools": [tool]}]}).index
    name, prose = (int(index.starts[index.term_ids[term]]) for term in ("letter", "parcel"))

    by_name, by_prose = index.weights(np.array([name, prose]))

    assert np.flatnonzero(by_name).tolist() == [NAME]
    assert np.flatnonzero(by_prose).tolist() == [FIELD_NAMES.index("description")]


def test_forgetting_what_words_meet_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = [{"name": f"{verb}_{noun}"} for verb in ("send", "read") for noun in ("mail", "letter", "file")]
    catalog = load_registry({"version": 1, "endpoints": [{"name": "post", "kind": "declared", "tools": tools}]})
    known = resolve(catalog, "send the letter", explain=True)
    monkeypatch.setattr(scope, "MOST_MET", 0)

    assert resolve(catalog, "read a file", explain=True)["status"]
    assert resolve(catalog, "send the letter", explain=True) == known


POST = {
    "name": "post",
    "kind": "declared",
    "tags": ["mail"],
    "tools": [{"name": "send_letter", "description": "Sends letters and webPages."}, {"name": "track"}],
}
WEB = {
    "name": "web",
    "kind": "declared",
    "tools": [{"name": "fetch_page", "description": "Fetches webpages, letter by letter."}],
}
EMPTY = {"name": "empty", "kind": "declared", "description": "Nothing to call."}


def told(index: Index) -> tuple[object, ...]:
    postings = np.arange(len(index.tools))
    spelled = {word: (number, sorted(tools)) for word, (number, tools) in index.spelled.items()}
    return index.term_ids, index.tools.tolist(), index.starts.tolist(), index.weights(postings).tolist(), spelled


def test_endpoints_that_were_compiled_apart_make_the_same_index() -> None:
    together = load_registry({"version": 1, "endpoints": [EMPTY, POST, WEB]})

    apart = load_registry({"version": 1, "endpoints": [EMPTY]}).replace(WEB).replace(POST)

    assert told(apart.index) == told(together.index)


def test_a_part_keeps_its_weights_as_a_piece_of_those_of_the_whole() -> None:
    catalog = load_registry({"version": 1, "endpoints": [EMPTY, POST, WEB]})
    weights = [part.postings.weights for part in catalog.index.parts]

    assert weights[1].base is not None and weights[1].base is weights[2].base


def test_names_and_texts_without_a_letter_have_no_postings() -> None:
    tool = {"name": "->", "description": "…"}
    index = load_registry({"version": 1, "endpoints": [{"name": "a", "kind": "declared", "tools": [tool]}]}).index

    assert not index.term_ids and not len(index.tools)
