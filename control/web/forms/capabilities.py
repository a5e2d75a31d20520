"""Forms of the capability page: one text, or several with one on each line; and the form of a new capability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict

from control.web.forms.endpoints import TextForm, read_mark, sentence


@dataclass(slots=True, kw_only=True)
class LinesForm(TextForm):
    """Words or phrases, each on its own line; a phrase may hold a comma."""

    def lines(self) -> list[str]:
        """Each once, in order, without the empty ones and with single spaces."""
        return lines_of(self.value)


@dataclass(slots=True, kw_only=True)
class PreferForm(LinesForm):
    """Names of endpoints in an order; `do` adds what is in `add`, removes one, or moves it: `up:2`."""

    values: list[str]
    add: str = ""

    @classmethod
    def posted(cls, query: QueryDict) -> PreferForm:
        read = read_mark(query)
        form = cls(value="", values=list(dict.fromkeys(query.getlist("value"))), read=read)
        verb, _, place = query.get("do", "").partition(":")
        form.add = query.get("add", "")[:200].strip() if verb == "add" else ""
        if form.add and form.add not in form.values:
            form.values.append(form.add)
        if place.isdecimal() and int(place) < len(form.values):
            form._move(verb, int(place))
        return form

    def _move(self, verb: str, place: int) -> None:
        name = self.values.pop(place)
        if verb != "remove":
            self.values.insert(max(place + {"up": -1, "down": 1}.get(verb, 0), 0), name)

    def lines(self) -> list[str]:
        return self.values

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        """What was to be added goes back to its field."""
        TextForm.refuse(self, details)
        self.values = [name for name in self.values if name != self.add]


@dataclass(slots=True, kw_only=True)
class DeprecationForm(TextForm):
    """Whether a capability is deprecated (`value`: "yes" or nothing), and what is to be used instead."""

    instead: str = ""

    @classmethod
    def posted(cls, query: QueryDict) -> DeprecationForm:
        form = cls(value=query.get("value", ""), read=read_mark(query))
        form.instead = query.get("instead", "")[:200].strip() if form.value else ""
        return form


def lines_of(text: str) -> list[str]:
    return list(dict.fromkeys(line for part in text.splitlines() if (line := " ".join(part.split()))))


class NewForm(forms.Form):
    name = forms.CharField(label="Name", max_length=64)
    description = forms.CharField(label="Description", max_length=65536, required=False)
    synonyms = forms.CharField(label="Synonyms", max_length=65536, required=False)
    keywords = forms.CharField(label="Keywords", max_length=65536, required=False)

    def document(self) -> dict[str, Any]:
        """The new entry of the registry, without what was left empty."""
        given = self.cleaned_data
        said = {
            "name": given["name"],
            "description": given["description"],
            "synonyms": lines_of(given["synonyms"]),
            "keywords": lines_of(given["keywords"]),
        }
        return {key: value for key, value in said.items() if value}

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        """Put what the registry found wrong beside the field that it is about, and on top what is about no field."""
        placed = [(str(detail.get("path", "")).partition("[")[0], sentence("It", detail)) for detail in details]
        beside = [(field, said) for field, said in placed if field in self.fields]
        for field, said in beside or placed:
            self.add_error(field if beside else None, said)
