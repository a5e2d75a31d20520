"""What an answer says about a tool, within bounds: texts cut on a character, lists cut, and every cut disclosed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from routing.engine.parts import ToolDoc
from routing.engine.text import clip

TITLE_BYTES, DESCRIPTION_BYTES, ENDPOINT_DESCRIPTION_BYTES, ITEM_BYTES = 160, 256, 160, 128
TAGS = (6, 128)
HINTS = (3, 256)
TERMS = (24, 256)
ALL_MATCHES_BYTES = 12_288
MOST_FIELDS, FIELD_NAME_BYTES, FIELD_NAMES_BYTES = 48, 128, 2048
PLACEHOLDER = "<value>"
ALWAYS = ("namespaced", "server", "tool", "description")  # the short form says these even when they are empty
WRITTEN_CHARACTER = 6  # bytes of a character at most: \u0000
WRITTEN_AROUND = 24  # bytes of what stands around a text at most, and of a number
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    required: tuple[str, ...]
    template: dict[str, str | None]
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What does not depend on the request: in full, and in the short form without what is empty."""

    full: dict[str, Any]
    short: dict[str, Any]
    truncated: bool


def card(doc: ToolDoc) -> Card:
    title, cut_title = clip(doc.title, TITLE_BYTES)
    description, cut_description = clip(doc.tool.description, DESCRIPTION_BYTES)
    server_description, cut_server = clip(doc.endpoint.description, ENDPOINT_DESCRIPTION_BYTES)
    tags, cut_tags = _bounded(doc.endpoint.tags, *TAGS)
    use_when, cut_use = _bounded(doc.endpoint.use_when, *HINTS)
    tool_use_when, cut_tool_use = _bounded(doc.hints, *HINTS)
    full = {
        "namespaced": doc.public,
        "server": doc.endpoint.name,
        "tool": doc.fragment,
        "title": title,
        "description": description,
        "server_description": server_description,
        "tags": tags,
        "use_when": use_when,
        "tool_use_when": tool_use_when,
    }
    return Card(
        full=full,
        short={key: value for key, value in full.items() if key in ALWAYS or value},
        truncated=any((cut_title, cut_description, cut_server, cut_tags, cut_use, cut_tool_use)),
    )


def match(known: Card, *, score: float | None = None, matched: Sequence[str] = ()) -> dict[str, Any]:
    """A tool in full as an answer may show it; nothing is left out."""
    terms, cut = _bounded(matched, *TERMS)
    return _copied(known.full) | {
        "score": score,
        "matched_terms": terms,
        "metadata_truncated": known.truncated or cut,
    }


def alternative(known: Card, *, score: float | None = None, matched: Sequence[str] = ()) -> dict[str, Any]:
    """The short form: who it is and what it says, and the rest only where there is something to say."""
    terms, cut = _bounded(matched, *TERMS)
    told = _copied(known.short)
    if score:
        told["score"] = score
    if terms:
        told["matched_terms"] = terms
    if known.truncated or cut:
        told["metadata_truncated"] = True
    return told


def _copied(told: Mapping[str, Any]) -> dict[str, Any]:
    """Answers belong to whoever asked, their lists too."""
    return {key: value.copy() if isinstance(value, list) else value for key, value in told.items()}


def within_bytes(matches: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """As many matches as fit into the answer, the first always; and whether any was left out for that."""
    kept = list(matches)
    if sum(map(_most_bytes, kept)) <= ALL_MATCHES_BYTES:  # mostly; writing them out takes longer
        return kept, False
    size = len(_compact(kept).encode(errors="replace")) - len("[]")
    whole = len(kept)
    while len(kept) > 1 and size > ALL_MATCHES_BYTES:
        size -= len(_compact(kept.pop()).encode(errors="replace")) + len(",")
    return kept, len(kept) < whole


def _most_bytes(told: Mapping[str, Any]) -> int:
    """No fewer than a match takes when it is written out."""
    size = 2
    for key, value in told.items():
        size += len(key) + WRITTEN_AROUND
        if isinstance(value, str):
            size += len(value) * WRITTEN_CHARACTER
        elif isinstance(value, list):
            size += sum(len(text) * WRITTEN_CHARACTER + WRITTEN_AROUND for text in value)
    return size


def arguments(schema: Mapping[str, Any]) -> Arguments:
    """The top-level inputs: required ones in the schema's order, then the others by name; at most 48."""
    properties = schema.get("properties", {})
    listed = schema.get("required", [])
    odd = not isinstance(properties, Mapping) or not isinstance(listed, list | tuple)
    properties = properties if isinstance(properties, Mapping) else {}
    listed = listed if isinstance(listed, list | tuple) else ()
    required = list(dict.fromkeys(entry for entry in listed if isinstance(entry, str)))
    truncated = odd or any(not isinstance(entry, str) for entry in listed)
    others = sorted(name for name in properties if name not in required)
    if len(properties) > MOST_FIELDS:
        others, truncated = [], True
    kept, cut = _field_names([*required, *others])
    return Arguments(
        required=tuple(name for name in kept if name in required),
        template={name: PLACEHOLDER if name in required else None for name in kept},
        truncated=truncated or cut,
    )


def _field_names(names: Sequence[str]) -> tuple[list[str], bool]:
    kept: list[str] = []
    size, cut = 0, False
    for name in names:
        length = len(name.encode(errors="replace"))
        if not name or length > FIELD_NAME_BYTES or len(kept) == MOST_FIELDS or size + length > FIELD_NAMES_BYTES:
            cut = True
            continue
        kept.append(name)
        size += length
    return kept, cut


def _bounded(items: Sequence[str], most: int, most_bytes: int) -> tuple[list[str], bool]:
    whole = "".join(items)
    if len(items) <= most and len(whole) <= ITEM_BYTES <= most_bytes and whole.isalnum() and whole.isascii():
        return list(items), False  # words, mostly: nothing to cut
    kept: list[str] = []
    size, cut = 0, len(items) > most
    for item in items[:most]:
        text, shortened = clip(item, ITEM_BYTES)
        size += len(text.encode(errors="replace"))
        if size > most_bytes:
            return kept, True
        cut = cut or shortened
        kept.append(text)
    return kept, cut
