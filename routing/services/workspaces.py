"""Settings of a workspace: what it allows and what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from routing.models import Actor, Workspace
from routing.services import audit

SETTINGS = ("title", "approvals_needed", "self_approval", "allow_private", "record_queries")


@transaction.atomic
def configure(workspace: Workspace, settings: Mapping[str, Any], *, by: Actor, message: str = "") -> None:
    """Set the given settings; what is not named stays. Raises ValueError for a name that is no setting."""
    unknown = set(settings) - set(SETTINGS)
    if unknown:
        raise ValueError(f"no setting of a workspace: {', '.join(sorted(unknown))}")
    present = Workspace.objects.select_for_update().get(pk=workspace.pk)
    before = {name: getattr(present, name) for name in settings}
    for name, value in settings.items():
        setattr(workspace, name, value)
    Workspace.objects.filter(pk=workspace.pk).update(**settings)
    audit.record(
        workspace.pk,
        "workspace.configured",
        f"workspace {workspace.name}",
        by=by,
        before=before,
        after=dict(settings),
        message=message,
    )
