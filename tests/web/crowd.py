"""Registries of a size: endpoints with tools, and scopes that see a part of them."""

from __future__ import annotations

from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string", "description": "where"}, "most": {"type": "integer", "default": 20}},
    "required": ["place"],
}
VERBS = ("get", "list", "write", "delete", "run")
HOSTILE = "<script>alert(1)</script>\u200f مرحبا 𝒳🦊"


def document(endpoints: int, tools: int, scopes: int = 0) -> dict[str, Any]:
    return {
        "version": 1,
        "endpoints": [
            {
                "name": f"place-{number:03}",
                "kind": "declared",
                "description": f"Place {number}",
                "tools": [_tool(number, place) for place in range(tools)],
            }
            for number in range(endpoints)
        ],
        "scopes": [
            {"name": f"team-{number:02}", "endpoints": [f"place-{number % endpoints:03}"]} for number in range(scopes)
        ],
    }


def _tool(number: int, place: int) -> dict[str, Any]:
    verb = VERBS[place % len(VERBS)]
    return {
        "name": f"{verb}_thing_{place}",
        "description": f"{verb.capitalize()} thing {place} of place {number}, with whatever belongs to it",
        "input_schema": SCHEMA,
    }


def hostile() -> dict[str, Any]:
    """Names and texts that try to leave their place, and some that are very long."""
    long = "long " * 2000
    return {
        "version": 1,
        "endpoints": [
            {
                "name": "odd",
                "kind": "declared",
                "title": HOSTILE,
                "description": long,
                "tools": [
                    {"name": HOSTILE, "description": HOSTILE},
                    {"name": "a/../b?c#d%2F e", "description": "Slashes and dots"},
                    {
                        "name": "n" * 256,
                        "description": long,
                        "category": "c" * 60,
                        "annotations": {HOSTILE: HOSTILE, "readOnlyHint": True},
                        "input_schema": {
                            "properties": {
                                HOSTILE: {"description": HOSTILE, "enum": [HOSTILE, None, 3]},
                                "w" * 3000: {"type": ["string", "null"], "default": long},
                                "none": True,
                                "inner": {"$ref": "#/properties/inner"},
                            },
                            "required": [HOSTILE, 7],
                        },
                    },
                ],
                "capabilities": ["long-context"],
            }
        ],
        "capabilities": [{"name": "long-context", "synonyms": [HOSTILE[:200]], "description": HOSTILE}],
        "scopes": [{"name": "default"}, {"name": "odd-only", "endpoints": ["odd"], "deny": ["odd__a/../b?c#d%2F e"]}],
    }
