"""The form of a workspace's settings."""

from __future__ import annotations

from typing import Any

from django import forms

from routing.models import Workspace
from routing.sealing import keyed_digest
from routing.services.workspaces import MOST_APPROVALS, SETTINGS, destination

MOST_DESTINATIONS = 200


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
    message = forms.CharField(
        required=False, max_length=2000, error_messages={"max_length": "Keep it within 2,000 characters."}
    )
    read = forms.CharField(required=False, max_length=64)

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
