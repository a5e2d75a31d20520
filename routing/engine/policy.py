"""Judge a ranking: may it be followed, must it be compared, or does nothing fit?

Two probabilities are estimated, each by a logistic function over shares that mean the same in every catalog: never a
raw score, never the size of the catalog. Its weights are fitted by bench/fit_judge.py and kept in data/judge.json. `match_probability` asks whether any tool in scope fits;
`probability` asks, on top of that, whether the first one is the right one. Rules that no number may overrule follow as
guards: ties, twins, an erasing tool on one incidental word, a better tool that is away.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from routing.engine.calibration import SHIPPED, Calibration
from routing.engine.meaning import STATIC
from routing.engine.parts import GUARDED, ToolDoc, is_guarded
from routing.engine.query import QueryTerm
from routing.engine.scoring import DIGITS, Candidate, Lineup, Ranking
from routing.engine.understanding import said_of

CONFIDENT, AMBIGUOUS, NO_MATCH = "confident", "ambiguous", "no_match"

HIGH_COVERAGE = 0.6
HIGH_PROBABILITY = 0.88
CLOSE_MARGIN = 0.08  # a lead below this share of the score is a close one
TWIN_MARGIN = 0.25  # the same between tools that do the same
WEAK_COVERAGE = 0.3
LOW_FRACTION = 0.25
MANY_TERMS = 4
RIVALS = 4  # candidates beside the first that are looked at
STRONGEST = 12.0  # rarest words' worth of score that count as much as more
NAMED = 0.95  # at least, where the request is a tool's very name of several words
FAULT_SHARE = 0.6  # of the chance is left where the request asks why something is so: what it names is under discussion

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """The weights of the two logistic functions, over `features`."""

    match: Weights
    right: Weights


@cache
def shipped_fit() -> str:
    """Tells one shipped fit from another: what was learnt about one says nothing of the next."""
    return hashlib.sha256(files("routing.engine").joinpath("data", "judge.json").read_bytes()).hexdigest()[:16]


@cache
def shipped_heads() -> Mapping[str, Heads]:
    """Tier -> what bench/fit_judge.py found for it, as it ships with the package."""
    fitted = json.loads(files("routing.engine").joinpath("data", "judge.json").read_text())
    return {tier: Heads(match=told["match"], right=told["right"]) for tier, told in fitted["heads"].items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    confident_at: float = 0.8
    match_at: float = 0.5
    min_gap: float = 0.0
    risk_at: Mapping[str, float]

    @classmethod
    def of(cls, resolver: Mapping[str, Any]) -> Thresholds:
        """From a policy's resolver block, defaults filled in."""
        return cls(
            confident_at=float(resolver["confident_at"]),
            match_at=float(resolver["match_at"]),
            min_gap=float(resolver["min_gap"]),
            risk_at=dict(resolver["risk_at"] or {}),
        )

    def told(self) -> dict[str, float]:
        return {"confident_at": self.confident_at, "match_at": self.match_at, "min_gap": self.min_gap}

    def bar(self, effect: str) -> float:
        """The probability from which on a tool of this effect is recommended with confidence."""
        return max(self.confident_at, float(self.risk_at.get(effect, 0.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    status: str
    confidence: str  # high | medium | low | none
    reasons: tuple[str, ...]
    probability: float
    match_probability: float
    matched_fraction: float = 0.0
    gap: float = 0.0

    @property
    def ambiguous(self) -> bool:
        return self.status == AMBIGUOUS


def judge(lineup: Lineup, thresholds: Thresholds, calibration: Calibration = SHIPPED) -> Verdict:
    """Status, confidence and reasons for a ranking. Thresholds meet the unrounded probabilities, corrected by `calibration`."""
    ranking = lineup.present
    missing = _missing(lineup, thresholds, calibration)
    match, right = calibration(*probabilities(ranking))
    if ranking.request.small_talk:  # what it happens to touch is listed by `explain`, and counts for next to nothing
        return _none(("not_a_request",), 0.02 * right, 0.02 * match)
    if not ranking.request.content:
        return _none(("negated_action" if ranking.request.negated else "query_too_generic",), right, match)
    if not ranking.candidates:
        return _none((*missing, "no_lexical_overlap"), right, match)
    weak = _weaknesses(ranking)
    if match < thresholds.match_at and not any(one.matched for one in ranking.candidates):
        return _none((*missing, "no_lexical_overlap"), right, match)
    if match < thresholds.match_at:
        return _none((*weak, *missing, "low_probability"), right, match)
    found = (*doubts(ranking, thresholds), *missing)
    if "functional_twins" in found:  # either may be meant
        right = min(right, match / 2)
    likely = right >= thresholds.bar(ranking.candidates[0].doc.traits.effect)
    if likely and not found:
        return _confident(ranking, right, match)
    return _ambiguous(ranking, found, right, match)


def doubts(ranking: Ranking, thresholds: Thresholds) -> tuple[str, ...]:
    """What forbids confidence in the first of what can be had, whatever the probabilities."""
    return (*_guards(ranking, thresholds), *_weaknesses(ranking))


def _none(reasons: tuple[str, ...], right: float, match: float) -> Verdict:
    return Verdict(status=NO_MATCH, confidence="none", reasons=reasons, probability=right, match_probability=match)


def _confident(ranking: Ranking, right: float, match: float) -> Verdict:
    fraction = matched_fraction(ranking)
    high = fraction >= HIGH_COVERAGE and right >= HIGH_PROBABILITY
    return Verdict(
        status=CONFIDENT,
        confidence="high" if high else "medium",
        reasons=(*_notes(ranking), "strong_coverage_and_margin" if high else "clear_margin"),
        probability=right,
        match_probability=match,
        matched_fraction=fraction,
        gap=_gap(ranking),
    )


def _ambiguous(ranking: Ranking, reasons: tuple[str, ...], right: float, match: float) -> Verdict:
    return Verdict(
        status=AMBIGUOUS,
        confidence="low",
        reasons=(*_notes(ranking), *(reasons or ("low_probability",))),
        probability=right,
        match_probability=match,
        matched_fraction=matched_fraction(ranking),
        gap=_gap(ranking),
    )


def _notes(ranking: Ranking) -> tuple[str, ...]:
    """What is worth knowing of the first place, and no doubt in itself."""
    single = ("single_candidate",) if ranking.count == 1 else ()
    return (*single, *(("semantic_match",) if _by_meaning(ranking) else ()))


def _by_meaning(ranking: Ranking) -> bool:
    """Whether the words alone would have put another tool first, or none at all."""
    first, *others = ranking.candidates
    return bool(first.meant) and (
        not first.matched or any(one.score - one.meant > first.score - first.meant for one in others)
    )


def matched_fraction(ranking: Ranking) -> float:
    return len(ranking.candidates[0].matched) / max(ranking.total, 1)


def _missing(lineup: Lineup, thresholds: Thresholds, calibration: Calibration) -> tuple[str, ...]:
    """A tool that is off or away, would have come first, and would have been offered."""
    if lineup.whole is None or lineup.absent_best is None or lineup.present.request.small_talk:
        return ()
    match, _ = calibration(*probabilities(lineup.whole))
    return ("best_candidate_unavailable",) if match >= thresholds.match_at else ()


def probabilities(ranking: Ranking) -> tuple[float, float]:
    """(some tool fits, the first one is right), both unrounded, the second never above the first."""
    if not ranking.candidates:
        return 0.0, 0.0
    found = features(ranking)
    heads = shipped_heads().get(ranking.tier) or shipped_heads()[STATIC]
    match = _logistic(heads.match, found) * (FAULT_SHARE if ranking.request.fault else 1.0)
    right = match * _logistic(heads.right, found)
    if _is_called_by_name(ranking):
        return max(match, NAMED), max(right, NAMED)
    return match, right


def _is_called_by_name(ranking: Ranking) -> bool:
    """Whether the request is a tool's composed name and nothing else: labelled questions hold too few of these to learn from."""
    first, said = ranking.candidates[0], ranking.request.wording
    return first.exact_name and len(first.doc.name_words) > 1 and len(said) == len(first.doc.name_words)


def features(ranking: Ranking) -> dict[str, float]:
    """Shares of one ranking, each 0..1, a lead -1..1, that mean the same whatever the catalog."""
    first, *rivals = ranking.candidates[: 1 + RIVALS]
    terms = sum(_counts_as(term) for term in first.matched)
    return {
        "margin": _margin(ranking),  # the first one's lead over the second, as a share of its score
        "coverage": first.coverage,  # share of the request's worth that it covers
        "support": first.coverage * first.density,  # the same, as strongly as its fields support it
        "name_coverage": first.name_coverage,  # share of its own name that is asked for
        "terms": min(terms, MANY_TERMS) / MANY_TERMS,  # how many whole words of the request, four being many
        "short": 1 / max(ranking.total, 1),
        "head_missed": float(first.head_missed),  # others know the word that says what to do, it does not
        "strange": float(ranking.strange),  # no tool knows the word that says what to do
        "likeness": max(first.likeness, 0.0),  # how near its text comes to the request in meaning
        "wording": first.wording,  # how closely its own wording follows the request
        "wording_lead": first.wording
        - max([one.wording for one in rivals], default=0.0),  # and how much closer than others'
        "strength": min(first.score / ranking.view.rarest, STRONGEST) / STRONGEST,  # its score in rarest words' worth
    }


def _counts_as(term: QueryTerm) -> float:
    if term.kind == "literal":
        return 0.5
    return 1.0 if term.weight >= 0.5 else 0.0


def shares(ranking: Ranking, verdict: Verdict) -> list[float]:
    """A probability for every candidate: the first has the verdict's, the rest of `match_probability` goes by score."""
    if not ranking.candidates:
        return []
    best = ranking.candidates[0].score
    weights = [(candidate.score / best) ** 4 for candidate in ranking.candidates[1:]]
    rest = max(verdict.match_probability - verdict.probability, 0.0)
    total = sum(weights) + 0.25  # someone further down may be meant
    return [verdict.probability, *(min(rest * weight / total, verdict.probability) for weight in weights)]


def _logistic(weights: Weights, found: Mapping[str, float]) -> float:
    total = weights["intercept"] + sum(weight * found[name] for name, weight in weights.items() if name != "intercept")
    return 1 / (1 + math.exp(-total))


def _weaknesses(ranking: Ranking) -> tuple[str, ...]:
    first = ranking.candidates[0]
    weak = first.coverage < WEAK_COVERAGE or first.head_missed or ranking.total >= 4 and len(first.matched) < 2
    low = ranking.total >= 8 and matched_fraction(ranking) < LOW_FRACTION
    return (*(("weak_coverage",) if weak else ()), *(("low_matched_fraction",) if low else ()))


def _gap(ranking: Ranking) -> float:
    first, *others = ranking.candidates
    return round(first.score - others[0].score, DIGITS) if others else first.score


def _margin(ranking: Ranking) -> float:
    """The lead over the next one as a share of the first score; where there is none, what of the request is covered: the
    rest may ask for a tool that is not here."""
    first, *others = ranking.candidates
    if not first.score:
        return 0.0
    return min(max((first.score - others[0].score) / first.score, 0.0), 1.0) if others else first.coverage


def said_alike(ranking: Ranking, one: Candidate) -> list[Candidate]:
    """Those not far behind this one of which, as of this one, an operator's hint says just what is asked."""
    near = _close_behind(ranking, one)
    said = set(said_of(ranking.view, ranking.request)) if near else set()
    return [other for other in near if other.place in said] if one.place in said else []


def _close_behind(ranking: Ranking, one: Candidate) -> list[Candidate]:
    bar = one.score * (1 - TWIN_MARGIN)
    return [other for other in ranking.candidates if other.place != one.place and bar < other.score <= one.score]


def _are_twins(one: ToolDoc, other: ToolDoc) -> bool:
    """Nothing but their endpoint tells them apart, or they go by the same words."""
    return one.twin == other.twin or one.name_terms == other.name_terms


def _guards(ranking: Ranking, thresholds: Thresholds) -> tuple[str, ...]:
    """What forbids confidence, whatever the numbers say."""
    first = ranking.candidates[0]
    found: list[str] = []
    second = ranking.candidates[1] if len(ranking.candidates) > 1 else None
    if second is not None:
        gap = _gap(ranking)
        if gap == 0:
            found.append("score_tie")
        elif gap < thresholds.min_gap or _margin(ranking) < CLOSE_MARGIN:
            found.append("close_scores")
        same = any(_are_twins(first.doc, one.doc) for one in _close_behind(ranking, first))
        if same or said_alike(ranking, first):
            found.append("functional_twins")
    words = [term for term in first.matched if term.kind == "word"]
    incidental = len(words) < 2 and not first.exact_name
    asked_about = ranking.request.question and first.doc.traits.effect == "erase"  # "did you delete it?" erases nothing
    if asked_about or incidental and any(is_guarded(first.doc, effect) for effect in GUARDED):
        found.append("effect_guard")
    if first.forbidden:
        found.append("negated_action")
    return tuple(found)
