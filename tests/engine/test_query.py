"""A request read into terms."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import assemble
from routing.engine.query import QueryTerm, read_request


def words_of(query: str) -> set[str]:
    return {term.text for term in read_request(query).content if term.kind == "word"}


def find(query: str, text: str) -> QueryTerm:
    return next(term for term in read_request(query).terms if term.text == text)


@pytest.mark.parametrize(
    "query",
    [
        "open https://shop.example.com/billing/refund",
        "open www.shop.example.com/billing/refund",
        "open /home/ana/billing/refund.py",
        "open ~/billing/refund",
        "open C:\\billing\\refund.txt",
        "open `billing.refund()`",
        "open billing-refund.pdf",
        "open billing.refund@example.com",
    ],
)
def test_words_inside_a_value_are_not_asked_for(query: str) -> None:
    assert words_of(query) == {"open"}


def test_a_value_counts_as_its_kind_and_lightly() -> None:
    found = next(term for term in read_request("download https://example.com/a").terms if term.kind == "literal")

    assert found.term == "url"
    assert 0 < found.weight < 1


def test_the_labels_of_an_assembled_activity_weigh_nothing() -> None:
    query = assemble("ship the login", "planning", "design the changes", "a plan", ["workspace"])

    labels = [term for term in read_request(query).terms if term.kind == "label"]

    assert {"goal", "current", "desired"} <= {term.text for term in labels}
    assert all(term.weight == 0 for term in labels)


def test_the_present_step_weighs_more_than_the_far_goal() -> None:
    query = "Goal: migrate everything. Current activity: inspect tables."

    assert find(query, "inspect").weight > find(query, "migrate").weight


def test_empty_parts_are_left_out_of_an_assembled_activity() -> None:
    assert (
        assemble("goal", "plan", "look", None, ["url", " "])
        == "Goal: goal. Phase: plan. Current activity: look. Available inputs: url."
    )


@pytest.mark.parametrize(
    "query",
    [
        "do not delete it",
        "don't delete it",
        "never delete it",
        "show it without deleting it",
        "show it but not delete",
        "no lo borres, sin borrar",
    ],
)
def test_a_forbidden_verb_is_not_asked_for(query: str) -> None:
    request = read_request(query)

    assert request.negated
    assert not {term.term for term in request.content} & {"delet", "borrar"}


def test_what_is_forbidden_once_and_asked_for_once_is_asked_for() -> None:
    assert "delete" in words_of("do not delete the event, delete the object")


def test_not_only_is_no_negation() -> None:
    assert "list" in words_of("not only list the events")


@pytest.mark.parametrize(
    "query",
    [
        "hello, how are you?", "thanks!", "good plan, thanks", "nice plan", "ok", "yes, go ahead", "continue", "I like the weather here",
        "thank you so much, that was a great plan", "the plan looks good", "hola, buenos días", "danke schön",
    ],
)  # fmt: skip
def test_small_talk_is_no_request(query: str) -> None:
    assert read_request(query).small_talk


@pytest.mark.parametrize(
    "query",
    [
        "thanks, now plan the login feature",
        "good restaurants in Lisbon",
        "please plan it",
        "nice, can you list the events",
        "I would like a forecast",
        "I like it, delete the draft file report.txt",
    ],
)
def test_a_request_with_manners_is_a_request(query: str) -> None:
    assert not read_request(query).small_talk


def test_the_first_word_of_an_order_says_what_to_do() -> None:
    assert find("please save the fetched page", "save").head
    assert not find("please save the fetched page", "fetched").head
    assert find("I have a file. Upload it.", "upload").head


def test_an_attribute_is_hardly_asked_for() -> None:
    assert find("save the fetched page", "fetched").weight < find("save the page", "page").weight / 2


def test_two_word_verbs_are_one() -> None:
    assert "delete" in words_of("get rid of the draft")


@given(st.text(max_size=400))
def test_any_text_reads_into_terms_within_bounds(text: str) -> None:
    request = read_request(text)

    assert all(0 <= term.weight <= 1.5 for term in request.terms)
    assert len({term.term for term in request.terms}) == len(request.terms)


@pytest.mark.parametrize("filler", ["a.", "a-", "a/", "{:", '"a', "a(", "@a.", "a1-", "../", "<a"])
def test_no_text_takes_long_to_read(filler: str) -> None:
    started = time.process_time()

    read_request((filler * 2048)[:2048])

    assert time.process_time() - started < 1.0
