"""Browse and describe the tools of a key's scope."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from control.api.answers import answer
from control.api.auth import caller, needs
from control.api.pagination import only_known
from control.api.schemas import out
from control.api.schemas.recommendations import SearchToolsByAddress, SearchToolsIn
from routing.services import decisions

router = Router(tags=["tools"])


@router.get(
    "/tools/search",
    auth=needs("decide"),
    summary="Browse tools",
    operation_id="search_tools_by_address",
    response={200: out.SearchToolsOut | out.TooLongOut, **out.ERRORS},
)
async def search_by_address(request: HttpRequest, data: Query[SearchToolsByAddress]) -> HttpResponse:
    only_known(request, SearchToolsByAddress)
    return answer(await sync_to_async(decisions.browse)(caller(request), data.query, data.max_hits))


@router.post(
    "/tools/search",
    auth=needs("decide"),
    summary="Browse tools; the query stays out of access logs",
    operation_id="search_tools",
    response={200: out.SearchToolsOut | out.TooLongOut, **out.ERRORS},
)
async def search(request: HttpRequest, data: SearchToolsIn) -> HttpResponse:
    return answer(await sync_to_async(decisions.browse)(caller(request), data.query, data.max_hits))


@router.get(
    "/tools/{path:name}",
    auth=needs("decide"),
    summary="One tool in full",
    operation_id="describe_tool",
    response={200: out.ToolOut, **out.ERRORS},
)
async def describe(request: HttpRequest, name: str) -> HttpResponse:
    return answer(await sync_to_async(decisions.describe)(caller(request), name))
