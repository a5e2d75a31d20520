"""Puts a decision into sentences: its verdict, what happened since, its thresholds. Rows in, things to show out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from control.web import figures, words
from routing.listings import TailRow
from routing.models import Decision, Event
from routing.panels import Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Then:
    """What became of a decision, in a word: a status with its shape, or plain words."""

    status: str = ""
    word: str = "–"


def then(decision: Decision) -> Then:
    if decision.domain:
        return (
            Then(status=decision.domain, word=_DOMAIN[decision.domain])
            if decision.domain in _DOMAIN
            else Then(word=decision.domain)
        )
    if decision.transport:
        return _TRANSPORT.get(decision.transport, Then(word=decision.transport))
    if decision.invoked:
        return Then(word="invoked")
    if decision.state in ("queued", "running"):
        return Then(status=decision.state, word=words.badge(decision.state).word)
    if decision.status == "fallback":
        return Then(word="handed back")
    return Then(word="no call yet") if decision.target else Then()


_DOMAIN = {"success": "Achieved", "failure": "Failed", "partial": "Partly", "unknown": "Unknown"}
_TRANSPORT = {
    "ok": Then(word="returned ok"),
    "error": Then(status="error", word="Error"),
    "timeout": Then(status="unknown", word="Unknown, timed out"),
    "unknown": Then(status="unknown", word="Unknown"),
}


def verdict(decision: Decision) -> str:
    """The word under which a decision is listed: its status, or its state while it has none."""
    return decision.status or (decision.state if decision.state != "finished" else "unknown")


def chance(decision: Decision) -> float | None:
    """The chance that the choice is right: calibrated for resolve, the provider's confidence for route.

    None where a route was handed back and nothing was chosen: what is recorded then is no chance of any tool.
    """
    if decision.fallback_reason and decision.fallback_reason not in _CHOSEN:
        return None
    if decision.probability is not None:
        return decision.probability
    try:
        return float(decision.confidence) if decision.confidence else None
    except ValueError:
        return None


_CHOSEN = frozenset({"low_confidence", "low_category_confidence", "planner_confirmation"})


def instead(decision: Decision) -> str:
    """What stands where a recommendation would, when there is none."""
    if decision.fallback_reason:
        return decision.fallback_reason
    return {"no_match": "nothing fits", "queued": "waits for a worker", "running": "being decided"}.get(
        verdict(decision), "none"
    )


# --- the live tail --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class TailLine:
    event: Event
    decision: Decision | None
    verdict: str
    then: Then
    chance: float | None
    instead: str
    fresh: bool


def tail_row(row: TailRow, *, fresh: bool) -> TailLine:
    event, decision = row.event, row.decision
    data = event.data or {}
    return TailLine(
        event=event,
        decision=decision,
        verdict=event.status or "unknown",
        then=then(decision) if decision else Then(),
        chance=chance(decision) if decision else _told_chance(data),
        instead=str(data.get("fallback_reason") or ("nothing fits" if event.status == "no_match" else "none")),
        fresh=fresh,
    )


def _told_chance(data: Mapping[str, Any]) -> float | None:
    reason = data.get("fallback_reason")
    return None if reason and reason not in _CHOSEN else data.get("probability")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotPoint:
    """One row of the table under a chart, which is also the chart's data."""

    at: datetime
    rates: tuple[float, ...]
    p50: float | None
    p95: float | None


def point(seen: Point, statuses: Sequence[str]) -> PlotPoint:
    rates = tuple(round(seen.counts.get(status, 0) / seen.seconds, 4) for status in statuses)
    return PlotPoint(at=seen.at, rates=rates, p50=seen.p50, p95=seen.p95)


# --- one decision ---------------------------------------------------------------------------------------------------
def say(decision: Decision) -> str:
    """The sentence that opens a decision's page; the target is put before it by the template."""
    if decision.state in _WAITING:
        return _WAITING[decision.state]
    if decision.status in ("fallback", "no_match"):
        return _without_target(decision)
    return _ABOUT_TARGET.get(decision.status or "", "") + _first_reason(decision)


_WAITING = {
    "queued": "The request is kept and waits for a worker. The answer appears here as soon as it is made.",
    "running": "A worker is deciding this now. The answer appears here as soon as it is made.",
    "failed": "No decision could be made.",
    "cancelled": "This was cancelled before it was decided.",
}
_ABOUT_TARGET = {"confident": "", "selected": "", "ambiguous": "It comes first, but do not run it unseen. "}


