"""What a harness is doing, as one query text, and the labels by which such a text is known again."""

from __future__ import annotations

import re
from collections.abc import Sequence

# How much each part of an assembled text says about the next tool: the present step most, the far goal least.
LABELS = {
    "current activity": 1.0,
    "desired outcome": 0.7,
    "phase": 0.6,
    "goal": 0.6,
    "available inputs": 0.4,
}
LABEL = re.compile(
    r"(?:^|(?<=[.;\n]))\s*(goal|phase|current activity|desired outcome|available inputs)\s*:", re.IGNORECASE
)


def assemble(goal: str, phase: str, activity: str, outcome: str | None = None, input_kinds: Sequence[str] = ()) -> str:
    """`Goal: …. Phase: …. Current activity: …. Desired outcome: …. Available inputs: a, b.`, empty parts left out."""
    inputs = ", ".join(kind.strip() for kind in input_kinds if kind.strip())
    parts = [
        ("Goal", goal),
        ("Phase", phase),
        ("Current activity", activity),
        ("Desired outcome", outcome or ""),
        ("Available inputs", inputs),
    ]
    return " ".join(f"{label}: {text.strip().rstrip('.')}." for label, text in parts if text.strip())
