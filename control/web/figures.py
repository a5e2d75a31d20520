"""Geometry of the drawings that the server makes: numbers in, places on the drawing out. Templates only write them down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from control.web.words import FIELD_GROUPS, GROUP_ORDER, VERDICTS, badge

SPLIT_WIDTH = 1000.0
SPLIT_GAP = 2.0
SMALLEST = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    status: str
    shape: str
    word: str
    count: int
    share: float
    x: float
    width: float


def split(counts: Mapping[str, int]) -> list[Segment]:
    """One bar of all verdicts, in their fixed order. Nothing that happened is too small to be seen."""
    present = [status for status in _ordered(counts) if counts[status] > 0]
    total = sum(counts[status] for status in present)
    room = SPLIT_WIDTH - SPLIT_GAP * max(0, len(present) - 1)
    wanted = {status: max(SMALLEST, room * counts[status] / total) for status in present}
    scale = room / sum(wanted.values()) if wanted else 1.0
    segments, x = [], 0.0
    for status in present:
        width = wanted[status] * scale
        segments.append(_segment(status, counts[status], total, x, width))
        x += width + SPLIT_GAP
    return segments


def split_keys(
    counts: Mapping[str, int], always: Sequence[str] = ("confident", "ambiguous", "no_match", "fallback")
) -> list[Segment]:
    """What stands under the bar: the usual verdicts even at nought, and any other that happened."""
    total = sum(counts.values())
    shown = [
        status
        for status in _ordered({**dict.fromkeys(always, 0), **counts})
        if status in always or counts.get(status, 0)
    ]
    return [_segment(status, counts.get(status, 0), total, 0, 0) for status in shown]


def _ordered(counts: Mapping[str, int]) -> list[str]:
    return [status for status in VERDICTS if status in counts] + sorted(
        status for status in counts if status not in VERDICTS
    )


def _segment(status: str, number: int, total: int, x: float, width: float) -> Segment:
    shown = badge(status)
    return Segment(
        status=status,
        shape="selected" if status == "selected" else shown.shape,
        word=shown.word,
        count=number,
        share=number / total if total else 0.0,
        x=round(x, 2),
        width=round(width, 2),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    shape: str  # colour class of the field's group
    label: str
    score: float
    x: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateBar:
    rank: int
    target: str
    score: float
    behind: float  # distance to the first
    parts: tuple[Part, ...]
    label: str
    available: bool = True


ADJUSTMENTS = ("f-more", "Adjustments")
PROBABILITY = ("fl acc", "Probability")
ROUNDING = 0.005


def candidate_bars(
    candidates: Sequence[Mapping[str, Any]], *, by_field: bool = True, largest: float | None = None
) -> list[CandidateBar]:
    """Score by field on one common scale, which the best score fills, or `largest` where other bars stand beside these.
    A route's scores are probabilities without fields.
    """
    if not candidates:
        return []
    scale = 100.0 / max(*(float(candidate["score"]) for candidate in candidates), largest or 0.0, 1e-9)
    first = float(candidates[0]["score"])
    whole = None if by_field else PROBABILITY
    return [_candidate_bar(rank, candidate, first, scale, whole) for rank, candidate in enumerate(candidates, start=1)]


def _candidate_bar(
    rank: int, candidate: Mapping[str, Any], first: float, scale: float, whole: tuple[str, str] | None
) -> CandidateBar:
    score, groups = float(candidate["score"]), _grouped(candidate.get("fields") or {})
    spoken = sum(groups.values())
    rest = score - spoken
    # A bar is as long as its score. What was added after the words were counted is a part of its own; what was taken
    # away shortens all parts alike.
    shrink = max(0.0, score) / spoken if rest < 0 < spoken else 1.0
    shown = [(shape, label, groups[shape], shrink) for shape, label in GROUP_ORDER if groups[shape] > 0]
    if rest > ROUNDING:
        shown.append((*(whole or ADJUSTMENTS), rest, 1.0))
    parts, x = [], 0.0
    for shape, label, amount, factor in shown:
        width = amount * factor * scale
        parts.append(
            Part(shape=shape, label=label.lower(), score=amount, x=round(x, 2), width=round(max(width - 0.5, 0.3), 2))
        )
        x += width
    said = [f"{part.label} {part.score:.{2 if whole else 1}f}" for part in parts]
    return CandidateBar(
        rank=rank,
        target=str(candidate["target"]),
        score=score,
        behind=score - first,
        parts=tuple(parts),
        label=", ".join([*said, *([f"adjustments −{-rest:.1f}"] if rest < -ROUNDING else [])]) or "no field known",
        available=bool(candidate.get("available", True)),
    )


def _grouped(fields: Mapping[str, Any]) -> dict[str, float]:
    groups = dict.fromkeys((shape for shape, _ in GROUP_ORDER), 0.0)
    for name, score in fields.items():
        groups[FIELD_GROUPS.get(name, "f-text")] += float(score)
    return {shape: max(0.0, amount) for shape, amount in groups.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    shape: str
    word: str
    x: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """A scale from 0 to 1 with its zones, thresholds and the value that was reached."""

    title: str
    under: str
    zones: tuple[Zone, ...]
    ticks: tuple[tuple[float, str], ...]
    at: float
    value: str
    shape: str
    anchor: str  # which side of the marker its number stands on


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    x: float
    first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GapScale:
    """Scores of the candidates on one axis, the gap to the next as a bracket, and what the policy asks for."""

    ticks: tuple[tuple[float, str], ...]
    dots: tuple[Dot, ...]
    needed_x: float
    needed_width: float
    from_x: float
    to_x: float
    middle: float
    gap: float
    needed: float
    first_label: str
    second_label: str  # empty where it would run into the first
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Where a scale from 0 to 1 begins and ends on the drawing."""

    left: float
    right: float

    def place(self, value: float) -> float:
        return round(self.left + (self.right - self.left) * min(1.0, max(0.0, value)), 1)


