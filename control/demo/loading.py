"""Publishes the demo documents in a new installation.

A workspace in which somebody has already published or edited something is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from control.demo.documents import contextual_routing_document, default_document
from control.members import admit_administrators
from routing import working
from routing.errors import Superseded
from routing.models import Actor, Revision, Workspace
from routing.services import registry, revisions

WORKSPACES: dict[str, tuple[str, Callable[[], dict[str, Any]], str]] = {
    "default": ("Default", default_document, "Demo: 71 published MCP servers with hints, scopes and policies"),
    "contextual-routing": (
        "Contextual routing",
        contextual_routing_document,
        "Demo: six specialists and the acceptance checklist of contextual routing",
    ),
}


def load(by: Actor) -> None:
    """Publishes the demo documents in the workspaces that are still empty, and lets administrators into both."""
    for name, (title, document, message) in WORKSPACES.items():
        workspace = Workspace.objects.filter(name=name).first() or registry.create_workspace(name, title=title, by=by)
        admit_administrators(workspace, by=by)
        if is_empty(workspace):
            _take(workspace, document(), message, by)


@transaction.atomic
def fill(workspace: Workspace, document: Mapping[str, Any], *, by: Actor) -> Revision:
    """Make the demo catalog what a workspace says: live, or proposed where the workspace asks for approvals.

    Raises Superseded when somebody has edited, proposed or published something in it already; nothing is changed then.
    """
    registry.lock(workspace)
    found = Workspace.objects.select_related("live_revision").get(pk=workspace.pk)
    if not is_empty(found):
        raise Superseded("This workspace is no longer empty, so the demo catalog was not loaded. Nothing was changed.")
    return _take(found, document, WORKSPACES["default"][2], by)


def _take(workspace: Workspace, document: Mapping[str, Any], message: str, by: Actor) -> Revision:
    registry.replace_working_copy(workspace, document, by=by, message=message)
    if workspace.approvals_needed:
        return registry.propose_draft(workspace, message=message, by=by)
    return revisions.publish(workspace, message=message, by=by)


def is_empty(workspace: Workspace) -> bool:
    """Nothing but the first revision, which every workspace starts with; no draft, and nothing proposed."""
    live = workspace.live_revision
    untouched = live is None or (live.number == 1 and not workspace.revisions.filter(number__gt=1).exists())
    return untouched and registry.draft_digest(workspace) == working.live_digest(workspace)
