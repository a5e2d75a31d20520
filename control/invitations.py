"""Asking people in: a link that works once, is shown once, and is kept as a keyed digest."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.utils import timezone

from control import members
from control.access import allows, role_of_maker
from control.models import Invitation, Membership, Role
from routing.engine.validation.visible import fault_of_line, is_blank
from routing.errors import InvalidRequest, NotFound
from routing.events import timestamp
from routing.models import Actor, Workspace
from routing.sealing import keyed_digest
from routing.services import audit

LONGEST_DAYS = 30
USUAL_DAYS = 7
NOT_VALID = "This invitation is not valid any more. Ask whoever sent it for a new one."


@transaction.atomic
def invite(workspace: Workspace, label: str, role: str, *, days: int = USUAL_DAYS, by: Actor) -> tuple[Invitation, str]:
    """Ask somebody in; returns the row and the secret part of the link, which is never seen again.

    Raises InvalidRequest for no name, a role that is none, or a number of days outside 1 to LONGEST_DAYS.
    """
    _check(label, role, days)
    members.lock(workspace)
    token = secrets.token_urlsafe(32)
    row = Invitation.objects.create(
        workspace=workspace,
        label=label,
        role=role,
        digest=_digest(token),
        created_by=str(by),
        expires_at=timezone.now() + timedelta(days=days),
    )
    _tell(row, "invitation.made", by)
    return row, token


def _check(label: str, role: str, days: int) -> None:
    problems = []
    if is_blank(label) or len(label) > 200:
        problems.append({"path": "label", "message": "must say for whom it is, in at most 200 characters"})
    elif fault := fault_of_line(label):
        problems.append({"path": "label", "message": f"must not hold {fault}"})
    if role not in Role.values:
        problems.append({"path": "role", "message": f"must be one of {', '.join(Role.values)}"})
    if not 1 <= days <= LONGEST_DAYS:
        problems.append({"path": "days", "message": f"must be from 1 to {LONGEST_DAYS} days"})
    if problems:
        raise InvalidRequest("Nobody was invited.", problems)


@transaction.atomic
def renew(workspace: Workspace, invitation_id: Any, *, days: int = USUAL_DAYS, by: Actor) -> tuple[Invitation, str]:
    """A new link in the place of the old one, which ends at once. Raises NotFound, and InvalidRequest once accepted."""
    row = _locked(workspace, invitation_id)
    _check(row.label, row.role, days)
    if row.accepted_at is not None:
        raise InvalidRequest("This invitation was accepted already.")
    token = secrets.token_urlsafe(32)
    row.digest, row.created_by, row.withdrawn_at = _digest(token), str(by), None
    row.expires_at = timezone.now() + timedelta(days=days)
    row.save()
    _tell(row, "invitation.renewed", by)
    return row, token


@transaction.atomic
def withdraw(workspace: Workspace, invitation_id: Any, *, by: Actor) -> Invitation:
    """End an invitation that nobody accepted yet. Raises NotFound, and InvalidRequest once accepted."""
    row = _locked(workspace, invitation_id)
    if row.accepted_at is not None:
        raise InvalidRequest("This invitation was accepted already; remove the member instead.")
    if row.withdrawn_at is None:
        row.withdrawn_at = timezone.now()
        row.save(update_fields=["withdrawn_at"])
        _tell(row, "invitation.withdrawn", by)
    return row


def find(token: str) -> Invitation | None:
    """The invitation of a link while it can be accepted; None for one that is unknown, used, withdrawn or too old."""
    row = Invitation.objects.select_related("workspace").filter(digest=_digest(token)).first()
    return row if row is not None and _is_valid(row) else None


def _is_valid(row: Invitation) -> bool:
    """Whoever asked somebody in must still be one who may."""
    return row.is_open and allows(role_of_maker(row.workspace_id, row.created_by), "people.manage")


@transaction.atomic
def accept(token: str, user: Any, *, by: Actor) -> Membership:
    """Make a person with an account a member. Raises InvalidRequest where the link or the person does not fit."""
    row = _claimed(token)
    if Membership.objects.filter(workspace=row.workspace, user=user).exists():
        raise InvalidRequest("You belong to this workspace already; the invitation is still good for somebody else.")
    return _admit(row, user, by)


@transaction.atomic
def accept_as_new(token: str, username: str, password: str, *, by: Actor) -> Membership:
    """Make an account and its membership. Raises InvalidRequest where the link does not fit or the name is taken.

    Name and password have been checked by the form; `by` is who will have that name.
    """
    row = _claimed(token)
    try:
        with transaction.atomic():
            user = get_user_model().objects.create_user(username, password=password)
    except IntegrityError:
        taken = {"path": "username", "message": "is taken by somebody else"}
        raise InvalidRequest("The account was not made.", [taken]) from None
    return _admit(row, user, by)


def _claimed(token: str) -> Invitation:
    """The invitation under the lock of its workspace, so that of two who accept at once one does."""
    found = find(token)
    if found is None:
        raise InvalidRequest(NOT_VALID)
    members.lock(found.workspace)
    row = find(token)
    if row is None:
        raise InvalidRequest(NOT_VALID)
    return row


def _admit(row: Invitation, user: Any, by: Actor) -> Membership:
    row.accepted_at, row.accepted_by = timezone.now(), user.get_username()
    row.save(update_fields=["accepted_at", "accepted_by"])
    _tell(row, "invitation.accepted", by)
    return members.admit(user, row.workspace, row.role, by=by, admitted_by=row.created_by)


def _locked(workspace: Workspace, invitation_id: Any) -> Invitation:
    members.lock(workspace)
    row = Invitation.objects.filter(workspace=workspace, pk=invitation_id).first()
    if row is None:
        raise NotFound
    return row


def _tell(row: Invitation, action: str, by: Actor) -> None:
    after = {"role": row.role, "expires_at": timestamp(row.expires_at)}
    audit.record(row.workspace_id, action, f"invitation of {row.label}", by=by, after=after)


def _digest(token: str) -> str:
    return keyed_digest("invitation", token)
