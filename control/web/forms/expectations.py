"""The form of an expectation: what is asked, and what must come out. Lists are written one on a line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from control.web.forms.endpoints import sentence
from control.web.whole import Meeting
from routing.engine.expectations import graph_problems

LONGEST = 300_000  # of a pasted graph; the registry's own limits are lower and say so in words
STATUSES = (("confident", "Confident"), ("ambiguous", "Ambiguous"), ("no_match", "No match"))
CONFIDENCES = (("high", "High"), ("medium", "Medium"), ("low", "Low"), ("none", "None"))
KINDS = (("query", "A text"), ("activity", "Goal, phase, activity"), ("search", "A search"))
GRAPH_KEYS = ("root_state", "states", "transitions", "max_depth")
YES_NO = (("", "Either"), ("yes", "Yes"), ("no", "No"))
RECOMMENDS = (("any", "Whatever it is"), ("this", "This tool"), ("none", "No tool"))
LISTS = ("recommendation_in", "not_recommended", "not_in_results", "reason_codes_include", "reason_codes_exclude")
OPEN_LISTS = ("not_confident_except", "required_fields")  # an empty one says something too, so each has a box
TOPS = {"in_top_k": "in_top_tools", "not_in_top_k": "not_in_top_tools"}
FLAGS = ("ambiguous", "argument_template_truncated")
ACTIVITY = ("goal", "phase", "activity", "outcome", "input_kinds")
TEXTS = (
    *("name", "scope", "kind", "query", "goal", "phase", "activity", "outcome", "input_kinds", "search", "tool"),
    *("max_hits", "offline", "endpoint", "note", "recommends", "recommendation", "alternatives_max", "expect_note"),
    *(*LISTS, *OPEN_LISTS, *TOPS, *TOPS.values(), *FLAGS),
)
ASKED = ("kind", "query", "search", *ACTIVITY)
WANTED = (
    *("recommends", "recommendation", "tool", "alternatives_max", "expect_note"),
    *(*LISTS, *OPEN_LISTS, *TOPS, *TOPS.values(), *FLAGS),
)
# Where the registry's problems are shown, by the head of their path.
PLACES = {"expect": "expect", "": "kind", "activity": "activity", "search": "search"}
WORDS = {
    "scope": "Scope",
    "query": "Text",
    "activity": "Activity",
    "search": "Search",
    "max_hits": "Hits",
    "offline": "Endpoints that are away",
    "endpoint": "Endpoint that it guards",
    "note": "Note",
    "expect": "What must come out",
}


@dataclass(slots=True, kw_only=True)
class ExpectationForm:
    texts: dict[str, str]
    status: list[str] = field(default_factory=list)
    confidence_in: list[str] = field(default_factory=list)
    boxes: set[str] = field(default_factory=set)  # of OPEN_LISTS
    meeting: Meeting = field(default_factory=Meeting)
    problems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def blank(cls, **texts: str) -> ExpectationForm:
        usual = dict.fromkeys(TEXTS, "") | {"scope": "default", "kind": "query", "recommends": "any"}
        return cls(texts=usual | texts)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> ExpectationForm:
        form, expect, asked = cls.blank(), body.get("expect", {}), body.get("activity") or {}
        kind = next((kind for kind, _ in KINDS if body.get(kind) is not None), "query")
        texts: dict[str, Any] = {
            key: body[key] for key in ("name", "scope", "query", "endpoint", "note") if key in body
        }
        texts |= {key: _written(asked.get(key)) for key in ACTIVITY}
        texts |= {"kind": kind, "offline": _written(body.get("offline")), "max_hits": _number(body.get("max_hits"))}
        if body.get("search") is not None:
            texts["search"] = json.dumps(body["search"], ensure_ascii=False, indent=2)
        texts |= {key: _written(expect.get(key)) for key in (*LISTS, *OPEN_LISTS)}
        for key, tools in TOPS.items():
            texts |= {key: _number(expect.get(key, {}).get("k")), tools: _written(expect.get(key, {}).get("tools"))}
        texts |= {key: {True: "yes", False: "no"}.get(expect.get(key), "") for key in FLAGS}
        texts |= {"tool": expect.get("tool") or "", "alternatives_max": _number(expect.get("alternatives_max"))}
        if "recommendation" in expect:
            named = expect["recommendation"]
            texts |= {"recommends": "none" if named is None else "this", "recommendation": named or ""}
        texts["expect_note"] = expect.get("note") or ""
        form.texts |= texts
        form.status, form.confidence_in = list(expect.get("status", ())), list(expect.get("confidence_in", ()))
        form.boxes = {key for key in OPEN_LISTS if key in expect}
        return form

    @classmethod
    def posted(cls, query: QueryDict) -> ExpectationForm:
        given = {key: str(query[key])[:LONGEST].replace("\r\n", "\n") for key in TEXTS if key in query}
        form = cls.blank(**given)
        form.status, form.confidence_in = query.getlist("status")[:8], query.getlist("confidence_in")[:8]
        form.boxes = {key for key in OPEN_LISTS if f"{key}_given" in query}
        form.meeting = Meeting.posted(query)
        return form

    # --- as the document has it ---------------------------------------------------------------------------------------
    def given(self) -> dict[str, Any]:
        """Fields of the expectation but its name; None is left out of the document."""
        kind = self.texts["kind"]
        asked = {"query": self._query, "activity": self._activity, "search": self._search}
        return {key: read() if key == kind else None for key, read in asked.items()} | {
            "scope": None if self.texts["scope"] == "default" else self.texts["scope"],
            "max_hits": _counted(self.texts["max_hits"]),
            "offline": _lines(self.texts["offline"]) or None,
            "endpoint": self.texts["endpoint"].strip() or None,
            "note": self.texts["note"].strip() or None,
            "expect": self.expected(),
        }

    def _query(self) -> str:
        return self.texts["query"].strip()

    def _activity(self) -> dict[str, Any]:
        found: dict[str, Any] = {key: self.texts[key].strip() for key in ("goal", "phase", "activity")}
        return found | {
            key: value
            for key, value in (
                ("outcome", self.texts["outcome"].strip()),
                ("input_kinds", _lines(self.texts["input_kinds"])),
            )
            if value
        }

    def _search(self) -> Any:
        try:
            return json.loads(self.texts["search"])
        except ValueError:
            return self.texts["search"]

    def expected(self) -> dict[str, Any]:
        note = {"note": self.texts["expect_note"].strip()} if self.texts["expect_note"].strip() else {}
        if self.texts["kind"] == "search":
            return {"tool": self.texts["tool"].strip() or None} | note
        found: dict[str, Any] = {"status": self.status} if self.status else {}
        if self.texts["recommends"] != "any":
            named = self.texts["recommendation"].strip()
            found["recommendation"] = named if self.texts["recommends"] == "this" else None
        for key in (*LISTS, *OPEN_LISTS):
            lines = _lines(self.texts[key])
            if lines or key in self.boxes:
                found[key] = lines
        for key, tools in TOPS.items():
            named_tools = _lines(self.texts[tools])
            if named_tools or self.texts[key].strip():
                found[key] = {"k": _counted(self.texts[key]) or 1, "tools": named_tools}
        found |= {key: self.texts[key] == "yes" for key in FLAGS if self.texts[key] in ("yes", "no")}
        if self.confidence_in:
            found["confidence_in"] = self.confidence_in
        if self.texts["alternatives_max"].strip():
            found["alternatives_max"] = _counted(self.texts["alternatives_max"])
        return found | note

    # --- what is wrong with it ----------------------------------------------------------------------------------------
    def check(self, *, is_new: bool = False) -> bool:
        """Note what the registry would not say in words that fit a form; whether there was nothing.

        The registry takes a text that says nothing; whoever makes a new one has forgotten it.
        """
        if is_new:
            asked = {"query": ("query",), "activity": ("goal", "phase", "activity")}.get(self.texts["kind"], ())
            self.problems |= {key: "Type what is asked." for key in asked if not self.texts[key].strip()}
        if self.texts["kind"] == "search":
            self._check_search()
        if self.texts["recommends"] == "this" and not self.texts["recommendation"].strip():
            self.problems["recommendation"] = "Name the tool, or say that any will do."
        return not self.problems

    def keep_graph(self) -> None:
        """Of the body of a search, what an expectation keeps of it: not how far it looks, nor for whom."""
        try:
            graph = json.loads(self.texts["search"])
        except ValueError:
            return
        if isinstance(graph, dict):
            kept = {key: value for key, value in graph.items() if key in GRAPH_KEYS}
            self.texts["search"] = json.dumps(kept, ensure_ascii=False, indent=2)

    def _check_search(self) -> None:
        try:
            graph = json.loads(self.texts["search"])
        except ValueError as error:
            self.problems["search"] = f"This is no JSON: {error}."
            return
        if not isinstance(graph, dict):
            self.problems["search"] = "It must be an object with root_state, states and transitions."
        elif problems := graph_problems(graph):
            self.problems["search"] = " ".join(
                sentence(f"{one.get('path') or 'It'}", {**one, "value": None}) for one in problems[:5]
            )

    def note(self, problem: str) -> None:
        self.problems["general"] = problem

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        """Put each problem beside the field that it is about."""
        for detail in details:
            place = _place(str(detail.get("path", "")))
            self.problems[place] = f"{self.problems.get(place, '')} {sentence('It', detail)}".strip()

    def take(self, name: str, other: ExpectationForm) -> None:
        """A field of the document as another form has it; what is asked and what must come out go as wholes."""
        if name == "expect":
            self.status, self.confidence_in, self.boxes = other.status, other.confidence_in, other.boxes
        keys: tuple[str, ...] = (
            ASKED if name in ("query", "activity", "search") else WANTED if name == "expect" else (name,)
        )
        self.texts |= {key: other.texts[key] for key in keys}

    def fields(self) -> list[tuple[str, str]]:
        """As it would be posted."""
        lists = [("status", one) for one in self.status] + [("confidence_in", one) for one in self.confidence_in]
        return [*self.texts.items(), *lists, *((f"{key}_given", "on") for key in sorted(self.boxes))]

    # --- for the template ---------------------------------------------------------------------------------------------
    @property
    def has_more(self) -> bool:
        """Whether something is said that stands in the folded part."""
        keys = (*LISTS[1:], *TOPS, *TOPS.values(), *FLAGS, "recommendation_in", "alternatives_max", "expect_note")
        said = any(self.texts[key] for key in keys) or bool(self.confidence_in or self.boxes)
        return said or bool({*keys, *OPEN_LISTS, "confidence_in"} & set(self.problems))


def _place(path: str) -> str:
    head, _, rest = path.partition(".")
    head, inner = head.split("[")[0], rest.split(".")[0].split("[")[0]
    if head == "expect" and inner in TOPS:
        return TOPS[inner] if "tools" in rest else inner
    if head == "expect" and inner:
        return "expect_note" if inner == "note" else inner
    if head == "activity" and inner:
        return inner
    return PLACES.get(head, head if head in TEXTS else "general")


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _written(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else str(value) if value is not None else ""


def _number(value: Any) -> str:
    return "" if value is None else str(value)


def _counted(text: str) -> Any:
    """The number that a text says; what says none is handed on, for the registry to refuse in words."""
    text = text.strip()
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 12 else text or None
