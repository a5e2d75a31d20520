"""Why an answer came out as it did: each term, each candidate's parts, and what would have changed the outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from routing.engine.calibration import SHIPPED, Calibration
from routing.engine.counterfactual import Brought
from routing.engine.parts import ToolDoc, own_texts, shared_texts
from routing.engine.policy import AMBIGUOUS, CONFIDENT, NO_MATCH, Thresholds, Verdict, judge, shares
from routing.engine.scoring import DIGITS, Candidate, Contribution, Lineup, Ranking
from routing.engine.text import terms
from routing.engine.turning import turning_gap

MOST_FLIPS = 6
SAID_IN = ("tags", "tool_use_when")  # the fields in which sayings of capabilities count


def explanation(
    lineup: Lineup,
    verdict: Verdict,
    thresholds: Thresholds,
    *,
    most: int,
    brought: Brought | None = None,
    calibration: Calibration = SHIPPED,
) -> dict[str, Any]:
    """The contributions and adjustments of a candidate add up to its score, whatever the status.

    `brought` is what a hint brings the first of the present candidates; its contributions name that hint, and without it
    the score is lower by just their sum.
    """
    ranking = lineup.present
    chances = dict(zip((one.place for one in ranking.candidates), shares(ranking, verdict), strict=True))
    first = ranking.candidates[0] if ranking.candidates else None
    turns_at = turning_gap(lineup, thresholds, calibration) if verdict.status in (CONFIDENT, AMBIGUOUS) else None
    flips = [*_by_lead(ranking, verdict, turns_at), *_flips(lineup, verdict, thresholds, brought, calibration)]
    return {
        "terms": [
            {"term": one.term, "text": one.text, "kind": one.kind, "weight": round(one.weight, DIGITS)}
            for one in ranking.request.terms
        ],
        "candidates": [
            {
                "namespaced": one.doc.public,
                "score": one.score,
                "probability": round(chances[one.place] if had else 0.0, DIGITS),
                "available": had,
                **(_parted(brought) if brought and had and one is first else _parts(source, one, one.score)),
            }
            for one, source, had in lineup.entries(most)
        ],
        "thresholds": thresholds.told(),
        "flips": flips[:MOST_FLIPS],
        "turns_at_gap": None if turns_at is None else round(turns_at, DIGITS),
    }


def _parts(ranking: Ranking, candidate: Candidate, score: float) -> dict[str, list[dict[str, Any]]]:
    """What each word won in each field, and what changed the sum."""
    parts, changes = ranking.contributions(candidate)
    written = {field: _written(candidate.doc, field) for field in {one.field for one in parts if one.match == "stem"}}
    told = [
        {
            "term": one.term,
            "field": one.field,
            "match": _match(one, written[one.field]) if one.match == "stem" else one.match,
            "score": round(one.score, DIGITS),
        }
        for one in parts
    ]
    changed = [{"code": one.code, "score": round(one.score, DIGITS)} for one in changes]
    _add_up([*told, *changed], score)
    return {"contributions": told, "adjustments": changed}


def _parted(brought: Brought) -> dict[str, list[dict[str, Any]]]:
    """The parts of a score without the hint, and beside them what its words bring with it."""
    told = (
        _parts(brought.ranking, brought.rest, brought.rest.score)
        if brought.rest
        else {"contributions": [], "adjustments": []}
    )
    factor = brought.score / sum(one.score for one in brought.shares)
    by_hint = [
        {
            "term": one.term,
            "field": one.field,
            "match": "exact" if one.match == "stem" and one.text in _words([brought.hint.text]) else one.match,
            "score": round(one.score * factor, DIGITS),
            "hint": brought.hint.text,
        }
        for one in brought.shares
    ]
    _add_up(by_hint, brought.score)
    return {**told, "contributions": [*by_hint, *told["contributions"]]}


def _add_up(numbers: Sequence[dict[str, Any]], total: float) -> None:
    """Every part is rounded for reading; what rounding took goes to the largest part, so that the sum stays true."""
    if numbers:
        largest = max(numbers, key=lambda one: abs(one["score"]))
        largest["score"] = round(largest["score"] + total - sum(one["score"] for one in numbers), DIGITS)


def _match(one: Contribution, written: dict[str, str]) -> str:
    """How a word of the request stands in a field: as it is written, in another form, or by the operator's word for it."""
    if one.text in written:
        return "exact"
    return "stem" if one.field not in SAID_IN or one.term in written.values() else "synonym"


