"""What a document was found to be, for the pages that tell of it: known, asked at once where that is quick, or asked when the page is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from routing import working
from routing.models import Workspace
from routing.services import checks
from routing.working import WorkingCopy

TOOLS_AT_ONCE, EXPECTATIONS_AT_ONCE = 2000, 200  # beyond, the page fetches the answer, which takes a while


def sizes(document: Mapping[str, Any]) -> dict[str, int]:
    endpoints = document.get("endpoints", ())
    return {
        "endpoints_in_draft": len(endpoints),
        "tools_in_draft": sum(len(one.get("tools", ())) for one in endpoints),
    }


def of_draft(request: HttpRequest, workspace: Workspace, copy: WorkingCopy) -> checks.Checked | None:
    """None while the answer is not known and takes longer than a page should."""
    return _of(request, workspace, copy.document, copy.digest)


def of_live(request: HttpRequest, workspace: Workspace) -> checks.Checked | None:
    return _of(request, workspace, working.live_of(workspace), working.live_digest(workspace))


def _of(request: HttpRequest, workspace: Workspace, document: Mapping[str, Any], digest: str) -> checks.Checked | None:
    found = checks.known(workspace.pk, digest)
    if found is None and ("checks" in request.GET or _is_quick(document)):
        found = checks.of(workspace.pk, document, digest)
    return found


def _is_quick(document: Mapping[str, Any]) -> bool:
    few = len(document.get("expectations", ())) <= EXPECTATIONS_AT_ONCE
    return few and sizes(document)["tools_in_draft"] <= TOOLS_AT_ONCE
