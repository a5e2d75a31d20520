"""Shadow providers: asked what they would have decided, beside the live ones, and never listened to.

A shadow sees a decision after it was answered, in a thread of its own, and no more of them than it keeps up with. What it
says is compared and counted (agreed, differed, failed; skipped where it did not keep up), and forgotten.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from django.db import close_old_connections

from routing.engine.models import FALLBACK, HarnessState, RouteDecision, ToolDescriptor
from routing.engine.policies import EffectivePolicy
from routing.services.providers import asking, figures, settings
from routing.snapshot import Live

logger = logging.getLogger(__name__)
AT_ONCE = 2
WAITING = 16
_places = threading.BoundedSemaphore(WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A decision with all that it was made from."""

    live: Live
    policy: EffectivePolicy
    scope: str | None
    state: HarnessState
    tools: Sequence[ToolDescriptor]
    decision: RouteDecision


def consider(made: Made) -> None:
    """Have the workspace's shadows asked about a decision that was just made; returns at once."""
    workspace_id = made.live.workspace_id
    if made.decision.source not in ("provider", "local"):
        return  # a kept answer says nothing new
    for name, share in settings.shadows(workspace_id):
        if name in made.policy.router["providers"] or random.random() >= share:
            continue
        if not _places.acquire(blocking=False):
            figures.record_shadow(workspace_id, name, "skipped")
            continue
        work = _pool().submit(_ask, name, made)
        work.add_done_callback(lambda _: _places.release())


def _ask(name: str, made: Made) -> None:
    try:
        alone = asking.by_one(made.live, made.policy, made.scope, name, made.state, made.tools)
        outcome = "failed" if alone is None else "agreed" if chosen(alone) == chosen(made.decision) else "differed"
        figures.record_shadow(made.live.workspace_id, name, outcome)
    except Exception as problem:  # nobody waits for a shadow; its words may quote what was asked
        logger.warning("the shadow %s could not be compared: %s", name, type(problem).__name__)
    finally:
        close_old_connections()


def chosen(decision: RouteDecision) -> str | None:
    """What was chosen, sure enough or not; FALLBACK where nothing fits."""
    if decision.tool or decision.proposed_tool:
        return decision.tool or decision.proposed_tool
    return decision.answers[-1].choice if decision.answers else FALLBACK


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="shadow")


def wait() -> None:
    """Until every shadow has been heard (tests look at the counts afterwards)."""
    for _ in range(WAITING):
        _places.acquire()
    for _ in range(WAITING):
        _places.release()
