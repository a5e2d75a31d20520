"""Meaning: what the shipped tables know, and how far it may carry."""

from __future__ import annotations

import numpy as np
import pytest

from routing.engine import load_registry, resolve
from routing.engine.kindred import kindred
from routing.engine.meaning import WordVectors, shipped_vectors
from tests.engine.tools import document, endpoint, office_catalog, tool


def vectors() -> WordVectors:
    found = shipped_vectors()
    assert found is not None
    return found


def likeness(one: str, other: str) -> float:
    first, second = (vectors().direction([(word, 1.0) for word in text.split()]) for text in (one, other))
    return float(first @ second)


@pytest.mark.parametrize(
    ("asked", "near", "far"),
    [("soccer results", "football scores", "invoice payment"), ("rain tomorrow", "weather forecast", "merge branch")],
)
def test_texts_that_mean_the_same_point_the_same_way(asked: str, near: str, far: str) -> None:
    assert likeness(asked, near) > likeness(asked, far) + 0.2


def test_a_word_that_the_table_cannot_spell_points_nowhere() -> None:
    assert not vectors().direction([("日本", 1.0)]).any()
    assert not vectors().directions([[], ["日本"]]).any()


def test_the_directions_of_a_catalog_are_those_of_its_texts() -> None:
    rounded = vectors().directions([["football", "scores"]])[0] / 127

    assert np.allclose(rounded, vectors().direction([("football", 1.0), ("scores", 1.0)]), atol=0.01)


def test_kindred_words_are_listed_nearest_first_and_never_the_word_itself() -> None:
    found = kindred().of("lawyer")

    assert found[0][0] == "attorney"
    assert [near for _, near in found] == sorted((near for _, near in found), reverse=True)
    assert "lawyer" not in dict(found)
    assert kindred().of("qwrtz") == []


SPORTS = document(
    endpoint("sports", tool("latest_results", "Standings and outcomes of every match of the season.", effect="read")),
    endpoint("books", tool("list_invoices", "Open invoices of a customer.", effect="read")),
)


def test_a_tool_that_shares_no_word_may_come_first_by_meaning_and_says_so() -> None:
    answer = resolve(load_registry(SPORTS), "who won the soccer game", explain=True)

    first = answer["explanation"]["candidates"][0]
    assert first["namespaced"] == "sports__latest_results"
    assert {part["match"] for part in first["contributions"]} >= {"vector"}
    assert answer["status"] != "confident"


def test_the_lexical_tier_on_request_leaves_meaning_out() -> None:
    answer = resolve(load_registry(SPORTS), "list the invoices", tier="lexical", explain=True)

    assert answer["tier"] == "lexical"
    fields = {part["field"] for one in answer["explanation"]["candidates"] for part in one["contributions"]}
    assert "vector" not in fields


def test_meaning_puts_no_erasing_tool_ahead_of_a_reading_one_where_words_tie() -> None:
    found = document(endpoint("one", tool("purge_report", "", effect="erase"), tool("show_report", "", effect="read")))

    answer = resolve(load_registry(found), "report", explain=True)

    assert answer["explanation"]["candidates"][0]["namespaced"] == "one__show_report"


def test_what_can_only_be_spelled_in_scraps_is_not_read_for_its_meaning() -> None:
    assert vectors().reads([("rainfall", 1.0), ("city", 1.0)])
    assert vectors().reads([("rainfall", 1.0), ("bufopezida", 0.9)])
    assert not vectors().reads([("bufopezida", 1.0), ("gerairaku", 1.0), ("city", 1.0)])
    assert not vectors().reads([])


def test_an_answer_says_that_only_words_were_compared_where_the_language_is_unknown() -> None:
    assert resolve(office_catalog(), "rainfall in the city")["tier"] == "static"
    assert resolve(office_catalog(), "gerairaku dopisofou bufopezida")["tier"] == "lexical"
