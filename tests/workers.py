"""A worker that is at hand: it takes what it is sent, or called for, as soon as that is committed, in the thread that kept it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from routing.services import decisions
from routing.services.decisions import queue, relay, running


def work_at_once(monkeypatch: pytest.MonkeyPatch, decide: Callable[..., None] = decisions.run) -> None:
    """`decide` is given the ids of each message, and of each round of the relay."""
    monkeypatch.setattr(relay, "LINGERS_S", 0.0)
    monkeypatch.setattr(queue, "_send", lambda _, *ids: decide(*map(UUID, ids)))
    monkeypatch.setattr(queue, "_call", lambda: relay.read(decide, running.MOST_TOGETHER))
