"""Many requests ranked at once: just what each of them gets alone."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from control.demo.documents import default_document
from control.demo.requests import read_questions
from routing.engine import load_registry
from routing.engine.batch import Compass, Question, Ranker
from routing.engine.meaning import vectors_of
from routing.engine.query import read_request
from routing.engine.recommend import JUDGED_CANDIDATES
from routing.engine.scope import View
from routing.engine.scoring import CONSIDERED, Ranking, rank_view
from tests.engine.test_resolver_properties import FILLERS, WORDS, endpoints, queries
from tests.engine.tools import document, endpoint, tool

TIERS = ("static", "lexical")
SAID = (
    "don't delete the file, list what is in it",
    "why does the delete button fail",
    "hi",
    "thanks, that looks good",
    "",
    "zzzz qqqq",
    "delete everything now",
    "create_issue",
    "convierte 20 euros a dólares",
    "did you delete it?",
    "https://example.com/a?b=c",
)


def assert_as_alone(view: View, texts: list[str], tier: str, *, guard: bool = True) -> list[Ranking]:
    vectors = vectors_of(tier)
    compass = Compass(view.index, vectors) if vectors else None
    ranker = Ranker(view, limit=JUDGED_CANDIDATES, guard=guard, compass=compass)
    found = ranker.rank([Question(text) for text in texts])
    for text, ranking in zip(texts, found, strict=True):
        alone = rank_view(view, read_request(text), limit=JUDGED_CANDIDATES, guard=guard, vectors=vectors)
        for fact in ("candidates", "count", "total", "strange", "tier"):
            assert getattr(ranking, fact) == getattr(alone, fact), (text, fact)
    return found


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("guard", [True, False])
def test_questions_of_the_demo_rank_alike_to_the_last_digit(tier: str, guard: bool) -> None:
    texts = [*SAID, *list(read_questions()["default"].resolve)[::4]]

    assert_as_alone(load_registry(default_document()).view("default"), texts, tier, guard=guard)


@settings(max_examples=80, deadline=None)
@given(endpoints, st.lists(queries, max_size=12), st.sampled_from(TIERS), st.booleans())
def test_any_request_of_any_catalog_ranks_as_it_does_alone(
    given_endpoints: list[dict[str, Any]], texts: list[str], tier: str, guard: bool
) -> None:
    assert_as_alone(load_registry(document(*given_endpoints)).view("default"), texts, tier, guard=guard)


@pytest.mark.parametrize("seed", range(3))
def test_ties_among_more_tools_than_are_looked_at_fall_alike(seed: int) -> None:
    rng = random.Random(seed)
    made = [
        endpoint(
            f"e{number}",
            *(
                tool(f"{rng.choice(WORDS[:6])}_{rng.choice(WORDS[:6])}_{n}", rng.choice(WORDS[:9]), effect=effect)
                for n, effect in enumerate(rng.choices(["read", "write", "erase", "execute"], k=30))
            ),
            tool_use_when={},
        )
        for number in range(20)
    ]
    catalog = load_registry(document(*made))
    texts = [" ".join(rng.choices(WORDS[:9] + FILLERS, k=rng.randint(1, 5))) for _ in range(60)]

    found = assert_as_alone(catalog.view("default"), texts, "static")
    assert any(ranking.count > CONSIDERED for ranking in found)
    assert_as_alone(catalog.view("default"), texts, "lexical", guard=False)


def test_a_catalog_without_tools_has_nothing_to_offer() -> None:
    (found,) = assert_as_alone(load_registry(document()).view("default"), ["send an email"], "static")

    assert not found.candidates


def test_a_ranking_made_among_many_explains_itself_as_one_made_alone() -> None:
    view, text = load_registry(default_document()).view("default"), "send a message to the team"
    (found,) = assert_as_alone(view, [text], "lexical")
    alone = rank_view(view, read_request(text), limit=JUDGED_CANDIDATES)

    assert found.contributions(found.candidates[0]) == alone.contributions(alone.candidates[0])
    assert found.fields(found.candidates) == alone.fields(alone.candidates)
