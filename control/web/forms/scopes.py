"""The form of a scope: lists in their three states, names each on a line."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from control.web.forms.endpoints import sentence
from control.web.whole import Meeting

REACH = ("endpoints", "tools", "deny", "pins")
SERVED = ("policies", "data_zones")
LISTS = (*REACH, *SERVED)
STATES = {
    "endpoints": (("all", "All"), ("none", "None"), ("these", "These")),
    "tools": (("all", "All of these endpoints"), ("none", "None"), ("these", "These")),
    "pins": (("gateway", "As the gateway has them"), ("these", "These, in this order")),
    "deny": (),
    "policies": (),
    "data_zones": (("all", "Any"), ("these", "These")),
}
HELP = {
    "endpoints": "One on each line; a group as group:NAME. They count where “These” is chosen.",
    "deny": "One on each line.",
    "policies": "One on each line: what a request may ask for. Left empty, the policy of the scope alone.",
    "data_zones": "One on each line, for model endpoints. They count where “These” is chosen; with none there, no model endpoint is reached.",
}
USUAL_HELP = "One on each line. They count where “These” is chosen."
WORDS = {
    "endpoints": "Endpoints",
    "tools": "Tools",
    "deny": "Denied",
    "pins": "Pins",
    "mode": "Mode",
    "expose": "Exposure",
    "policy": "Policy",
    "policies": "Policies that a request may choose",
    "data_zones": "Data zones",
    "tool_schema_budget_bytes": "Bytes of tool schemas",
    "default_endpoint": "Default endpoint",
    "harness_type": "Type of the harness",
    "harness_path": "Path of the harness",
    "harness_disabled": "Harness is switched off",
}
TEXTS = ("tool_schema_budget_bytes", "default_endpoint", "harness_type", "harness_path")
TEXT_HELP = {
    "tool_schema_budget_bytes": "At most so many in a list of tools; 0 is none, empty is no limit.",
    "default_endpoint": "Where a policy routes endpoints explicitly: the one that is taken.",
    "harness_type": "What kind of agent it is, as an import found it. It is kept and shown; nothing is decided by it.",
    "harness_path": "Where its settings lie.",
}
HARNESS = "harness_"
LONGEST = 1_000_000
LONGEST_TEXT = 10_000


@dataclass(slots=True, kw_only=True)
class ScopeForm:
    """What a scope lets through and how it is served, as texts."""

    states: dict[str, str]
    names: dict[str, list[str]]
    mode: str = "gateway"
    expose: str = ""
    policy: str = "default"
    more: dict[str, str] = field(default_factory=dict)
    sent: Collection[str] = tuple(WORDS)  # a field that was not sent is left as it is
    meeting: Meeting = field(default_factory=Meeting)
    find: str = ""
    problems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> ScopeForm:
        states = {
            name: ("these" if body[name] else "none") if body.get(name) is not None else "all"
            for name in ("endpoints", "tools")
        } | {
            "pins": "gateway" if body.get("pins") is None else "these",
            "data_zones": "all" if body.get("data_zones") is None else "these",
        }
        return cls(
            states=states,
            names={name: list(body.get(name) or ()) for name in LISTS},
            mode=body.get("mode", "gateway"),
            expose=body.get("expose") or "",
            policy=body.get("policy", "default"),
            more=_texts(body),
        )

    @classmethod
    def posted(cls, query: QueryDict) -> ScopeForm:
        form = cls(
            states={name: query.get(f"{name}_state", "") for name in LISTS if STATES[name]},
            names={name: _lines(query.get(name, "")) for name in LISTS},
            mode=query.get("mode", "gateway")[:64],
            expose=query.get("expose", "")[:64],
            policy=query.get("policy", "default")[:64],
            more={name: query.get(name, "")[:LONGEST_TEXT].strip() for name in (*TEXTS, f"{HARNESS}disabled")},
            sent=_sent(query),
            meeting=Meeting.posted(query),
            find=query.get("find", "")[:200].strip(),
        )
        verb, _, rest = query.get("do", "").partition(":")
        if verb == "add":
            form._add(*rest.split(":", 1))
        return form

    def _add(self, target: str, name: str = "") -> None:
        if target in LISTS and name and name not in self.names[target]:
            self.names[target].append(name[:400])
            if STATES[target]:
                self.states[target] = "these"

    def given(self) -> dict[str, Any]:
        """Fields of the scope; None is left out of the document."""
        found = {name: self._listed(name) if STATES[name] else self.names[name] or None for name in LISTS} | {
            "mode": None if self.mode == "gateway" else self.mode,
            "expose": self.expose or None,
            "policy": None if self.policy == "default" else self.policy,
            **{name: self.more[name] or None for name in TEXTS},
            "tool_schema_budget_bytes": _whole(self.more["tool_schema_budget_bytes"]),
            f"{HARNESS}disabled": True if self.more[f"{HARNESS}disabled"] else None,
        }
        return {name: value for name, value in found.items() if name in self.sent}

    def take(self, name: str, other: ScopeForm) -> None:
        if name in LISTS:
            self.names[name] = other.names[name]
            self.states |= {name: other.states[name]} if name in other.states else {}
        elif name in self.more:
            self.more[name] = other.more[name]
        else:
            setattr(self, name, getattr(other, name))

    def _listed(self, name: str) -> list[str] | None:
        state = self.states[name]
        return self.names[name] if state == "these" else [] if state == "none" else None

    def refuse_states(self) -> bool:
        """Whether a list came in a state that there is none of: what nobody said is never read as everything."""
        for name in self.sent:
            words = dict(STATES.get(name, ()))
            if words and self.states[name] not in words:
                self.problems[name] = f"Choose one of: {', '.join(words.values())}."
        return bool(self.problems)

    def note(self, problem: str) -> None:
        self.problems["general"] = problem

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        for detail in details:
            head = str(detail.get("path", "")).split("[")[0].replace("harness.", HARNESS).split(".")[0]
            name = head if head in (*WORDS, "name") else "general"
            self.problems[name] = f"{self.problems.get(name, '')} {sentence('It', detail)}".strip()

    @property
    def reach(self) -> list[dict[str, Any]]:
        return self._lists(REACH)

    @property
    def served(self) -> list[dict[str, Any]]:
        return self._lists(SERVED)

    @property
    def texts(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "word": WORDS[name],
                "value": self.more[name],
                "help": TEXT_HELP[name],
                "problem": self.problems.get(name, ""),
                "sides": self.meeting.conflicts.get(name),
            }
            for name in TEXTS
        ]

    def _lists(self, wanted: Sequence[str]) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "word": WORDS[name],
                "states": STATES[name],
                "state": self.states.get(name, ""),
                "text": "\n".join(self.names[name]),
                "rows": min(12, max(3, len(self.names[name]) + 1)),
                "problem": self.problems.get(name, ""),
                "help": HELP.get(name, USUAL_HELP),
                "sides": self.meeting.conflicts.get(name),
            }
            for name in wanted
        ]


def document(given: Mapping[str, Any], harness: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the form as those of a scope; `harness` is what the scope says of it now."""
    found = {name: value for name, value in given.items() if not name.startswith(HARNESS)}
    told = {name.removeprefix(HARNESS): value for name, value in given.items() if name.startswith(HARNESS)}
    if told:
        found["harness"] = {key: value for key, value in {**harness, **told}.items() if value is not None} or None
    return found


def _sent(query: QueryDict) -> list[str]:
    """Those that a form without them leaves alone are told by their own names; a switch that is off by its neighbour's."""
    there = {"data_zones": "data_zones_state", f"{HARNESS}disabled": f"{HARNESS}type"}
    return [
        name for name in WORDS if name not in (*SERVED, *TEXTS, f"{HARNESS}disabled") or there.get(name, name) in query
    ]


def _texts(body: Mapping[str, Any]) -> dict[str, str]:
    harness = body.get("harness") or {}
    budget = body.get("tool_schema_budget_bytes")
    return {
        "tool_schema_budget_bytes": "" if budget is None else str(budget),
        "default_endpoint": body.get("default_endpoint") or "",
        f"{HARNESS}type": harness.get("type") or "",
        f"{HARNESS}path": harness.get("path") or "",
        f"{HARNESS}disabled": "on" if harness.get("disabled") else "",
    }


def _whole(text: str) -> Any:
    """A number as one; what is none stays a text, which the registry then refuses in words."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(text) < 16 else text or None


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text[:LONGEST].splitlines() if line.strip()))
