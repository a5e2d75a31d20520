"""A set of tools: what makes two of them equal, and what a provider is told of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import RiskLevel, ToolDescriptor, ToolSet
from routing.engine.models import FALLBACK

READ = ToolDescriptor("read_file", "Read one file", "inspect", RiskLevel.LOW)
WRITE = ToolDescriptor("write_file", "Replace a file", "mutate")

names = st.text(min_size=1, max_size=12).filter(lambda name: name.strip() and name != FALLBACK)
categories = st.none() | st.sampled_from(["inspect", "Inspect ", "mutate", "git"])
descriptors = st.builds(
    ToolDescriptor,
    name=names,
    description=st.text(max_size=80),
    category=categories,
    risk=st.sampled_from(RiskLevel),
    effect=st.none() | st.sampled_from(["read", "erase"]),
)
tool_lists = st.lists(descriptors, min_size=1, max_size=12, unique_by=lambda tool: tool.name)


@given(tool_lists, st.randoms())
def test_order_makes_no_other_set(tools, random):
    shuffled = random.sample(tools, len(tools))

    assert ToolSet(tools) == ToolSet(shuffled)
    assert list(ToolSet(shuffled)) == shuffled


@given(tool_lists, descriptors)
def test_any_other_tool_makes_another_set(tools, other):
    changed = [other, *(tool for tool in tools[1:] if tool.name != other.name)]
    same = sorted(map(repr, changed)) == sorted(map(repr, tools))

    assert (ToolSet(changed).digest == ToolSet(tools).digest) == same


def test_a_schema_is_no_part_of_it():
    assert ToolSet([ToolDescriptor("a", "", schema={"type": "object"})]) == ToolSet([ToolDescriptor("a", "")])


def test_it_is_a_sequence_that_does_not_change():
    tools = ToolSet([READ, WRITE])

    assert (len(tools), tools[0], list(tools[1:]), WRITE in tools) == (2, READ, [WRITE], True)
    with pytest.raises(AttributeError):
        tools.digest = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        tools[0] = WRITE  # type: ignore[index]


def test_half_a_surrogate_pair_in_a_description_is_no_obstacle():
    assert ToolSet([ToolDescriptor("a", "\ud83d")]).digest != ToolSet([ToolDescriptor("a", "")]).digest


@pytest.mark.parametrize("bad", [["", "a"], [" ", "a"], [FALLBACK, "a"], ["a", "b", "a"]])
def test_tools_that_cannot_be_told_apart_make_no_set(bad):
    with pytest.raises(ValueError):
        ToolSet([ToolDescriptor(name, "") for name in bad])


@given(tool_lists, st.integers(32, 60))
def test_each_tool_is_told_by_category_risk_and_the_beginning_of_its_description(tools, limit):
    offer = ToolSet(tools).flat(limit)

    assert list(offer.criteria) == [*(tool.name for tool in tools), FALLBACK]
    for tool in tools:
        category, risk, description = offer.criteria[tool.name].split("|", 2)
        assert tool.category in (None, category)
        assert risk == f"r:{tool.risk.value[0]}"
        assert description == " ".join(tool.description.split())[:limit]


@given(tool_lists)
def test_categories_hold_every_tool_once_whatever_their_spelling(tools):
    categories = ToolSet(tools).categories(160)

    assert list(categories.offers) == sorted(categories.offers)
    assert sorted(name for offer in categories.offers.values() for name in offer.tools) == sorted(
        tool.name for tool in tools
    )
    assert all(category == category.strip().lower() for category in categories.offers)
    assert list(categories.criteria) == [*categories.offers, FALLBACK]


def test_a_category_is_told_by_its_first_six_tools():
    tools = [ToolDescriptor(f"t{place}", "", "Git") for place in range(7)]

    assert ToolSet(tools[:6]).categories(160).criteria["git"] == "git:t0,t1,t2,t3,t4,t5"
    assert ToolSet(tools).categories(160).criteria["git"] == "git:t0,t1,t2,t3,t4,t5,..."
