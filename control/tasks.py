"""Celery's door to what the console has done in the background: take ids, call a service."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from control.demo import requested


@shared_task(ignore_result=True)
def load_demo(load_id: str) -> None:
    """Load the demo catalog; returns at once when it was taken or given up already."""
    requested.run(UUID(load_id))


def _send_load(load_id: str) -> None:
    load_demo.apply_async((load_id,), expires=requested.GIVEN_UP_S)


requested.workers.through(_send_load)
