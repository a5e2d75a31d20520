"""Celery's door: take ids, call a service. Each task may run twice without harm; a sweep finds what was missed."""

from __future__ import annotations

import time
from uuid import UUID

from celery import shared_task

from routing.choices import DecisionType
from routing.services import (
    calibration,
    checks,
    decisions,
    inspections,
    ledger,
    meaning,
    replays,
    schedules,
    searches,
    sources,
)
from routing.services.canaries import looking
from routing.services.doctor import examinations
from routing.services.recordings import reading
from routing.services.shadow_policies import running as shadow_policies

LINGER_S = 0.08


@shared_task(ignore_result=True)
def decide(*decision_ids: str) -> None:
    """Make queued decisions; those that somebody else has, or that are made, are left alone."""
    decisions.run(*map(UUID, decision_ids))


@shared_task(ignore_result=True)
def decide_relayed() -> None:
    """Make quick decisions for as long as they come; returns at once where this process does so already."""
    decisions.run_relayed()


@shared_task(ignore_result=True)
def run_search(decision_id: str) -> None:
    """Look ahead for a queued search, among those that compute; as `decide` otherwise."""
    decisions.run(UUID(decision_id))


@shared_task(ignore_result=True)
def write_ledger(workspace_id: str) -> None:
    """Append what waits to the workspace's chain, after a moment in which more may come: many events, one transaction."""
    time.sleep(LINGER_S)
    ledger.write(UUID(workspace_id))


@shared_task(ignore_result=True)
def sweep() -> None:
    """Queue again what was lost on the way, give up what is too old, and write what waits."""
    decisions.sweep()
    meaning.sweep()
    replays.resume()


@shared_task(ignore_result=True)
def publish_due() -> None:
    """Publish what was set for a time that has come."""
    schedules.run_due()


@shared_task(ignore_result=True)
def end_shadow_policies() -> None:
    """End shadow policies whose time is over, or whose policy was published or removed."""
    shadow_policies.end_due()


@shared_task(ignore_result=True)
def watch_canaries() -> None:
    """Judge the canaries that run, and end those that broke a bound or whose time is over."""
    looking.look_after_all()


@shared_task(ignore_result=True)
def check_sources() -> None:
    """Look at the files that registries are kept in."""
    sources.check_all()


@shared_task(ignore_result=True)
def run_replay(replay_id: str) -> None:
    """Make recorded decisions again, among those that compute; returns at once when somebody else does or did."""
    replays.run(UUID(replay_id))


@shared_task(ignore_result=True)
def purge_recordings() -> None:
    """Erase recorded texts whose time is over."""
    reading.purge()


@shared_task(ignore_result=True)
def make_vectors(workspace_id: str) -> None:
    """Encode the texts of the live catalog that no vector is kept of yet."""
    meaning.make(UUID(workspace_id))


@shared_task(ignore_result=True)
def check_draft(workspace_id: str) -> None:
    """Ask the expectations of a draft that changed; returns at once when that was done."""
    checks.check_draft(UUID(workspace_id))


@shared_task(ignore_result=True)
def inspect_endpoint(inspection_id: str) -> None:
    """Look at an endpoint; returns at once when somebody else does, or it is no longer wanted."""
    inspections.run(UUID(inspection_id))


@shared_task(ignore_result=True)
def examine(workspace_id: str) -> None:
    """Have the hint doctor look at a workspace's draft and at what is live; returns at once where nothing is new."""
    examinations.make(UUID(workspace_id))


@shared_task(ignore_result=True)
def recalibrate() -> None:
    """Fit the judge anew for every workspace of which enough outcomes were reported since the last time."""
    calibration.recalibrate_due()


@shared_task(ignore_result=True)
def forget_old() -> None:
    """Drop what is kept for a bounded time and was kept for that."""
    searches.forget_trees()


def _wake_writer(workspace_id: str) -> None:
    write_ledger.apply_async((workspace_id,), expires=30)


def _send_decisions(type_: str, *decision_ids: str) -> None:
    task = run_search if type_ == DecisionType.SEARCH else decide
    task.apply_async(decision_ids)


def _call_decider() -> None:
    decide_relayed.apply_async(expires=30)


def _send_vectors(workspace_id: str) -> None:
    make_vectors.apply_async((workspace_id,), expires=meaning.CLAIM_S)


def _send_inspection(inspection_id: str) -> None:
    inspect_endpoint.apply_async((inspection_id,), expires=inspections.GIVEN_UP_S)


def _send_replay(replay_id: str) -> None:
    run_replay.apply_async((replay_id,))


def _send_check(workspace_id: str) -> None:
    check_draft.apply_async((workspace_id,), expires=60)


def _send_examination(workspace_id: str) -> None:
    examine.apply_async((workspace_id,), expires=examinations.CLAIM_S)


checks.workers.through(_send_check)
examinations.workers.through(_send_examination)
inspections.workers.through(_send_inspection)
replays.workers.through(_send_replay)
meaning.on_missing(_send_vectors)
ledger.on_wake(_wake_writer)
decisions.on_enqueue(_send_decisions, _call_decider)
