"""Forms of the capability page: one text, or several with one on each line; and the form of a new capability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from control.web.forms.endpoints import TextForm, sentence


@dataclass(slots=True, kw_only=True)
class LinesForm(TextForm):
    """Words or phrases, each on its own line; a phrase may hold a comma."""

    def lines(self) -> list[str]:
        """Each once, in order, without the empty ones and with single spaces."""
        return lines_of(self.value)


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
