from __future__ import annotations

import pytest

from routing.engine.inference import describe_traits, infer_traits
from routing.engine.registry import Tool


def traits(name: str, description: str = "", **more: object):
    return describe_traits(Tool(name=name, description=description, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "description", "category", "risk", "effect"),
    [
        ("read_file", "Read a local source file", "inspect", "low", "read"),
        ("readFile", "", "inspect", "low", "read"),
        ("delete_file", "Delete a file", "mutate", "high", "erase"),
        ("drop_table", "Drops a database table", "mutate", "high", "erase"),
        ("process_payment", "", "general", "critical", "execute"),
        ("run_tests", "Run tests", "verify", "medium", "execute"),
        ("write_file", "Replace a file", "mutate", "medium", "write"),
        ("git_status", "Show what changed", "git", "low", "read"),
        ("list_commits", "List commits", "git", "low", "read"),
        ("get_valid_moves", "Lists all legal moves", "mutate", "low", "read"),
        ("find_and_delete", "", "mutate", "high", "erase"),
        ("get_or_create_user", "", "mutate", "medium", "write"),
        ("finish", "", "finish", "medium", "execute"),
    ],
)
def test_words_tell_what_a_tool_is(name, description, category, risk, effect):
    found = traits(name, description)

    assert (found.category, found.risk, found.effect) == (category, risk, effect)
    assert set(found.provenance.values()) == {"inferred"}


@pytest.mark.parametrize(
    "name", ["digital_clock", "random_number", "latest_news", "credit_score", "spread_rumor", "listener", "gettysburg"]
)
def test_parts_of_words_tell_nothing(name):
    assert traits(name).category == "general"
    assert traits(name).risk == "medium"


def test_a_declared_value_stands_above_an_annotation_and_an_annotation_above_words():
    found = traits("delete_file", annotations={"readOnlyHint": True}, risk="critical")

    assert (found.risk, found.effect, found.category) == ("critical", "read", "mutate")
    assert found.provenance == {"category": "inferred", "risk": "declared", "effect": "annotation"}


@pytest.mark.parametrize(
    ("annotations", "risk", "effect"),
    [
        ({"readOnlyHint": True}, "low", "read"),
        ({"destructiveHint": True}, "high", "erase"),
        ({"readOnlyHint": True, "destructiveHint": True}, "high", "erase"),
        ({"readOnlyHint": False, "destructiveHint": False}, "medium", "write"),
    ],
)
def test_annotations_tell_risk_and_effect(annotations, risk, effect):
    found = traits("x", annotations=annotations)

    assert (found.risk, found.effect) == (risk, effect)


@pytest.mark.parametrize("hint", ["true", 1, None, [], {}])
def test_a_hint_that_is_no_truth_value_tells_nothing(hint):
    assert (
        traits("search", annotations={"readOnlyHint": hint, "destructiveHint": hint}).provenance["risk"] == "inferred"
    )


def test_an_edit_of_the_operator_is_told_apart_from_a_declaration():
    found = describe_traits(Tool(name="x", risk="low", effect="read", overridden=("risk",)))

    assert (found.provenance["risk"], found.provenance["effect"]) == ("overridden", "declared")


@pytest.mark.parametrize(
    "prose", ["Reads the pages of one document", "Pass the number of the issue", "The pass is shown"]
)
def test_words_that_merely_look_like_paying_make_nothing_critical(prose):
    assert describe_traits(Tool(name="read_document", description=prose)).risk == "low"


@pytest.mark.parametrize(
    ("name", "description", "effect"),
    [
        ("git_log", "Shows the commit logs", "read"),
        ("recent", "Lists what was deleted", "read"),
        ("pop_queue", "Returns and deletes the oldest message", "erase"),
        ("report", "Return the report. Can delete old ones too.", "erase"),
        ("overview", "Lists files and runs a shell command", "execute"),
    ],
)
def test_a_first_sentence_speaks_when_the_name_does_not(name, description, effect):
    assert infer_traits(name, description)["effect"] == effect
