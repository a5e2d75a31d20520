"""Who belongs to a workspace, in which role. A workspace always keeps an administrator who can get in."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from control.models import HarnessKey, Membership, Role
from routing import generation
from routing.errors import InvalidRequest, NotFound
from routing.events import timestamp
from routing.models import Actor, Workspace
from routing.services import audit, registry

WORKSPACE_NAME = re.compile(r"(?!.*__)[a-z0-9][a-z0-9._-]{0,63}(?<!_)")
LAST_ADMINISTRATOR = (
    "{name} is the last administrator who can sign in to this workspace. Make somebody else administrator first."
)


@transaction.atomic
def admit(user: Any, workspace: Workspace, role: str, *, by: Actor, admitted_by: str = "") -> Membership:
    """Make a person a member; whoever is one already keeps the role there.

    `admitted_by` names who vouches for them where that is somebody else than who acts.
    """
    lock(workspace)
    member, is_new = Membership.objects.get_or_create(
        user=user,
        workspace=workspace,
        defaults={"role": role, "admitted_by": admitted_by or str(by), "admitted_at": timezone.now()},
    )
    if is_new:
        audit.record(workspace.pk, "member.admitted", _target(member), by=by, after={"role": str(role)})
        generation.bump()
    return member


def admit_administrators(workspace: Workspace, *, by: Actor) -> None:
    """Let in whoever runs the installation: a workspace without members would be seen by nobody."""
    for user in get_user_model().objects.filter(is_superuser=True):
        admit(user, workspace, Role.ADMINISTRATOR, by=by)


@transaction.atomic
def open_workspace(name: str, title: str, founder: Any, *, by: Actor) -> Workspace:
    """A new workspace with its first administrator. Raises InvalidRequest for a name that is none or is taken."""
    if not WORKSPACE_NAME.fullmatch(name):
        said = "must be 1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit"
        raise InvalidRequest("The workspace was not made.", [{"path": "name", "message": said}])
    if Workspace.objects.filter(name=name).exists():
        said = f"another workspace is named {name}"
        raise InvalidRequest("The workspace was not made.", [{"path": "name", "message": said}])
    workspace = registry.create_workspace(name, title=title or name, by=by)
    admit(founder, workspace, Role.ADMINISTRATOR, by=by)
    admit_administrators(workspace, by=by)
    return workspace


@transaction.atomic
def change_role(workspace: Workspace, username: str, role: str, *, by: Actor) -> Membership:
    """Give a member another role. Raises NotFound, and InvalidRequest where nobody could administer any more."""
    member = _locked(workspace, username)
    if role not in Role.values:
        raise InvalidRequest(
            "There is no such role.", [{"path": "role", "message": f"the role must be one of {', '.join(Role.values)}"}]
        )
    before = member.role
    if before == role:
        return member
    if role != Role.ADMINISTRATOR:
        _keep_an_administrator(member)
    member.role = role
    member.save(update_fields=["role"])
    return _tell(member, "member.role_changed", {"role": before}, {"role": role}, by)


@transaction.atomic
def deactivate(workspace: Workspace, username: str, *, by: Actor) -> Membership:
    """Shut a member out at once, and the keys that they made; `reactivate` lets them in again."""
    member = _locked(workspace, username)
    if member.deactivated_at is not None:
        return member
    _keep_an_administrator(member)
    member.deactivated_at = timezone.now()
    member.save(update_fields=["deactivated_at"])
    after = {"deactivated_at": timestamp(member.deactivated_at), "keys": keys_made_by(workspace, username)}
    return _tell(member, "member.deactivated", {"role": member.role}, after, by)


@transaction.atomic
def reactivate(workspace: Workspace, username: str, *, by: Actor) -> Membership:
    """Let a deactivated member in again, in the role that they had."""
    member = _locked(workspace, username)
    if member.deactivated_at is None:
        return member
    before = {"deactivated_at": timestamp(member.deactivated_at)}
    member.deactivated_at = None
    member.save(update_fields=["deactivated_at"])
    return _tell(member, "member.reactivated", before, {"role": member.role}, by)


@transaction.atomic
def remove(workspace: Workspace, username: str, *, by: Actor) -> None:
    """End a membership. What the person did stays in the audit log; the keys that they made let nobody in any more."""
    member = _locked(workspace, username)
    _keep_an_administrator(member)
    after = {"keys": keys_made_by(workspace, username)}
    member.delete()
    _tell(member, "member.removed", {"role": member.role}, after, by)


def keys_made_by(workspace: Workspace, username: str) -> list[str]:
    """Names of the keys that act as this person and are not revoked."""
    rows = HarnessKey.objects.filter(workspace=workspace, created_by=username, revoked_at__isnull=True)
    return list(rows.order_by("name").values_list("name", flat=True))


def is_last_administrator(member: Membership) -> bool:
    """Whether without this member nobody could administer the workspace."""
    administrators = Membership.objects.active().filter(workspace_id=member.workspace_id, role=Role.ADMINISTRATOR)
    return member.role == Role.ADMINISTRATOR and not administrators.exclude(pk=member.pk).exists()


def _keep_an_administrator(member: Membership) -> None:
    # The workspace is locked: of two who leave at once, the second one counts what the first one left.
    if member.deactivated_at is None and is_last_administrator(member):
        said = LAST_ADMINISTRATOR.format(name=member.user.get_username())
        raise InvalidRequest(said, [{"path": "role", "message": said}])


def _locked(workspace: Workspace, username: str) -> Membership:
    lock(workspace)
    rows = Membership.objects.select_related("user").filter(workspace=workspace, user__username=username)
    member = rows.first()
    if member is None:
        raise NotFound
    return member


def lock(workspace: Workspace) -> None:
    """Before the row that refers to the workspace, so that two writers wait for one another in the same order."""
    Workspace.objects.select_for_update().get(pk=workspace.pk)


def _tell(member: Membership, action: str, before: dict[str, Any], after: dict[str, Any], by: Actor) -> Membership:
    audit.record(member.workspace_id, action, _target(member), by=by, before=before, after=after)
    generation.bump()  # the keys that this member made have the rights of the new role at most
    return member


def _target(member: Membership) -> str:
    return f"person {member.user.get_username()}"
