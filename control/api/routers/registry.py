"""The registry and its revisions, for scripts that read what is published."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from control.api.answers import answer
from control.api.auth import needs
from control.api.pagination import mark, only_known, read_mark
from control.api.schemas import out
from control.api.schemas.registry import RevisionFilters
from control.keys import Harness
from routing import documents
from routing.formats import write_yaml

router = Router(tags=["registry"])


def _workspace_id(request: Any) -> Any:
    harness: Harness = request.auth
    return harness.workspace_id


@router.get(
    "/registry",
    auth=needs("registry.read"),
    summary="The live document, the draft, or a revision",
    operation_id="get_registry",
    response={200: out.RegistryOut, **out.ERRORS},
)
async def registry(request: HttpRequest, revision: str = "live") -> HttpResponse:
    found = await sync_to_async(documents.registry)(_workspace_id(request), revision)
    tag = {"ETag": f'"{found["digest"]}"'}
    if "application/yaml" in request.headers.get("Accept", ""):
        return HttpResponse(write_yaml(found["document"]), content_type="application/yaml; charset=utf-8", headers=tag)
    return answer(found, headers=tag)


@router.get(
    "/revisions",
    auth=needs("registry.read"),
    summary="Revisions, newest first",
    operation_id="list_revisions",
    response={200: out.RevisionPageOut, **out.ERRORS},
)
async def revisions(request: HttpRequest, data: Query[RevisionFilters]) -> HttpResponse:
    only_known(request, RevisionFilters)
    rows, following = await sync_to_async(documents.revisions)(
        _workspace_id(request), read_mark(data.after), data.limit
    )
    return answer({"items": rows, "next": mark(following) if following else None})


@router.get(
    "/revisions/{number}",
    auth=needs("registry.read"),
    summary="One revision with its changes",
    operation_id="get_revision",
    response={200: out.RevisionDetailOut, **out.ERRORS},
)
async def revision(request: HttpRequest, number: int) -> HttpResponse:
    return answer(await sync_to_async(documents.revision)(_workspace_id(request), number))
