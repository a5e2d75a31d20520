"""Many requests against one view, for whoever has thousands of them: all of some at once, side by side in the same arrays.

It is the arithmetic of `scoring` in the same order, so every ranking equals that of `rank_view` to the last digit, which
tests hold it to. Each step there takes longer to begin than to do; here it begins once for many requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from routing.engine.evidence import Array, Evidence
from routing.engine.index import BLOCK, ROUGH_AXES, Index
from routing.engine.meaning import LEXICAL, ROUNDING, STATIC, Vectors, WordVectors
from routing.engine.parts import GUARDED
from routing.engine.query import QueryTerm, Request, read_request
from routing.engine.ranges import Places
from routing.engine.scope import View
from routing.engine.scoring import (
    CONSIDERED,
    COVERAGE_SHARE,
    DIGITS,
    FOLLOWED,
    KINDRED,
    MEANING_SHARE,
    NAME_SHARE,
    NEGATED_SHARE,
    PHRASE_SHARE,
    SAID_SHARE,
    SMALLEST,
    STRONG,
    UNASKED_SHARE,
    UNLIKE,
    WORDING_SHARE,
    Adjustment,
    Candidate,
    Contribution,
    Ranking,
    keep_tie,
    rank_view,
)
from routing.engine.understanding import Understood, spoken, understand
from routing.engine.wording import grams

CELLS = 1 << 16  # requests times tools that are laid out at once: what stays near the processor
MOST_AT_ONCE = 96
TOGETHER = 8  # directions that are compared with a block of tools in one go, for the same reason as the block

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


class Question:
    """A text, read once for all catalogs that it is put to."""

    def __init__(self, text: str) -> None:
        self.request: Request = read_request(text)
        self._bearing: tuple[Vectors | None, WordVectors | None] = (None, None)

    @cached_property
    def said(self) -> dict[int, int]:
        return grams(self.request.wording)

    def bearing(self, vectors: WordVectors) -> Vectors | None:
        """Where its words point, in whole numbers; None where the table does not read them."""
        known, by = self._bearing
        if by is not vectors:
            words = spoken(self.request)
            known = np.rint(vectors.direction(words) * ROUNDING) if vectors.reads(words) else None
            self._bearing = (known, vectors)
        return known


class Compass:
    """Where the texts of all tools of an index point, laid out for many questions at once."""

    def __init__(self, index: Index, vectors: WordVectors) -> None:
        self._index, self.vectors = index, vectors

    def nearness(self, bearings: Sequence[Vectors], axes: int | None = None) -> Floats:
        """How nearly every tool's text points each of these ways, by the first axes or all: whole numbers, and so exact."""
        blocks = self._blocks[:, :axes]
        asked = np.zeros((-(-len(bearings) // TOGETHER) * TOGETHER, blocks.shape[1]), np.float32)
        asked[: len(bearings)] = np.array(bearings)[:, :axes]
        near = np.matmul(asked.reshape(-1, 1, TOGETHER, asked.shape[1]), blocks)
        return np.asarray(near.transpose(0, 2, 1, 3).reshape(len(asked), -1)[: len(bearings), : len(self._index.docs)])

    @cached_property
    def _blocks(self) -> Floats:
        """The directions of all tools, an axis in each row, in blocks of tools."""
        whole = self._index.directions(self.vectors)
        padded = np.zeros((-(-len(whole) // BLOCK) * BLOCK, whole.shape[1]), np.float32)
        padded[: len(whole)] = whole
        return np.ascontiguousarray(padded.reshape(-1, BLOCK, whole.shape[1]).transpose(0, 2, 1))


class Ranker:
    """`rank_view` of one view, as often as wanted. `compass`: of its index, for a tier that reads meaning."""

    def __init__(self, view: View, *, limit: int, guard: bool, compass: Compass | None) -> None:
        self.view, self.limit, self.guard, self.compass = view, limit, guard, compass
        self.size = len(view.index.docs)

    def rank(self, questions: Sequence[Question]) -> list[Ranking]:
        """The ranking of each, in order."""
        if not self.size:
            return [self.alone(one.request) for one in questions]
        together = min(max(CELLS // self.size, 1), MOST_AT_ONCE)
        parts = (questions[start : start + together] for start in range(0, len(questions), together))
        return [ranking for part in parts for ranking in _Batch(self, part).rankings()]

    def alone(self, request: Request) -> Ranking:
        vectors = self.compass.vectors if self.compass else None
        return rank_view(self.view, request, limit=self.limit, guard=self.guard, vectors=vectors)


class _Explained:
    """Where a ranking's reasons come from that was made among many: it is made once more, alone."""

    def __init__(self, ranker: Ranker, request: Request) -> None:
        self._ranker, self._request = ranker, request

    @cached_property
    def _alone(self) -> Ranking:
        return self._ranker.alone(self._request)

    def contributions(self, candidate: Candidate) -> tuple[list[Contribution], list[Adjustment]]:
        return self._alone.contributions(candidate)

    def fields(self, candidates: Sequence[Candidate]) -> list[dict[str, float]]:
        return self._alone.fields(candidates)


class _Batch:
    """Some requests at once. Tables have a row for each request and a column for each tool; from `_choose` on, arrays run
    over the tools that can come out ahead, request by request."""

    def __init__(self, ranker: Ranker, questions: Sequence[Question]) -> None:
        self.ranker, self.view, self.index = ranker, ranker.view, ranker.view.index
        self.questions, self.size = questions, ranker.size
        self.heard: list[Understood] = [understand(self.view, one.request) for one in questions]
        self.mass = np.array([one.mass for one in self.heard])
        rows = np.arange(len(questions)).repeat([len(one.asked) for one in self.heard])
        self.asked = [entry for one in self.heard for entry in one.asked]
        self.evidence = Evidence(self.index, self.asked)
        self.entries = self.evidence.cells(rows, self.size)
        self._choose()
        self._adjust()

    def rankings(self) -> Iterator[Ranking]:
        columns = self._best()
        candidates = self._candidates(columns)
        ends = np.searchsorted(self.asker.take(columns), np.arange(len(self.questions) + 1)).tolist()
        facts = zip(self.questions, self.heard, self.count.tolist(), self.reads.tolist(), pairwise(ends), strict=True)
        for question, heard, count, reads, (begin, end) in facts:
            yield Ranking(
                request=question.request,
                view=self.view,
                candidates=tuple(candidates[begin:end]),
                count=count,
                total=heard.total,
                strange=heard.strange,
                tier=STATIC if reads else LEXICAL,
                _scorer=_Explained(self.ranker, question.request),
            )

    def _table(self, shares: Array) -> Array:
        """What the entries bring each tool of each request."""
        size = len(self.questions) * self.size
        return np.asarray(np.bincount(self.entries, weights=shares, minlength=size), np.float64)

    # --- who can come out ahead
    def _choose(self) -> None:
        rough = self._table(self.evidence.rough_shares).reshape(-1, self.size)
        rough[:, self.view.unseen] = 0.0
        self.count = np.count_nonzero(rough, axis=1)
        among = self._foremost(rough)
        near = self._meaning(among, rough.max(axis=1))
        self.asker, self.place = among.nonzero()
        self.begins = self.asker.searchsorted(np.arange(len(self.questions) + 1))
        cells = self.cells = self.asker * self.size + self.place
        self.base = self._table(self.evidence.won).take(cells)
        self.covered = self._table(self.evidence.covers).take(cells)
        self.likeness = np.zeros(len(cells))
        if near is not None:
            self.likeness = near.ravel().take(cells) / np.float64(ROUNDING * ROUNDING)

    def _foremost(self, rough: Array) -> Mask:
        most = max(self.ranker.limit, CONSIDERED)
        among = rough != 0
        many = (self.count > most).nonzero()[0]
        if len(many):
            won = rough[many]
            bars = np.partition(won, self.size - most, axis=1)[:, self.size - most]
            among[many] = won >= bars[:, None]
            for row, bar in zip(many.tolist(), bars.tolist(), strict=True):
                over = int(np.count_nonzero(among[row])) - most
                if over:
                    level = (rough[row] == bar).nonzero()[0]
                    last = level[np.argsort(self.index.by_name[level], kind="stable")]
                    among[row, last[len(last) - over :]] = False
        return np.asarray(among, np.bool_)

    def _meaning(self, among: Mask, best: Array) -> Floats | None:
        """How near each tool comes in meaning; what comes nearest without sharing a word is taken in."""
        compass = self.ranker.compass
        bearings = [None if compass is None else one.bearing(compass.vectors) for one in self.questions]
        self.reads = np.array([one is not None for one in bearings], np.bool_)
        reading = self.reads.nonzero()[0]
        if compass is None or not len(reading):
            return None
        known = [one for one in bearings if one is not None]
        wanting = (best[reading] < STRONG * self.mass[reading]).nonzero()[0]
        if len(wanting):
            rough = compass.nearness([known[row] for row in wanting], ROUGH_AXES)
            rough[:, self.view.unseen] = 0.0
            among[reading[wanting]] |= _nearest(rough)
        near = np.zeros(among.shape, np.float32)
        near[reading] = compass.nearness(known)
        return near

    # --- what they come to
    def _adjust(self) -> None:
        mass, base = self.mass.take(self.asker), self.base
        self.coverage = np.minimum(self.covered / np.where(mass, mass, 1.0), 1.0)
        self.name_coverage = np.minimum(self._named() / self.view.name_mass.take(self.place), 1.0)
        changed = base * COVERAGE_SHARE * (self.coverage - 1) + base * NAME_SHARE * self.name_coverage**2
        self.meant = MEANING_SHARE * self.view.rarest * np.maximum(self.likeness - UNLIKE, 0.0)
        self._add_sayings(changed)
        gained = self._follow_wording(base + self.meant + changed, mass)
        if self.ranker.guard:
            self._keep_ties((base + changed).round(DIGITS), gained)
        changed += gained
        self._lose(changed, base + self.meant + gained)
        self.score = ((base + changed).round(DIGITS) + self.meant).round(DIGITS)
        self.count = self.count + self._counted(self.score > 0) - self._counted(self.covered != 0)

    def _counted(self, which: Mask) -> Places:
        return np.bincount(self.asker[which], minlength=len(self.questions))

    def _row(self, row: int) -> slice:
        return slice(int(self.begins[row]), int(self.begins[row + 1]))

    def _named(self) -> Array:
        """What the words of each tool's name that its request asks for are worth, by their rarity."""
        idf, width = self.view.idf, len(self.view.idf) + 1
        rows = np.arange(len(self.heard)).repeat([len(one.named) for one in self.heard])
        numbers = np.fromiter((number for one in self.heard for number in one.named), np.intp, len(rows))
        far = np.fromiter((far for one in self.heard for far in one.named.values()), np.float64, len(rows))
        worth = np.zeros(len(self.heard) * width)
        worth[rows * width + numbers] = idf.take(numbers) * far
        names = self.index.names.take(self.place, axis=1) + self.asker * width
        return np.asarray(worth.take(names).sum(axis=0))

    def _add_sayings(self, changed: Array) -> None:
        """Where a hint says just what is asked, or a tool's very name is the request."""
        for row, heard in enumerate(self.heard):
            mine, phrase = self._row(row), heard.request.phrase
            if wanted := heard.said_of():
                said = (self.base[mine] + self.meant[mine]).max(initial=0.0)
                changed[mine] += SAID_SHARE * said * np.isin(self.place[mine], wanted)
            if phrase in self.index.by_phrase:
                same = np.isin(self.place[mine], self.index.by_phrase[phrase])
                changed[mine] += self.base[mine] * PHRASE_SHARE * same

    def _follow_wording(self, said: Array, mass: Array) -> Array:
        """What the tools ahead gain whose own wording follows their request."""
        ahead = np.concatenate([self._ahead(said[begin:end]) + begin for begin, end in pairwise(self.begins.tolist())])
        self.wording = np.zeros(len(said))
        grams_ = [one.said for one in self.questions]
        self.wording[ahead] = self.view.wording.likenesses(grams_, self.place.take(ahead), self.asker.take(ahead))
        return np.asarray(WORDING_SHARE * mass * self.wording)

    @staticmethod
    def _ahead(said: Array) -> Places:
        return np.argpartition(said, -FOLLOWED)[-FOLLOWED:] if len(said) > FOLLOWED else np.arange(len(said))

    def _keep_ties(self, said: Array, gained: Array) -> None:
        """`keep_tie` where the words leave one."""
        rows = np.unique(self.asker)
        if not len(rows):
            return
        total = said + self.meant + gained
        most = np.zeros(len(self.questions))
        most[rows] = np.maximum.reduceat(total, self.begins[rows])
        top = (total == most.take(self.asker)).nonzero()[0][::-1]
        first = np.zeros(len(self.questions), np.intp)
        first[self.asker.take(top)] = top  # what is written last stays
        most[rows] = said.take(first[rows])
        level = (said == most.take(self.asker)) & (said > 0)
        for row in (self._counted(level) > 1).nonzero()[0].tolist():
            mine = self._row(row)
            keep_tie(said[mine], self.meant[mine], gained[mine], self.index.harm.take(self.place[mine]))

    def _lose(self, changed: Array, own: Array) -> None:
        """What tools lose of their own for doing what is forbidden, or erasing and executing unasked."""
        for row, heard in enumerate(self.heard):
            if forbidden := heard.forbidden():
                mine = self._row(row)
                bad = [not forbidden.isdisjoint(self.index.docs[place].name_terms) for place in self.place[mine]]
                changed[mine] += own[mine] * -NEGATED_SHARE * np.array(bad, np.float64)
        if not self.ranker.guard:
            return
        guarded = np.zeros(len(self.place), np.bool_)
        for effect in GUARDED:
            unasked = np.array([not one.asks_for(effect) for one in self.heard], np.bool_)
            guarded |= self.index.guarded[effect].take(self.place) & unasked.take(self.asker)
        changed += own * -UNASKED_SHARE * guarded

    # --- the best of them
    def _best(self) -> Places:
        """By request and score; on a tie what does less comes first, then by name."""
        limit, width = self.ranker.limit, int(np.diff(self.begins).max(initial=0))
        bars = np.full(len(self.questions), SMALLEST)
        if width > limit:
            scores = np.zeros((len(self.questions), width))
            scores[self.asker, np.arange(len(self.asker)) - self.begins.take(self.asker)] = self.score
            bars = np.maximum(np.partition(scores, width - limit, axis=1)[:, width - limit], SMALLEST)
        columns = (self.score >= bars.take(self.asker)).nonzero()[0]
        asker, places = self.asker.take(columns), self.place.take(columns)
        harm = self.index.harm.take(places) * self.ranker.guard
        order = np.lexsort((self.index.by_name.take(places), harm, -self.score.take(columns), asker))
        begins = asker.searchsorted(np.arange(len(self.questions)))
        kept = np.arange(len(order)) - begins.take(asker) < limit
        return np.asarray(columns.take(order[kept]), np.intp)

    def _candidates(self, columns: Places) -> list[Candidate]:
        places, askers = self.place.take(columns), self.asker.take(columns).tolist()
        docs = [self.index.docs[place] for place in places.tolist()]
        density = np.minimum(self.base / np.maximum(self.covered, 1e-9), 1.0)
        matched, missed = self._matched(columns)
        phrases = [one.request.phrase for one in self.heard]
        banned = [one.forbidden() for one in self.heard]
        facts = (
            docs,
            places.tolist(),
            *(one.take(columns).tolist() for one in (self.score, self.coverage, self.name_coverage)),
            matched,
            *(one.take(columns).tolist() for one in (density, self.likeness, self.meant, self.wording)),
            [doc.phrase == phrases[row] for doc, row in zip(docs, askers, strict=True)],
            missed,
            [
                bool(banned[row]) and not banned[row].isdisjoint(doc.name_terms)
                for doc, row in zip(docs, askers, strict=True)
            ],
        )
        return list(map(Candidate._make, zip(*facts, strict=True)))

    def _matched(self, columns: Places) -> tuple[list[tuple[QueryTerm, ...]], list[bool]]:
        """The terms that each of these tools meets, and whether it misses one that says what to do."""
        met = np.full(len(self.questions) * self.size, -1, np.int32)
        met[self.cells.take(columns)] = np.arange(len(columns))
        met = met.take(self.entries)
        kept = (met >= 0).nonzero()[0]
        met, numbers = met.take(kept), self.evidence.term_of(kept)
        order = np.argsort(met, kind="stable")  # within each, terms stay in the order of the request
        met, numbers = met.take(order), numbers.take(order)
        terms = [entry.term for entry in self.asked]
        said = tuple([terms[number] for number in numbers.tolist()])
        ends = met.searchsorted(np.arange(len(columns) + 1)).tolist()
        found = [said[begin:end] for begin, end in pairwise(ends)]
        heads = np.array([term.head for term in terms], np.bool_)
        asked = np.array([sum(entry.term.head for entry in one.asked) for one in self.heard], np.intp)
        known = np.bincount(met[heads.take(numbers)], minlength=len(columns))
        return found, (known < asked.take(self.asker.take(columns))).tolist()


def _nearest(rough: Floats) -> Mask:
    """As `Index.nearest`, row by row."""
    bars = np.ones(len(rough), np.float32)
    if rough.shape[1] >= KINDRED:
        bars = np.maximum(np.partition(rough, rough.shape[1] - KINDRED, axis=1)[:, -KINDRED], 1)
    found = rough >= bars[:, None]
    for row in (np.count_nonzero(found, axis=1) > 2 * KINDRED).nonzero()[0].tolist():
        found[row, found[row].nonzero()[0][2 * KINDRED :]] = False
    return np.asarray(found, np.bool_)
