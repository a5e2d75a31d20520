"""The Celery application: where tasks are found, and what a worker process does when it starts."""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Any

from celery import Celery
from celery.signals import (
    setup_logging,
    task_postrun,
    task_prerun,
    worker_init,
    worker_process_init,
    worker_ready,
    worker_shutting_down,
)
from django.db import close_old_connections, connections

from control import lifeline, transport

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "control.settings")
# Django's checks import every page and call of the web, which a worker never serves: a second of each start.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

transport.use()
app = Celery("switchyard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.CELERY_DB_REUSE_MAX = sys.maxsize  # Celery itself shall close no connection; see _keep_database_open
app.autodiscover_tasks(["routing", "control"])

lifeline.hold_children()

logger = logging.getLogger(__name__)
_stopping = threading.Event()
HEARTBEAT_S = 1.5


@setup_logging.connect
def _log_like_the_web(**_: Any) -> None:
    """Keep Celery's hands off logging: settings.LOGGING holds for workers too."""


@worker_init.connect
def _keep_database_open(**_: Any) -> None:
    """Between tasks do as Django does between requests, and keep the file of SQLite open: opening it takes longer than most tasks.

    A worker's threads live as long as it does. Connections to a server go back to their pool.
    """
    database = connections.settings["default"]
    if "pool" not in database["OPTIONS"]:
        database["CONN_MAX_AGE"] = None
    task_prerun.connect(_close_old_connections)
    task_postrun.connect(_close_old_connections)


def _close_old_connections(**_: Any) -> None:
    close_old_connections()


@worker_ready.connect
def _start(sender: Any = None, **_: Any) -> None:
    name = str(getattr(sender, "hostname", "worker")).split("@")[0]
    threading.Thread(target=_beat, args=(name,), name="heart", daemon=True).start()
    _watch_revisions()
    if name == "decide":
        from routing.services import decisions

        decisions.call_for_what_waits()


@worker_process_init.connect
def _start_child(**_: Any) -> None:
    # Only the worker of the queue `search` has children. What they compute gives way to whoever answers within milliseconds.
    os.nice(5)
    _watch_revisions()


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    from routing.services.decisions import relay

    _stopping.set()
    relay.stop()


def _watch_revisions() -> None:
    from routing.generation import watcher

    watcher.start()


def _beat(name: str) -> None:
    """Tell the bus that this worker lives; /readyz asks there, so a stopped worker is noticed within seconds."""
    from routing import bus

    while not _stopping.is_set():
        try:
            bus.beat_heart(name)
        except bus.BusAway:
            logger.debug("bus away")
        _stopping.wait(HEARTBEAT_S)
