"""Searches: look ahead over a graph or over what the ledger knows, watched and cancelled while a worker is at it."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from uuid_utils.compat import uuid7

from control.api.answers import answer, await_decision, promise
from control.api.auth import caller, needs
from control.api.errors import problem
from control.api.pagination import only_known
from control.api.schemas import out
from control.api.schemas.searches import SearchIn, SearchQuery
from routing.choices import DecisionState
from routing.services import searches
from routing.services.decisions import Caller

router = Router(tags=["searches"])


@router.post(
    "/searches",
    auth=needs("decide"),
    summary="Which first step leads to the best end, searched by a worker",
    operation_id="search",
    response={200: out.SearchOut, 202: out.PromiseOut, **out.ERRORS},
)
async def search(request: HttpRequest, data: SearchIn) -> HttpResponse:
    who, search_id = caller(request), str(uuid7())
    row = await await_decision(search_id, lambda: searches.request_search(search_id, who, data.asked()), data.wait_ms)
    if row.state == DecisionState.FAILED:
        details = [{"path": "decision_id", "message": row.error or "failed", "value": search_id}]
        return problem(request, "unavailable", "The search was kept but could not be made.", details)
    if not row.is_final:
        return promise(row, f"/api/v1/searches/{search_id}", id=search_id)
    return answer(await sync_to_async(_told)(who, search_id))


@router.get(
    "/searches/{search_id}",
    auth=needs("decide"),
    summary="A search as it stands; ?tree=1 adds its tree",
    operation_id="get_search",
    response={200: out.SearchOut, **out.ERRORS},
)
async def get_search(request: HttpRequest, search_id: str, data: Query[SearchQuery]) -> HttpResponse:
    only_known(request, SearchQuery)
    return answer(await sync_to_async(_told)(caller(request), search_id, tree=data.tree))


@router.post(
    "/searches/{search_id}/cancel",
    auth=needs("decide"),
    summary="Cancel a search; what it has found so far is kept",
    operation_id="cancel_search",
    response={200: out.SearchOut, **out.ERRORS},
)
async def cancel_search(request: HttpRequest, search_id: str) -> HttpResponse:
    row = await sync_to_async(searches.cancel)(caller(request), search_id)
    return answer(searches.describe(row))


def _told(who: Caller, search_id: str, *, tree: bool = False) -> dict[str, Any]:
    row = searches.find(who.workspace_id, who.scope, search_id)
    told = searches.describe(row)
    return told | {"tree": searches.tree_of(row)} if tree else told
