"""Replays: ask for one, make it on a worker, tell how far it is and what it found."""

from routing.services.replays.request import (
    DIED,
    DRAFT,
    Window,
    cancel,
    find,
    newest,
    refuse_unrecorded,
    request,
    resume,
    stopped,
    workers,
)
from routing.services.replays.running import run
from routing.services.replays.telling import describe

__all__ = [
    "DIED",
    "DRAFT",
    "Window",
    "cancel",
    "describe",
    "find",
    "newest",
    "refuse_unrecorded",
    "request",
    "resume",
    "run",
    "stopped",
    "workers",
]
