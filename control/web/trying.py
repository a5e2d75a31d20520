"""The two sides of the playground: who comes first on each and why, and what moved between them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from control.web import figures, words
from routing.engine.activity import LABEL
from routing.engine.text import terms

SHOWN = 6
SILENT = 24
LONGEST_WORD = 40
_WORD = re.compile(r"[^\W_]+")
FIELDS = (
    ("use_when", "Use when"),
    ("tool_use_when", "Tool hint"),
    ("tags", "Tags"),
    ("tool", "Tool name"),
    ("title", "Title"),
    ("endpoint", "Endpoint"),
    ("parameters", "Inputs"),
    ("description", "Description"),
    ("endpoint_description", "Endpoint text"),
    ("vector", "Meaning"),
)
# How a word was met, as a mark beside the points; without one it stands there as it was typed.
MARKS = {
    "stem": ("s", "same stem"),
    "split": ("p", "part of a word"),
    "synonym": ("y", "another word for it"),
    "prefix": ("b", "begins like it"),
    "typo": ("t", "nearly spelled so"),
    "vector": ("v", "by meaning"),
}


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two: a registry and what it answers. `resolution` is None while it is being compiled."""

    key: str  # live | other
    word: str
    note: str
    resolution: Any = None
    problem: str = ""

    @property
    def answer(self) -> Mapping[str, Any]:
        return self.resolution.answer if self.resolution is not None else {}

    @property
    def status(self) -> str:
        return str(self.answer.get("status", ""))

    @property
    def explanation(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.answer.get("explanation") or {}
        return found

    @property
    def recommended(self) -> str:
        return str((self.answer.get("recommendation") or {}).get("namespaced") or "")

    @property
    def candidates(self) -> Sequence[Any]:
        return self.resolution.candidates if self.resolution is not None else ()

    @property
    def flips(self) -> Sequence[str]:
        found: Sequence[str] = self.explanation.get("flips", ())
        return found

    @property
    def reasons(self) -> list[words.Reason]:
        return [words.reason(code) for code in self.answer.get("reason_codes", ())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    bar: figures.CandidateBar
    moved: int | None  # places gained since live; None where it was not there, or on live itself
    gained: float | None
    is_new: bool = False

    @property
    def places(self) -> int:
        return abs(self.moved or 0)


def rows(side: Side, live: Side | None, largest: float) -> list[Row]:
    """The first candidates of a side, with how each stands against live."""
    told = [
        {"target": one.public, "score": one.score, "fields": one.fields, "available": one.available}
        for one in side.candidates[:SHOWN]
    ]
    before = {one.public: (place, one.score) for place, one in enumerate(live.candidates)} if live else {}
    return [_row(bar, before, live is not None) for bar in figures.candidate_bars(told, largest=largest)]


def _row(bar: figures.CandidateBar, before: Mapping[str, tuple[int, float]], compares: bool) -> Row:
    if not compares:
        return Row(bar=bar, moved=None, gained=None)
    if bar.target not in before:
        return Row(bar=bar, moved=None, gained=None, is_new=True)
    place, score = before[bar.target]
    return Row(bar=bar, moved=place - (bar.rank - 1), gained=round(bar.score - score, 1) + 0.0)


def largest(sides: Sequence[Side]) -> float:
    return max((one.score for side in sides for one in side.candidates[:SHOWN]), default=0.0)


def needed(side: Side) -> str:
    """The lead that it has beside the lead at which its answer turns, in a sentence."""
    gap, turns = side.answer.get("score_gap"), side.explanation.get("turns_at_gap")
    if gap is None or len(side.candidates) < 2:
        return ""
    if turns is None:
        return f"Leads by {gap:.1f} points."
    if side.status == "confident":
        return f"Leads by {gap:.1f} points, {turns:.1f} are needed."
    if turns > gap:
        return f"Two tools within {gap:.1f} points, {turns:.1f} are needed."
    return f"Leads by {gap:.1f} points; what keeps it from being confident is no lead."


def flips(sides: Sequence[Side]) -> list[tuple[str, Sequence[str]]]:
    """What would have led to another answer, side by side; once where both say the same."""
    told = [(side.word, side.flips) for side in sides if side.flips]
    if len(told) == 2 and told[0][1] == told[1][1]:
        return [(f"{told[0][0]} and {told[1][0].lower()}", told[0][1])]
    return told


# --- points by word and field ------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    score: float
    weight: int  # 0..3: how much of the largest
    mark: str = ""
    word: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Why one candidate scores what it scores. Rows and adjustments add up to the score."""

    side: Side
    target: str
    score: float
    columns: Sequence[tuple[str, str, str]]  # field, colour, word
    rows: Sequence[tuple[str, Sequence[Cell | None], float]]
    adjustments: Sequence[tuple[str, float]]
    marks: Sequence[tuple[str, str]]  # that occur, with what they mean
    silent: Sequence[str]  # words that won nothing
    hint: str = ""  # that was weighed by itself


def points(side: Side, target: str, text: str) -> Points | None:
    """The points of a candidate that was explained; None where it was not."""
    found = next((one for one in side.explanation.get("candidates", ()) if one["namespaced"] == target), None)
    if found is None:
        return None
    parts = found["contributions"]
    used = {one["field"] for one in parts}
    columns = [(field, words.FIELD_GROUPS.get(field, "f-text"), word) for field, word in FIELDS if field in used]
    told = {one["term"]: one["text"] for one in side.explanation.get("terms", ())}
    most = max((sum(p["score"] for p in parts if (p["term"], p["field"]) == key) for key in _keys(parts)), default=0.0)
    lines = []
    for term in dict.fromkeys([*told, *(one["term"] for one in parts)]):
        cells = [_cell([p for p in parts if (p["term"], p["field"]) == (term, field)], most) for field, _, _ in columns]
        total = sum(cell.score for cell in cells if cell)
        if any(cells):
            lines.append((told.get(term) or ("in all" if term not in told else term), cells, total))
    seen = {one["match"] for one in parts}
    met = {term for term in told if any(one["term"] == term for one in parts)}
    met |= {told[term] for term in met}
    return Points(
        side=side,
        target=target,
        score=found["score"],
        columns=columns,
        rows=lines,
        adjustments=[(one["code"].replace("_", " "), one["score"]) for one in found["adjustments"]],
        marks=[MARKS[kind] for kind in MARKS if kind in seen],
        silent=_silent(text, met),
        hint=next((one["hint"] for one in parts if one.get("hint")), ""),
    )


def _silent(text: str, met: set[str]) -> list[str]:
    """Words of the text that won nothing."""
    stems = dict(terms(text))
    found = (word for word in _WORD.findall(LABEL.sub(" ", text).casefold()) if not {word, stems.get(word, word)} & met)
    return [word[:LONGEST_WORD] for word in dict.fromkeys(found)][:SILENT]


def _keys(parts: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    return {(one["term"], one["field"]) for one in parts}


def _cell(parts: Sequence[Mapping[str, Any]], most: float) -> Cell | None:
    if not parts:
        return None
    score = sum(one["score"] for one in parts)
    first = max(parts, key=lambda one: abs(one["score"]))
    mark, word = MARKS.get(first["match"], ("", "as it was typed"))
    weight = 3 if score >= 0.66 * most else 2 if score >= 0.33 * most else 1
    return Cell(score=score, weight=weight if score > 0 else 0, mark=mark, word=word)
