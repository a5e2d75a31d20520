"""The registry and its revisions, for scripts that read what is published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Router

from control.access import allows, note_denied, role_of_maker
from control.api.answers import answer
from control.api.auth import needs
from control.api.errors import Forbidden
from control.api.pagination import mark, only_known, read_mark
from control.api.schemas import out
from control.api.schemas.base import RevisionNumber
from control.api.schemas.registry import (
    ApproveIn,
    CanaryIn,
    ImportIn,
    PublishIn,
    RegistryIn,
    RejectIn,
    RestoreIn,
    RevisionFilters,
    StopIn,
)
from control.keys import Harness
from routing import documents
from routing.choices import RevisionState
from routing.events import timestamp
from routing.formats import write_yaml
from routing.models import Actor, Revision, Workspace
from routing.services import imports, reviews, revisions
from routing.services import registry as registries
from routing.services.canaries import ending, starting, telling

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
async def get_registry(request: HttpRequest, revision: str = "live") -> HttpResponse:
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
async def list_revisions(request: HttpRequest, data: Query[RevisionFilters]) -> HttpResponse:
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
async def get_revision(request: HttpRequest, number: Path[RevisionNumber]) -> HttpResponse:
    return answer(await sync_to_async(documents.revision)(_workspace_id(request), number))


@router.put(
    "/registry",
    auth=needs("registry.write"),
    summary="Make a document the draft and freeze it as a proposed revision",
    operation_id="put_registry",
    response={200: out.ProposedOut, **out.ERRORS, 409: out.ErrorOut},
)
async def put_registry(request: HttpRequest, data: RegistryIn) -> HttpResponse:
    seen = request.headers.get("If-Match", "").strip().removeprefix("W/").strip('"') or None
    return answer(await sync_to_async(_put)(request, data.document, data.message, seen))


def _put(request: Any, document: dict[str, Any], message: str, seen: str | None) -> dict[str, Any]:
    put = registries.put(_workspace(request), document, message=message, seen=seen, by=_actor(request))
    return _proposed(*put)


def _proposed(revision: Revision, is_new: bool, warnings: list[Any]) -> dict[str, Any]:
    return {
        "revision": revision.number,
        "state": RevisionState.PROPOSED.value if is_new else "unchanged",
        "digest": revision.digest,
        "base_revision": revision.base_number,
        "warnings": warnings,
    }


@router.post(
    "/registry/import",
    auth=needs("registry.write"),
    summary="Read a configuration of any known format into the draft",
    operation_id="import_registry",
    response={200: out.ImportOut, **out.ERRORS},
)
async def import_registry(request: HttpRequest, data: ImportIn) -> HttpResponse:
    given: Any = data.document if data.content is None else data.content
    report = await sync_to_async(imports.import_registry)(
        await sync_to_async(_workspace)(request),
        given,
        format=data.format,
        strategy=data.strategy,
        dry_run=data.dry_run,
        message=data.message,
        by=_actor(request),
    )
    return answer(report)


@router.post(
    "/revisions/{number}/approve",
    auth=needs("registry.review"),
    summary="Approve a proposed revision",
    operation_id="approve_revision",
    response={200: out.RevisionOut, **out.ERRORS, 409: out.ErrorOut},
)
async def approve(request: HttpRequest, number: Path[RevisionNumber], data: ApproveIn) -> HttpResponse:
    return answer(await sync_to_async(_reviewed)(request, number, reviews.approve, comment=data.comment))


@router.post(
    "/revisions/{number}/reject",
    auth=needs("registry.review"),
    summary="Reject a proposed revision with a reason",
    operation_id="reject_revision",
    response={200: out.RevisionOut, **out.ERRORS, 409: out.ErrorOut},
)
async def reject(request: HttpRequest, number: Path[RevisionNumber], data: RejectIn) -> HttpResponse:
    return answer(await sync_to_async(_reviewed)(request, number, reviews.reject, reason=data.reason))


def _reviewed(request: Any, number: int, act: Callable[..., Revision], **said: str) -> dict[str, Any]:
    act(_workspace(request), number, by=_actor(request), **said)
    return documents.revision_summary(_workspace_id(request), number)


def _must(request: Any, action: str) -> None:
    """A key never may what the person who made it may not, or no longer may."""
    harness: Harness = request.auth
    role = role_of_maker(harness.workspace_id, harness.made_by)
    if not allows(role, action):
        note_denied(request, harness.workspace_id, by=_actor(request), lacks=action)
        raise Forbidden(f"This key acts as {harness.made_by}, whose role here does not include this ({action}).")


@router.post(
    "/revisions/{number}/publish",
    auth=needs("registry.publish"),
    summary="Make a proposed revision live",
    operation_id="publish_revision",
    response={200: out.PublishedOut, **out.ERRORS, 409: out.ErrorOut},
)
async def publish(request: HttpRequest, number: Path[RevisionNumber], data: PublishIn) -> HttpResponse:
    return answer(await sync_to_async(_publish)(request, number, data))


def _publish(request: Any, number: Path[RevisionNumber], data: PublishIn) -> dict[str, Any]:
    if data.emergency:
        _must(request, "revision.emergency")
    row = revisions.publish_revision(
        _workspace(request), number, message=data.message, emergency=data.emergency, by=_actor(request)
    )
    at = timestamp(row.published_at) if row.published_at else None
    return {"revision": row.number, "state": row.state, "digest": row.digest, "published_at": at}


@router.post(
    "/revisions/{number}/canary",
    auth=needs("registry.publish"),
    summary="Have a proposed revision answer some first",
    operation_id="start_canary",
    response={200: out.CanaryOut, **out.ERRORS, 409: out.ErrorOut},
)
async def start_canary(request: HttpRequest, number: Path[RevisionNumber], data: CanaryIn) -> HttpResponse:
    return answer(await sync_to_async(_start_canary)(request, number, data))


def _start_canary(request: Any, number: int, data: CanaryIn) -> dict[str, Any]:
    row = starting.start_revision(_workspace(request), number, data.terms(), message=data.message, by=_actor(request))
    return telling.record(row)


@router.get(
    "/revisions/{number}/canary",
    auth=needs("registry.read"),
    summary="Where a revision's canary stands, and what both groups got",
    operation_id="get_canary",
    response={200: out.CanaryOut, **out.ERRORS},
)
async def get_canary(request: HttpRequest, number: Path[RevisionNumber]) -> HttpResponse:
    return answer(await sync_to_async(_canary)(request, number))


def _canary(request: Any, number: int) -> dict[str, Any]:
    return telling.record(telling.find(_workspace(request), number))


@router.post(
    "/revisions/{number}/canary/stop",
    auth=needs("registry.publish"),
    summary="Stop a revision's canary",
    operation_id="stop_canary",
    response={200: out.CanaryOut, **out.ERRORS, 409: out.ErrorOut},
)
async def stop_canary(request: HttpRequest, number: Path[RevisionNumber], data: StopIn) -> HttpResponse:
    return answer(await sync_to_async(_stop_canary)(request, number, data.reason))


def _stop_canary(request: Any, number: int, reason: str) -> dict[str, Any]:
    return telling.record(ending.stop_revision(_workspace(request), number, reason=reason, by=_actor(request)))


@router.post(
    "/revisions/{number}/restore",
    auth=needs("registry.write"),
    summary="Propose the document of an earlier revision anew",
    operation_id="restore_revision",
    response={200: out.ProposedOut, **out.ERRORS, 409: out.ErrorOut},
)
async def restore(request: HttpRequest, number: Path[RevisionNumber], data: RestoreIn) -> HttpResponse:
    return answer(await sync_to_async(_restore)(request, number, data.message))


def _restore(request: Any, number: Path[RevisionNumber], message: str) -> dict[str, Any]:
    restored = registries.restore(_workspace(request), number, message=message, by=_actor(request))
    return _proposed(*restored)


def _workspace(request: Any) -> Workspace:
    return Workspace.objects.get(pk=_workspace_id(request))


def _actor(request: Any) -> Actor:
    harness: Harness = request.auth
    return harness.actor
