"""Public names: short where nothing is lost by it, and always leading back to the exact tool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine.naming import EndpointNames, canonicalise, public_fragments, split_name
from routing.engine.validation.reader import is_name

ENDPOINTS = st.from_regex(r"[a-c][a-c._-]{0,4}", fullmatch=True).filter(is_name)
PIECES = st.lists(st.sampled_from(["a", "b", "c", "_", "-", "__", ".", "foo"]), min_size=1, max_size=6).map("".join)


@st.composite
def endpoint_tools(draw):
    """Tools whose names play with the prefix of their endpoint."""
    endpoint = draw(ENDPOINTS)
    prefix = st.sampled_from(
        ["", f"{endpoint}_", f"{endpoint}-", f"{endpoint}__", f"{endpoint}_{endpoint}_", f"{endpoint}_{endpoint}-"]
    )
    names = draw(st.sets(st.tuples(prefix, PIECES).map("".join), max_size=12))
    return endpoint, names


@given(endpoint_tools())
def test_fragments_never_collide(tools):
    endpoint, wires = tools
    fragments = public_fragments(endpoint, wires)

    assert set(fragments) == wires
    assert len(set(fragments.values())) == len(wires)
    assert all(fragment == wire or fragment not in wires for wire, fragment in fragments.items())


@given(endpoint_tools())
def test_both_spellings_lead_to_the_exact_pair(tools):
    endpoint, wires = tools
    names = EndpointNames(endpoint, wires)

    for wire in wires:
        assert canonicalise(names.public(wire), {endpoint: wires}) == (endpoint, wire)
        assert canonicalise(f"{endpoint}__{wire}", {endpoint: wires}) == (endpoint, wire)


@given(st.text(max_size=12), endpoint_tools())
def test_any_other_name_leads_to_a_tool_of_the_catalog_or_nowhere(name, tools):
    endpoint, wires = tools
    found = canonicalise(name, {endpoint: wires})

    assert found is None or (found[0] == endpoint and found[1] in wires)


def test_the_order_of_tools_changes_nothing():
    wires = ["test_foo", "test-foo", "foo_test", "test_test_foo"]

    assert public_fragments("test", wires) == public_fragments("test", reversed(wires))


def test_a_stripped_name_that_meets_another_tool_is_not_stripped():
    assert public_fragments("live", ["echo", "live_echo"]) == {"echo": "echo", "live_echo": "live_echo"}
    assert public_fragments("test", ["test-foo", "test_foo"]) == {"test-foo": "foo", "test_foo": "test_foo"}


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("test__foo", "test-foo"),
        ("test__test_foo", "test_foo"),
        ("test__test-foo", "test-foo"),
        ("live__echo", None),
        ("foo", None),
        ("__foo", None),
        ("test__", None),
    ],
)
def test_each_name_means_one_tool(name, wire):
    found = canonicalise(name, {"test": ["test-foo", "test_foo"]})

    assert found == (None if wire is None else ("test", wire))


def test_a_hyphen_prefix_is_called_by_the_name_that_is_shown():
    assert public_fragments("bob", ["bob-context"]) == {"bob-context": "context"}
    assert canonicalise("bob__context", {"bob": ["bob-context"]}) == ("bob", "bob-context")


def test_a_prefix_that_is_the_whole_name_stays():
    assert public_fragments("git", ["git_", "git-", "git"]) == {"git_": "git_", "git-": "git-", "git": "git"}


def test_a_prefix_that_was_never_there_is_accepted():
    assert canonicalise("hitspec__hitspec_fetch", {"hitspec": ["fetch"]}) == ("hitspec", "fetch")
    assert canonicalise("hitspec__hitspec-fetch", {"hitspec": ["fetch"]}) == ("hitspec", "fetch")


def test_the_first_double_underscore_separates():
    assert split_name("live___x__y") == ("live", "_x__y")
    assert canonicalise("live___x", {"live": ["live__x"]}) == ("live", "live__x")


def test_hint_keys_may_leave_the_endpoint_out():
    names = EndpointNames("hitspec", ["hitspec_fetch"])

    assert {
        names.wire_of_key(key) for key in ("fetch", "hitspec_fetch", "hitspec__fetch", "hitspec__hitspec_fetch")
    } == {"hitspec_fetch"}
    assert names.wire_of_key("other__fetch") is None
