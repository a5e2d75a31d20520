"""The Celery application: where tasks are found, and what a worker process does when it starts."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_process_init, worker_ready, worker_shutting_down

from control import lifeline

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "control.settings")
# Django's checks import every page and call of the web, which a worker never serves: a second of each start.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("switchyard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["routing"])

lifeline.hold_children()

logger = logging.getLogger(__name__)
_stopping = threading.Event()
HEARTBEAT_S = 1.5


@setup_logging.connect
def _log_like_the_web(**_: Any) -> None:
    """Keep Celery's hands off logging: settings.LOGGING holds for workers too."""


@worker_ready.connect
def _start(sender: Any = None, **_: Any) -> None:
    name = str(getattr(sender, "hostname", "worker")).split("@")[0]
    threading.Thread(target=_beat, args=(name,), name="heart", daemon=True).start()
    _watch_revisions()


@worker_process_init.connect
def _start_child(**_: Any) -> None:
    _watch_revisions()


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    _stopping.set()


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
