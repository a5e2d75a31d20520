"""Forms of the policy page: one setting, or the execution rules. What cannot be read goes on as text, for the registry to refuse."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, QueryDict

from control.web.forms.endpoints import read_mark, sentence
from routing.engine.policies import Setting

INHERITED = "as inherited"
FACTS = ("verdict", "effect", "risk", "category", "tool", "endpoint", "min_confidence")
MOST_RULES = 200


def read_value(text: str, setting: Setting) -> Any:
    """A posted text as a value of the setting's type; the text itself when it is none."""
    match setting.type:
        case "flag":
            return {"true": True, "false": False}.get(text, text)
        case "integer" | "number":
            return _number(text)
        case "names" | "endpoints" | "choices":
            return [word for part in text.replace(",", "\n").splitlines() if (word := part.strip())]
        case "aliases":
            return {left.strip(): right.strip() for left, _, right in _pairs(text)}
        case _:
            return text


def shown(value: Any) -> str:
    """A value as its field shows it, and as `read_value` reads it back."""
    if value is None or value == INHERITED:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "\n".join(f"{key} = {meant}" for key, meant in value.items())
    return "\n".join(value) if isinstance(value, list | tuple) else str(value)


def _pairs(text: str) -> list[tuple[str, str, str]]:
    return [line.partition("=") for line in text.splitlines() if line.strip()]


def _number(text: str) -> Any:
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text


@dataclass(slots=True, kw_only=True)
class SettingForm:
    """One setting of a policy; empty means as inherited."""

    value: str
    read: str = ""
    problem: str = ""
    saved: bool = False

    @classmethod
    def posted(cls, query: QueryDict) -> SettingForm:
        text = "" if query.get("do") == "inherit" else query.get("value", "")[:65536].replace("\r\n", "\n").strip()
        return cls(value=text, read=read_mark(query))

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        self.problem = " ".join(sentence("It", detail) for detail in details)


@dataclass(slots=True, kw_only=True)
class RulesForm:
    """Execution rules in their order. A rule without a verdict is not one yet and is not saved."""

    rules: list[dict[str, str]]
    read: str = ""
    problem: str = ""  # of no single field
    saved: bool = False
    focus: int | None = None
    inherit: bool = False  # give up the policy's own list
    problems: dict[tuple[int, str], str] = field(default_factory=dict)  # (place on the page, field) -> what is wrong

    @classmethod
    def of(cls, rules: Sequence[Mapping[str, Any]], read: str) -> RulesForm:
        return cls(rules=[{fact: str(rule.get(fact, "")) for fact in FACTS} for rule in rules], read=read)

    @classmethod
    def posted(cls, request: HttpRequest) -> RulesForm:
        query = request.POST
        columns = [query.getlist(fact)[:MOST_RULES] for fact in FACTS]
        rules = [
            dict(zip(FACTS, (text.strip()[:400] for text in row), strict=True)) for row in zip(*columns, strict=False)
        ]
        form = cls(rules=rules, read=read_mark(query))
        form._act(query.get("do", ""))
        return form

    def _act(self, wanted: str) -> None:
        verb, _, place = wanted.partition(":")
        if verb == "inherit":
            self.inherit = True
        elif verb == "add" and len(self.rules) < MOST_RULES:
            self.rules.append(dict.fromkeys(FACTS, ""))
            self.focus = len(self.rules) - 1
        elif place.isdecimal() and int(place) < len(self.rules):
            self._act_on(verb, int(place))

    def _act_on(self, verb: str, place: int) -> None:
        if verb == "remove":
            del self.rules[place]
            return
        other = place + {"up": -1, "down": 1}.get(verb, 0)
        if other != place and 0 <= other < len(self.rules):
            self.rules[place], self.rules[other] = self.rules[other], self.rules[place]
            self.focus = other

    @property
    def places(self) -> list[int]:
        """Where on the page each rule stands that is one."""
        return [place for place, rule in enumerate(self.rules) if rule["verdict"]]

    def cleaned(self) -> list[dict[str, Any]]:
        return [_rule(self.rules[place]) for place in self.places]

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        others = [detail for detail in details if not self._refuse_field(detail)]
        self.problem = " ".join(sentence("A rule", detail) for detail in others)

    def _refuse_field(self, detail: Mapping[str, Any]) -> bool:
        """Put a problem beside its field; false when it is of none."""
        met = _FIELD.fullmatch(str(detail.get("path", "")))
        if met is None or int(met[1]) >= len(self.places) or met[2] not in FACTS:
            return False
        self.problems[self.places[int(met[1])], met[2]] = sentence("It", detail)
        return True


_FIELD = re.compile(r"execution\.rules\[(\d+)\]\.(\w+)")


def _rule(given: Mapping[str, str]) -> dict[str, Any]:
    rule: dict[str, Any] = {fact: text for fact, text in given.items() if text}
    if "min_confidence" in rule:
        rule["min_confidence"] = _number(rule["min_confidence"])
    return rule
