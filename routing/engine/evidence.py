"""Which tools a request meets, in two passes: all that it touches, roughly; then the best of them, exactly.

The first pass adds up what every posting of every word brings, over the whole index at once. It never gives a tool too
little, since a word counts at most once in the end. The second looks only at the tools that can come out ahead: there,
each word of the request is held against each tool, and the posting that wins most is kept, so that a score can be taken
apart again to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.engine.index import Index
from routing.engine.matching import Variant
from routing.engine.parts import SHARED, SHARED_ACTION, Ints
from routing.engine.query import QueryTerm
from routing.engine.ranges import Places, spread

Array = npt.NDArray[np.float64]


class Asked(NamedTuple):
    """A term of a request that some tool in sight knows: what it is worth, and what it may stand for."""

    term: QueryTerm
    worth: float
    variants: Sequence[Variant]


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Every posting that the request meets, one entry each."""

    terms: Places  # of each variant, counted through: which of the asked terms it belongs to
    variant: Places
    row: Places  # the posting
    tool: Ints
    won: Array


def touch(index: Index, asked: Sequence[Asked]) -> Touched:
    """All postings of all variants; what to do is said by a tool, its endpoint's word counts by half."""
    numbers = np.array([one.term for entry in asked for one in entry.variants], np.intp)
    starts = index.starts[numbers]
    lengths = index.starts[numbers + 1] - starts
    row, variant = spread(starts, lengths)
    support = index.support[row]
    ends = np.cumsum([0, *(len(entry.variants) for entry in asked)])
    for place, entry in enumerate(asked):
        if entry.term.head:
            acts = slice(*np.searchsorted(variant, ends[place : place + 2]))
            support[acts] = index.action_support[row[acts]]
    worth = np.array([one.quality * entry.worth for entry in asked for one in entry.variants])
    return Touched(
        terms=np.repeat(np.arange(len(asked)), np.diff(ends)),
        variant=variant,
        row=row,
        tool=index.tools[row],
        won=worth[variant] * support,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Terms down, tools across: what each won, how nearly it is the word itself, and by which posting (-1: by none)."""

    won: Array
    met: Array
    spots: Places
    variant: Places


def weigh(index: Index, asked: Sequence[Asked], touched: Touched, places: Places) -> Evidence:
    """The touched postings of these tools, each term at its best."""
    columns = np.full(len(index.docs), -1, np.intp)
    columns[places] = np.arange(len(places))
    column = columns[touched.tool]
    kept = np.flatnonzero(column >= 0)
    cells = touched.terms[touched.variant[kept]] * len(places) + column[kept]
    size = len(asked) * len(places)
    won, spots, variant = np.zeros(size), np.full(size, -1, np.intp), np.zeros(size, np.intp)
    np.maximum.at(won, cells, touched.won[kept])
    # Of equals the nearest variant: it comes first, and what is written last stays.
    best = np.flatnonzero(touched.won[kept] == won[cells])[::-1]
    spots[cells[best]], variant[cells[best]] = touched.row[kept[best]], touched.variant[kept[best]]
    shape = (len(asked), len(places))
    spots, variant = spots.reshape(shape), variant.reshape(shape)
    return Evidence(won=won.reshape(shape), met=_met(index, asked, spots, variant), spots=spots, variant=variant)


def _met(index: Index, asked: Sequence[Asked], spots: Places, variant: Places) -> Array:
    quality = np.array([one.quality for entry in asked for one in entry.variants] or [0.0])
    met: Array = np.where(spots >= 0, quality[variant], 0.0)
    heads = [place for place, entry in enumerate(asked) if entry.term.head]
    if heads:
        met[heads] *= np.where(index.own[spots[heads]], 1.0, SHARED_ACTION)
    return met


def by_field(index: Index, asked: Sequence[Asked], evidence: Evidence, columns: Sequence[int]) -> Array:
    """What each term won of each of these tools, shared out over the fields by their weight: terms, tools, fields."""
    spots = evidence.spots[:, columns]
    weights = index.weights[spots].astype(np.float64)
    heads = [place for place, entry in enumerate(asked) if entry.term.head]
    if heads:
        weights[heads, :, SHARED] *= SHARED_ACTION
    total = np.maximum(weights.sum(axis=2, keepdims=True), 1e-12)
    shares: Array = evidence.won[:, columns][:, :, None] * weights / total
    shares[spots < 0] = 0.0
    return shares
