"""Forms of a canary: whom it is for, within which bounds, and why it is stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django import forms

from control.web.forms.publish import LONGEST, PublishForm
from routing.choices import CanaryEnd
from routing.engine.canary import MEASURES
from routing.services.canaries.starting import (
    LEAST_MINIMUM,
    MOST_MINIMUM,
    MOST_PERCENT,
    USUAL_BOUND,
    USUAL_MINIMUM,
    WIDEST_BOUND,
    Terms,
)
from routing.services.canaries.starting import LONGEST as LASTS_LONGEST

USUAL_POINTS = f"{USUAL_BOUND * 100:g}"
SCOPES, SHARE = "scopes", "share"
_MOST_HOURS = LASTS_LONGEST.days * 24
_HOURS = f"Give hours between 0.1 and {_MOST_HOURS:,}, or nothing to let it run until somebody decides."
_SHARE = f"Give a whole number of percent from 1 to {MOST_PERCENT}."
_MINIMUM = f"Give a whole number from {LEAST_MINIMUM} to {MOST_MINIMUM:,}."


def _points() -> forms.FloatField:
    said = f"Give percentage points from 0 to {WIDEST_BOUND * 100:g}."
    return forms.FloatField(
        min_value=0,
        max_value=WIDEST_BOUND * 100,
        required=False,
        error_messages={"invalid": said, "min_value": said, "max_value": said},
    )


class CanaryForm(PublishForm):
    """A message and what was seen, as for a publication, and the terms of the canary."""

    audience = forms.ChoiceField(
        choices=[(SCOPES, SCOPES), (SHARE, SHARE)], error_messages={"required": "Choose whom it answers first."}
    )
    scopes = forms.MultipleChoiceField(required=False)
    percent = forms.IntegerField(
        min_value=1,
        max_value=MOST_PERCENT,
        required=False,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _SHARE),
    )
    no_match = _points()
    fallback = _points()
    failure = _points()
    minimum = forms.IntegerField(
        min_value=LEAST_MINIMUM,
        max_value=MOST_MINIMUM,
        required=False,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _MINIMUM),
    )
    hours = forms.FloatField(
        min_value=0.1,
        max_value=_MOST_HOURS,
        required=False,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _HOURS),
    )
    at_end = forms.ChoiceField(choices=CanaryEnd.choices, required=False)

    def __init__(self, data: Any = None, *, known: Sequence[str] = ()) -> None:
        super().__init__(data)
        scopes = self.fields["scopes"]
        assert isinstance(scopes, forms.MultipleChoiceField)
        scopes.choices = [(name, name) for name in known]
        scopes.error_messages["invalid_choice"] = "%(value)s is no scope of what is live."

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if given.get("audience") == SCOPES and not given.get("scopes") and "scopes" not in self.errors:
            self.add_error("scopes", "Choose at least one scope.")
        if given.get("audience") == SHARE and given.get("percent") is None and "percent" not in self.errors:
            self.add_error("percent", _SHARE)
        return given

    def terms(self) -> Terms:
        """What was asked for, with what is usual where nothing was said."""
        given = self.cleaned_data
        chosen = given["audience"] == SCOPES
        return Terms(
            scopes=tuple(given["scopes"]) if chosen else (),
            percent=None if chosen else given["percent"],
            bounds={name: given[name] / 100 for name in MEASURES if given[name] is not None},
            minimum=USUAL_MINIMUM if given["minimum"] is None else given["minimum"],
            lasts=None if given["hours"] is None else timedelta(hours=given["hours"]),
            at_end=given["at_end"] or CanaryEnd.STOP.value,
        )

    def take(self, details: Sequence[Mapping[str, Any]], message: str) -> None:
        """Put what the service refuses beside its field."""
        for one in details:
            named = str(one.get("path"))
            self.add_error(named if named in self.fields else None, f"{one['message']}.".capitalize())
        if not details:
            self.add_error(None, message)


class StopForm(forms.Form):
    reason = forms.CharField(
        max_length=LONGEST, required=False, error_messages={"max_length": f"Keep it within {LONGEST:,} characters."}
    )
