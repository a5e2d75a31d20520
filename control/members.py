"""Who belongs to a workspace."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from control.models import Membership, Role
from routing.models import Actor, Workspace
from routing.services import audit


@transaction.atomic
def admit(user: Any, workspace: Workspace, role: str, *, by: Actor) -> Membership:
    """Make a person a member; whoever is one already keeps the role there."""
    # Before the row that refers to the workspace, so that two writers wait for one another in the same order.
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    member, is_new = Membership.objects.get_or_create(user=user, workspace=workspace, defaults={"role": role})
    if is_new:
        audit.record(workspace.pk, "member.admitted", f"person {user.get_username()}", by=by, after={"role": str(role)})
    return member


def admit_administrators(workspace: Workspace, *, by: Actor) -> None:
    """Let in whoever runs the installation: a workspace without members would be seen by nobody."""
    for user in get_user_model().objects.filter(is_superuser=True):
        admit(user, workspace, Role.ADMINISTRATOR, by=by)
