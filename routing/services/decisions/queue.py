"""Hand a decision to a worker: the row is the promise, the message only its id."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone

from routing import bus
from routing.choices import DecisionState
from routing.errors import Unavailable
from routing.models import Decision
from routing.sealing import seal
from routing.services.decisions.caller import Caller

logger = logging.getLogger(__name__)
_send: Callable[[str], None] | None = None


def on_enqueue(send: Callable[[str], None]) -> None:
    """Tell this service how an id reaches the workers (routing.tasks does)."""
    global _send
    _send = send


def request(decision_id: Any, type_: str, caller: Caller, content: Mapping[str, Any], **facts: Any) -> Decision:
    """Keep a request, its text encrypted, and call a worker after the commit. Raises Unavailable when it cannot be kept."""
    now = timezone.now()
    try:
        with transaction.atomic():
            row = Decision.objects.create(
                id=decision_id,
                type=type_,
                state=DecisionState.QUEUED,
                workspace_id=caller.workspace_id,
                scope=caller.scope,
                harness=caller.harness,
                created_at=now,
                enqueued_at=now,
                content=seal(content),
                **facts,
            )
            transaction.on_commit(lambda: enqueue(row.pk), robust=True)
    except DatabaseError:
        logger.warning("a request of %s could not be kept", caller.harness)
        raise Unavailable("The request could not be kept; nothing was accepted. Send it again.") from None
    return row


def enqueue(decision_id: Any) -> None:
    """Send the id to the workers. When that fails the sweep sends it again: the row is kept."""
    if _send is None:
        return
    try:
        bus.ping()  # the transport of tasks has more patience with a bus that hangs than whoever waits for an answer
        _send(str(decision_id))
    except Exception as error:  # whatever the transport raises
        logger.warning("a decision could not be sent to a worker yet: %s", type(error).__name__)
