from __future__ import annotations

import time

import pytest

from control.web import schemas


def lines(schema):
    return [(line.depth, line.name, line.type, line.required) for line in schemas.told(schema).lines]


def test_fields_stand_with_their_kinds_and_nested_ones_below_their_parent():
    schema = {
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "where"},
            "headers": {"type": "array", "items": {"$ref": "#/$defs/header"}},
            "body": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "options": {"type": "object", "properties": {"retry": {"type": ["integer", "null"]}}},
        },
        "required": ["url"],
        "additionalProperties": False,
        "$defs": {"header": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    }

    assert lines(schema) == [
        (0, "url", "string", True),
        (0, "headers", "list of object", False),
        (1, "name", "string", True),
        (0, "body", "string or null", False),
        (0, "options", "object", False),
        (1, "retry", "integer or null", False),
    ]
    assert schemas.told(schema).closed


def test_what_is_allowed_stands_beside_a_field():
    schema = {
        "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9, "default": ""}, "s": {"enum": ["a", None]}}
    }
    first, second = schemas.told(schema).lines

    assert first.rules == (("default", '""'), ("at least", "1"), ("at most", "9"))
    assert (second.type, second.rules) == ("one of", (("allowed", "a, null"),))


def test_a_schema_that_holds_itself_is_opened_once():
    tree = {"properties": {"child": {"$ref": "#"}, "name": {"type": "string"}}}

    assert [line.name for line in schemas.told(tree).lines] == ["child", "name"]


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        [],
        "text",
        {"properties": [1, 2]},
        {"properties": {"a": 3, "b": None}, "required": "a"},
        {"properties": {"a": {"$ref": "https://example.com/other.json"}}},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"anyOf": 3, "allOf": [None, 3, {"properties": {}}]},
        {"properties": {"a": {"type": {"odd": 1}, "enum": "x", "items": 3}}},
    ],
)
def test_whatever_a_server_sends_is_shown_somehow(schema):
    assert schemas.told(schema).raw


def test_parts_that_hold_parts_end():
    names = [f"level-{number}" for number in range(8)]
    definitions = {
        name: {"anyOf": [{"$ref": f"#/$defs/{after}"}] * 12}
        for name, after in zip(names, [*names[1:], "none"], strict=True)
    }
    began = time.monotonic()

    schemas.told(
        {"anyOf": [{"$ref": "#/$defs/level-0"}], "$defs": definitions, "properties": {"a": {"$ref": "#/$defs/level-0"}}}
    )

    assert time.monotonic() - began < 2


def test_only_so_many_fields_are_shown():
    told = schemas.told({"properties": {f"field-{number}": {} for number in range(1000)}})

    assert (len(told.lines), told.cut) == (schemas.MOST, True)
