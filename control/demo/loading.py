"""Publishes the demo documents in a new installation.

A workspace in which somebody has already published or edited something is never touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from control.demo.documents import contextual_routing_document, default_document
from control.members import admit_administrators
from routing.models import Actor, EndpointRow, Workspace
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
        if _is_empty(workspace):
            registry.replace_working_copy(workspace, document(), by=by)
            revisions.publish(workspace, message=message, by=by)


def _is_empty(workspace: Workspace) -> bool:
    """Nothing but the first, empty revision that every workspace starts with, and no draft of an endpoint."""
    live = workspace.live_revision
    return (live is None or live.number == 1) and not EndpointRow.objects.filter(workspace=workspace).exists()
