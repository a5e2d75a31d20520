"""What holds of every answer, whatever the catalog and the request."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import load_registry, resolve, resolve_detailed, search_tools
from tests.engine.tools import document, endpoint, tool

WORDS = (
    "list fetch delete create send page event email object bucket file plan search report forecast invoice table query run show "
    "calendar database note image weather team message symbol code index markdown"
).split()
FILLERS = [
    "the",
    "a",
    "please",
    "do not",
    "without",
    "https://example.com/delete/event",
    "and",
    "my",
    "calender",
    "why",
    "good",
    "tomorrow",
    "日本",
]

some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
queries = st.lists(st.sampled_from(WORDS + FILLERS), max_size=9).map(" ".join)
tools = st.builds(
    lambda name, description, effect: tool("_".join(name), description, effect=effect),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    some_words,
    st.sampled_from(["read", "write", "erase", "execute"]),
)
endpoints = st.lists(
    st.builds(
        lambda name, found, hint, description, enabled: endpoint(
            name,
            *found,
            use_when=[hint],
            description=description,
            enabled=enabled,
            tool_use_when={found[0]["name"]: [hint]},
        ),
        st.sampled_from(["one", "two", "three", "four", "five", "six"]),
        st.lists(tools, min_size=1, max_size=4, unique_by=lambda one: one["name"]),
        some_words,
        some_words,
        st.sampled_from([True, True, True, False]),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda one: one["name"],
)


@given(endpoints, queries)
def test_the_parts_of_every_candidate_add_up_to_its_score(given_endpoints: list[dict[str, Any]], query: str) -> None:
    answer = resolve(load_registry(document(*given_endpoints)), query, explain=True)

    for candidate in answer["explanation"]["candidates"]:
        parts = [*candidate["contributions"], *candidate["adjustments"]]
        assert sum(part["score"] for part in parts) == pytest.approx(candidate["score"], abs=1e-6)
    scores = [candidate["score"] for candidate in answer["explanation"]["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) <= 20


@given(endpoints, queries, st.integers(0, 10_000))
def test_the_order_of_a_document_changes_no_answer(
    given_endpoints: list[dict[str, Any]], query: str, seed: int
) -> None:
    shuffled = copy.deepcopy(given_endpoints)
    random.Random(seed).shuffle(shuffled)
    for one in shuffled:
        random.Random(seed + 1).shuffle(one["tools"])

    one, other = (
        resolve(load_registry(document(*found)), query, explain=True) for found in (given_endpoints, shuffled)
    )

    assert one == other


@given(endpoints, endpoints, queries)
def test_what_is_out_of_scope_changes_nothing(
    inside: list[dict[str, Any]], outside: list[dict[str, Any]], query: str
) -> None:
    others = [{**one, "name": f"out-{one['name']}"} for one in outside]
    scopes = [{"name": "default", "endpoints": [one["name"] for one in inside]}]

    alone = load_registry(document(*inside, scopes=scopes))
    among = load_registry(document(*inside, *others, scopes=scopes))

    assert resolve(among, query, explain=True) == resolve(alone, query, explain=True)
    assert search_tools(among, query) == search_tools(alone, query)


@given(endpoints, queries, st.data())
def test_a_narrowed_scope_answers_like_a_catalog_of_those_tools(
    found: list[dict[str, Any]], query: str, data: st.DataObject
) -> None:
    every = [(one["name"], made["name"]) for one in found for made in one["tools"]]
    kept = data.draw(st.lists(st.sampled_from(every), unique=True))
    scopes = [{"name": "default", "tools": [f"{name}__{wire}" for name, wire in kept]}]
    answer = resolve(load_registry(document(*found, scopes=scopes)), query, explain=True)

    allowed = {name for name, _ in kept}
    shown = [answer["recommendation"], *answer["alternatives"], *answer["explanation"]["candidates"]]
    assert {one["namespaced"].split("__")[0] for one in shown if one} <= allowed


@given(endpoints, queries)
def test_the_control_fields_agree_with_each_other(found: list[dict[str, Any]], query: str) -> None:
    resolution = resolve_detailed(load_registry(document(*found)), query)
    answer = resolution.answer

    assert 0 <= answer["probability"] <= answer["match_probability"] <= 1
    assert answer["ambiguous"] is (answer["status"] == "ambiguous")
    if answer["status"] == "confident":
        assert answer["probability"] >= 0.8
        assert answer["confidence"] in ("high", "medium")
    if answer["status"] != "no_match":
        assert (answer["score_gap"] == 0) is ("score_tie" in answer["reason_codes"])
        assert answer["reason_codes"]
    enabled = {one["name"] for one in found if one["enabled"]}
    assert all(one["server"] in enabled for one in [answer["recommendation"], *answer["alternatives"]] if one)


@given(endpoints, st.text(max_size=300))
def test_any_text_gets_an_answer(found: list[dict[str, Any]], query: str) -> None:
    assert resolve(load_registry(document(*found)), query, explain=True)["status"] in (
        "confident",
        "ambiguous",
        "no_match",
    )
