"""Settings of a workspace: what it allows and what it asks for."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from routing import generation
from routing.choices import SourceMode
from routing.errors import InvalidRequest
from routing.models import Actor, SourceCheck, Workspace
from routing.providers.addresses import opens_nothing
from routing.services import audit
from routing.services.recordings import reading

MOST_APPROVALS = 20
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?(:[0-9]{1,5})?")
SETTINGS = (
    "title",
    "approvals_needed",
    "self_approval",
    "allow_private",
    "record_queries",
    "source_file",
    "source_mode",
    "source_proposes",
)
SOURCE = ("source_file", "source_mode", "source_proposes")


def destination(word: str) -> str:
    """A private network or host[:port] that may be called, in one spelling; raises ValueError with a sentence."""
    word = word.strip()
    try:
        network = ipaddress.ip_network(word, strict=False)
    except ValueError:
        port = word.rpartition(":")[2] if ":" in word else "1"
        if not _HOST.fullmatch(word) or not 1 <= int(port) <= 65535:
            raise ValueError(f"“{word[:80]}” is neither a network (10.0.0.0/8) nor a host[:port].") from None
        return word.lower()
    if opens_nothing(network):
        raise ValueError(f"“{network}” opens nothing: no server of models or tools has such an address.")
    return str(network)


@transaction.atomic
def configure(workspace: Workspace, settings: Mapping[str, Any], *, by: Actor, message: str = "") -> None:
    """Set the given settings; what is not named stays. Switching recording off erases what was recorded. Raises ValueError for a name that is no setting, and
    InvalidRequest for settings of the source of truth that do not go together.
    """
    unknown = set(settings) - set(SETTINGS)
    if unknown:
        raise ValueError(f"no setting of a workspace: {', '.join(sorted(unknown))}")
    present = Workspace.objects.select_for_update().get(pk=workspace.pk)
    settings = _with_source(present, settings)
    before = {name: getattr(present, name) for name in settings}
    for name, value in settings.items():
        setattr(workspace, name, value)
    Workspace.objects.filter(pk=workspace.pk).update(**settings)
    generation.bump()  # processes keep in memory what may be called, and whether they record
    if before.get("record_queries") and not workspace.record_queries:
        reading.erase(workspace.pk)
    if before.get("source_file", workspace.source_file) != workspace.source_file:
        SourceCheck.objects.filter(workspace=workspace).delete()  # it was about another file
    audit.record(
        workspace.pk,
        "workspace.configured",
        f"workspace {workspace.name}",
        by=by,
        before=before,
        after=dict(settings),
        message=message,
    )


def _with_source(present: Workspace, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings; without a file nothing is proposed from one."""
    file, mode, proposes = (settings.get(name, getattr(present, name)) for name in SOURCE)
    if not file:
        return {**settings, "source_proposes": False} if present.source_proposes else dict(settings)
    if proposes and mode != SourceMode.READ_ONLY:
        why = "can be on for a read-only source alone: two-way, it would write over what people change"
        raise InvalidRequest(f"source_proposes: {why}.", [{"path": "source_proposes", "message": why}])
    return dict(settings)
