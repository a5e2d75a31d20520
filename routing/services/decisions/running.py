"""Run queued decisions: claim, decide, and record result and event in one transaction that erases the request's text.

A claim has an end: when its worker dies the sweep queues the decision again, and only the claim that is still valid may
finish it. So a decision is made once, whichever process dies.
"""

from __future__ import annotations

import logging
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.utils import timezone

from routing import bus
from routing.choices import DecisionState, DecisionType
from routing.errors import RoutingError
from routing.models import Decision
from routing.sealing import Unsealable, unseal
from routing.services import ledger, sessions
from routing.services.decisions import relay
from routing.services.decisions.claims import claim_all
from routing.services.decisions.messages import message
from routing.services.decisions.queue import call_for_what_waits
from routing.services.decisions.resolve_worker import decide_resolve
from routing.services.decisions.result import Result
from routing.services.decisions.route import decide_route
from routing.services.decisions.statements import update_claimed
from routing.services.providers import RouteFailed
from routing.services.searches.run import decide_search

logger = logging.getLogger(__name__)
DECIDERS: Mapping[str, Callable[[Decision, Mapping[str, Any]], Result]] = {
    DecisionType.ROUTE: decide_route,
    DecisionType.RESOLVE: decide_resolve,
    DecisionType.SEARCH: decide_search,
}


# Quick decisions that are made in turn and finished together: their answers wait for each other.
MOST_TOGETHER = 8


def run_relayed() -> None:
    """Decide what comes by the relay, until nothing came for a while. Raises what `run` does; others then read on."""
    try:
        relay.read(run, MOST_TOGETHER)
    except Exception:
        call_for_what_waits()
        raise


def run(*decision_ids: UUID) -> None:
    """Decide those of these that nobody else holds or has made: claimed together, made in turn, finished together."""
    made: list[tuple[Decision, Result]] = []
    broken: Exception | None = None
    for row in claim_all(decision_ids):
        try:
            made.append((row, _made(row)))
        except (DatabaseError, bus.BusAway, sessions.Contended) as error:
            broken = error  # the claim ends by itself and the sweep queues the decision again
    finish_all(made)
    if broken is not None:
        raise broken


def _made(row: Decision) -> Result:
    try:
        return DECIDERS[row.type](row, unseal(row.content or b""))
    except Unsealable:
        return _failed("the request can no longer be read: its encryption key is gone")
    except RouteFailed as failed:
        return _failed(failed.message, failed.code)
    except (DatabaseError, bus.BusAway, sessions.Contended):
        raise
    except RoutingError as refused:
        return _failed(refused.message)
    except Exception as error:
        # The message of an unforeseen error may quote what was asked, so only its kind and place are logged.
        logger.error("decision %s failed: %s at %s", row.pk, type(error).__name__, _place(error))
        return _failed(f"the decision could not be made ({type(error).__name__})")


def _failed(reason: str, code: str = "") -> Result:
    """The end of a decision that cannot be made. `code`: of the answer that it gets."""
    return Result(state=DecisionState.FAILED, columns={"error": reason[:200], "error_code": code}, event=None)


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown place"


def finish(row: Decision, result: Result) -> bool:
    """`finish_all` for one; false when the claim was lost meanwhile."""
    return bool(finish_all([(row, result)]))


def fail(row: Decision, reason: str, code: str = "") -> bool:
    """End a decision that cannot be made; its text is erased like that of any other."""
    return finish(row, _failed(reason, code))


@transaction.atomic
def finish_all(made: Sequence[tuple[Decision, Result]]) -> list[Decision]:
    """Record results and their events, and erase the requests' texts; returns the decisions whose claim still held."""
    ours = [(row, result) for row, result in made if _finish(row, result)]
    ended = [row for row, _ in ours]
    if ended:
        transaction.on_commit(lambda: announce_final(*ended), robust=True)  # first: somebody waits for it
    events: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row, result in ours:
        if result.event is not None:
            events[row.workspace_id].append(result.event)
        if result.state == DecisionState.FAILED:
            transaction.on_commit(partial(sessions.settle_failed, row), robust=True)
    for workspace_id, bodies in events.items():
        ledger.keep(workspace_id, *bodies)
    return ended


def _finish(row: Decision, result: Result) -> bool:
    ended = {
        "state": result.state,
        "finished_at": timezone.now(),
        "content": None,
        "claim": None,
        "claimed_until": None,
    }
    written = update_claimed(row, {**ended, **result.columns}, state=DecisionState.RUNNING.value)
    if not written:
        logger.info("decision %s was taken over by another worker", row.pk)
    elif result.alongside is not None:
        result.alongside()
    return written


def announce_final(*rows: Decision) -> None:
    bus.tell([message(row, name) for row in rows for name in _EVENTS.get(row.type, ("decision.finished",))])


_EVENTS: Mapping[str, Sequence[str]] = {DecisionType.SEARCH: ("decision.finished", "search.finished")}
