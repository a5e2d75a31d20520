"""Celery's door: take ids, call a service. Each task may run twice without harm; a sweep finds what was missed."""

from __future__ import annotations

import time
from uuid import UUID

from celery import shared_task

from routing.services import calibration, decisions, inspections, ledger, meaning, schedules

LINGER_S = 0.08


@shared_task(ignore_result=True)
def decide(decision_id: str) -> None:
    """Make a queued decision; returns at once when somebody else has it or it is made."""
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


@shared_task(ignore_result=True)
def publish_due() -> None:
    """Publish what was set for a time that has come."""
    schedules.run_due()


@shared_task(ignore_result=True)
def make_vectors(workspace_id: str) -> None:
    """Encode the texts of the live catalog that no vector is kept of yet."""
    meaning.make(UUID(workspace_id))


@shared_task(ignore_result=True)
def inspect_endpoint(inspection_id: str) -> None:
    """Look at an endpoint; returns at once when somebody else does, or it is no longer wanted."""
    inspections.run(UUID(inspection_id))


@shared_task(ignore_result=True)
def recalibrate() -> None:
    """Fit the judge anew for every workspace of which enough outcomes were reported since the last time."""
    calibration.recalibrate_due()


def _wake_writer(workspace_id: str) -> None:
    write_ledger.apply_async((workspace_id,), expires=30)


def _send_decision(decision_id: str) -> None:
    decide.apply_async((decision_id,))


def _send_vectors(workspace_id: str) -> None:
    make_vectors.apply_async((workspace_id,), expires=meaning.CLAIM_S)


def _send_inspection(inspection_id: str) -> None:
    inspect_endpoint.apply_async((inspection_id,), expires=inspections.GIVEN_UP_S)


inspections.on_request(_send_inspection)
meaning.on_missing(_send_vectors)
ledger.on_wake(_wake_writer)
decisions.on_enqueue(_send_decision)
