"""The form that publishes a draft."""

from __future__ import annotations

from django import forms

LONGEST = 2000


class PublishForm(forms.Form):
    message = forms.CharField(
        max_length=LONGEST,
        error_messages={
            "required": "Say in a sentence what changes and why. It stays with the revision.",
            "max_length": f"Keep it within {LONGEST:,} characters.",
        },
    )
    seen = forms.CharField(max_length=100, required=False)  # digest of the draft that the person looked at
