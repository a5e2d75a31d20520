from __future__ import annotations

from typing import Any

import pytest

from routing.engine import load_registry
from routing.engine.expectations import graph_problems, run_expectations

FETCH = "fetch https://example.com/guide as Markdown"


def report(*expectations: dict[str, Any]):
    document = {
        "version": 1,
        "endpoints": [
            {
                "name": "hitspec",
                "kind": "declared",
                "tools": [
                    {
                        "name": "hitspec_fetch",
                        "description": "Fetch one address over HTTP and hand back the body as Markdown",
                        "input_schema": {"properties": {"url": {}}, "required": ["url"]},
                    },
                    {"name": "hitspec_list", "description": "List saved definitions"},
                ],
            },
            {"name": "mail", "kind": "declared", "tools": [{"name": "send", "description": "Send an email message"}]},
        ],
        "scopes": [{"name": "post", "endpoints": ["mail"]}],
        "expectations": [{"name": f"e{place}", **one} for place, one in enumerate(expectations)],
    }
    return run_expectations(load_registry(document))


MET = [
    {"status": ["confident"]},
    {"recommendation": "hitspec__fetch"},
    {"recommendation": "hitspec__hitspec_fetch"},
    {"recommendation_in": ["mail__send", "hitspec__hitspec_fetch"]},
    {"not_recommended": ["hitspec__list"]},
    {"in_top_k": {"k": 1, "tools": ["hitspec__hitspec_fetch"]}},
    {"not_in_top_k": {"k": 1, "tools": ["hitspec__list"]}},
    {"not_in_results": ["mail__send"]},
    {"not_confident_except": ["hitspec__hitspec_fetch"]},
    {"ambiguous": False},
    {"confidence_in": ["high", "medium"]},
    {"reason_codes_exclude": ["score_tie"]},
    {"required_fields": ["url"]},
    {"argument_template_truncated": False},
    {"alternatives_max": 5},
]
MISSED = [
    {"status": ["no_match", "ambiguous"]},
    {"recommendation": None},
    {"recommendation": "mail__send"},
    {"recommendation_in": []},
    {"not_recommended": ["hitspec__hitspec_fetch"]},
    {"in_top_k": {"k": 1, "tools": ["hitspec__list"]}},
    {"not_in_top_k": {"k": 1, "tools": ["hitspec__hitspec_fetch"]}},
    {"not_in_results": ["hitspec__hitspec_fetch"]},
    {"not_confident_except": ["mail__send"]},
    {"ambiguous": True},
    {"confidence_in": ["none"]},
    {"reason_codes_include": ["score_tie"]},
    {"required_fields": []},
    {"argument_template_truncated": True},
]


@pytest.mark.parametrize("expect", MET)
def test_what_comes_out_as_expected_passes(expect):
    assert report({"query": FETCH, "expect": expect}).passed == 1


@pytest.mark.parametrize("expect", MISSED)
def test_what_differs_is_named_by_its_key(expect):
    found = report({"query": FETCH, "expect": expect})

    assert found.passed == 0
    assert found.failed == ({"name": "e0", "differs": list(expect)},)


def test_only_the_keys_that_differ_are_named():
    found = report(
        {"query": FETCH, "expect": {"status": ["confident"], "recommendation": "mail__send", "ambiguous": False}}
    )

    assert found.failed[0]["differs"] == ["recommendation"]


def test_scope_offline_and_activity_are_part_of_the_question():
    found = report(
        {"query": FETCH, "scope": "post", "expect": {"not_in_results": ["hitspec__fetch"], "recommendation": None}},
        {"query": FETCH, "offline": ["hitspec"], "expect": {"not_recommended": ["hitspec__fetch"]}},
        {
            "activity": {"goal": "Tell Ada", "phase": "work", "activity": "send an email message"},
            "expect": {"recommendation": "mail__send"},
        },
    )

    assert (found.passed, found.failed) == (3, ())


GRAPH = {
    "root_state": "start",
    "states": [
        {"id": "start", "goal": "g", "tools": [{"name": "quick"}, {"name": "invest"}]},
        {"id": "later", "goal": "g", "tools": [{"name": "finish"}]},
        {"id": "end", "goal": "g"},
    ],
    "transitions": [
        {"from_state": "start", "tool": "quick", "to_state": "end", "reward": 0.6},
        {"from_state": "start", "tool": "invest", "to_state": "later", "reward": 0.05},
        {"from_state": "later", "tool": "finish", "to_state": "end", "reward": 1.0},
    ],
}


def test_a_search_is_solved_and_its_first_tool_compared():
    found = report({"search": GRAPH, "expect": {"tool": "invest"}}, {"search": GRAPH, "expect": {"tool": "quick"}})

    assert (found.passed, found.failed) == (1, ({"name": "e1", "differs": ["tool"]},))
    assert found.findings[1].target == "invest"


def test_a_search_looks_no_further_than_it_says():
    found = report({"search": {**GRAPH, "max_depth": 1}, "expect": {"tool": "quick"}})

    assert found.failed == ()


def test_a_depth_beyond_the_policys_limit_is_cut_to_it():
    assert report({"search": {**GRAPH, "max_depth": 10**9}, "expect": {"tool": "invest"}}).failed == ()


def test_a_graph_that_is_none_meets_nothing_and_is_told():
    broken = {"root_state": "elsewhere", "states": [{"id": "a", "goal": "g"}]}

    found = report({"search": broken, "expect": {"tool": "x"}}, {"query": FETCH, "expect": {"ambiguous": False}})

    assert (found.passed, found.failed) == (1, ({"name": "e0", "differs": ["search"]},))
    assert [problem["path"] for problem in graph_problems(broken)] == ["root_state"]


def test_what_was_answered_instead_is_told():
    (found,) = report({"query": FETCH, "expect": {"recommendation": "mail__send"}}).findings

    assert (found.status, found.target, found.is_met) == ("confident", "hitspec__fetch", False)


def test_a_tool_of_the_longest_name_can_be_meant():
    longest = f"{'e' * 64}__{'n' * 256}"
    document = {
        "version": 1,
        "endpoints": [{"name": "e" * 64, "kind": "declared", "tools": [{"name": "n" * 256}]}],
        "expectations": [
            {"name": key, "query": "fetch a page", "expect": {key: [longest]}}
            for key in ("not_in_results", "not_recommended")
        ],
    }

    assert run_expectations(load_registry(document)).failed == ()
