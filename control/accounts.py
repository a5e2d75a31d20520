"""A person's own account: the password, and leaving every browser at once."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from control.signing import tell_of
from routing.models import Actor


@transaction.atomic
def change_password(user: Any, password: str, *, by: Actor) -> None:
    """Set a password that the form has checked. Every other browser of this person is signed out by it."""
    user.set_password(password)
    user.save(update_fields=["password"])
    tell_of("account.password_changed", user, f"account of {user.get_username()}", by=by)


@transaction.atomic
def sign_out_everywhere(user: Any, *, keep: str | None = None, by: Actor) -> int:
    """End every session of a person except the one to `keep`; returns how many there were."""
    rows = Session.objects.filter(expire_date__gt=timezone.now()).exclude(session_key=keep)
    theirs = [row.pk for row in rows.iterator() if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=theirs).delete()
    told = {"sessions": len(theirs)}
    tell_of("account.signed_out_everywhere", user, f"account of {user.get_username()}", by=by, after=told)
    return len(theirs)
