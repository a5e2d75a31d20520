"""How closely texts follow a request: little words and order count, length and repetition do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import load_registry, resolve
from routing.engine.query import read_request
from routing.engine.wording import Wording, Wordings, grams

ALL = np.array([True, True, True])
PLACES = np.arange(3)


def wording(*texts: str | list[str]) -> Wording:
    rows = [[text.split() for text in ([one] if isinstance(one, str) else one)] for one in texts]
    return Wording(Wordings.of(rows), np.ones(len(rows), np.bool_))


def test_the_order_of_words_tells_two_texts_of_the_same_words_apart() -> None:
    found = wording("list what to do", "to do list what", "weather").likeness("show the to do list".split(), PLACES)
    assert found[1] > found[0] > found[2] == 0


def test_a_text_is_most_like_itself() -> None:
    found = wording("send a letter", "send a letter by post tomorrow", "read a letter").likeness(
        "send a letter".split(), PLACES
    )
    assert found[0] == pytest.approx(1.0)
    assert found.argmax() == 0


def test_saying_it_often_wins_nothing() -> None:
    once, often, _ = wording("post a letter", "post a letter post a letter post a letter", "weather").likeness(
        "post a letter".split(), PLACES
    )
    assert once >= often


def test_several_texts_that_say_it_say_more_than_one_and_never_more_than_all() -> None:
    one, two, _ = wording(["how much is it"], ["how much is it", "how much is that"], ["weather"]).likeness(
        "how much is a ticket".split(), PLACES
    )
    assert one < two <= 1


def test_what_is_not_in_sight_changes_no_rarity() -> None:
    rows = [[text.split()] for text in ("post a letter", "read a letter", "letter letter box")]
    hidden = Wording(Wordings.of(rows), np.array([True, True, False]))
    alone = Wording(Wordings.of(rows[:2]), np.array([True, True]))
    asked = "read the letter".split()
    assert hidden.likeness(asked, np.arange(2)) == pytest.approx(alone.likeness(asked, np.arange(2)))


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), max_size=5),
    st.lists(st.sampled_from("abcdefx"), max_size=8),
)
def test_likeness_is_a_share(texts: list[list[str]], asked: list[str]) -> None:
    found = Wording(Wordings.of([[text] for text in texts]), np.ones(len(texts), np.bool_)).likeness(
        asked, np.arange(len(texts))
    )
    assert ((found >= 0) & (found <= 1)).all()
    for text, share in zip(texts, found, strict=True):
        assert (share > 0) == bool(set(text) & set(asked))


def test_a_pair_of_words_is_not_the_pair_turned_around() -> None:
    assert set(grams(["a", "b"])) != set(grams(["b", "a"]))


def test_labels_and_what_must_not_be_done_are_not_worded() -> None:
    said = read_request("Goal: archive the mail\nCurrent activity: do not delete it").wording
    assert "goal" not in said
    assert "delet" not in said
    assert "archiv" in said


def office(first: str, second: str) -> dict[str, Any]:
    tools = [
        {"name": name, "description": text, "input_schema": {}} for name, text in (("one", first), ("two", second))
    ]
    return {"version": 1, "endpoints": [{"name": "office", "kind": "declared", "tools": tools}]}


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_tools_with_the_same_words_the_one_that_words_it_so_comes_first(turned: bool) -> None:
    texts = ["Turn a page into a picture.", "Turn a picture into a page."]
    catalog = load_registry(office(*(texts[::-1] if turned else texts)))
    answer = resolve(catalog, "turn the picture into a page", explain=True, tier="lexical")
    assert answer["recommendation"]["tool"] == ("one" if turned else "two")
    first = answer["explanation"]["candidates"][0]
    assert any(one["code"] == "wording" and one["score"] > 0 for one in first["adjustments"])
