from __future__ import annotations

from typing import Any

import pytest

from routing.engine import load_registry
from routing.engine.expectations import run_expectations

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


def test_searches_are_left_to_those_who_search():
    search = {"root_state": "a", "states": [{"id": "a", "goal": "g"}]}

    found = report({"search": search, "expect": {"tool": None}}, {"query": FETCH, "expect": {"ambiguous": False}})

    assert (found.passed, found.failed, found.skipped) == (1, (), ("e0",))
