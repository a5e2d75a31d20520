"""Forms of an endpoint's fields: all of them, or a few; read into the words of the registry document."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from control.web.forms.endpoint_fields import ANEW, FIELDS, GROUPS, Field, Unreadable, plain
from control.web.forms.endpoints import read_mark, sentence
from control.web.whole import Meeting

LONGEST = 1_000_000


@dataclass(slots=True, kw_only=True)
class EndpointForm:
    """What was typed, as text, and what is wrong with it. `before` is the endpoint that is edited; None for a new one."""

    values: dict[str, str]
    before: Mapping[str, Any] | None = None
    sent: Collection[str]  # fields that the form had; what was not sent stays as it is
    is_posted: bool = False
    meeting: Meeting = field(default_factory=Meeting)
    dropped: set[str] = field(default_factory=set)  # of those that are entered anew
    problems: dict[str, list[str]] = field(default_factory=dict)
    general: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, body: Mapping[str, Any] | None, *, is_new: bool = False) -> EndpointForm:
        body = body or {"kind": "mcp"}
        values = {key: "" if key in ANEW and is_new else one.shown(body) for key, one in FIELDS.items()}
        return cls(values=values, before=None if is_new else body, sent=FIELDS)

    @classmethod
    def posted(cls, query: QueryDict, before: Mapping[str, Any] | None) -> EndpointForm:
        sent = {key for key in FIELDS if _was_sent(query, key)}
        form = cls(values={}, before=before, sent=sent, is_posted=True, meeting=Meeting.posted(query))
        shown = {key: one.shown(before) for key, one in FIELDS.items() if key not in ANEW} if before else {}
        form.values = shown | {key: plain(query.get(key, "")[:LONGEST]) for key in sent if key in query}
        form.dropped = {key for key in ANEW if query.get(f"drop-{key}")}
        return form

    def given(self) -> dict[str, Any]:
        """The fields that were sent; what cannot be read is said beside its field and left out."""
        found: dict[str, Any] = {}
        for key in self.sent:
            if key == "name":
                continue
            try:
                found[key] = None if key in self.dropped else FIELDS[key].read(self.values.get(key, ""))
            except Unreadable as error:
                self.say(key, str(error))
        return found

    def take(self, name: str, other: EndpointForm) -> None:
        self.values[name] = "" if name in ANEW else other.values[name]

    def say(self, key: str, words: str) -> None:
        said = self.problems.setdefault(key, [])
        if words not in said:
            said.append(words)

    def note(self, problem: str) -> None:
        self.general.append(problem)

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        """Put each problem beside the field that it is about."""
        for detail in details:
            path = str(detail.get("path", ""))
            head = path.split(".")[0].split("[")[0]
            key = next((one.key for one in FIELDS.values() if path == one.path), head)
            if key in FIELDS:
                self.say(key, sentence("It", detail))
            else:
                self.general.append(sentence(path or "This", detail))

    @property
    def fields(self) -> list[dict[str, Any]]:
        """For the template: groups of fields with what is to be said about each."""
        return [
            {"title": title, "fields": [self.line(one) for one in group if one.key != "name" or self.before is None]}
            for title, group in GROUPS
        ]

    def line(self, one: Field) -> dict[str, Any]:
        held = (self.before or {}).get(one.key) if one.key in ANEW else None
        problems = self.problems.get(one.key, [])
        return {
            "key": one.key,
            "id": one.key,
            "field": one,
            "value": "" if one.key in ANEW and not self.is_posted else self.values.get(one.key, ""),
            "problems": problems,
            "kept": (held if isinstance(held, str) else ", ".join(held)) if held else "",
            "drop": one.key in self.dropped,
            "sides": self.meeting.conflicts.get(one.key),
        }


@dataclass(slots=True, kw_only=True)
class FieldForm:
    """One field by itself. With a URL, what was entered for the old one may be sent anew."""

    key: str
    form: EndpointForm
    given: dict[str, Any]
    read: str = ""
    saved: bool = False

    @classmethod
    def of(cls, key: str, body: Mapping[str, Any], read: str) -> FieldForm:
        return cls(key=key, form=EndpointForm.of(body), given={}, read=read)

    @classmethod
    def posted(cls, key: str, query: QueryDict, before: Mapping[str, Any]) -> FieldForm:
        form = EndpointForm.posted(query, before)
        form.sent = {one for one in form.sent if one == key or (key == "url" and one in ANEW)}
        return cls(key=key, form=form, given=form.given(), read=read_mark(query))

    @property
    def value(self) -> Any:
        """What the field should be; what it is, where nothing was entered."""
        return self.given[self.key] if self.key in self.given else value_of(self.key, self.form.before or {})

    @property
    def is_unreadable(self) -> bool:
        return bool(self.form.problems)

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        self.form.refuse(details)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The field, and behind a URL those that have to be entered again for it."""
        problems = self.form.problems
        anew = [key for key in ANEW if key in problems or self.form.values.get(key)] if self.form.is_posted else []
        keys = [self.key, *(anew if self.key == "url" and not self.saved else [])]
        # The page has a part for each of these as well, whose field has the id of its key.
        ids = [key if key == self.key else f"{self.key}-{key}" for key in keys]
        return [self.form.line(FIELDS[key]) | {"id": id_} for key, id_ in zip(keys, ids, strict=True)]

    @property
    def general(self) -> list[str]:
        """What is wrong and is about another field."""
        shown = {line["key"] for line in self.lines}
        others = [said for key, said in self.form.problems.items() if key not in shown]
        return [*self.form.general, *(one for said in others for one in said)]


def value_of(key: str, body: Mapping[str, Any]) -> Any:
    return FIELDS[key].read(FIELDS[key].shown(body))


def words(key: str, value: Any) -> Any:
    """A value as the field shows it, or a list that is empty; of headers their names alone."""
    return (
        list(value or ())
        if key == "headers"
        else FIELDS[key].shown({} if value is None else document({key: value}, {})) or []
    )


def _was_sent(query: QueryDict, key: str) -> bool:
    """What is entered anew and was left empty is left as it is."""
    return f"drop-{key}" in query or (key in query and (key not in ANEW or bool(query.get(key, "").strip())))


def document(given: Mapping[str, Any], features: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the form as those of the document; `features` are what the endpoint has of them now."""
    found = {key: value for key, value in given.items() if FIELDS[key].kind != "known"}
    known = {FIELDS[key].path.partition(".")[2]: value for key, value in given.items() if FIELDS[key].kind == "known"}
    if known:
        found["features"] = {key: value for key, value in {**features, **known}.items() if value is not None} or None
    return found
