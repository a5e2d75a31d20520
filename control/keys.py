"""Keys of harnesses: made once, shown once, kept as keyed digests, known to every process within moments."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from control.access import DEFAULT_RIGHTS, RIGHTS, is_installation, rights_of
from control.models import HarnessKey, Membership, Role
from routing import generation
from routing.engine.validation.visible import fault_of_line
from routing.errors import InvalidRequest
from routing.events import timestamp
from routing.generation import Watched
from routing.models import Actor, Workspace
from routing.sealing import keyed_digest
from routing.services import audit

PREFIX = "swy_"
MOST_ADDRESSES = 50
LONGEST_OVERLAP_H = 30 * 24
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """Who calls: a key's name, the one scope it reaches, and its rights, as far as its maker has them today."""

    key_id: Any
    name: str
    workspace_id: Any
    workspace: str
    scope: str
    rights: frozenset[str]
    withheld: frozenset[str] = frozenset()  # rights that the key names and its maker does not have today
    expires_at: datetime | None = None
    ends_with: str = ""
    made_by: str = ""  # the person (or installation) that the key acts as
    networks: tuple[Network, ...] = ()  # where it may be used from; none of them means anywhere

    def may_come_from(self, address: str) -> bool:
        """Whether this key may be used from an address; from one that is no address only where any will do."""
        return not self.networks or _is_within(address, self.networks)

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
    allowed_addresses: Iterable[str] = (),
    by: Actor,
) -> tuple[HarnessKey, str]:
    """A new key for a scope; returns its row and the key itself, which is never seen again.

    Raises InvalidRequest for an unknown right, a name that is taken, a number of days below 1, or what is no network.
    """
    rights, addresses = list(dict.fromkeys(rights)), list(allowed_addresses)
    _lock(workspace.pk)
    _check(workspace, name, rights, expires_days, addresses)
    plain = _new()
    row = HarnessKey.objects.create(
        workspace=workspace,
        name=name or f"{scope}-{secrets.token_hex(3)}",
        scope=scope,
        rights=rights,
        digest=_digest(plain),
        ends_with=plain[-4:],
        created_by=str(by),
        expires_at=timezone.now() + timedelta(days=expires_days) if expires_days else None,
        allowed_addresses=[str(network(given)) for given in addresses],
    )
    audit.record(workspace.pk, "key.created", f"key {row.name}", by=by, after=_facts(row))
    generation.bump()
    return row, plain


def _new() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def network(given: str) -> Network:
    """An address or a network in CIDR; raises ValueError for anything else."""
    return ipaddress.ip_network(given.strip(), strict=False)


def _check(workspace: Workspace, name: str, rights: list[str], expires_days: int | None, addresses: list[str]) -> None:
    problems = [
        {"path": "rights", "message": f"{right} is no right", "allowed": ", ".join(RIGHTS)}
        for right in rights
        if right not in RIGHTS
    ]
    if not rights:
        problems.append({"path": "rights", "message": "a key needs at least one right", "allowed": ", ".join(RIGHTS)})
    if len(name) > 200:
        problems.append({"path": "name", "message": "must be at most 200 characters"})
    elif fault := fault_of_line(name):
        problems.append({"path": "name", "message": f"must not hold {fault}"})
    if name and HarnessKey.objects.filter(workspace=workspace, name=name).exists():
        problems.append({"path": "name", "message": f"another key of this workspace is named {name}"})
    if expires_days is not None and not 1 <= expires_days <= 3650:
        problems.append({"path": "expires", "message": "must be from 1 to 3650 days"})
    problems += address_problems(addresses)
    if problems:
        raise InvalidRequest("The key was not made.", problems)


def address_problems(addresses: list[str]) -> list[dict[str, str]]:
    """What is wrong with a list of networks, one sentence for each."""
    allowed = "an address (192.0.2.7) or a network (192.0.2.0/24, 2001:db8::/32)"
    problems = [
        {"path": "allowed_addresses", "message": f"{given[:60]} is no address and no network", "allowed": allowed}
        for given in addresses
        if not _is_network(given)
    ]
    if len(addresses) > MOST_ADDRESSES:
        problems.append({"path": "allowed_addresses", "message": f"must be at most {MOST_ADDRESSES} networks"})
    return problems


def _is_network(given: str) -> bool:
    try:
        network(given)
    except ValueError:
        return False
    return True


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
        "allowed_addresses": list(row.allowed_addresses),
        "acts_as": row.created_by,
    }


