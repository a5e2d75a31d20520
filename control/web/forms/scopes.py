"""The form of a scope: lists in their three states, names each on a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from control.web.forms.endpoints import sentence

LISTS = ("endpoints", "tools", "deny", "pins")
STATES = {
    "endpoints": (("all", "All"), ("none", "None"), ("these", "These")),
    "tools": (("all", "All of these endpoints"), ("none", "None"), ("these", "These")),
    "pins": (("gateway", "As the gateway has them"), ("these", "These, in this order")),
    "deny": (),
}
LONGEST = 1_000_000


@dataclass(slots=True, kw_only=True)
class ScopeForm:
    """What a scope lets through and how it is served, as texts."""

    states: dict[str, str]
    names: dict[str, list[str]]
    mode: str = "gateway"
    expose: str = ""
    policy: str = "default"
    read: str = ""
    find: str = ""
    problems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, body: Mapping[str, Any], read: str) -> ScopeForm:
        states = {
            name: ("these" if body[name] else "none") if body.get(name) is not None else "all"
            for name in ("endpoints", "tools")
        } | {"pins": "gateway" if body.get("pins") is None else "these"}
        return cls(
            states=states,
            names={name: list(body.get(name) or ()) for name in LISTS},
            mode=body.get("mode", "gateway"),
            expose=body.get("expose") or "",
            policy=body.get("policy", "default"),
            read=read,
        )

    @classmethod
    def posted(cls, query: QueryDict) -> ScopeForm:
        form = cls(
            states={name: query.get(f"{name}_state", "") for name in LISTS if name != "deny"},
            names={name: _lines(query.get(name, "")) for name in LISTS},
            mode=query.get("mode", "gateway")[:64],
            expose=query.get("expose", "")[:64],
            policy=query.get("policy", "default")[:64],
            read=(query.get("keep") or query.get("read", ""))[:64],
            find=query.get("find", "")[:200].strip(),
        )
        verb, _, rest = query.get("do", "").partition(":")
        if verb == "add":
            form._add(*rest.split(":", 1))
        return form

    def _add(self, target: str, name: str = "") -> None:
        if target in LISTS and name and name not in self.names[target]:
            self.names[target].append(name[:400])
            if target != "deny":
                self.states[target] = "these"

    def changes(self) -> dict[str, Any]:
        """Fields of the scope; None is left out of the document."""
        kept = {name: self._listed(name) for name in ("endpoints", "tools", "pins")}
        return kept | {
            "deny": self.names["deny"] or None,
            "mode": None if self.mode == "gateway" else self.mode,
            "expose": self.expose or None,
            "policy": None if self.policy == "default" else self.policy,
        }

    def _listed(self, name: str) -> list[str] | None:
        state = self.states[name]
        return self.names[name] if state == "these" else [] if state == "none" else None

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        for detail in details:
            head = str(detail.get("path", "")).split("[")[0].split(".")[0]
            name = head if head in (*LISTS, "mode", "expose", "policy", "name") else "general"
            self.problems[name] = f"{self.problems.get(name, '')} {sentence('It', detail)}".strip()

    def fields(self) -> list[tuple[str, str]]:
        """As it would be posted."""
        states = [(f"{name}_state", state) for name, state in self.states.items()]
        texts = [(name, "\n".join(names)) for name, names in self.names.items()]
        return [*states, *texts, ("mode", self.mode), ("expose", self.expose), ("policy", self.policy)]

    @property
    def lists(self) -> list[dict[str, Any]]:
        words = {"endpoints": "Endpoints", "tools": "Tools", "deny": "Denied", "pins": "Pins"}
        return [
            {
                "name": name,
                "word": words[name],
                "states": STATES[name],
                "state": self.states.get(name, ""),
                "text": "\n".join(self.names[name]),
                "rows": min(12, max(3, len(self.names[name]) + 1)),
                "problem": self.problems.get(name, ""),
            }
            for name in LISTS
        ]


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text[:LONGEST].splitlines() if line.strip()))
