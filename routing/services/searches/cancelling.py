"""Cancel a search: one that waits ends at once, one that runs with its best so far; repeatable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from routing import bus
from routing.choices import DecisionState
from routing.models import Actor, Decision, Search
from routing.services import audit
from routing.services.decisions.messages import message
from routing.services.searches.telling import find

if TYPE_CHECKING:
    from routing.services.decisions.caller import Caller


def cancel(caller: Caller, search_id: str) -> Decision:
    """The search as it then is. Raises NotFound for a search that is not of the caller's scope."""
    return _cancel(find(caller.workspace_id, caller.scope, search_id))


@transaction.atomic
def cancel_by_operator(workspace_id: Any, search_id: str, *, by: Actor) -> Decision:
    """The same from the console."""
    row = find(workspace_id, None, search_id)
    audit.record(workspace_id, "search.cancel", search_id, by=by, before={"state": row.state})
    return _cancel(row)


@transaction.atomic
def _cancel(row: Decision) -> Decision:
    if row.is_final:
        return row
    # Whoever takes it up from now on sees the wish; who has not begun yet finds it ended.
    Search.objects.filter(pk=row.pk).update(cancel_requested=True)
    ended = Decision.objects.filter(pk=row.pk, state=DecisionState.QUEUED).update(
        state=DecisionState.CANCELLED,
        finished_at=timezone.now(),
        content=None,
        claim=None,
        claimed_until=None,
        reason_codes=["cancelled"],
    )
    if ended:
        names = ("decision.finished", "search.finished")
        transaction.on_commit(lambda: bus.tell([message(row, name) for name in names]), robust=True)
    return find(row.workspace_id, row.scope, str(row.pk))
