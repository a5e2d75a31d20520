"""Hand decisions to workers: the row is the promise, the message only its id."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone

from routing import bus
from routing.choices import DecisionState
from routing.errors import Unavailable
from routing.models import Decision
from routing.sealing import seal
from routing.services.decisions import relay
from routing.services.decisions.caller import Caller
from routing.services.ledger.insert import insert

logger = logging.getLogger(__name__)
_send: Callable[..., None] | None = None
_call: Callable[[], None] | None = None


def on_enqueue(send: Callable[..., None], call: Callable[[], None]) -> None:
    """Tell this service how ids reach the workers for their type of decision, `send(type, *ids)`, and how one of them is
    called to read the relay (routing.tasks does)."""
    global _send, _call
    _send, _call = send, call


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that is not kept yet: its row, and whether a worker will wait for others while it decides."""

    row: Decision
    waits: bool = True


def draft(decision_id: Any, type_: str, caller: Caller, content: Mapping[str, Any], **facts: Any) -> Decision:
    """The row of a request, its text encrypted."""
    now = timezone.now()
    return Decision(
        id=decision_id,
        type=str(type_),
        state=DecisionState.QUEUED.value,
        workspace_id=caller.workspace_id,
        scope=caller.scope,
        harness=caller.harness,
        created_at=now,
        enqueued_at=now,
        content=seal(content),
        **facts,
    )


def request(decision_id: Any, type_: str, caller: Caller, content: Mapping[str, Any], **facts: Any) -> Decision:
    """Keep a request and call a worker after the commit. Raises Unavailable when it cannot be kept."""
    row = draft(decision_id, type_, caller, content, **facts)
    keep([Request(row=row)])
    return row


def keep(requests: Sequence[Request]) -> None:
    """Keep all of these or none, and call workers after the commit. Raises Unavailable when they cannot be kept."""
    try:
        with transaction.atomic():
            insert(Decision, [_columns(request.row) for request in requests])
            transaction.on_commit(lambda: enqueue(requests), robust=True)
    except DatabaseError as error:
        logger.warning("%d requests could not be kept: %s", len(requests), type(error).__name__)
        raise Unavailable("The request could not be kept; nothing was accepted. Send it again.") from error
    for request in requests:
        request.row._state.adding = False  # as after save()


def _columns(row: Decision) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in Decision._meta.concrete_fields}


def call_for_what_waits() -> None:
    """Call a worker for ids in the relay that nobody comes for: who was to read them died, or broke off."""
    try:
        if _call is not None and relay.is_waiting():
            _call()
    except Exception as error:  # whatever the transport raises
        logger.info("the sweep will find what waits: %s", type(error).__name__)


def enqueue(requests: Sequence[Request]) -> None:
    """Send ids to the workers. When that fails the sweep sends them again: the rows are kept."""
    if _send is None or _call is None:
        return
    alone = [request.row for request in requests if request.waits]
    quick = [str(request.row.pk) for request in requests if not request.waits]
    try:
        # The transport of tasks has more patience with a bus that hangs than whoever waits for an answer: the bus is asked first.
        if quick and relay.put(quick):
            _call()
        if alone:
            bus.ping()
        for row in alone:  # each a message, so that they wait beside each other
            _send(row.type, str(row.pk))
    except Exception as error:  # whatever the transport raises
        logger.warning("decisions could not be sent to a worker yet: %s", type(error).__name__)
