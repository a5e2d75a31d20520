"""A JSON Schema as people read it: one line for each field, nested ones below their parent.

Schemas come from downstream servers, so nothing about their shape is taken for granted, and only so much is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

MOST = 300  # lines
MOST_STEPS = 3000  # schemas that are opened on the way: parts that hold parts may be many without a single field
MOST_KINDS = 12  # of alternatives whose kinds are named
DEEPEST = 8
LONGEST = 300  # characters of one value that is shown
_BOUNDS = (
    ("minimum", "at least"),
    ("exclusiveMinimum", "above"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "below"),
    ("minLength", "shortest"),
    ("maxLength", "longest"),
    ("minItems", "fewest"),
    ("maxItems", "most"),
    ("pattern", "pattern"),
    ("format", "format"),
)
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")
_JOINED = {"anyOf": " or ", "oneOf": " or ", "allOf": " and "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    name: str
    depth: int
    type: str
    required: bool
    description: str
    rules: tuple[tuple[str, str], ...]  # what it is called, what is allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    lines: tuple[Line, ...]
    cut: bool  # there was more
    closed: bool  # no other field is allowed
    raw: str  # the schema as it was given


def told(schema: Any) -> Told:
    """A schema of an object, line by line."""
    root = _mapping(schema)
    found = list(islice(_Walk(root).fields(root, 0, (id(root),)), MOST + 1))
    return Told(
        lines=tuple(found[:MOST]),
        cut=len(found) > MOST,
        closed=root.get("additionalProperties") is False,
        raw=orjson.dumps(schema, option=orjson.OPT_INDENT_2, default=str).decode(),
    )


class _Walk:
    """A walk through a schema that ends: at its depth, at what it has opened already, and after so many steps."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.steps = MOST_STEPS

    def fields(self, schema: Mapping[str, Any], depth: int, opened: tuple[int, ...]) -> Iterator[Line]:
        """The fields of a schema and of the parts that it is put together from, each followed by its own."""
        required = schema.get("required")
        needed = {name for name in required if isinstance(name, str)} if isinstance(required, list | tuple) else set()
        for name, given in _mapping(schema.get("properties")).items():
            yield from self._field(str(name), given, depth, opened, required=name in needed)
        for word in _ALTERNATIVES:
            for part in _parts(schema, word):
                yield from self._inside(part, depth, opened)

    def _field(self, name: str, given: Any, depth: int, opened: tuple[int, ...], *, required: bool) -> Iterator[Line]:
        schema = _resolved(given, self.root)
        described = _mapping(given).get("description") or schema.get("description") or schema.get("title")
        yield Line(
            name=name,
            depth=depth,
            type=_type(schema, self.root),
            required=required,
            description=described if isinstance(described, str) else "",
            rules=tuple(_rules(schema)),
        )
        yield from self._inside(schema, depth + 1, opened)

    def _inside(self, given: Any, depth: int, opened: tuple[int, ...]) -> Iterator[Line]:
        schema = _resolved(given, self.root)
        self.steps -= 1
        if depth > DEEPEST or id(schema) in opened or self.steps < 0:
            return
        opened = (*opened, id(schema))
        yield from self.fields(schema, depth, opened)
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), Mapping):
                yield from self._inside(schema[key], depth, opened)


def _resolved(given: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference within the schema leads to; others lead nowhere, since nothing is fetched."""
    schema = _mapping(given)
    for _ in range(DEEPEST):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        schema = _mapping(_at(root, reference[1:]))
    return {}


def _at(root: Mapping[str, Any], pointer: str) -> Any:
    here: Any = root
    for step in pointer.split("/")[1:]:
        here = _mapping(here).get(step.replace("~1", "/").replace("~0", "~"))
    return here


def _type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> str:
    given = schema.get("type")
    if isinstance(given, list | tuple):
        return _short(" or ".join(map(str, given)))
    if given == "array":
        inner = _resolved(schema.get("items"), root)
        return f"list of {_type(inner, root, depth + 1)}" if inner and depth < 2 else "list"
    if isinstance(given, str):
        return _short(given)
    for word in _ALTERNATIVES:
        parts = _parts(schema, word)
        if parts and depth < 2:
            kinds = dict.fromkeys(_type(_resolved(part, root), root, depth + 1) for part in parts[:MOST_KINDS])
            return _short(_JOINED[word].join(kinds))
    if "enum" in schema or "const" in schema:
        return "one of"
    return "object" if "properties" in schema else "any"


def _rules(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    choices = schema.get("enum")
    if isinstance(choices, list | tuple):
        yield "allowed", _short(", ".join(_value(one) for one in choices))
    if "const" in schema:
        yield "always", _value(schema["const"])
    if "default" in schema:
        yield "default", _value(schema["default"])
    for key, word in _BOUNDS:
        if key in schema:
            yield word, _value(schema[key])


def _parts(schema: Mapping[str, Any], word: str) -> list[Any]:
    parts = schema.get(word)
    return list(parts) if isinstance(parts, list | tuple) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _value(value: Any) -> str:
    return _short(value if isinstance(value, str) and value else orjson.dumps(value, default=str).decode())


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