WIDE = Stretch(left=150.0, right=706.0)
NARROW = Stretch(left=2.0, right=338.0)


def ruler(
    stretch: Stretch, title: str, under: str, value: float, bounds: Sequence[float], zones: Sequence[tuple[str, str]]
) -> Ruler:
    """`zones` are one more than `bounds`: the shape and word of each stretch from left to right."""
    edges = [0.0, *bounds, 1.0]
    drawn = tuple(_zone(stretch, edges[i], edges[i + 1], shape, word) for i, (shape, word) in enumerate(zones))
    reached = sum(value >= bound for bound in bounds)
    return Ruler(
        title=title,
        under=under,
        zones=drawn,
        ticks=tuple((stretch.place(bound), f"{bound:.2f}") for bound in bounds),
        at=stretch.place(value),
        value=f"{value:.2f}",
        shape=zones[reached][0],
        anchor="start" if value < 0.15 else "end",
    )


def _zone(stretch: Stretch, start: float, end: float, shape: str, word: str) -> Zone:
    width = round(stretch.place(end) - stretch.place(start), 1)
    return Zone(shape=shape, word=word if width > 9 * len(word) * 0.75 else "", x=stretch.place(start), width=width)


def gap_scale(stretch: Stretch, candidates: Sequence[Mapping[str, Any]], needed: float) -> GapScale | None:
    """None unless two candidates can be compared."""
    scores = [float(candidate["score"]) for candidate in candidates]
    if len(scores) < 2 or max(scores) <= 0:
        return None
    step = nice_step(max(scores))
    top = math.ceil(max(scores) * 1.04 / step) * step
    dots = tuple(Dot(x=stretch.place(score / top), first=index == 0) for index, score in enumerate(scores))
    gap = scores[0] - scores[1]
    from_x, to_x = sorted((dots[1].x, dots[0].x))
    first_label, second_label = _tool_name(candidates[0]), _tool_name(candidates[1])
    needed_x = stretch.place((scores[0] - needed) / top)
    return GapScale(
        ticks=tuple((stretch.place(i * step / top), f"{i * step:g}") for i in range(round(top / step) + 1)),
        dots=dots,
        needed_x=needed_x,
        needed_width=round(dots[0].x - needed_x, 1),
        from_x=from_x,
        to_x=to_x,
        middle=round((from_x + to_x) / 2, 1),
        gap=gap,
        needed=needed,
        first_label=first_label,
        second_label=second_label if from_x < to_x - LETTER * len(first_label) else "",
        sentence=_gap_sentence(gap, needed),
    )


