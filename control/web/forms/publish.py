"""Forms about what goes live: publish or propose a draft, review a proposal, restore a revision."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone

from routing.services.schedules import FURTHEST

LONGEST = 2000
_TOO_LONG = f"Keep it within {LONGEST:,} characters."


class PublishForm(forms.Form):
    message = forms.CharField(
        max_length=LONGEST,
        error_messages={
            "required": "Say in a sentence what changes and why. It stays with the revision.",
            "max_length": _TOO_LONG,
        },
    )
    seen = forms.CharField(max_length=100, required=False)  # digest of the draft that the person looked at
    emergency = forms.BooleanField(required=False)
    confirmed = forms.BooleanField(required=False)  # the person has read what will stop working
    override = forms.BooleanField(required=False)  # goes live although expectations are not met
    reason = forms.CharField(max_length=LONGEST, required=False, error_messages={"max_length": _TOO_LONG})

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("override") and not given.get("reason") and "reason" not in self.errors:
            self.add_error(
                "reason", "Say why it goes live although expectations are not met. It stays in the audit log."
            )
        return given


class ScheduleForm(PublishForm):
    """A message, what was seen, and when it goes live in the viewer's zone."""

    at = forms.DateTimeField(
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"],
        error_messages={
            "required": "Say when it should go live.",
            "invalid": "Give a date and a time that exist, such as 2026-12-01 22:30.",
        },
    )

    def clean_at(self) -> datetime:
        at: datetime = self.cleaned_data["at"]
        if at <= timezone.now():
            raise forms.ValidationError("This time is past. Give one that is still to come.")
        if at > timezone.now() + FURTHEST:
            raise forms.ValidationError("This is too far ahead. Give a time within a year from now.")
        return at


class ReviewForm(forms.Form):
    """One field for all that a reviewer says; which button was pressed says what it is."""

    verdict = forms.ChoiceField(choices=[("approve", "approve"), ("reject", "reject")])
    comment = forms.CharField(max_length=LONGEST, required=False, error_messages={"max_length": _TOO_LONG})
    seen = forms.CharField(max_length=100, required=False)  # digest of the draft that the person looked at

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("verdict") == "reject" and not given.get("comment") and "comment" not in self.errors:
            self.add_error("comment", "Say why, so that its author knows what to change.")
        return given


class CommentForm(forms.Form):
    comment = forms.CharField(
        max_length=LONGEST, error_messages={"max_length": _TOO_LONG, "required": "Write what you want to say."}
    )


class RestoreForm(forms.Form):
    message = forms.CharField(
        max_length=LONGEST,
        required=False,
        help_text="Why it comes back. Without one, the message names the revision.",
        error_messages={"max_length": _TOO_LONG},
    )
