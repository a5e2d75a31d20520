"""What the console says about shadow policies: kinds of difference, figures against bars, why one ended."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from control.web import words
from routing.choices import ShadowEnd
from routing.engine.shadow_policy import (
    ASKS_OTHERWISE,
    BROKEN,
    NEEDS_ENCODER,
    NO_ANSWER,
    NOBODY_ASKED,
    NOT_REPRODUCED,
    OF_SESSION,
    RANKS_OTHERWISE,
)
from routing.models import ShadowPolicy

KINDS: Mapping[str, tuple[str, str]] = {
    "other_choice": ("Another tool", "The same kind of answer, with another tool."),
    "would_fall_back": ("Would fall back", "A tool was selected; the planner would decide."),
    "would_not_fall_back": ("Would no longer fall back", "The planner decided; a tool would be selected."),
    "other_fallback": ("Another fallback", "The planner decides both times, once with a proposal to confirm."),
    "would_be_confident": ("Would be confident", "The answer was not confident; it would be."),
    "would_be_ambiguous": ("Would be ambiguous", "The alternatives would have to be compared."),
    "would_be_no_match": ("Would be no match", "A tool was named; none would be."),
    "other_verdict": ("Another execution verdict", "The same tool; whether it may be run would be answered otherwise."),
}
WHY_NOT: Mapping[str, str] = {
    ASKS_OTHERWISE: "The draft asks its providers something else, and nobody is asked for a comparison.",
    NOBODY_ASKED: "No provider was asked, and the draft would ask one.",
    NO_ANSWER: "It would take an answer that no provider gave.",
    RANKS_OTHERWISE: "The draft ranks otherwise, and no text is kept to rank again.",
    NEEDS_ENCODER: "The draft would ask the encoder of the deep tier as well.",
    OF_SESSION: "A session refused it, which hangs on what came before in that session.",
    NOT_REPRODUCED: "What was taken along does not lead to the answer that was given.",
    BROKEN: "It could not be judged again.",
}
MEASURES = {
    "confidence": "confidence",
    "probability": "chance",
    "match_probability": "chance that anything fits",
    "gap": "gap",
}


def side(told: Mapping[str, Any]) -> dict[str, Any]:
    """One answer of a difference: verdicts, target, reason and the figure beside the bar."""
    return {
        "status": told["status"],
        "target": told["target"] or told["proposed"] or "",
        "is_proposal": not told["target"] and bool(told["proposed"]),
        "verdict": told["verdict"] or "",
        "reason": told["reason"],
        "sentence": words.reason(told["reason"]).sentence if told["reason"] in words.REASONS else "",
        "figure": _figure(told),
    }


def _figure(told: Mapping[str, Any]) -> str:
    """ "confidence 0.72, below the bar 0.85" """
    if told["value"] is None or told["bar"] is None or told["measure"] not in MEASURES:
        return ""
    reached = told["value"] >= told["bar"]
    place = "the bar {:g} is reached" if reached else "below the bar {:g}"
    return f"{MEASURES[told['measure']]} {told['value']:.4g}, {place.format(told['bar'])}"


def left(until: datetime, now: datetime) -> str:
    """ "6 days", "3 hours", "less than an hour" """
    hours = (until - now).total_seconds() / 3600
    if hours < 1:
        return "less than an hour"
    number, word = (round(hours), "hour") if hours < 48 else (round(hours / 24), "day")
    return f"{number} {word}{'' if number == 1 else 's'}"


def ended(row: ShadowPolicy, *, with_these: bool) -> str:
    """Why it scores no more; empty while it does. `with_these`: its values are those that are live."""
    match row.ended_because:
        case ShadowEnd.PUBLISHED:
            which = "with these values" if with_these else "with other values"
            return f"It ended when the policy was published; it is live {which} now."
        case ShadowEnd.TIME:
            return "It ended when its time was over."
        case ShadowEnd.REMOVED:
            return "It ended when the policy was removed from what is live."
        case ShadowEnd.STOPPED:
            return f"{row.ended_by} stopped it."
    return ""