def _first_reason(decision: Decision) -> str:
    if decision.status == "selected":
        return _above(decision)
    return words.reason(decision.reason_codes[0]).sentence if decision.reason_codes else ""


def _above(decision: Decision) -> str:
    """Why a route selects: its confidence beside the threshold that it had to reach. A search has none."""
    if decision.type == "search":
        return "Looking ahead found it the best first step."
    reached, direct = chance(decision), (decision.thresholds or {}).get("direct")
    if reached is None or direct is None:
        return "The router selected it."
    return f"Its confidence, {reached:.2f}, reaches the direct threshold, {float(direct):.2f}."


def answered_by(decision: Decision) -> str:
    """Who chose, in words; the provider `local` is the resolver's own ranker."""
    if decision.source == "provider" and (decision.answer or {}).get("provider") == "local":
        return words.SOURCE_WORDS["local"]
    return words.SOURCE_WORDS.get(decision.source or "", "nobody yet")


def _without_target(decision: Decision) -> str:
    if decision.status == "no_match":
        return "Nothing in this scope fits the request. " + _first_reason(decision)
    return "The choice was handed back to the planner. " + words.reason(decision.fallback_reason or "").sentence


def reasons(decision: Decision) -> list[words.Reason]:
    codes = list(decision.reason_codes)
    if decision.fallback_reason and decision.fallback_reason not in codes:
        codes.insert(0, decision.fallback_reason)
    told = [words.reason(code) for code in codes]
    return told or (
        [words.Reason(code="", tone=words.GOOD, sentence=_above(decision))] if decision.status == "selected" else []
    )


# --- four facts -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One stop of the timeline. `known` is false where nobody reported anything: drawn dashed, never as success."""

    title: str
    shape: str
    known: bool
    at: datetime | None = None
    note: str = ""
    by: str = ""  # a name from elsewhere, which the template isolates
    more: str = ""
    elapsed: str = ""  # until the next known stop


def track(decision: Decision, events: Sequence[Event]) -> list[Fact]:
    facts = [_recommended(decision, events), _invoked(decision, events), _returned(events), _achieved(events)]
    return [_with_elapsed(fact, facts[place + 1 :]) for place, fact in enumerate(facts)]


def _last(events: Sequence[Event], kind: str) -> Event | None:
    return next((event for event in reversed(events) if event.kind == kind), None)


def _recommended(decision: Decision, events: Sequence[Event]) -> Fact:
    own = next((event for event in events if event.kind == "recommendation"), None)
    status = verdict(decision)
    shown = words.badge(status)
    if not decision.is_final:
        return Fact(title=shown.word, shape="unknown", known=False, at=decision.created_at, note="not decided yet")
    word = "Recommended" if decision.target else {"fallback": "Handed back"}.get(status, "Nothing recommended")
    note = f"{shown.word.lower()}, seq {own.seq:,}" if own else f"{shown.word.lower()}, on its way to the ledger"
    return Fact(title=word, shape=shown.shape, known=True, at=own.at if own else decision.created_at, note=note)


def _invoked(decision: Decision, events: Sequence[Event]) -> Fact:
    event = next((event for event in events if event.kind == "invocation"), None)
    if event is None:
        return Fact(
            title="No call reported", shape="unknown", known=False, note="the harness has not said that it called"
        )
    attempt = (event.data or {}).get("attempt")
    return Fact(
        title=f"Invoked{_as_advised(decision, event)}",
        shape="confident",
        known=True,
        at=event.at,
        note="by",
        by=event.harness,
        more=f", attempt {attempt}" if attempt else "",
    )


def _as_advised(decision: Decision, event: Event) -> str:
    if not decision.target or not event.target:
        return ""
    if event.target in (decision.target, decision.target.split("__")[0]):
        return ", as advised"
    others = {str(candidate.get("target")) for candidate in decision.candidates}
    return ", an alternative" if event.target in others else ", another tool"


def _returned(events: Sequence[Event]) -> Fact:
    event = _last(events, "transport_outcome")
    if event is None:
        return Fact(
            title="No return reported", shape="unknown", known=False, note="whether the call came back is unknown"
        )
    data = event.data or {}
    size = f", {_bytes(data['result_bytes'])}" if data.get("result_bytes") is not None else ""
    took = (
        f"{data['duration_ms']:,.0f} ms at the endpoint"
        if data.get("duration_ms") is not None
        else "duration not reported"
    )
    return _outcome("Returned", event, took + size)


