"""Forms of the endpoint page. Each edits one part of an endpoint; what the registry says about a value is shown beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

MOST = 40  # texts in one form; the registry's own limits are lower and say so in words
LONGEST = 8192
LONGEST_MARK = 4096  # of a list it has a mark for each element
_SPACE = re.compile(r"\s+")
_WHOLE = re.compile(r"(a|another|unknown)\b")  # how a problem begins that has its own subject
_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_PLACE = re.compile(r"\[(\d+)\]$")


def one_line(text: str) -> str:
    """A hint is one line: line breaks of the text field become spaces."""
    return _SPACE.sub(" ", text[:LONGEST]).strip()


def read_mark(query: QueryDict) -> str:
    """The mark of what the person has seen: of the page, or of the other side of a conflict that they decided."""
    return (query.get("keep") or query.get("read", ""))[:LONGEST_MARK]


@dataclass(slots=True, kw_only=True)
class ListForm:
    """Several short texts in an order: hints of an endpoint or of one of its tools."""

    values: list[str]
    read: str = ""  # mark of the part as it was when the page was made
    problems: dict[int, str] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    general: list[str] = field(default_factory=list)
    focus: int | None = None
    saved: bool = False
    acted: bool = False  # a button was pressed, rather than a field left

    @classmethod
    def of(cls, values: Iterable[str], read: str) -> ListForm:
        form = cls(values=list(values), read=read)
        form.remark()
        return form

    @classmethod
    def posted(cls, query: QueryDict) -> ListForm:
        form = cls(values=[one_line(text) for text in query.getlist("hint")[:MOST]], read=read_mark(query))
        form.acted = "do" in query
        form._act(query.get("do", ""))
        form.remark()
        return form

    def _act(self, wanted: str) -> None:
        verb, _, place = wanted.partition(":")
        if verb == "add":
            self.values.append("")
            self.focus = len(self.values) - 1
        elif place.isdecimal() and int(place) < len(self.values):
            self._act_on(verb, int(place))

    def _act_on(self, verb: str, place: int) -> None:
        if verb == "remove":
            del self.values[place]
            self.focus = min(place, len(self.values) - 1) if self.values else None
        other = place + {"up": -1, "down": 1}.get(verb, 0)
        if other != place and 0 <= other < len(self.values):
            self.values[place], self.values[other] = self.values[other], self.values[place]
            self.focus = other

    def remark(self) -> None:
        """Advice that blocks nothing."""
        self.notes = {
            place: "One word rarely tells one tool from another. Write what someone wants to do."
            for place, value in enumerate(self.values)
            if value and " " not in value
        }

    def cleaned(self) -> list[str]:
        """What would be saved: a field that is still empty is not a hint yet."""
        return [value for value in self.values if value]

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        """Put each problem beside the text that it is about."""
        kept = [place for place, value in enumerate(self.values) if value]
        for detail in details:
            place = _PLACE.search(str(detail.get("path", "")))
            if place and int(place[1]) < len(kept):
                self.problems[kept[int(place[1])]] = sentence("This hint", detail)
            else:
                self.general.append(sentence("The list", detail))
        if self.acted:  # whoever went on to another field is not called back
            self.focus = min(self.problems, default=self.focus)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Each text with its place and what is to be said about it, for the template."""
        last = len(self.values) - 1
        return [
            {
                "place": place,
                "number": place + 1,
                "value": value,
                "problem": self.problems.get(place),
                "note": self.notes.get(place) if place not in self.problems else None,
                "focus": place == self.focus,
                "first": place == 0,
                "last": place == last,
            }
            for place, value in enumerate(self.values)
        ]


@dataclass(slots=True, kw_only=True)
class TextForm:
    """One text: the description, or the tags with commas between them."""

    value: str
    read: str = ""
    problem: str = ""
    saved: bool = False

    @classmethod
    def posted(cls, query: QueryDict) -> TextForm:
        return cls(value=query.get("value", "")[:65536].replace("\r\n", "\n").strip(), read=read_mark(query))

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        self.problem = " ".join(sentence("It", detail) for detail in details)

    def tags(self) -> list[str]:
        return list(dict.fromkeys(tag for part in self.value.split(",") if (tag := part.strip())))


def sentence(subject: str, detail: Mapping[str, Any]) -> str:
    """A problem of the registry in words: what is wrong, and what is allowed."""
    said = str(detail.get("message", "cannot be saved")).rstrip(".")
    value = detail.get("value")
    if _NAME.match(said):  # it names the fields that it is about, as the page does
        return f"{said}."
    subject = f"“{value}”" if isinstance(value, str) and 0 < len(value) <= 40 and subject == "It" else subject
    allowed = detail.get("allowed")
    shown = ", ".join(map(str, allowed)) if isinstance(allowed, list | tuple) else allowed
    whole = f"{said[:1].upper()}{said[1:]}" if _WHOLE.match(said) else f"{subject} {said}"
    return f"{whole}." + (f" Allowed: {shown}." if shown and str(shown) not in said else "")
