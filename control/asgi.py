"""The ASGI application: Django, with what a web process keeps in memory started and stopped around it."""

from __future__ import annotations

import gc
import logging
import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "control.settings")

from asgiref.sync import sync_to_async
from django.core.asgi import get_asgi_application
from django.db import DatabaseError

django_application = get_asgi_application()

import control.tasks  # noqa: E402,F401  (as the next)
import routing.services.warming  # noqa: E402  (web processes alone keep drafts in memory for their pages)
import routing.tasks  # noqa: E402,F401  (tells services how tasks are sent)
from control.api import express  # noqa: E402
from control.celery import app as celery_app  # noqa: E402
from control.hub import hub  # noqa: E402
from control.uses import uses  # noqa: E402
from routing.generation import refresh_all, watcher  # noqa: E402

celery_app.set_default()
# This process sends and never listens: should the bus fall silent, requests do not wait behind one that is being sent.
celery_app.conf.broker_transport_options = {**celery_app.conf.broker_transport_options, "socket_timeout": 2}
logger = logging.getLogger(__name__)


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif express.takes(scope):
        await express.serve(scope, receive, send, otherwise=django_application)
    else:
        await django_application(scope, receive, send)


async def _load() -> None:
    """Have keys, catalogs and drafts in memory before the first request; a database that is away is waited for by the watcher."""
    try:
        await sync_to_async(refresh_all)()
    except DatabaseError:
        logger.warning("database away at start; requests are refused until it answers")
    watcher.start()
    # Catalogs stay for the life of the process: walking them at every full collection would hold up answers.
    gc.collect()
    gc.freeze()


async def _lifespan(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await _load()
            hub.start()
            uses.start()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await hub.stop()
            await express.stop()
            watcher.stop()
            await sync_to_async(uses.stop)()
            await send({"type": "lifespan.shutdown.complete"})
            return
