"""The ASGI application: Django, with what a web process keeps in memory started and stopped around it."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "control.settings")

from django.core.asgi import get_asgi_application  # noqa: E402

django_application = get_asgi_application()

import routing.tasks  # noqa: E402,F401  (tells services how tasks are sent)
from control.celery import app as celery_app  # noqa: E402
from control.hub import hub  # noqa: E402
from routing.generation import watcher  # noqa: E402

celery_app.set_default()


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    else:
        await django_application(scope, receive, send)


async def _lifespan(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            watcher.start()
            hub.start()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await hub.stop()
            watcher.stop()
            await send({"type": "lifespan.shutdown.complete"})
            return
