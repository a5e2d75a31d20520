"""Keys of harnesses: made once, shown once, kept as keyed digests, known to every process within moments."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from control.access import DEFAULT_RIGHTS, RIGHTS
from control.models import HarnessKey
from routing import generation
from routing.errors import InvalidRequest
from routing.events import timestamp
from routing.generation import Watched
from routing.models import Actor, Workspace
from routing.sealing import keyed_digest
from routing.services import audit

PREFIX = "swy_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """Who calls: a key's name, the one scope it reaches, and its rights."""

    key_id: Any
    name: str
    workspace_id: Any
    workspace: str
    scope: str
    rights: frozenset[str]
    expires_at: datetime | None = None
    ends_with: str = ""
    made_by: str = ""  # the person (or installation) that the key acts as

    @property
    def actor(self) -> Actor:
        return Actor(kind="key", name=self.name, acts_as=self.made_by)


@transaction.atomic
def create_key(
    workspace: Workspace,
    scope: str,
    *,
    name: str = "",
    rights: Iterable[str] = DEFAULT_RIGHTS,
    expires_days: int | None = None,
    by: Actor,
) -> tuple[HarnessKey, str]:
    """A new key for a scope; returns its row and the key itself, which is never seen again.

    Raises InvalidRequest for an unknown right, a name that is taken, or a number of days below 1.
    """
    rights = list(dict.fromkeys(rights))
    _check(workspace, name, rights, expires_days)
    _lock(workspace.pk)
    plain = PREFIX + secrets.token_urlsafe(32)
    row = HarnessKey.objects.create(
        workspace=workspace,
        name=name or f"{scope}-{secrets.token_hex(3)}",
        scope=scope,
        rights=rights,
        digest=_digest(plain),
        ends_with=plain[-4:],
        created_by=str(by),
        expires_at=timezone.now() + timedelta(days=expires_days) if expires_days else None,
    )
    audit.record(workspace.pk, "key.created", f"key {row.name}", by=by, after=_facts(row))
    generation.bump()
    return row, plain


def _check(workspace: Workspace, name: str, rights: list[str], expires_days: int | None) -> None:
    problems = [
        {"path": "rights", "message": f"{right} is no right", "allowed": ", ".join(RIGHTS)}
        for right in rights
        if right not in RIGHTS
    ]
    if not rights:
        problems.append({"path": "rights", "message": "a key needs at least one right", "allowed": ", ".join(RIGHTS)})
    if len(name) > 200 or not name.isprintable():
        problems.append({"path": "name", "message": "must be at most 200 characters, none of them a control character"})
    if name and HarnessKey.objects.filter(workspace=workspace, name=name).exists():
        problems.append({"path": "name", "message": f"another key of this workspace is named {name}"})
    if expires_days is not None and not 1 <= expires_days <= 3650:
        problems.append({"path": "expires", "message": "must be from 1 to 3650 days"})
    if problems:
        raise InvalidRequest("The key was not made.", problems)


def _lock(workspace_id: Any) -> None:
    """Before the row that refers to the workspace, so that two writers wait for one another in the same order."""
    Workspace.objects.select_for_update().get(pk=workspace_id)


def _facts(row: HarnessKey) -> dict[str, Any]:
    """What the audit log says of a key: never the key, nor its digest."""
    return {
        "scope": row.scope,
        "rights": list(row.rights),
        "ends_with": row.ends_with,
        "expires_at": timestamp(row.expires_at) if row.expires_at else None,
    }


@transaction.atomic
def revoke_key(row: HarnessKey, *, by: Actor) -> None:
    """End a key at once; every process knows within a second."""
    _lock(row.workspace_id)
    row.revoked_at = timezone.now()
    row.save(update_fields=["revoked_at"])
    after = {"revoked_at": timestamp(row.revoked_at)}
    audit.record(row.workspace_id, "key.revoked", f"key {row.name}", by=by, before=_facts(row), after=after)
    generation.bump()


def find_harness(plain: str) -> Harness | None:
    """Whose key this is; None when it is unknown, revoked or expired. Asks memory, not the database."""
    harness = _keys.get().get(_digest(plain))
    if harness is None or (harness.expires_at is not None and harness.expires_at <= timezone.now()):
        return None
    return harness


def _digest(plain: str) -> str:
    return keyed_digest("harness-key", plain)


def _load(_: Mapping[str, Harness] | None) -> Mapping[str, Harness]:
    rows = HarnessKey.objects.filter(revoked_at__isnull=True).select_related("workspace")
    return {row.digest: _harness(row) for row in rows}


def _harness(row: HarnessKey) -> Harness:
    return Harness(
        key_id=row.pk,
        name=row.name,
        workspace_id=row.workspace_id,
        workspace=row.workspace.name,
        scope=row.scope,
        rights=frozenset(row.rights),
        expires_at=row.expires_at,
        ends_with=row.ends_with,
        made_by=row.created_by,
    )


_keys: Watched[Mapping[str, Harness]] = Watched(_load)
