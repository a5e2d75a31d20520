"""Begin a shadow policy, stop it, and end it when its time or its reason is over."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from routing import generation, snapshot, working
from routing.choices import ShadowEnd
from routing.engine.policies import effective, known_policies
from routing.engine.registry import Policy
from routing.engine.shadow_policy import blocks_of
from routing.errors import InvalidRequest, NotFound
from routing.models import Actor, ShadowPolicy, Workspace
from routing.models.actor import SYSTEM
from routing.services import audit

logger = logging.getLogger(__name__)
USUAL_DAYS, MOST_DAYS = 7, 30
LEAST_SHARE = 0.01
MOST_RUNNING = 5  # in a workspace
KEPT = 10  # of one policy, those that ended included


@transaction.atomic
def start(
    workspace: Workspace,
    policy: str,
    *,
    days: int = USUAL_DAYS,
    share: float = 1.0,
    scopes: Sequence[str] = (),
    by: Actor,
) -> ShadowPolicy:
    """Score decisions with what the draft's policy comes to now, for so many days. Without `scopes`, in all that use it.

    Raises NotFound for a policy that the draft has not, InvalidRequest for one that is not live or has nothing drafted that
    decisions are judged by, for bounds, for scopes that do not use it, and where one runs already.
    """
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    live = snapshot.live(workspace.pk)
    values, base = drafted(workspace, policy), _blocks(policy, live.catalog.registry.policies)
    if values is None:
        raise NotFound("There is no such policy in the draft.")
    if base is None:
        raise InvalidRequest(f"Policy {policy} is not live, so no decision is made by it. Publish it first.")
    if values == base:
        raise InvalidRequest(
            f"The draft of {policy} judges decisions by the very values that are live: there is nothing to score."
        )
    _check(days, share, scopes, scopes_of(workspace, policy))
    _check_room(workspace, policy)
    now = timezone.now()
    row = ShadowPolicy.objects.create(
        workspace=workspace,
        policy=policy,
        values=values,
        base=base,
        revision=live.revision,
        scopes=sorted(set(scopes)),
        share=share,
        began_at=now,
        until=now + timedelta(days=days),
        by=str(by),
    )
    _forget_older(workspace, policy)
    told = {"until": row.until.isoformat(timespec="seconds"), "share": share, "scopes": row.scopes or "all"}
    audit.record(workspace.pk, "shadow_policy.started", f"policy {policy}", by=by, after=told)
    generation.bump()
    return row


def _check(days: int, share: float, scopes: Sequence[str], known: Sequence[str]) -> None:
    problems: list[dict[str, Any]] = []
    if not 1 <= days <= MOST_DAYS:
        problems.append({"path": "days", "message": f"must be 1 to {MOST_DAYS}", "value": days})
    if not LEAST_SHARE <= share <= 1:
        problems.append({"path": "share", "message": f"must be {LEAST_SHARE:g} to 1", "value": share})
    problems += [
        {"path": f"scopes[{place}]", "message": "is no scope that decides by this policy", "value": name[:200]}
        | {"allowed": ", ".join(known)}
        for place, name in enumerate(scopes)
        if name not in known
    ]
    if problems:
        raise InvalidRequest(f"{problems[0]['path']}: {problems[0]['message']}.", problems)


def _check_room(workspace: Workspace, policy: str) -> None:
    running = ShadowPolicy.objects.filter(workspace=workspace, ended_at=None)
    if running.filter(policy=policy).exists():
        raise InvalidRequest(f"A shadow policy of {policy} runs already. Stop it to begin another.")
    if running.count() >= MOST_RUNNING:
        raise InvalidRequest(f"{MOST_RUNNING} shadow policies run already. Stop one of them to begin another.")


def _forget_older(workspace: Workspace, policy: str) -> None:
    rows = ShadowPolicy.objects.filter(workspace=workspace, policy=policy)
    rows.filter(pk__in=list(rows.values_list("pk", flat=True)[KEPT:])).delete()


def scopes_of(workspace: Workspace, policy: str) -> list[str]:
    """Live scopes that decide by a policy or let a request choose it."""
    scopes = snapshot.live(workspace.pk).catalog.scopes
    return sorted(name for name, scope in scopes.items() if policy in {scope.policy, *(scope.policies or ())})


def drafted(workspace: Workspace, policy: str) -> dict[str, dict[str, Any]] | None:
    """What the draft's policy comes to now; None where the draft has none of the name."""
    return _blocks(policy, working.copy_of(workspace).registry.policies)


def lived(workspace: Workspace, policy: str) -> dict[str, dict[str, Any]] | None:
    """The same of what is live."""
    return _blocks(policy, snapshot.live(workspace.pk).catalog.registry.policies)


def differs(workspace: Workspace, policy: str) -> bool:
    """Whether a policy that is live would judge decisions otherwise as the draft has it."""
    draft, live = drafted(workspace, policy), lived(workspace, policy)
    return draft is not None and live is not None and draft != live


def _blocks(policy: str, policies: Sequence[Policy]) -> dict[str, dict[str, Any]] | None:
    return blocks_of(effective(policy, policies)) if policy in known_policies(policies) else None


# --- ending -----------------------------------------------------------------------------------------------------------
@transaction.atomic
def stop(workspace: Workspace, pk: UUID, *, by: Actor) -> None:
    """End a shadow policy; one that has ended stays as it is. Raises NotFound."""
    row = find(workspace, pk)
    _end(row, ShadowEnd.STOPPED, by)


def find(workspace: Workspace, pk: UUID) -> ShadowPolicy:
    """Raises NotFound."""
    row = ShadowPolicy.objects.filter(workspace=workspace, pk=pk).first()
    if row is None:
        raise NotFound("There is no such shadow policy.")
    return row


def end_due() -> int:
    """End those whose time is over, and those whose policy has other values live, or is gone; how many."""
    ended = 0
    for row in ShadowPolicy.objects.filter(ended_at=None).select_related("workspace"):
        try:
            because = _over(row)
            if because is not None:
                with transaction.atomic():
                    ended += _end(row, because, SYSTEM)
        except Exception as error:  # one that cannot be looked at holds up no other
            logger.error("shadow policy %s could not be looked at: %s", row.pk, type(error).__name__)
    return ended


def _over(row: ShadowPolicy) -> ShadowEnd | None:
    if row.until <= timezone.now():
        return ShadowEnd.TIME
    if snapshot.live(row.workspace_id).revision < row.revision:
        return None  # this process has yet to hear of the publication before it
    base = lived(row.workspace, row.policy)
    if base is None:
        return ShadowEnd.REMOVED
    return None if base == row.base else ShadowEnd.PUBLISHED


def _end(row: ShadowPolicy, because: ShadowEnd, by: Actor) -> bool:
    mine = ShadowPolicy.objects.filter(pk=row.pk, ended_at=None)
    if not mine.update(ended_at=timezone.now(), ended_because=because, ended_by=str(by)):
        return False
    audit.record(
        row.workspace_id, "shadow_policy.ended", f"policy {row.policy}", by=by, after={"because": str(because)}
    )
    generation.bump()
    return True
