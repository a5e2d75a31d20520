from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from routing.engine import (
    GenericToolAdapter,
    MCPToolAdapter,
    RiskLevel,
    ToolDescriptor,
    normalize_tools,
)

CASES = [
    case
    for case in json.loads((Path(__file__).parents[1] / "cases" / "router.json").read_text())["cases"]
    if case["kind"] == "adapter"
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_case(case: dict[str, Any]):
    expected = case["expect"]
    if "raises" in expected:
        with pytest.raises(Exception) as raised:
            GenericToolAdapter().normalize(case["tool"])
        assert type(raised.value).__name__ == expected["raises"]
        return
    made = GenericToolAdapter().normalize(case["tool"])
    assert {name: getattr(made, name) for name in expected} == expected


def generic(**tool: Any) -> ToolDescriptor:
    return GenericToolAdapter().normalize(tool)


def mcp(name: str = "frobnicate", **annotations: Any) -> ToolDescriptor:
    return MCPToolAdapter().normalize({"name": name, "annotations": annotations})


def test_a_tool_with_a_name_alone_is_described_by_it_and_inferred():
    made = generic(name="  read_file ")

    assert (made.name, made.description, made.category, made.risk, made.effect) == (
        "read_file",
        "read_file",
        "inspect",
        RiskLevel.LOW,
        "read",
    )
    assert made.provenance == {"category": "inferred", "risk": "inferred", "effect": "inferred"}


def test_what_is_declared_stands_and_says_so():
    made = generic(name="delete_file", category="Files", risk="LOW")

    assert (made.category, made.risk, made.effect) == ("Files", RiskLevel.LOW, "erase")
    assert made.provenance == {"category": "declared", "risk": "declared", "effect": "inferred"}


@pytest.mark.parametrize("given", [None, "", "  "])
def test_an_empty_category_is_inferred(given: str | None):
    assert generic(name="git_log", category=given).category == "git"


@pytest.mark.parametrize("description", [None, "", 0])
def test_an_absent_description_is_the_name(description: Any):
    assert generic(name="x", description=description).description == "x"


def test_a_description_that_is_no_text_is_made_one():
    assert generic(name="x", description=12).description == "12"


def test_the_first_schema_with_content_is_taken_and_copied():
    schema = {"type": "object"}
    made = generic(name="x", schema={}, input_schema=schema, inputSchema={"b": 1})
    schema["type"] = "changed"

    assert made.schema == {"type": "object"}


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ({}, "needs a name"),
        ({"name": " "}, "needs a name"),
        ({"name": 3}, "needs a name"),
        ("read_file", "needs a name"),
        ({"name": "a", "category": 3}, "'a': category"),
        ({"name": "a", "risk": "extreme"}, "'a': risk"),
        ({"name": "a", "risk": 3}, "'a': risk"),
        ({"name": "a", "effect": "burn"}, "'a': effect"),
        ({"name": "a", "effect": []}, "'a': effect"),
        ({"name": "a", "inputSchema": [1]}, "'a': its schema"),
    ],
)
def test_a_tool_that_breaks_a_rule_is_refused_with_the_field(tool: Any, said: str):
    with pytest.raises(ValueError, match=said):
        GenericToolAdapter().normalize(tool)


@pytest.mark.parametrize(
    ("annotations", "risk", "effect"),
    [
        ({"readOnlyHint": True}, "low", "read"),
        ({"destructiveHint": True}, "high", "erase"),
        ({"readOnlyHint": False, "destructiveHint": False}, "medium", "write"),
        ({"idempotentHint": True}, "medium", "write"),
    ],
)
def test_annotations_of_mcp_tell_risk_and_effect(annotations: dict[str, bool], risk: str, effect: str):
    made = mcp(**annotations)

    assert (made.risk, made.effect, made.provenance["risk"]) == (risk, effect, "annotation")


def test_a_tool_that_is_said_to_change_things_is_no_reading_one_whatever_its_name():
    made = mcp("get_ready", readOnlyHint=False)

    assert (made.risk, made.effect, made.provenance["effect"]) == ("medium", "write", "annotation")


def test_a_warning_of_the_words_is_never_lowered_by_hints_that_do_not_deny_it():
    assert mcp("delete_file", readOnlyHint=False, idempotentHint=True).risk == "high"


def test_a_tool_of_the_open_world_is_of_the_network_where_its_words_tell_nothing():
    assert (mcp(openWorldHint=True).category, mcp(openWorldHint=True).provenance["category"]) == (
        "network",
        "annotation",
    )
    assert mcp("read_file", openWorldHint=True).category == "inspect"
    assert mcp(openWorldHint=False).category == "general"


def test_the_generic_adapter_leaves_annotations_aside():
    made = GenericToolAdapter().normalize({"name": "delete_file", "annotations": {"readOnlyHint": True}})

    assert (made.risk, made.provenance["risk"]) == ("high", "inferred")


@dataclass
class Hints:
    readOnlyHint: bool | None = None
    destructiveHint: bool | None = None


@dataclass
class SdkTool:
    name: str
    description: str | None = None
    inputSchema: dict[str, Any] = field(default_factory=dict)
    annotations: Hints | None = None

    def schema(self) -> dict[str, Any]:  # as classes of pydantic have it
        return {}


def test_objects_of_an_sdk_are_read_like_mappings():
    made = MCPToolAdapter().normalize(SdkTool("x", None, {"type": "object"}, Hints(readOnlyHint=True)))

    assert (made.risk, made.schema) == (RiskLevel.LOW, {"type": "object"})


def test_a_list_keeps_its_order_and_descriptors_pass_as_they_are():
    known = ToolDescriptor("b", "B")

    made = normalize_tools([{"name": "a"}, known])

    assert [tool.name for tool in made] == ["a", "b"]
    assert made[1] is known


def test_another_adapter_may_be_given():
    [made] = normalize_tools([{"name": "x", "annotations": {"readOnlyHint": True}}], adapter=MCPToolAdapter())

    assert made.risk is RiskLevel.LOW


def test_where_a_trait_is_from_does_not_make_two_tools_differ():
    assert generic(name="read_file") == generic(name="read_file", category="inspect", risk="low", effect="read")
