"""Make a replay (on a worker): hold it while it goes on, tell how far it is, stop when it is wanted no longer."""

from __future__ import annotations

import logging
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import orjson
from django.db import DatabaseError
from django.db.models import F
from django.utils import timezone

from routing import snapshot, working
from routing.choices import DecisionState, DecisionType
from routing.engine import Catalog, load_registry
from routing.engine.expectations import run_expectations
from routing.engine.meaning import DEEP
from routing.engine.models import HarnessState, RouteDecision
from routing.engine.replay import Recorded, Side, replay
from routing.models import Decision, Recording, Replay
from routing.services import playground
from routing.services.recordings import keeping, reading
from routing.services.replays.findings import Findings
from routing.services.replays.request import Window, against_of, tell
from routing.snapshot import Live

logger = logging.getLogger(__name__)
LASTS_S = 60.0  # a claim while something takes long in one piece: compiling ten thousand tools, asking expectations
HELD_S = 15.0  # a claim that is held again and again
LOOK_EVERY_S = 0.3
BATCH = 500
TYPES = (DecisionType.RESOLVE, DecisionType.ADVICE, DecisionType.ROUTE)
_COLUMNS = ("id", "type", "created_at", "scope", "policy", "revision", "status", "target", "probability", "score_gap")


class _Unwanted(Exception):
    """Somebody cancelled it, or another worker has it now."""


def run(pk: uuid.UUID) -> None:
    """Make a replay that waits. Safe to call twice: the second finds it taken."""
    claim, until = uuid.uuid4(), timezone.now() + timedelta(seconds=LASTS_S)
    taken = Replay.objects.filter(pk=pk, state=DecisionState.QUEUED).update(
        state=DecisionState.RUNNING, claim=claim, claimed_until=until, runs=F("runs") + 1
    )
    if not taken:
        return
    row = Replay.objects.select_related("workspace").get(pk=pk)
    row.claim = claim  # as it was taken, should somebody have taken it over already
    try:
        _finish(row, {"state": DecisionState.FINISHED, "result": _made(row)})
    except _Unwanted:
        logger.info("replay %s is wanted no longer", pk)
    except DatabaseError:
        raise  # the claim ends by itself and the sweep queues it again
    except Exception as error:  # its message may quote a text
        logger.error("replay %s failed: %s", pk, type(error).__name__)
        _finish(row, {"state": DecisionState.FAILED, "error": f"it could not be made ({type(error).__name__})"})


def _finish(row: Replay, columns: Mapping[str, Any]) -> None:
    ended = {"document": None, "claim": None, "claimed_until": None, "finished_at": timezone.now(), **columns}
    if Replay.objects.filter(pk=row.pk, claim=row.claim).update(**ended):
        tell(row, "replay.finished")


def _made(row: Replay) -> dict[str, Any]:
    live, began = snapshot.live(row.workspace_id), time.monotonic()
    before, after = _catalogs(row, live)
    decisions = _decisions(row)
    findings, watch = Findings(before, after), _Watch(row, len(decisions))
    recorded = watch.passed(_recorded(decisions, live, row.against))
    for outcome in replay(recorded, before, after, route=_locally):
        findings.add(outcome)
    watch.look(LASTS_S)
    report = run_expectations(after)
    return findings.told() | {
        "seconds": round(time.monotonic() - began, 2),
        "expectations": {"passed": report.passed, "failed": [dict(one) for one in report.failed]},
    }


def _locally(catalog: Catalog, scope: str, policy: str, text: str) -> RouteDecision:
    return playground.routed(catalog, scope, policy, HarnessState(goal=text)).decision


def _catalogs(row: Replay, live: Live) -> tuple[Catalog, Catalog]:
    """Both sides, compiled from what they share and judged alike."""
    before = live.catalog
    if row.against != live.revision:
        other = against_of(row.workspace, row.against) if row.against else None
        before = load_registry(working.frozen(other), previous=live.catalog)
    candidate = orjson.loads(zlib.decompress(bytes(row.document or b"")))
    return before, load_registry(candidate, previous=before)


def _decisions(row: Replay) -> list[uuid.UUID]:
    """The decisions of the window, newest first."""
    window = Window.of(row.window)
    rows = Decision.objects.filter(workspace_id=row.workspace_id, state=DecisionState.FINISHED, type__in=TYPES)
    if window.since is not None:
        rows = rows.filter(created_at__gte=window.since)
    if window.until is not None:
        rows = rows.filter(created_at__lt=window.until)
    if window.scopes is not None:
        rows = rows.filter(scope__in=window.scopes)
    return list(rows.order_by("-id").values_list("pk", flat=True)[: window.last])


def _recorded(decisions: Sequence[uuid.UUID], live: Live, against: int) -> Iterator[Recorded]:
    """Each decision as it was recorded; without a text where nothing is, or nobody can read it."""
    judge = keeping.judge_of(live)
    for start in range(0, len(decisions), BATCH):
        part = decisions[start : start + BATCH]
        kept = Recording.objects.filter(until__gt=timezone.now()).in_bulk(part)
        rows = {row["id"]: row for row in Decision.objects.filter(pk__in=part).values(*_COLUMNS, "reason_codes")}
        for pk in part:
            recording = kept.get(pk)
            content = reading.opened(recording) if recording else {}
            yield _read(rows[pk], content, holds=rows[pk]["revision"] == against and content.get("judge") == judge)


def _read(row: Mapping[str, Any], content: Mapping[str, Any], *, holds: bool) -> Recorded:
    told = None
    if holds and content["whole"] and content["used"] != DEEP:
        codes = tuple(row["reason_codes"])
        told = Side(row["status"], row["target"], row["probability"], row["score_gap"], codes)
    return Recorded(
        id=str(row["id"]),
        at=row["created_at"],
        scope=row["scope"],
        policy=row["policy"],
        text=content.get("query"),
        tier=content.get("tier"),
        route=content.get("route"),
        told=told,
    )


class _Watch:
    """Writes down how far a replay is, holds its claim, and sees that it is still wanted."""

    def __init__(self, row: Replay, of: int) -> None:
        self._row, self._of, self._done = row, of, 0
        self._looked = 0.0
        self.look()

    def passed(self, recorded: Iterator[Recorded]) -> Iterator[Recorded]:
        for one in recorded:
            yield one
            self._done += 1
            if time.monotonic() - self._looked > LOOK_EVERY_S:
                self.look()

    def look(self, lasts_s: float = HELD_S) -> None:
        """Raises _Unwanted."""
        self._looked = time.monotonic()
        until = timezone.now() + timedelta(seconds=lasts_s)
        mine = Replay.objects.filter(pk=self._row.pk, claim=self._row.claim, state=DecisionState.RUNNING)
        if not mine.update(done=self._done, of=self._of, claimed_until=until):
            raise _Unwanted
        tell(self._row, "replay.progress")
