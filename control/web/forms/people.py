"""Forms about people and keys. What services refuse is put beside the field that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordMixin
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from control.access import DEFAULT_RIGHTS, RIGHTS
from control.invitations import LONGEST_DAYS, USUAL_DAYS
from control.keys import LONGEST_OVERLAP_H
from control.models import Role

ROLE_WORDS = {
    Role.VIEWER: "Viewer: looks, changes nothing",
    Role.EDITOR: "Editor: edits the draft and makes keys",
    Role.REVIEWER: "Reviewer: approves and publishes",
    Role.ADMINISTRATOR: "Administrator: all of it, people included",
    Role.AUDITOR: "Auditor: reads decisions and the audit log",
}


def refuse(form: forms.Form, details: Iterable[Mapping[str, Any]], message: str) -> None:
    """Put what a service refused beside its fields; what belongs to none of them stands above the form."""
    placed = False
    for detail in details:
        name = str(detail.get("path", ""))
        said = str(detail.get("message", message))
        sentence = said if said.endswith(".") else f"{said[:1].upper()}{said[1:]}."
        if detail.get("allowed") and "allowed" not in said:
            sentence += f" Allowed: {detail['allowed']}."
        form.add_error(name if name in form.fields else None, sentence)
        placed = True
    if not placed:
        form.add_error(None, message)


class InviteForm(forms.Form):
    label = forms.CharField(label="For whom", max_length=200, error_messages={"required": "Say for whom it is."})
    role = forms.ChoiceField(choices=list(ROLE_WORDS.items()), initial=Role.VIEWER)
    days = forms.IntegerField(
        label="Valid for, days",
        min_value=1,
        max_value=LONGEST_DAYS,
        initial=USUAL_DAYS,
        error_messages={
            "invalid": f"Give a whole number from 1 to {LONGEST_DAYS}.",
            "min_value": f"Give a whole number from 1 to {LONGEST_DAYS}.",
            "max_value": f"Give a whole number from 1 to {LONGEST_DAYS}.",
        },
    )


class JoinForm(SetPasswordMixin, forms.Form):  # type: ignore[type-arg]
    """Name and password of a new account."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        error_messages={"required": "Choose a user name."},
    )
    password1, password2 = SetPasswordMixin.create_password_fields(label1="Password", label2="Password again")

    def clean_username(self) -> str:
        name: str = get_user_model().normalize_username(self.cleaned_data["username"])
        if name in {".", ".."}:  # no address can name it: a browser takes these for steps of the path
            raise ValidationError("Choose a name with a letter or a digit in it.")
        if get_user_model().objects.filter(username__iexact=name).exists():
            raise ValidationError("That name is taken. Choose another, or sign in first if it is yours.")
        return name

    def clean(self) -> dict[str, Any] | None:
        self.validate_passwords()
        self.validate_password_for_user(get_user_model()(username=self.cleaned_data.get("username", "")), "password1")
        return super().clean()


class PasswordForm(PasswordChangeForm):
    """The old password and the new one twice."""


class WorkspaceForm(forms.Form):
    name = forms.CharField(max_length=64, error_messages={"required": "Give it a name."})
    title = forms.CharField(max_length=200, required=False)


class KeyForm(forms.Form):
    name = forms.CharField(max_length=200, required=False)
    scope = forms.ChoiceField()
    rights = forms.MultipleChoiceField(
        choices=[(right, right) for right in RIGHTS],
        initial=list(DEFAULT_RIGHTS),
        error_messages={"required": "A key needs at least one right."},
    )
    expires = forms.IntegerField(
        label="Expires after, days",
        min_value=1,
        max_value=3650,
        required=False,
        error_messages={
            "invalid": "Give a whole number from 1 to 3650, or nothing for no end.",
            "min_value": "Give a whole number from 1 to 3650, or nothing for no end.",
            "max_value": "Give a whole number from 1 to 3650, or nothing for no end.",
        },
    )
    allowed_addresses = forms.CharField(max_length=4000, required=False)

    def __init__(self, *args: Any, scopes: Iterable[str] = (), grantable: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scope"].choices = [(name, name) for name in scopes]  # type: ignore[attr-defined]
        self.fields["rights"].choices = [(right, right) for right in RIGHTS if right in set(grantable)]  # type: ignore[attr-defined]

    def addresses(self) -> list[str]:
        return [
            part
            for line in self.cleaned_data["allowed_addresses"].splitlines()
            for part in line.replace(",", " ").split()
        ]


class RotateForm(forms.Form):
    seen = forms.CharField(widget=forms.HiddenInput, required=False)
    overlap = forms.IntegerField(
        label="The old key works on for, hours",
        min_value=0,
        max_value=LONGEST_OVERLAP_H,
        initial=24,
        error_messages={
            "invalid": f"Give a whole number from 0 to {LONGEST_OVERLAP_H}.",
            "min_value": f"Give a whole number from 0 to {LONGEST_OVERLAP_H}.",
            "max_value": f"Give a whole number from 0 to {LONGEST_OVERLAP_H}.",
        },
    )
