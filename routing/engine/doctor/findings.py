"""What the doctor finds, as values: what it is, where it stands, in plain words, and the edit that would mend it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from routing.engine.canonical import canonical_json

HIGH, MEDIUM, LOW = "high", "medium", "low"
SEVERITIES = (HIGH, MEDIUM, LOW)

HINT_CLASH = "hint_clash"  # two hints tie
HINT_OUTDONE = "hint_outdone"  # a hint brings another tool first, by what that says of itself
HINT_WITHOUT_TOOL = "hint_without_tool"
HINT_SAYS_NOTHING = "hint_says_nothing"  # none of its words tells tools apart
WORD_FOR_EVERYTHING = "word_for_everything"
TOOL_NEVER_LISTED = "tool_never_listed"
TOOL_NEVER_FIRST = "tool_never_first"
TOOL_IN_NO_SCOPE = "tool_in_no_scope"
ALIKE = "alike"  # tools that say the same, or nearly
NO_DESCRIPTION = "no_description"
CAPABILITY_UNUSED = "capability_unused"
SCOPE_EMPTY = "scope_empty"
RULE_NEVER = "rule_never"
RULE_IDLE = "rule_idle"  # it decides, but nothing else than would be decided without it

CODES = (
    HINT_CLASH,
    HINT_OUTDONE,
    HINT_WITHOUT_TOOL,
    HINT_SAYS_NOTHING,
    WORD_FOR_EVERYTHING,
    TOOL_NEVER_LISTED,
    TOOL_NEVER_FIRST,
    TOOL_IN_NO_SCOPE,
    ALIKE,
    NO_DESCRIPTION,
    CAPABILITY_UNUSED,
    SCOPE_EMPTY,
    RULE_NEVER,
    RULE_IDLE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """An edit of one entry of the document. With `changes` it can be made as it stands; else somebody has to find words,
    in the form of `part` (and `tool`)."""

    words: str
    section: str
    name: str
    part: str = ""
    tool: str = ""
    changes: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`section` and `name` are the entry that it is about, `tool` a tool of it by its public name, `others` further tools or
    entries, and `words` those that clash or say nothing. `query` is what was asked in `scope` and shows it. `about` is what it depends on: another one as soon as that changes."""

    code: str
    severity: str
    path: str
    message: str
    section: str
    name: str
    suggestion: Suggestion
    tool: str = ""
    others: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    scope: str = ""
    query: str = ""
    about: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def key(self) -> str:
        """Equal for the same finding of another document, whatever else differs there."""
        return hashlib.sha256(canonical_json([self.code, self.section, *self.about])).hexdigest()[:24]

    def told(self) -> dict[str, Any]:
        """As plain data, with its key."""
        made = asdict(self)
        del made["about"]
        return {"key": self.key, **made}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All that was found, the worst first. `more`: of each kind how many are left out; `unasked`: suspicions for which
    there was no time to ask."""

    findings: tuple[Finding, ...]
    more: Mapping[str, int] = field(default_factory=dict)
    asked: int = 0
    unasked: int = 0


def named(names: tuple[str, ...] | list[str], most: int = 4) -> str:
    """A few names in a row, and how many more."""
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
