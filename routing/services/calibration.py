"""Learn from outcomes how far the judge's probabilities can be believed in a workspace.

A domain outcome that names a decision says whether the tool that was ranked first there was right; so does a label that
somebody gave it in the console, which stands over what was reported. The newest of them are
joined with what was told, the two corrections are fitted (`routing.engine.calibration`), and a new version is kept, which
every process takes up like a publication. What is kept are numbers.
"""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import F

from routing import generation
from routing.choices import DecisionType, EventKind
from routing.engine import Catalog
from routing.engine.calibration import Calibration, Outcome, expected_error, was_right
from routing.engine.calibration import recalibrate as fit
from routing.engine.policy import NO_MATCH, shipped_fit
from routing.models import Actor, CalibrationRow, Decision, Event, Label, Workspace
from routing.services import audit, labels
from routing.snapshot import live

logger = logging.getLogger(__name__)
ENOUGH_NEW = 25  # outcomes after which it is worth fitting again
MOST_EVENTS = 8000  # the newest, so that what changed long ago is forgotten
MOST_OUTCOMES = 2000
FEWEST_OUTCOMES = 20  # below them the shipped fit is left alone
KEPT_VERSIONS = 100
BY = "scheduler"


def recalibrate_due() -> int:
    """Fit every workspace that has enough new outcomes; how many got a new version. One that fails holds up no other."""
    made = 0
    for workspace in Workspace.objects.filter(outcomes_new__gte=ENOUGH_NEW):
        try:
            made += recalibrate(workspace) is not None
        except Exception as error:
            logger.error("workspace %s could not be calibrated: %s", workspace.name, type(error).__name__)
    return made


def recalibrate(workspace: Workspace, *, by: str = BY) -> CalibrationRow | None:
    """Fit a workspace's outcomes and keep the result as its next version; None where there are too few to say anything."""
    seen = workspace.outcomes_new
    outcomes = labelled(workspace.pk)
    with transaction.atomic():
        Workspace.objects.filter(pk=workspace.pk, outcomes_new__gte=seen).update(outcomes_new=F("outcomes_new") - seen)
        if len(outcomes) < FEWEST_OUTCOMES:
            return None
        Workspace.objects.select_for_update().get(pk=workspace.pk)  # versions are counted one after the other
        newest = CalibrationRow.objects.filter(workspace=workspace).first()
        version = newest.version + 1 if newest else 1
        row = _row(workspace, fit(outcomes, version=version), outcomes, by)
        _tell(row, newest.version if newest else None)
        row.save()
        CalibrationRow.objects.filter(workspace=workspace, version__lte=version - KEPT_VERSIONS).delete()
        generation.bump()
    logger.info("workspace %s is judged by calibration %d, from %d outcomes", workspace.name, version, len(outcomes))
    return row


def _tell(row: CalibrationRow, before: int | None) -> None:
    """Nobody asked for it, but answers are judged otherwise from here on."""
    after = {"version": row.version, "outcomes": row.outcomes, "right": row.right}
    target, by = f"calibration {row.version}", Actor(kind="system", name=row.created_by)
    audit.record(row.workspace_id, "judge.calibrated", target, by=by, before={"version": before}, after=after)


def _row(workspace: Workspace, made: Calibration, outcomes: Sequence[Outcome], by: str) -> CalibrationRow:
    right = np.array([one.was_right for one in outcomes], np.float64)
    told = np.array([one.right for one in outcomes])
    corrected = np.array([made(one.match, one.right)[1] for one in outcomes])
    return CalibrationRow(
        workspace=workspace,
        version=made.version,
        created_by=by,
        fit=shipped_fit(),
        outcomes=len(outcomes),
        right=int(right.sum()),
        match_intercept=made.match.intercept,
        match_slope=made.match.slope,
        right_intercept=made.right.intercept,
        right_slope=made.right.slope,
        figures={
            "ece_before": round(expected_error(told, right), 4),
            "ece_after": round(expected_error(corrected, right), 4),
            "told": round(float(told.mean()), 4),
            "was": round(float(right.mean()), 4),
        },
    )


class Judgement(NamedTuple):
    """A decision of which it is known whether the tool that came first was right."""

    decision: Decision
    first: str  # this tool
    outcome: Outcome


def labelled(workspace_id: Any) -> list[Outcome]:
    return [one.outcome for one in judgements(workspace_id)]


def judgements(workspace_id: Any) -> list[Judgement]:
    """What the newest domain outcomes say of the decisions that they name, decisions of the same scope only, and labels."""
    reported: dict[uuid.UUID, list[Event]] = defaultdict(list)
    events = Event.objects.filter(
        workspace_id=workspace_id, kind=EventKind.DOMAIN_OUTCOME, decision_id__isnull=False
    ).only("decision_id", "scope", "target", "status")
    for event in events[:MOST_EVENTS]:
        if (key := _as_uuid(event.decision_id)) is not None:
            reported[key].append(event)
    said = _labels(workspace_id)
    keys = list(dict.fromkeys([*said, *reported]))[:MOST_OUTCOMES]
    catalog = live(workspace_id).catalog
    found = []
    for start in range(0, len(keys), 500):
        for decision in _decisions(workspace_id, keys[start : start + 500]):
            own = [event for event in reported[decision.pk] if event.scope == decision.scope]
            if (judged := _judgement(decision, own, said.get(decision.pk, ()), catalog)) is not None:
                found.append(judged)
    return found


def _labels(workspace_id: Any) -> dict[uuid.UUID, list[Label]]:
    """The newest opinions of people, by decision."""
    found: dict[uuid.UUID, list[Label]] = defaultdict(list)
    for label in Label.objects.filter(workspace_id=workspace_id)[:MOST_OUTCOMES]:
        found[label.decision_id].append(label)
    return dict(found)


def _decisions(workspace_id: Any, keys: Sequence[uuid.UUID]) -> Sequence[Decision]:
    """Those that were judged by the resolver's heads."""
    rows = Decision.objects.filter(
        workspace_id=workspace_id, pk__in=keys, type__in=(DecisionType.RESOLVE, DecisionType.ADVICE)
    )
    return list(rows.defer("content", "answer", "thresholds", "execution"))


def _judgement(
    decision: Decision, events: Sequence[Event], said: Sequence[Label], catalog: Catalog
) -> Judgement | None:
    first = _first(decision)
    if first is None or decision.probability is None or decision.match_probability is None:
        return None
    reported = [(one.target or "", one.status or "") for one in reversed(events)]
    told = labels.as_outcomes(first, decision.target, said) or reported
    judged = was_right(_exact(catalog, first), [(_exact(catalog, tool), status) for tool, status in told])
    if judged is None:
        return None
    match, right = decision.shipped or (decision.match_probability, decision.probability)
    outcome = Outcome(match=match, right=right, was_right=judged[0], other=judged[1])
    return Judgement(decision, first, outcome)


def _first(decision: Decision) -> str | None:
    """The tool that `probability` speaks of: the recommended one, or the one that came first and was not offered."""
    if decision.target or decision.status != NO_MATCH:
        return decision.target
    candidates: Sequence[Mapping[str, Any]] = decision.candidates
    if not candidates or "best_candidate_unavailable" in decision.reason_codes:
        return None
    return str(candidates[0]["target"])


def _exact(catalog: Catalog, name: str) -> str:
    """Either spelling of a tool's name as one."""
    pair = catalog.pair(name)
    return "__".join(pair) if pair else name


def _as_uuid(text: str | None) -> uuid.UUID | None:
    try:
        return uuid.UUID(text or "")
    except ValueError:
        return None