@transaction.atomic
def rotate_key(row: HarnessKey, *, overlap_hours: int = 24, seen: str | None = None, by: Actor) -> str:
    """A new key in the place of this one, which goes on working for the given hours; returns the new key, shown once.

    The row keeps its name, scope and rights, and from now on acts as whoever rotates it. A key that was still within the
    overlap of an earlier rotation ends at once. `seen` is the `state_of` the key when this was asked for: sent twice, the
    second is refused. Raises InvalidRequest for that, for a key that has ended, or too long an overlap.
    """
    _lock(row.workspace_id)
    row.refresh_from_db()
    if seen is not None and seen != state_of(row):
        raise InvalidRequest(
            "This key was rotated after this page was opened, so nothing was done. "
            "If the new key that was shown then is lost, rotate again from the list of keys."
        )
    if not 0 <= overlap_hours <= LONGEST_OVERLAP_H:
        problem = {"path": "overlap", "message": f"must be from 0 to {LONGEST_OVERLAP_H} hours"}
        raise InvalidRequest("The key was not rotated.", [problem])
    if not is_usable(row):
        raise InvalidRequest("A key that is revoked or has expired cannot be rotated; make a new one.")
    before, plain, now = _facts(row), _new(), timezone.now()
    row.previous_digest, row.previous_ends_with = (row.digest, row.ends_with) if overlap_hours else (None, "")
    row.previous_until = now + timedelta(hours=overlap_hours) if overlap_hours else None
    row.digest, row.ends_with, row.rotated_at, row.created_by = _digest(plain), plain[-4:], now, str(by)
    row.save()
    after = _facts(row) | {"previous_until": timestamp(row.previous_until) if row.previous_until else None}
    audit.record(row.workspace_id, "key.rotated", f"key {row.name}", by=by, before=before, after=after)
    generation.bump()
    return plain


def state_of(row: HarnessKey) -> str:
    """What changes with each rotation, and gives nothing of the key away."""
    return timestamp(row.rotated_at) if row.rotated_at else "never rotated"


def is_usable(row: HarnessKey) -> bool:
    """Whether a key is neither revoked nor expired."""
    return row.revoked_at is None and (row.expires_at is None or row.expires_at > timezone.now())


def in_use(workspace_id: Any) -> list[tuple[str, str]]:
    """Scope and name of every key of a workspace that can be used."""
    return [(row.scope, row.name) for row in HarnessKey.objects.filter(workspace_id=workspace_id) if is_usable(row)]


@transaction.atomic
def revoke_key(row: HarnessKey, *, by: Actor) -> None:
    """End a key at once, and the one before it; every process knows within a second. Twice is once."""
    _lock(row.workspace_id)
    row.refresh_from_db()
    if row.revoked_at is not None:
        return
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


def look() -> None:
    """Learn of keys that were made a moment ago, before a key is called unknown. Asks the database."""
    _keys.refresh()


def _digest(plain: str) -> str:
    return keyed_digest("harness-key", plain)


def _is_within(address: str, networks: Iterable[Network]) -> bool:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return any(found in network for network in networks)


Roles = Mapping[tuple[Any, str], str]


def _load(_: Mapping[str, Harness] | None) -> Mapping[str, Harness]:
    rows = list(HarnessKey.objects.filter(revoked_at__isnull=True).select_related("workspace"))
    members = Membership.objects.active().values_list("workspace_id", "user__username", "role")
    roles = {(workspace, name): role for workspace, name, role in members}
    found = [(row, _harness(row, roles)) for row in rows]
    return dict(pair for row, harness in found if harness for pair in _digests(row, harness))


def _digests(row: HarnessKey, harness: Harness) -> Iterable[tuple[str, Harness]]:
    yield row.digest, harness
    if row.previous_digest and row.previous_until:
        until = min(row.previous_until, row.expires_at or row.previous_until)
        yield row.previous_digest, replace(harness, expires_at=until, ends_with=row.previous_ends_with)


def _harness(row: HarnessKey, roles: Roles) -> Harness | None:
    """The harness of a key; None when whoever made it is no member any more: then it is as good as revoked."""
    role = Role.ADMINISTRATOR if is_installation(row.created_by) else roles.get((row.workspace_id, row.created_by))
    if role is None:
        return None
    return Harness(
        key_id=row.pk,
        name=row.name,
        workspace_id=row.workspace_id,
        workspace=row.workspace.name,
        scope=row.scope,
        rights=frozenset(row.rights) & rights_of(role),
        withheld=frozenset(row.rights) - rights_of(role),
        expires_at=row.expires_at,
        ends_with=row.ends_with,
        made_by=row.created_by,
        networks=tuple(network(given) for given in row.allowed_addresses),
    )


_keys: Watched[Mapping[str, Harness]] = Watched(_load)
