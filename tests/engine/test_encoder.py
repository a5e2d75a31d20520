"""The deep tier in the engine: an encoder's vectors rank, are seen, and their absence changes nothing but the tier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from routing.engine import Catalog, load_registry, resolve
from routing.engine.encoder import Encoder, TextVectors, rounded, texts_of
from tests.engine.tools import document, endpoint, tool

AXES = ("ball", "money", "weather")
SPORTS = document(
    endpoint("sports", tool("latest_results", "Standings of every match.", effect="read")),
    endpoint("books", tool("list_invoices", "Open bills of a customer.", effect="read")),
    endpoint(
        "notes", tool("add_note", "Write a note.", effect="write"), tool("find_note", "Find a note.", effect="read")
    ),
)
MEANS = {"match": "ball", "goalkeeper": "ball", "bills": "money", "note": "weather"}


def encoded(text: str) -> Any:
    """A tiny encoder: three axes, a word of `MEANS` points along one of them."""
    found = np.full(len(AXES), 0.05, np.float32)
    for word, axis in MEANS.items():
        found[AXES.index(axis)] += word in text.lower()
    return found / np.linalg.norm(found)


def encoder(catalog: Catalog, query: str) -> Encoder:
    docs = catalog.index.docs
    known = {text: rounded(encoded(text)) for doc in docs for text in texts_of(doc)}
    return TextVectors(docs, known).asked(encoded(query))


def test_an_encoder_finds_the_tool_that_shares_no_word_and_says_so() -> None:
    catalog, query = load_registry(SPORTS), "praise our goalkeeper"

    answer = resolve(catalog, query, tier="deep", encoder=encoder(catalog, query), explain=True)

    first = answer["explanation"]["candidates"][0]
    assert answer["tier"] == "deep"
    assert first["namespaced"] == "sports__latest_results"
    assert [one["field"] for one in first["contributions"]] == ["vector"]
    assert answer["status"] == "no_match" or "semantic_match" in answer["reason_codes"]


@pytest.mark.parametrize(
    "query", ["add a note", "list invoices", "hello there", "", "find the note about goalkeeper bills"]
)
def test_without_an_encoder_the_deep_answer_is_the_static_one(query: str) -> None:
    catalog = load_registry(SPORTS)

    assert resolve(catalog, query, tier="deep", explain=True) == resolve(catalog, query, tier="static", explain=True)


def test_an_open_tier_goes_deep_only_where_the_answer_would_be_ambiguous() -> None:
    catalog = load_registry(SPORTS)
    by_query = {
        query: resolve(catalog, query) for query in ("add a note", "the note", "hello there", "match bills note")
    }

    tiers = {query: resolve(catalog, query, encoder=encoder(catalog, query))["tier"] for query in by_query}

    assert {answer["status"] for answer in by_query.values()} >= {"ambiguous", "no_match"}
    assert tiers == {
        query: "deep" if answer["status"] == "ambiguous" else answer["tier"] for query, answer in by_query.items()
    }


@pytest.mark.parametrize("tier", ["lexical", "static"])
def test_a_tier_that_is_asked_for_is_kept(tier: str) -> None:
    catalog, query = load_registry(SPORTS), "the note"

    answer = resolve(catalog, query, tier=tier, encoder=encoder(catalog, query))

    assert answer == resolve(catalog, query, tier=tier)
    assert answer["tier"] == tier


def test_contributions_and_adjustments_add_up_to_the_score() -> None:
    catalog, query = load_registry(SPORTS), "find the note of the match bills"

    answer = resolve(catalog, query, tier="deep", encoder=encoder(catalog, query), explain=True)

    for one in answer["explanation"]["candidates"]:
        parts = [*one["contributions"], *one["adjustments"]]
        assert sum(part["score"] for part in parts) == pytest.approx(one["score"], abs=1e-6)


def test_the_order_of_the_registry_does_not_matter() -> None:
    turned = SPORTS | {"endpoints": SPORTS["endpoints"][::-1]}
    query = "find the note of the match bills"
    answers = [
        resolve(catalog, query, tier="deep", encoder=encoder(catalog, query), explain=True)
        for catalog in (load_registry(SPORTS), load_registry(turned))
    ]

    assert answers[0] == answers[1]


def test_a_hint_has_a_vector_of_its_own_and_is_worth_what_taking_it_away_costs() -> None:
    hinted = document(
        endpoint("sports", tool("latest_results", "Tables."), tool_use_when={"latest_results": ["who is goalkeeper"]}),
        endpoint("books", tool("list_invoices", "Open bills of a customer.")),
    )
    bare = document(endpoint("sports", tool("latest_results", "Tables.")), hinted["endpoints"][1])
    query = "name the goalkeeper"
    with_hint, without = (
        resolve(catalog, query, tier="deep", encoder=encoder(catalog, query), explain=True)["explanation"]["candidates"]
        for catalog in (load_registry(hinted), load_registry(bare))
    )

    assert len(texts_of(load_registry(hinted).index.docs[1])) == 3
    brought = sum(one["score"] for one in with_hint[0]["contributions"] if one.get("hint"))
    left = next((one["score"] for one in without if one["namespaced"] == "sports__latest_results"), 0.0)
    assert with_hint[0]["namespaced"] == "sports__latest_results"
    assert brought == pytest.approx(with_hint[0]["score"] - left, abs=1e-3)


def test_what_is_off_is_told_by_the_deep_tier_too() -> None:
    catalog, query = load_registry(SPORTS, offline=["sports"]), "goalkeeper match bills"

    answer = resolve(catalog, query, tier="deep", encoder=encoder(catalog, query), explain=True)

    away = [one for one in answer["explanation"]["candidates"] if not one["available"]]
    assert [one["namespaced"] for one in away] == ["sports__latest_results"]
    assert any(part["field"] == "vector" for part in away[0]["contributions"])


def test_an_empty_catalog_has_an_encoder_too() -> None:
    catalog = load_registry(document())

    assert resolve(catalog, "anything", tier="deep", encoder=encoder(catalog, "anything"))["status"] == "no_match"


def test_eight_bits_keep_a_direction() -> None:
    vector = np.random.default_rng(7).normal(size=384).astype(np.float32)
    vector /= np.linalg.norm(vector)
    row = rounded(vector)

    assert float(row.values.astype(np.float32) @ vector) * row.scale == pytest.approx(1.0, abs=1e-3)
    assert not rounded(np.zeros(3, np.float32)).values.any()