def _achieved(events: Sequence[Event]) -> Fact:
    event = _last(events, "domain_outcome")
    if event is None:
        return Fact(title="No outcome reported", shape="unknown", known=False, note="never counted as success")
    return _outcome("Achieved" if event.status == "success" else "Outcome", event, "reported by", event.harness)


def _outcome(title: str, event: Event, note: str, by: str = "") -> Fact:
    shown = words.badge(event.status)
    return Fact(
        title=f"{title}: {shown.word.lower()}",
        shape=shown.shape,
        known=event.status != "unknown",
        at=event.at,
        note=note,
        by=by,
    )


def _bytes(number: int) -> str:
    return (
        f"{number:,} B"
        if number < 1000
        else f"{number / 1000:,.0f} kB"
        if number < 1_000_000
        else f"{number / 1_000_000:,.1f} MB"
    )


def _with_elapsed(fact: Fact, later: Sequence[Fact]) -> Fact:
    following = later[0] if later else None
    if fact.at is None or following is None or following.at is None:
        return fact
    seconds = (following.at - fact.at).total_seconds()
    text = f"+{seconds:.2f} s" if 0 <= seconds < 60 else f"+{seconds / 60:.0f} min" if seconds >= 60 else ""
    return replace(fact, elapsed=text)


# --- thresholds -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """The rulers of a decision on one drawing, and what they say in words."""

    rulers: tuple[tuple[int, figures.Ruler], ...]  # each with the height at which it is drawn
    gap: figures.GapScale | None
    label: str
    height: int
    gap_at: int


def scales(decision: Decision, stretch: figures.Stretch) -> Scales:
    limits = decision.thresholds or {}
    rulers = (
        _route_rulers(decision, limits, stretch) if "direct" in limits else _resolve_rulers(decision, limits, stretch)
    )
    gap = (
        figures.gap_scale(stretch, decision.candidates, float(limits.get("min_gap") or 0))
        if decision.type == "resolve"
        else None
    )
    each, lead = (70, 0) if stretch == figures.WIDE else (86, 12)
    gap_at = each * len(rulers) + lead
    height = gap_at + (92 if gap else 0)
    placed = tuple((each * place, ruler) for place, ruler in enumerate(rulers))
    return Scales(rulers=placed, gap=gap, label=_label(rulers, gap), height=height, gap_at=gap_at)


def _label(rulers: Sequence[figures.Ruler], gap: figures.GapScale | None) -> str:
    said = [f"{r.title}: {r.value}, threshold {' and '.join(text for _, text in r.ticks)}." for r in rulers]
    return " ".join([*said, *([f"{gap.sentence.capitalize()}."] if gap else [])])


def _resolve_rulers(decision: Decision, limits: Mapping[str, Any], stretch: figures.Stretch) -> list[figures.Ruler]:
    drawn = []
    if decision.match_probability is not None and limits.get("match_at") is not None:
        zones = (("no_match", "no match"), ("confident", "goes on"))
        drawn.append(
            figures.ruler(
                stretch, "A tool fits", "else no match", decision.match_probability, [float(limits["match_at"])], zones
            )
        )
    if decision.probability is not None and limits.get("confident_at") is not None:
        zones = (("ambiguous", "ambiguous"), ("confident", "confident"))
        bound = [float(limits["confident_at"])]
        drawn.append(figures.ruler(stretch, "The first is right", "else ambiguous", decision.probability, bound, zones))
    return drawn


def _route_rulers(decision: Decision, limits: Mapping[str, Any], stretch: figures.Stretch) -> list[figures.Ruler]:
    confidence = chance(decision)
    if confidence is None:
        return []
    direct, fallback = float(limits["direct"]), float(limits["fallback"])
    if fallback >= direct:
        zones: tuple[tuple[str, str], ...] = (("fallback", "handed back"), ("confident", "selected"))
        return [figures.ruler(stretch, "Confidence", "else handed back", confidence, [direct], zones)]
    zones = (("fallback", "handed back"), ("ambiguous", "to confirm"), ("confident", "selected"))
    return [figures.ruler(stretch, "Confidence", "two thresholds", confidence, [fallback, direct], zones)]
