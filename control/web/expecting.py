"""What an expectation says, in words, and how it stands on what is live and in the draft."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from control.web import checking
from routing import working
from routing.engine.expectations import Finding
from routing.models import Workspace
from routing.services import checks

Document = Mapping[str, Any]
ASKED_AT_MOST = 300


def mark_of(name: str) -> str:
    """Names are sentences; an address has this of them."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One expectation as live and draft have it."""

    body: Document
    live: Finding | None  # None where it is not live, or not known
    draft: Finding | None
    change: str  # new | changed | removed, or nothing

    @property
    def name(self) -> str:
        return str(self.body["name"])

    @property
    def mark(self) -> str:
        return mark_of(self.name)

    @property
    def scope(self) -> str:
        return str(self.body.get("scope", "default"))

    @property
    def endpoint(self) -> str:
        return str(self.body.get("endpoint") or "")

    @property
    def asks(self) -> str:
        return asks(self.body)

    @property
    def expects(self) -> str:
        return "; ".join(expects(self.body.get("expect", {})))

    def said(self, side: str) -> str:
        finding = self.live if side == "live" else self.draft
        return "" if finding is None else "met" if finding.is_met else "missed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """All of a workspace's expectations; `is_known` says that live and draft were asked."""

    lines: Sequence[Line]
    is_known: bool


def standing(request: HttpRequest, workspace: Workspace) -> Standing:
    copy = working.copy_of(workspace)
    live, draft = checking.of_live(request, workspace), checking.of_draft(request, workspace, copy)
    lines = _lines(working.live_of(workspace), copy.document, live, draft)
    return Standing(lines=lines, is_known=live is not None and draft is not None)


def guarding(workspace: Workspace, endpoint: str) -> list[Line]:
    """Those of the draft that guard an endpoint or name one of its tools; nothing is asked for it."""
    copy, prefix = working.copy_of(workspace), f"{endpoint}__"
    if not copy.document.get("expectations"):
        return []
    live = checks.known(workspace.pk, working.live_digest(workspace))
    lines = _lines(working.live_of(workspace), copy.document, live, checks.known(workspace.pk, copy.digest))
    return [
        line
        for line in lines
        if line.change != "removed"
        and (line.endpoint == endpoint or any(name.startswith(prefix) for name in named(line.body)))
    ]


def _lines(
    live: Document, draft: Document, on_live: checks.Checked | None, on_draft: checks.Checked | None
) -> list[Line]:
    old = {one["name"]: one for one in live.get("expectations", ())}
    new = {one["name"]: one for one in draft.get("expectations", ())}
    was, now = (checked.outcome.findings if checked else {} for checked in (on_live, on_draft))
    return [
        Line(
            body=new.get(name) or old[name],
            live=was.get(name) if name in old else None,
            draft=now.get(name) if name in new else None,
            change=_change(old.get(name), new.get(name)),
        )
        for name in dict.fromkeys([*new, *old])
    ]


def _change(old: Document | None, new: Document | None) -> str:
    if old is None:
        return "new"
    return "removed" if new is None else "" if old == new else "changed"


def named(body: Document) -> list[str]:
    """The tools that it names in what must come out."""
    expect = body.get("expect", {})
    found = [expect["recommendation"]] if expect.get("recommendation") else []
    for key, value in expect.items():
        if key in _OF_TOOLS:
            found += value
        elif key in ("in_top_k", "not_in_top_k"):
            found += value.get("tools", ())
    return [str(one) for one in found]


# --- in words -----------------------------------------------------------------------------------------------------------
def asks(body: Document) -> str:
    """What is asked, on one line."""
    if body.get("query") is not None:
        text = str(body["query"])
    elif body.get("activity") is not None:
        activity = body["activity"]
        text = f"{activity.get('activity', '')} ({activity.get('phase', '')}: {activity.get('goal', '')})"
    else:
        search = body.get("search") or {}
        text = f"A search from {search.get('root_state', '')} over {len(search.get('states', ()))} states"
    return " ".join(text.split())[:ASKED_AT_MOST]


_OF_TOOLS = ("recommendation_in", "not_recommended", "not_in_results", "not_confident_except")
_STATUS = {"no_match": "no match"}


def expects(expect: Document) -> list[str]:
    """What must come out, each part in words."""
    return [_WORDS[key](value) for key, value in expect.items() if key in _WORDS]


def _or(names: Sequence[Any]) -> str:
    return " or ".join(_STATUS.get(str(one), str(one)) for one in names) or "nothing"


def _and(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names)) or "none"


def _top(value: Document, word: str) -> str:
    return f"{_and(value['tools'])} {word} the first {value['k']}"


_WORDS: Mapping[str, Any] = {
    "status": _or,
    "recommendation": lambda value: "no tool" if value is None else str(value),
    "recommendation_in": lambda value: f"one of {_and(value)}",
    "not_recommended": lambda value: f"not {_or(value)}",
    "in_top_k": lambda value: _top(value, "among"),
    "not_in_top_k": lambda value: _top(value, "not among"),
    "not_in_results": lambda value: f"without {_and(value)}",
    "not_confident_except": lambda value: f"confident only of {_or(value)}" if value else "never confident",
    "ambiguous": lambda value: "ambiguous" if value else "not ambiguous",
    "confidence_in": lambda value: f"confidence {_or(value)}",
    "reason_codes_include": lambda value: f"reason {_and(value)}",
    "reason_codes_exclude": lambda value: f"no reason {_or(value)}",
    "required_fields": lambda value: f"required fields: {_and(value)}",
    "argument_template_truncated": lambda value: "template cut" if value else "template whole",
    "alternatives_max": lambda value: f"at most {value} alternatives",
    "tool": lambda value: f"begins with {value}" if value else "no first step",
}
