"""The form of a workspace's settings."""

from __future__ import annotations

from typing import Any

from django import forms

from routing import sources
from routing.choices import SourceMode
from routing.models import Workspace
from routing.sealing import keyed_digest
from routing.services.workspaces import MOST_APPROVALS, SETTINGS, destination

MOST_DESTINATIONS = 200
MODE_WORDS = {
    SourceMode.READ_ONLY: "Read-only: edits in the console and by the API are refused",
    SourceMode.TWO_WAY: "Two-way: edits are made in both, and what is live can be written into the file",
}


class SettingsForm(forms.Form):
    title = forms.CharField(
        max_length=200, required=False, error_messages={"max_length": "Keep the title within 200 characters."}
    )
    approvals_needed = forms.IntegerField(
        min_value=0,
        max_value=MOST_APPROVALS,
        error_messages={
            "required": "Give a number; 0 asks for none.",
            "invalid": "Give a whole number.",
            "min_value": "It cannot be less than 0.",
            "max_value": f"At most {MOST_APPROVALS}.",
        },
    )
    self_approval = forms.BooleanField(required=False)
    allow_private = forms.CharField(required=False, max_length=20_000)
    record_queries = forms.BooleanField(required=False)
    source_file = forms.CharField(required=False, max_length=1000)
    source_mode = forms.ChoiceField(required=False, choices=list(MODE_WORDS.items()))
    source_proposes = forms.BooleanField(required=False)
    message = forms.CharField(
        required=False, max_length=2000, error_messages={"max_length": "Keep it within 2,000 characters."}
    )
    read = forms.CharField(required=False, max_length=64)

    def __init__(self, *args: Any, present: str = "", **kwargs: Any) -> None:
        """`present` is the file that is named already: it may stay, whatever the server allows by now."""
        super().__init__(*args, **kwargs)
        self.present = present

    @classmethod
    def of(cls, workspace: Workspace) -> SettingsForm:
        told = {name: getattr(workspace, name) for name in SETTINGS}
        return cls(
            initial=told | {"allow_private": "\n".join(workspace.allow_private), "read": cls.mark(workspace)},
        )

    @staticmethod
    def mark(workspace: Workspace) -> str:
        """A mark of the settings as somebody reads them, to notice that somebody else changed them since."""
        told = [getattr(workspace, name) for name in SETTINGS]
        return keyed_digest("workspace-settings", repr(told))[:16]

    def clean_source_file(self) -> str:
        given: str = self.cleaned_data["source_file"].strip()
        if given in ("", self.present):
            return given
        try:
            return sources.named(given)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def clean_source_mode(self) -> str:
        return self.cleaned_data["source_mode"] or SourceMode.READ_ONLY.value

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("source_proposes") and given.get("source_mode") != SourceMode.READ_ONLY:
            self.add_error("source_proposes", "Two-way, this would write over what people change. Switch it off.")
        if not given.get("source_file"):
            given["source_proposes"] = False
        return given

    def clean_allow_private(self) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data["allow_private"].splitlines() if line.strip()]
        if len(lines) > MOST_DESTINATIONS:
            raise forms.ValidationError(f"At most {MOST_DESTINATIONS} lines.")
        found, problems = [], []
        for line in lines:
            try:
                found.append(destination(line))
            except ValueError as error:
                problems.append(str(error))
        if problems:
            raise forms.ValidationError(problems)
        return list(dict.fromkeys(found))

    def changed(self, workspace: Workspace) -> dict[str, Any]:
        """The settings that the form says otherwise than they are."""
        given = {name: self.cleaned_data[name] for name in SETTINGS}
        return {name: value for name, value in given.items() if value != getattr(workspace, name)}
