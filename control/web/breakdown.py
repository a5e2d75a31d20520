"""What the overview says of where answers came from: by source, by the reason of a fallback, by what was called then, and
what they cost. Each line leads to the decisions that it counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from control.web import words
from routing.models import Workspace
from routing.panels import Figures

WIDTH = 88.0
SMALLEST = 1.5
Counted = Iterable[tuple[str, str, int]]  # value of the filter, words, how many


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    word: str
    code: str  # what the filter is set to
    count: int
    share: float  # of all lines together
    width: float
    address: str  # the decisions behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """One table of counts with a bar each. `agreed` is the share of known calls that were what was recommended."""

    sources: list[Line]
    fallbacks: list[Line]
    turns: list[Line]
    agreement: list[Line]
    agreed: float | None
    cost: float
    paid_address: str


def of(workspace: Workspace, seen: Figures, *, window: str, scope: str) -> Breakdown:
    decisions = reverse("decisions", args=[workspace.name])

    def address(**wanted: str) -> str:
        """The decisions of this window and scope that a mark stands for."""
        chosen = {"view": "all", "since": window, "scope": scope, **wanted}
        return f"{decisions}?{urlencode({key: value for key, value in chosen.items() if value})}"

    def lines(name: str, counted: Counted) -> list[Line]:
        present = [(code, word, number) for code, word, number in counted if number]
        total = sum(number for _, _, number in present)
        most = max((number for _, _, number in present), default=1)
        return [
            Line(
                word=word,
                code=code,
                count=number,
                share=number / total,
                width=round(max(SMALLEST, WIDTH * number / most), 2),
                address=address(**{name: code}),
            )
            for code, word, number in present
        ]

    agreed, differed = seen.facts["agreed"], seen.facts["differed"]
    called = {"same": agreed, "other": differed, "not_called": seen.facts["recommended"] - seen.facts["invoked"]}
    return Breakdown(
        sources=lines("source", _by_number(seen.sources, words.SOURCE_WORDS)),
        fallbacks=lines("fallback_reason", _by_number(seen.fallbacks, {})),
        turns=lines("reason_code", _by_number(seen.turns, words.TURN_WORDS)),
        agreement=lines("agreement", [(code, words.AGREEMENT_WORDS[code], number) for code, number in called.items()]),
        agreed=agreed / (agreed + differed) if agreed + differed else None,
        cost=seen.cost,
        paid_address=address(paid="yes"),
    )


def _by_number(counts: Mapping[str, int], told: Mapping[str, str]) -> Counted:
    """The most frequent first."""
    return [
        (code, told.get(code, code), counts[code]) for code in sorted(counts, key=lambda code: (-counts[code], code))
    ]
