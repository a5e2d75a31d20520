"""A search as callers and pages are told of it, at whatever point it is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from routing.choices import DecisionState, DecisionType
from routing.engine.search.telling import unpack_node
from routing.errors import NotFound
from routing.events import timestamp
from routing.models import Decision, Search

MOST_NODES = 2000


def find(workspace_id: Any, scope: str | None, search_id: str) -> Decision:
    """The decision of a search with its `search`; NotFound outside workspace and scope (None: all scopes)."""
    try:
        key = UUID(search_id)
    except ValueError:
        raise NotFound() from None
    rows = Decision.objects.in_scope(workspace_id, scope).select_related("search")
    row = rows.filter(pk=key, type=DecisionType.SEARCH).first()
    if row is None:
        raise NotFound()
    return row


def describe(row: Decision) -> dict[str, Any]:
    """The search object of the API, without its tree."""
    if row.answer is not None:
        return dict(row.answer)
    search: Search = row.search
    told = {
        "id": str(row.pk),
        "decision_id": str(row.pk),
        "state": row.state,
        "method": search.method,
        "progress": {"simulations": search.simulations, "of": search.of, "elapsed_ms": search.elapsed_ms},
        "result": None,
        "cost": {"simulations": search.simulations, "cpu_ms": 0.0, "provider_requests": 0},
        "created_at": timestamp(row.created_at),
        "finished_at": None if row.finished_at is None else timestamp(row.finished_at),
    }
    return told | ({"error": row.error} if row.state == DecisionState.FAILED else {})


def tree_of(row: Decision) -> list[dict[str, Any]]:
    """The nodes that are known so far, parents before their children."""
    return [unpack_node(packed) for packed in row.search.tree]
