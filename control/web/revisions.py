"""Revisions: the list, and the page of one with its changes and its document to take away."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from control.access import may
from control.web import diffing
from routing import listings
from routing.engine.diff import diff
from routing.errors import NotFound
from routing.formats.native import write_yaml
from routing.manifests import EMPTY, thaw
from routing.models import Revision, Workspace
from routing.services import revisions as service


@require_safe
@may("revision.view")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    after, before = _number(request.GET.get("after")), _number(request.GET.get("before"))
    page = listings.page_of(listings.revisions(workspace), key="number", after=after, before=before)
    address = reverse("revisions", args=[workspace.name])
    context = {
        "rows": page.rows,
        "newer_page": f"{address}?before={page.newer}" if page.newer else "",
        "older_page": f"{address}?after={page.older}" if page.older else "",
    }
    return render(request, "revisions/list.html", context)


def _number(given: str | None) -> int | None:
    return int(given) if given and given.isdecimal() and len(given) < 10 else None


@require_safe
@may("revision.view")
def page(request: HttpRequest, workspace: Workspace, number: int) -> HttpResponse:
    revision = _find(workspace, number)
    changes = diff(_base(workspace, revision), thaw(revision))
    context: dict[str, Any] = {"revision": revision, "blocks": diffing.blocks(changes), "tally": diffing.tally(changes)}
    return render(request, "revisions/detail.html", context)


def _find(workspace: Workspace, number: int) -> Revision:
    try:
        return service.find(workspace, number)
    except NotFound:
        raise Http404 from None


def _base(workspace: Workspace, revision: Revision) -> dict[str, Any]:
    base = (
        Revision.objects.filter(workspace=workspace, number=revision.base_number).first()
        if revision.base_number
        else None
    )
    return thaw(base) if base else dict(EMPTY)


@require_safe
@may("revision.view")
def export(request: HttpRequest, workspace: Workspace, number: int) -> HttpResponse:
    revision = _find(workspace, number)
    response = HttpResponse(write_yaml(thaw(revision)), content_type="application/yaml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{workspace.name}-revision-{number}.yaml"'
    return response
