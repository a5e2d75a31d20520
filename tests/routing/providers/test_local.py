"""The provider that always exists ranks the tools at hand."""

from __future__ import annotations

import pytest

from routing.engine import load_registry
from routing.engine.models import FALLBACK, HarnessState, RiskLevel, ToolDescriptor
from routing.engine.shortlist import MAX_QUERY_BYTES, query_of
from routing.providers.local import LocalProvider

TOOLS = [
    ToolDescriptor("read_file", "Read a repository file by path", "inspect", RiskLevel.LOW),
    ToolDescriptor("search_code", "Search repository source code", "inspect", RiskLevel.LOW),
    ToolDescriptor("send_mail", "Send an email message to a person", "network", RiskLevel.MEDIUM),
]


def choose(goal: str, **more: str):
    return LocalProvider().choose(HarnessState(goal=goal, **more), TOOLS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("read the file src/parser.py", "read_file"),
        ("search the source code for the parser", "search_code"),
        ("send an email to Ada", "send_mail"),
    ],
)
def test_the_tool_that_the_goal_asks_for_is_chosen(goal, tool):
    found = choose(goal)

    assert found.choice == tool
    assert found.confidence == found.probabilities[tool] == max(found.probabilities.values())


def test_every_label_has_a_probability_and_together_they_are_no_more_than_one():
    found = choose("read the file src/parser.py")

    assert set(found.probabilities) == {"read_file", "search_code", "send_mail", FALLBACK}
    assert all(0 <= value <= 1 for value in found.probabilities.values())
    assert sum(found.probabilities.values()) <= 1 + 1e-9


@pytest.mark.parametrize("goal", ["bake a chocolate cake", "", "thanks, that is all"])
def test_a_goal_that_no_tool_fits_falls_back(goal):
    found = choose(goal)

    assert found.choice == FALLBACK
    assert found.confidence < 0.5 < found.probabilities[FALLBACK]
    assert found.probabilities[FALLBACK] == max(found.probabilities.values())


def test_nothing_in_common_with_any_tool_is_a_certain_fallback():
    found = choose("thanks, that is all")

    assert (found.confidence, found.probabilities[FALLBACK]) == (0, 1)


def test_a_tool_of_another_word_for_the_same_is_found_by_its_meaning():
    found = choose("post a letter to the recipient")

    assert found.probabilities["send_mail"] == max(found.probabilities[tool.name] for tool in TOOLS) > 0


def test_no_tools_are_a_fallback():
    assert LocalProvider().choose(HarnessState(goal="read a file"), []).choice == FALLBACK


def test_names_of_tools_are_taken_as_they_are():
    odd = [
        ToolDescriptor("tools_read", "Read a file"),
        ToolDescriptor("·__x", "Send mail"),
        ToolDescriptor("a b\n", ""),
    ]

    found = LocalProvider().choose(HarnessState(goal="read a file"), odd)

    assert found.choice == "tools_read"
    assert set(found.probabilities) == {"tools_read", "·__x", "a b\n", FALLBACK}


def test_a_scope_lends_its_hints_to_the_tools_on_offer():
    document = {
        "version": 1,
        "endpoints": [
            {
                "name": "web",
                "kind": "declared",
                "tools": [{"name": "web_one", "description": "First"}, {"name": "web_two", "description": "Second"}],
                "tool_use_when": {"web_two": ["retrieve a public page as Markdown"]},
            }
        ],
    }
    provider = LocalProvider(load_registry(document), scope="default")
    offered = [ToolDescriptor("web__one", "First"), ToolDescriptor("web__two", "Second")]

    assert provider.choose(HarnessState(goal="retrieve the public page as Markdown"), offered).choice == "web__two"


def test_the_query_is_goal_and_observation_within_the_resolvers_bound():
    assert query_of(HarnessState(goal="a", observation="b", last_action="c")) == "a\nb"
    long = query_of(HarnessState(goal="é" * 5000))
    assert len(long.encode()) <= MAX_QUERY_BYTES
    assert set(long) == {"é"}
