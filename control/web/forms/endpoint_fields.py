"""The fields of an endpoint that operators write: one table for the full form and for the edit of one field at a time.

A field's kind says how its text is read and shown. Tools and hints have forms of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from control.web.forms.numbers import ungrouped
from routing.engine.secrets import REFERENCE_FORMS
from routing.engine.validation.adapters import DIRECTIONS, TYPES
from routing.engine.validation.endpoints import FEATURES, KINDS, PROVENANCES, TOOL_TIERS

ANEW = ("credential", "headers")  # never shown filled in: entered anew, or left as they are
WIDE = ("area", "lines", "capabilities", "headers", "adapters")
FEATURE = "feature-"


class Unreadable(ValueError):
    """A text that is no value of its field; says what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    key: str  # in the form; that of the document but for features
    label: str
    kind: str = "line"  # line, mono, area, words, whole, figure, choice, switch, known, reference, capabilities, headers, adapters
    meaning: str = ""
    unit: str = ""
    bounds: str = ""
    options: Sequence[str] = ()
    default: Any = None  # what the document leaves out

    @property
    def help(self) -> str:
        """Meaning, unit, bounds and default in a sentence or two."""
        limits = " ".join(one for one in (self.unit, self.bounds) if one)
        usual = f"{self.default} when empty" if self.kind == "whole" and self.default is not None else ""
        more = ", ".join(one for one in (limits, usual) if one)
        return " ".join(one for one in (self.meaning, f"{more[:1].upper()}{more[1:]}." if more else "") if one)

    @property
    def is_wide(self) -> bool:
        return self.kind in WIDE

    @property
    def path(self) -> str:
        """Where it lies below the endpoint."""
        return f"features.{self.key.removeprefix(FEATURE)}" if self.kind == "known" else self.key

    def shown(self, body: Mapping[str, Any]) -> str:
        """What the document has there as the text of the form."""
        if self.kind == "known":
            return {True: "yes", False: "no"}.get(body.get("features", {}).get(self.key.removeprefix(FEATURE)), "")
        value = body.get(self.key, self.default)
        match self.kind:
            case "switch":
                return "on" if value else "off"
            case "words":
                return ", ".join(value or ())
            case "capabilities":
                return "\n".join(map(_capability_line, value or ()))
            case "headers":
                return "\n".join(f"{name}: {content}" for name, content in (value or {}).items())
            case "adapters":
                return json.dumps(value, indent=2, ensure_ascii=False) if value else ""
            case "whole":
                return str(body.get(self.key, ""))
        return plain("" if value is None else str(value))

    def read(self, text: str) -> Any:
        """The value of a text as the document has it, None for the default. Raises Unreadable."""
        value = _READERS[self.kind](text)
        if not _is_finite(value):
            raise Unreadable(f"It must be a finite number. Allowed: {self.bounds or 'finite numbers'}.")
        return None if value == self.default and isinstance(value, bool) == isinstance(self.default, bool) else value


def plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _number(kind: type[int] | type[float], words: str) -> Any:
    def read(text: str) -> Any:
        if not text:
            return None
        try:
            return kind(ungrouped(text))
        except ValueError:
            raise Unreadable(words) from None

    return read


