"""Signing in and out, told to the audit log by Django's own signals, whichever door is used.

A person is told of in every workspace where they are a member; a try under any other name in the installation's first
workspace, without the name, since that may be a password that was typed in the wrong field.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.db.models.signals import post_save

from routing import generation
from routing.choices import AuditResult
from routing.models import Actor, Workspace
from routing.services import audit

VISITOR = Actor(kind="visitor", name="visitor")
UNKNOWN = "an unknown name"


def connect() -> None:
    user_logged_in.connect(opened, dispatch_uid="audit-session-opened")
    user_logged_out.connect(closed, dispatch_uid="audit-session-closed")
    user_login_failed.connect(refused, dispatch_uid="audit-session-refused")
    post_save.connect(account_saved, sender=get_user_model(), dispatch_uid="keys-of-an-account")


def opened(sender: Any, user: Any, **more: Any) -> None:
    name = user.get_username()
    tell_of("session.opened", user, f"sign-in of {name}", by=Actor(kind="operator", name=name))


def closed(sender: Any, user: Any, **more: Any) -> None:
    if user is not None:
        name = user.get_username()
        tell_of("session.closed", user, f"sign-in of {name}", by=Actor(kind="operator", name=name))


def refused(sender: Any, credentials: dict[str, Any], request: Any = None, **more: Any) -> None:
    """A wrong password or name; `session.locked` when further tries from there wait."""
    model = get_user_model()
    given = str(credentials.get(model.USERNAME_FIELD) or "").replace("\0", "")
    user = model.objects.filter(**{model.USERNAME_FIELD: given}).first()
    action = "session.locked" if getattr(request, "axes_locked_out", False) else "session.refused"
    tell_of(action, user, f"sign-in of {given if user else UNKNOWN}", by=VISITOR, result=AuditResult.REFUSED)


def account_saved(sender: Any, update_fields: Any = None, **more: Any) -> None:
    """An account that was switched off or on: the keys of its owner end with it, in every process."""
    if update_fields is None or {"is_active", "username"} & set(update_fields):
        generation.bump()


@transaction.atomic
def tell_of(action: str, user: Any, target: str, **more: Any) -> None:
    """Tell what concerns a person in every workspace of theirs."""
    # Always in the same order, so that two people who sign in at once never wait for each other.
    found = Workspace.objects.filter(memberships__user=user).order_by("pk") if user is not None else []
    for place in list(found) or list(Workspace.objects.order_by("created_at", "pk")[:1]):
        audit.record(place.pk, action, target, **more)