LETTER = 6.8  # width of a letter in the labels of a drawing


def nice_step(largest: float, parts: int = 6) -> float:
    """A step of 1, 2 or 5 times a power of ten that parts 0..largest into at most `parts`."""
    raw = largest / parts
    power = 10.0 ** math.floor(math.log10(raw))
    return next((factor * power for factor in (1, 2, 5, 10) if factor * power >= raw), 10 * power)


def _tool_name(candidate: Mapping[str, Any]) -> str:
    name = str(candidate["target"]).split("__", 1)[-1]
    return name if len(name) <= 28 else name[:27] + "…"


def _gap_sentence(gap: float, needed: float) -> str:
    if gap == 0:
        return "no gap: a tie"
    if needed <= 0:
        return f"gap {gap:.1f}"
    if gap >= 2 * needed:
        return f"gap {gap:.1f}, more than twice what is needed"
    return (
        f"gap {gap:.1f}, {needed:.1f} needed" if gap >= needed else f"gap {gap:.1f}, less than the {needed:.1f} needed"
    )


STAGES = ("Recommended", "Invoked", "Returned", "Achieved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    name: str
    count: int
    under: str
    x: int
    height: float
    passage: float  # height of the stream that goes on to the next stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    count: int
    word: str
    shape: str
    x: float
    text_x: float
    y: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    stages: tuple[Stage, ...]
    losses: tuple[Loss, ...]
    unknown: int
    unknown_y: float
    unknown_height: float
    label: str


FUNNEL_HEIGHT = 46.0


def funnel(facts: Mapping[str, int]) -> Funnel:
    """What came of the advice. What nobody reported is drawn and named; it never counts as success."""
    recommended, invoked = facts["recommended"], facts["invoked"]
    returned, achieved = facts["returned"], facts["achieved"]
    unit = FUNNEL_HEIGHT / max(recommended, invoked, 1)
    numbers = (recommended, invoked, returned, achieved)
    under = (
        f"of {facts['decisions']:,}",
        _part(invoked, recommended),
        _part(returned, invoked),
        _part(achieved, returned),
    )
    stages = tuple(
        Stage(
            name=name,
            count=number,
            under=note,
            x=90 * index,
            height=_thick(number, unit),
            passage=_thick(numbers[index + 1], unit) if index < 3 else 0.0,
        )
        for index, (name, number, note) in enumerate(zip(STAGES, numbers, under, strict=True))
    )
    unknown_return = max(0, invoked - returned - facts["not_returned"])
    unknown_result = max(0, returned - achieved - facts["not_achieved"])
    lost = (
        (max(0, recommended - invoked), "not called", "no_match", 0),
        (facts["not_returned"], "no return", "denied", 1),
        (facts["not_achieved"], "failed, partial", "ambiguous", 2),
    )
    losses = tuple(_loss(number, word, shape, stages[index], unit) for number, word, shape, index in lost if number)
    unknown = unknown_return + unknown_result
    return Funnel(
        stages=stages,
        losses=losses,
        unknown=unknown,
        unknown_y=54 + stages[3].height,
        unknown_height=_thick(unknown, unit),
        label=f"{recommended:,} recommended, {invoked:,} invoked, {returned:,} returned, {achieved:,} achieved; {unknown:,} outcomes unknown",
    )


def _part(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _thick(number: int, unit: float) -> float:
    return round(max(0.8, number * unit), 1) if number else 0.0


def _loss(number: int, word: str, shape: str, stage: Stage, unit: float) -> Loss:
    width = round(min(14.0, max(1.2, number * unit)), 1)
    y = round(54 + stage.passage + width / 2, 1)
    x = stage.x + 77
    return Loss(count=number, word=word, shape=shape, x=x, text_x=round(x + 15 + width / 2, 1), y=y, width=width)
