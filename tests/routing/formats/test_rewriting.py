"""After entries got other names, nothing refers to the old ones any more, and the document is as valid as before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine.validation import parse_document
from routing.formats.rewriting import rename_entries

PLACES: dict[str, Any] = {
    "version": 1,
    "gateway": {"pins": ["old", "old__*", "old__read"]},
    "groups": {"old": ["old", "other"]},
    "providers": [{"name": "old", "kind": "compatible", "url": "https://decide.example", "path": "/d", "model": "m"}],
    "endpoints": [
        {
            "name": "old",
            "kind": "declared",
            "tools": [{"name": "read"}, {"name": "old__write"}],
            "tool_use_when": {"old__read": ["read it"], "old__write": ["write it"]},
            "capabilities": ["old", {"name": "other", "level": 0.5}],
            "adapters": [{"capability": "old"}],
        },
        {"name": "other", "kind": "openai", "url": "https://models.example", "model": "m", "capabilities": ["old"]},
    ],
    "capabilities": [
        {"name": "old", "prefer": ["old", "other"]},
        {"name": "other", "deprecated": True, "replaced_by": "old"},
    ],
    "scopes": [
        {
            "name": "old",
            "endpoints": ["old", "group:old"],
            "tools": ["old__read"],
            "deny": ["old", "old__read"],
            "pins": ["old__*"],
            "policy": "old",
            "policies": ["old"],
            "default_endpoint": "old",
        }
    ],
    "policies": [
        {
            "name": "old",
            "router": {"providers": ["old"]},
            "selection": {"fallback_endpoints": ["old"]},
            "turns": {"summarizer": "other"},
            "execution": {"rules": [{"verdict": "ask", "endpoint": "old"}, {"verdict": "ask", "tool": "old__read"}]},
        },
        {"name": "child", "extends": "old", "turns": {"summarizer": "old"}},
    ],
    "task_rules": [{"model": "summaries", "capability": "old", "priority": 1}],
    "expectations": [
        {
            "name": "reads",
            "scope": "old",
            "query": "read",
            "offline": ["old"],
            "endpoint": "old",
            "expect": {
                "recommendation": "old__read",
                "recommendation_in": ["old__read"],
                "not_recommended": ["old__read"],
                "not_in_results": ["old__read"],
                "not_confident_except": ["old__read"],
                "in_top_k": {"k": 3, "tools": ["old__read"]},
                "not_in_top_k": {"k": 3, "tools": ["old__read"]},
            },
        }
    ],
}
SECTIONS = ("groups", "providers", "endpoints", "capabilities", "scopes", "policies")
names = st.from_regex(r"new[a-z0-9]{1,8}", fullmatch=True)


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a document, keys of mappings among them, with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key} (key)", key
            yield from texts(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from texts(inner, f"{path}[{place}]")
    elif isinstance(value, str):
        yield path, value


def told(document: dict[str, Any]) -> tuple[Any, list[str]]:
    found = parse_document(document)
    return found.registry, [warning["message"] for warning in found.warnings]


def test_the_document_of_the_property_is_valid_and_names_nothing_unknown():
    assert told(PLACES)[1] == told(rename_entries(PLACES, {}))[1]


@given(st.dictionaries(st.sampled_from(SECTIONS), names, min_size=1))
def test_no_reference_to_an_old_name_stays_and_the_document_validates(wanted):
    renamed = rename_entries(PLACES, {section: {"old": new} for section, new in wanted.items()})

    _, warnings = told(renamed)
    assert len(warnings) == len(told(PLACES)[1])
    back = rename_entries(renamed, {section: {new: "old"} for section, new in wanted.items()})
    assert back == PLACES


def test_renamed_everywhere_only_a_published_tool_name_keeps_the_word():
    renamed = rename_entries(PLACES, {section: {"old": "fresh"} for section in SECTIONS})

    left = {path for path, text in texts(renamed) if "old" in text.replace("_", " ").replace(":", " ").split()}
    assert left == {".endpoints[0].tools[1].name", ".endpoints[0].tool_use_when.old__write (key)"}


@pytest.mark.parametrize("section", SECTIONS)
def test_the_same_word_in_another_section_is_another_name(section):
    renamed = rename_entries(PLACES, {section: {"old": "fresh"}})

    for other in SECTIONS:
        kept = renamed[other] if other == "groups" else [one["name"] for one in renamed[other]]
        assert ("old" in kept) == (other != section)