def _written(doc: ToolDoc, field: str) -> dict[str, str]:
    """The words of one field as they are written there, with their stems."""
    texts = {**own_texts(doc), **shared_texts(doc.endpoint)}[field]
    return _words(text for _, some in texts for text in some)


def _words(texts: Iterable[str]) -> dict[str, str]:
    return {word: term for text in texts for word, term in terms(text)}


def _by_lead(ranking: Ranking, verdict: Verdict, turns_at: float | None) -> Iterator[str]:
    """The lead at which the answer turns."""
    if turns_at is None:
        return
    second, has = ranking.candidates[1].doc.public, f"it has {verdict.gap:.2f}"
    if verdict.status == CONFIDENT:
        yield f"With a lead below {turns_at:.2f} over {second} it would no longer be confident; {has}."
    elif turns_at > verdict.gap:
        yield f"With a lead of {turns_at:.2f} over {second} it would be confident; {has}."


def _flips(
    lineup: Lineup, verdict: Verdict, thresholds: Thresholds, brought: Brought | None, calibration: Calibration
) -> Iterator[str]:
    """What would have led to another answer, in whole sentences."""
    if (missed := lineup.absent_best) is not None:
        yield f"{missed.doc.public} would come first if it were available."
    ranking = lineup.present
    if not ranking.candidates:
        return
    first = ranking.candidates[0]
    name = first.doc.public
    if verdict.status == NO_MATCH and "not_a_request" not in verdict.reasons and verdict.match_probability > 0:
        yield f"With match_at at {_floor(verdict.match_probability)} or below, {name} would be offered; it is {thresholds.match_at:.2f}."
    if verdict.status == AMBIGUOUS and verdict.reasons in (("low_probability",), ("weak_coverage",)):
        yield f"With confident_at at {_floor(verdict.probability)} or below, {name} would be confident; it is {thresholds.bar(first.doc.traits.effect):.2f}."
    if verdict.status == CONFIDENT:
        yield f"With confident_at at {_ceiling(verdict.probability)} or above, {name} would no longer be confident."
    if brought:
        yield from _without_the_hint(brought, name, verdict, thresholds, calibration)
    yield from _without_a_word(ranking)
    if len(ranking.candidates) > 1:
        yield f"{ranking.candidates[1].doc.public} comes second, {first.score - ranking.candidates[1].score:.2f} behind; a hint in the words of this request would bring it forward."


def _without_the_hint(
    brought: Brought, name: str, verdict: Verdict, thresholds: Thresholds, calibration: Calibration
) -> Iterator[str]:
    """Whether the hint made the difference: another tool would lead, or this one with another verdict."""
    if not brought.ranking.candidates:
        yield f"Without the hint “{brought.hint.text}”, nothing would be found."
        return
    leader = brought.ranking.candidates[0].doc.public
    other = judge(Lineup(present=brought.ranking), thresholds, calibration)
    if leader != name:
        yield f"Without the hint “{brought.hint.text}”, {leader} would come first."
    elif other.status != verdict.status:
        yield f"Without the hint “{brought.hint.text}”, it would be {_SAID[other.status]}."


_SAID = {CONFIDENT: "confident", AMBIGUOUS: "ambiguous", NO_MATCH: "no match"}


def _floor(chance: float) -> str:
    """The last threshold in hundredths that a chance still reaches."""
    return f"{math.floor(chance * 100) / 100:.2f}"


def _ceiling(chance: float) -> str:
    """The first threshold in hundredths that a chance no longer reaches."""
    return f"{(math.floor(chance * 100) + 1) / 100:.2f}"


def _without_a_word(ranking: Ranking) -> Iterator[str]:
    """The words on which the first place hangs: without one of them, another tool leads."""
    rivals = ranking.candidates[:5]
    won = [_by_term(ranking, one) for one in rivals]
    for term in ranking.candidates[0].matched:
        left = [one.score - parts.get(term.term, 0.0) for one, parts in zip(rivals, won, strict=True)]
        best = max(range(len(rivals)), key=lambda place: left[place])
        if best and left[best] > left[0]:
            yield f"Without “{term.text}”, {rivals[best].doc.public} would come first."


def _by_term(ranking: Ranking, candidate: Candidate) -> dict[str, float]:
    parts, changes = ranking.contributions(candidate)
    won: dict[str, float] = {}
    for one in parts:
        won[one.term] = won.get(one.term, 0.0) + one.score
    base = sum(won.values())
    factor = 1 + sum(change.score for change in changes) / base if base else 1.0
    return {term: score * factor for term, score in won.items()}
