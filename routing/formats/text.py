"""From bytes to plain values: YAML, TOML or JSON, read safely.

Keys that are given twice, nesting beyond reason and anchors that multiply are refused before anything is built of them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Hashable
from typing import Any

import yaml

from routing.formats.values import Unreadable

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 100
MAX_NODES = 1_000_000

# The first line that is no comment: a table of TOML or a setting; an object of JSON (YAML's flow style has bare keys).
_TOML_START = re.compile(
    r"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*"
    r"(?:\[{1,2}[ \t]*[A-Za-z_\"'][^\],\n]*\]{1,2}[ \t\r]*(?:#[^\n]*)?(?:\n|\Z)|[A-Za-z0-9_.\"-]+[ \t]*=[^=])"
)
_JSON_START = re.compile(r"\s*+(?>(?://[^\n]*|/\*(?s:.*?)(?:\*/|\Z))\s*)*+(?:\{\s*[\"}/]|\[)")  # never tried twice
# Strings, comments, and commas before a closing bracket: editors allow the latter two in their JSON. What is never closed
# reaches to the end, so that no text is walked twice.
_LENIENT = re.compile(
    r"(?P<text>\"(?:[^\"\\\n]|\\(?:[\s\S]|\Z))*(?:\"|\n|\Z))|(?P<comment>//[^\n]*|/\*(?s:.*?)(?:\*/|\Z))|(?P<comma>,)"
)
_CLOSES = re.compile(r"\s*[}\]]")


def decode(content: str | bytes) -> str:
    """The content as text. Raises Unreadable for what is too large or no text."""
    if len(content) > MAX_BYTES:
        raise Unreadable(f"is larger than {MAX_BYTES // 1024 // 1024} MiB")
    if isinstance(content, bytes):
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            content = content.decode(encoding)
        except UnicodeDecodeError as error:
            raise Unreadable(f"is no UTF-8 text (byte {error.start + 1} cannot be read)") from None
    if "\x00" in content:
        raise Unreadable("is no text: it holds NUL characters")
    return content.removeprefix("\ufeff")


def load(content: str | bytes, *, filename: str | None = None) -> Any:
    """The values of a YAML, TOML or JSON text; the file's ending decides, without one the text's look."""
    text = decode(content)
    ending = (filename or "").lower().rpartition(".")[2]
    if ending == "toml":
        return load_toml(text)
    if ending in ("json", "jsonc"):
        return load_json(text)
    if ending in ("yaml", "yml"):
        return load_yaml(text)
    return _load_by_look(text)


def _load_by_look(text: str) -> Any:
    if _TOML_START.match(text):
        return load_toml(text)
    return load_json(text) if _JSON_START.match(text) else load_yaml(text)


def load_json(text: str) -> Any:
    """JSON; comments and a comma after the last value are allowed, as editors allow them in their settings."""
    try:
        return _bounded(_parse_json(text))
    except json.JSONDecodeError:
        plain = _without_comments(text)
    try:
        return _bounded(_parse_json(plain))
    except json.JSONDecodeError as error:
        raise Unreadable(f"is no valid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_pairs, parse_constant=_no_constant)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError:
        raise Unreadable("holds a number that is too long") from None


def _without_comments(text: str) -> str:
    """The text with spaces for comments and for commas before a closing bracket: every place stays where it was."""
    blank = _LENIENT.sub(lambda found: _spaces(found[0]) if found["comment"] else found[0], text)
    return _LENIENT.sub(lambda found: " " if found["comma"] and _CLOSES.match(blank, found.end()) else found[0], blank)


def _spaces(comment: str) -> str:
    return "".join(mark if mark in "\r\n" else " " for mark in comment)


def _bounded(values: Any) -> Any:
    """The same values; raises Unreadable when they are nested beyond reason or are too many."""
    level, depth, count = [values], 0, 0
    while level:
        count += len(level)
        if depth > MAX_DEPTH:
            raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep")
        if count > MAX_NODES:
            raise Unreadable(f"holds more than {MAX_NODES:,} values")
        level = [inner for held in level for inner in _held(held)]
        depth += 1
    return values


def _held(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise Unreadable(f"gives the key {twice[:64]!r} twice in one mapping")
    return found


def _no_constant(word: str) -> Any:
    raise Unreadable(f"holds {word}, which is no number of JSON")


def load_toml(text: str) -> Any:
    try:
        return _bounded(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"is no valid TOML: {error}") from None
    except RecursionError:
        raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError:
        raise Unreadable("holds a number that is too long") from None


def load_yaml(text: str) -> Any:
    try:
        _measure(text)
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise Unreadable(f"is no valid YAML{_place(error, text)}: {error.problem or 'it cannot be read'}") from None
    except yaml.YAMLError as error:
        raise Unreadable(f"is no valid YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep") from None
    except (ValueError, OverflowError):
        raise Unreadable("is no valid YAML: it holds a number that cannot be read") from None


def _place(error: yaml.MarkedYAMLError, text: str) -> str:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return ""
    lines = text.splitlines() or [""]
    if mark.line >= len(lines):  # the parser counts a line after the last one
        return f" at line {len(lines)}, column {len(lines[-1]) + 1}"
    return f" at line {mark.line + 1}, column {mark.column + 1}"


def _measure(text: str) -> None:
    """Refuse what would grow beyond bounds when built: depth, and the size of everything with aliases written out."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []  # anchor, size before it
    size = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, (yaml.CollectionStartEvent, yaml.ScalarEvent)):
            size += 1
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, size))
        elif isinstance(event, yaml.ScalarEvent) and event.anchor:
            sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor:
                sizes[anchor] = size - before + 1
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_nodes):
                raise Unreadable(f"has an alias {event.anchor!r} that holds itself")
            size += sizes.get(event.anchor or "", 1)
        if len(open_nodes) > MAX_DEPTH:
            raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep")
        if size > MAX_NODES:
            raise Unreadable(f"holds more than {MAX_NODES:,} values")


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]  # the C loader has no type of its own
    """A safe loader for which a repeated key is an error, a key is the text that was written, a date stays text, and only
    `true` and `false` are truth values: a server may be called `off`, and a tag may be `yes`."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be text", key_node.start_mark)
            if key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key_node.value[:64]!r} is given twice", key_node.start_mark
                )
            seen.add(key_node.value)
        self.flatten_mapping(node)
        node.value = [(_as_text(key), value) for key, value in node.value]
        built: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return built


def _as_text(key: Any) -> Any:
    """The key as it was written. A node of its own, since an anchor may share the old one with a value."""
    if not isinstance(key, yaml.ScalarNode) or key.tag == _TEXT:
        return key
    return yaml.ScalarNode(_TEXT, key.value, key.start_mark, key.end_mark)


_TEXT, _BOOL = "tag:yaml.org,2002:str", "tag:yaml.org,2002:bool"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:timestamp", _BOOL)]
    for first, resolvers in _SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))
