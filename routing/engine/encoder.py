"""The deep tier's part in ranking: vectors of whole texts, made elsewhere by a sentence encoder and handed in.

A tool has one vector for each text that says what it is for (`texts_of`). The nearest of them speaks for it, and all
together as loudly, so that one text that comes near by chance counts half. Rows are kept in eight bits with a scale each,
and compared in whole numbers: exact in whatever order they are added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from routing.engine.meaning import ROUNDING, Rounded, Vectors
from routing.engine.parts import ToolDoc

Doubles = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

TEXT_LIMIT = 400  # characters of a description or a hint that an encoder is asked to read
BRIEF_LIMIT = 200  # the same where the description stands for itself
NEAREST_SHARE = 0.5  # of a tool's likeness is that of its nearest text, the rest that of all


class Encoder(Protocol):
    """How near the tools of one catalog come to one request. Places are those of the catalog's index."""

    def likeness(self, places: Places) -> Doubles:
        """A cosine, -1..1, for each of these tools."""
        ...

    def nearest(self, sees: npt.NDArray[np.bool_], most: int) -> Places:
        """The tools in sight that come nearest, `most` of them, and those that come as near as the last."""
        ...

    def within(self, docs: Sequence[ToolDoc]) -> Encoder:
        """The same request against another catalog that says nothing new: this one less a hint, say."""
        ...


def texts_of(doc: ToolDoc) -> tuple[str, ...]:
    """What an encoder is to read of a tool: its names with its description, that alone, and each operator's hint alone."""
    name = " ".join(doc.name_words) or doc.fragment
    endpoint = doc.endpoint.name.replace("_", " ").replace("-", " ")
    prose = f"{doc.title} {doc.tool.description}".strip()
    whole = f"{endpoint} {name}: {prose[:TEXT_LIMIT]}"
    return tuple(dict.fromkeys((whole, prose[:BRIEF_LIMIT] or name, *(hint[:TEXT_LIMIT] for hint in doc.hints))))


@dataclass(frozen=True, slots=True)
class Row:
    """A vector in eight bits: its direction is `values * scale`."""

    values: Rounded
    scale: float


def rounded(vector: Vectors) -> Row:
    """A unit vector to eight bits; the largest part has the largest number."""
    scale = float(np.abs(vector).max(initial=0.0)) / ROUNDING or 1.0
    return Row(np.rint(vector / scale).astype(np.int8), scale)


class TextVectors:
    """The vectors of a catalog's tools, one or more for each, laid end to end. Immutable."""

    def __init__(self, docs: Sequence[ToolDoc], known: Mapping[str, Row]) -> None:
        """`docs`: those of the catalog's index, in its order. Raises KeyError for a text whose vector is not `known`."""
        said = [texts_of(doc) for doc in docs]
        rows = [known[text] for texts in said for text in texts]
        self._docs, self._counts = docs, _counts(said)
        self._table = np.array([row.values for row in rows], np.int8).reshape(len(rows), -1 if rows else 0)
        self._scales = np.array([row.scale for row in rows], np.float64)

    @property
    def size(self) -> int:
        """Numbers in each vector; 0 for a catalog without tools."""
        return int(self._table.shape[1])

    def asked(self, vector: Vectors) -> Asked:
        """The encoder of one request, whose unit vector this is, of the same size."""
        if not len(self._table):
            return Asked(self._docs, self._counts, np.zeros(0))
        question = rounded(vector)
        near = self._table.astype(np.float32) @ question.values.astype(np.float32)
        return Asked(self._docs, self._counts, near.astype(np.float64) * self._scales * question.scale)


class Asked:
    """An `Encoder`: the cosine of every text of a catalog, worked out."""

    def __init__(self, docs: Sequence[ToolDoc], counts: Places, near: Doubles) -> None:
        """`counts`: how many texts each tool has; `near`: the cosines of all of them, end to end."""
        self._docs, self._near = docs, near
        self._cosines = np.zeros(0)
        if len(docs):
            starts = np.cumsum(counts) - counts
            mean = np.add.reduceat(near, starts) / counts
            found = NEAREST_SHARE * np.maximum.reduceat(near, starts) + (1 - NEAREST_SHARE) * mean
            self._cosines = np.clip(found, -1.0, 1.0)

    def likeness(self, places: Places) -> Doubles:
        return self._cosines[places]

    def nearest(self, sees: npt.NDArray[np.bool_], most: int) -> Places:
        near = np.where(sees, self._cosines, -np.inf)
        places = np.flatnonzero(near > 0)
        if len(places) <= most:
            return places
        bar = np.partition(near[places], -most)[-most]
        return np.asarray(places[near[places] >= bar], np.intp)

    def within(self, docs: Sequence[ToolDoc]) -> Asked:
        said = (text for doc in self._docs for text in texts_of(doc))
        known = dict(zip(said, self._near.tolist(), strict=True))
        others = [texts_of(doc) for doc in docs]
        return Asked(docs, _counts(others), np.array([known.get(text, 0.0) for texts in others for text in texts]))


def _counts(said: Sequence[Sequence[str]]) -> Places:
    return np.array([len(texts) for texts in said], np.intp)
