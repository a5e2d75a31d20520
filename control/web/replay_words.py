"""What a replay found, in words: each group of decisions that come out differently, explained in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from control.web import words

# Kind of change: its name in the list of figures, one of it, and whether it asks for a look.
KINDS: Mapping[str, tuple[str, str]] = {
    "clash": ("New ambiguities", "were clear, and would have to be compared"),
    "lost": ("Lost matches", "had a tool, and would find none"),
    "other": ("Another tool", "would get another tool"),
    "settled": ("Settled", "had to be compared, and would be clear"),
    "won": ("Won matches", "found nothing, and would get a tool"),
}
LEAST_TOLD = 0.01  # of a probability
_TIES = ("score_tie", "close_scores", "functional_twins")
_SECTIONS = {"endpoints": "endpoint", "capabilities": "capability", "policies": "policy", "scopes": "scope"}


def told(group: Mapping[str, Any]) -> dict[str, Any]:
    """A group as the page shows it."""
    return {
        **group,
        "say": sentence(group),
        "gap": _gaps(group["gaps"]),
        "behind": [_entry(path) for path in group["because"]],
    }


def sentence(group: Mapping[str, Any]) -> str:
    """Why these decisions come out differently."""
    before, after, kind = group["before"], group["after"], group["kind"]
    reasons: Sequence[str] = after["reasons"]
    if "scope_gone" in reasons:
        return "Their scope is gone, and with it everything that they could be given."
    if group["gone"] and after["target"]:
        return f"{before['target']} can no longer be had; {after['target']} is the next best."
    if group["gone"]:
        return f"{before['target']} can no longer be had, and nothing else fits well enough."
    if kind == "clash" and after["runner"] and any(code in reasons for code in _TIES):
        return f"{after['runner']} comes as close: {_lowered(words.reason(next(c for c in reasons if c in _TIES)).sentence)}"
    if kind == "won":
        return f"{after['target']} is found now, with a probability of {_share(after)}."
    if kind == "settled" and _asks_less(group):
        return f"{after['target']} is sure enough now: its probability is as it was, {_share(after)}, and less is asked for."
    if kind == "settled":
        was, now = _shares(before, after)
        return f"{after['target']} is sure enough now: its probability is {now}, it was {was}."
    if kind == "other" and after["target"]:
        return f"{after['target']} stands first now, with a probability of {_share(after)}."
    told_by = [words.reason(code).sentence for code in reasons]
    return told_by[-1] if told_by else "The answer falls below a threshold."


def _asks_less(group: Mapping[str, Any]) -> bool:
    """Whether a policy made it clear and not the probability, which moved by less than is told of it."""
    was, now = (group[side]["probability"] for side in ("before", "after"))
    by_policy = any(path.startswith("policies[") for path in group["because"])
    return by_policy and None not in (was, now) and abs(now - was) < LEAST_TOLD


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _share(side: Mapping[str, Any]) -> str:
    return "unknown" if side["probability"] is None else f"{side['probability']:.2f}"


def _shares(*sides: Mapping[str, Any]) -> list[str]:
    """Probabilities with as many places as tell them apart."""
    if any(side["probability"] is None for side in sides):
        return [_share(side) for side in sides]
    spelled = [[f"{side['probability']:.{places}f}" for side in sides] for places in (2, 3, 4)]
    return next((one for one in spelled if len(set(one)) == len(one)), spelled[0])


def _gaps(gaps: Sequence[Sequence[float]]) -> str:
    """Both sides' gaps, "1.3 → 7.2"; a span where decisions differ."""
    return " → ".join(_span(side) if side else "none" for side in gaps) if any(gaps) else ""


def _span(ends: Sequence[float]) -> str:
    least, most = (f"{end:.2f}" if end < 1 else f"{end:.1f}" for end in ends)
    return least if least == most else f"{least} to {most}"


def _entry(path: str) -> str:
    """`endpoints[git]` → "endpoint git"."""
    section, _, name = path.rstrip("]").partition("[")
    return f"{_SECTIONS.get(section, section)} {name}"