def _is_finite(value: Any) -> bool:
    """Whether every number in it is one that JSON has."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


def _one_of(meant: Mapping[str, bool]) -> Any:
    def read(text: str) -> bool | None:
        if text and text not in meant:
            raise Unreadable(f"Choose {' or '.join(meant)}.")
        return meant.get(text)

    return read


def _capability_line(one: Any) -> str:
    if isinstance(one, str):
        return one
    return " ".join(str(one[key]) for key in ("name", "level", "provenance") if key in one)


def _capabilities(text: str) -> list[Any] | None:
    found: list[Any] = []
    for words in filter(None, map(str.split, text.split("\n"))):
        one: dict[str, Any] = {"name": words[0]}
        for word in words[1:]:
            one |= {"provenance": word} if word in PROVENANCES else {"level": _level(word)}
        found.append(one if len(one) > 1 else one["name"])
    return found or None


def _level(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise Unreadable(f"“{word[:40]}” is neither a level from 0 to 1 nor {', '.join(PROVENANCES)}.") from None


def _headers(text: str) -> dict[str, str] | None:
    lines = [line for line in text.split("\n") if line.strip()]
    if any(":" not in line for line in lines):
        raise Unreadable("Write one header on each line: its name, a colon, its value.")
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)} or None


def _adapters(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError) as error:
        at = f" Line {error.lineno}: {error.msg}." if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(f"Write a JSON list, one object for each adapter.{at}") from None


def _words(text: str) -> list[str] | None:
    return list(dict.fromkeys(word for part in text.split(",") if (word := part.strip()))) or None


def _text(text: str) -> str | None:
    return text or None


_READERS: dict[str, Any] = {
    **dict.fromkeys(("line", "mono", "area", "choice", "reference"), _text),
    "words": _words,
    "whole": _number(int, "Write a whole number."),
    "figure": _number(float, "Write a number, such as 0.5."),
    "switch": _one_of({"on": True, "off": False}),
    "known": _one_of({"yes": True, "no": False}),
    "capabilities": _capabilities,
    "headers": _headers,
    "adapters": _adapters,
}

NAME = Field(
    key="name",
    label="Name",
    kind="mono",
    meaning="1 to 64 of a-z, 0-9, - _ and a dot, without __. It is part of every tool's name.",
)
GROUPS: tuple[tuple[str, tuple[Field, ...]], ...] = (
    (
        "What it is",
        (
            NAME,
            Field(
                key="kind",
                label="Kind",
                kind="choice",
                meaning="mcp: a server of tools. declared: tools that are never contacted. Others: models.",
                options=KINDS,
            ),
            Field(key="title", label="Title"),
            Field(
                key="enabled",
                label="Enabled",
                kind="switch",
                meaning="Off: it stays written down and reaches nobody.",
                default=True,
            ),
            Field(key="description", label="Description", kind="area"),
            Field(key="tags", label="Tags", kind="words", meaning="Words with commas between them."),
            Field(key="owner", label="Owner", meaning="Who answers for it.", bounds="at most 256 characters"),
            Field(
                key="capabilities",
                label="Capabilities",
                kind="capabilities",
                meaning="One on each line: the word, its level from 0 to 1, and declared, probed or measured.",
            ),
            Field(key="note", label="Note", kind="area", meaning="For colleagues. It changes no decision."),
        ),
    ),
    (
        "Where it is",
        (
            Field(
                key="url",
                label="URL",
                kind="mono",
                meaning="http or https. When scheme, host, port or the first part of the path change, the credential is entered again.",
            ),
            Field(
                key="credential",
                label="Credential reference",
                kind="reference",
                meaning=f"{REFERENCE_FORMS}, never the secret itself.",
            ),
            Field(
                key="transport",
                label="Transport",
                kind="choice",
                meaning="http: streamable HTTP. sse: the older event stream. For kind mcp.",
                options=("http", "sse"),
                default="http",
            ),
            Field(
                key="launch",
                label="Launch",
                kind="mono",
                meaning="host:NAME, an entry of the host-side file: an MCP server over stdin and stdout. Instead of a URL.",
            ),
            Field(
                key="headers",
                label="Headers",
                kind="headers",
                meaning="One on each line, name: value. A secret is a reference here too.",
            ),
        ),
    ),
    (
        "Model",
        (
            Field(
                key="model",
                label="Model",
                kind="mono",
                meaning="For kinds that are models.",
                bounds="at most 256 characters",
            ),
            Field(key="context_window", label="Context window", kind="whole", unit="tokens,", bounds="1 or more"),
            Field(
                key="effective_context",
                label="Effective context",
                kind="whole",
                meaning="What it uses well; the window when empty.",
                unit="tokens,",
                bounds="1 or more",
            ),
            Field(
                key="tool_tier",
                label="Tool tier",
                kind="choice",
                meaning="How it calls tools.",
                options=("", *TOOL_TIERS),
            ),
            Field(
                key="cost_in", label="Cost of input", kind="figure", unit="for a million tokens,", bounds="0 or more"
            ),
            Field(
                key="cost_out", label="Cost of output", kind="figure", unit="for a million tokens,", bounds="0 or more"
            ),
            Field(
                key="priority",
                label="Priority",
                kind="whole",
                meaning="Lower goes first.",
                bounds="a whole number",
                default=100,
            ),
            Field(
                key="max_concurrency",
                label="Most calls at once",
                kind="whole",
                meaning="No bound when empty.",
                bounds="1 or more",
            ),
            Field(
                key="data_zone",
                label="Data zone",
                meaning="Where data that it is sent may be.",
                bounds="at most 64 characters",
            ),
            Field(
                key="plans_only",
                label="Plans only",
                kind="switch",
                meaning="On: it may plan and is never chosen to act.",
                default=False,
            ),
            *(
                Field(
                    key=f"{FEATURE}{one}",
                    label=one.replace("_", " ").capitalize(),
                    kind="known",
                    options=("", "yes", "no"),
                )
                for one in FEATURES
            ),
            Field(
                key="adapters",
                label="Adapters",
                kind="adapters",
                meaning=(
                    "A JSON list; of each: capability, type "
                    f"({', '.join(TYPES)}), activation, inputs, output_schema, score (min, max, threshold, direction "
                    f"{' or '.join(DIRECTIONS)}), revision, max_output_tokens."
                ),
            ),
        ),
    ),
)
FIELDS: dict[str, Field] = {field.key: field for _, group in GROUPS for field in group}
LISTS = tuple(key for key, one in FIELDS.items() if one.kind in ("words", "capabilities", "adapters"))
# Those that are edited by themselves in their panel of the endpoint's page; the others have places of their own there.
ALONE = tuple(key for key in FIELDS if key not in ("name", "enabled", "description", "tags"))
