"""Settings of a workspace: what it allows and what it asks for."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from routing.models import Actor, Workspace
from routing.services import audit

MOST_APPROVALS = 20
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?(:[0-9]{1,5})?")
SETTINGS = ("title", "approvals_needed", "self_approval", "allow_private", "record_queries")


def destination(word: str) -> str:
    """A private network or host[:port] that may be called, in one spelling; raises ValueError with a sentence."""
    word = word.strip()
    try:
        return str(ipaddress.ip_network(word, strict=False))
    except ValueError:
        port = word.rpartition(":")[2] if ":" in word else "1"
        if not _HOST.fullmatch(word) or not 1 <= int(port) <= 65535:
            raise ValueError(f"“{word[:80]}” is neither a network (10.0.0.0/8) nor a host[:port].") from None
        return word.lower()


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
