"""Findings that people leave as they are, with a reason: told in the audit log, and taken back the same way."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from django.db import transaction

from routing import working
from routing.errors import InvalidRequest, NotFound, StaleDraft
from routing.models import Actor, IgnoredFinding, Workspace
from routing.services import audit
from routing.services.doctor.examinations import UNEXAMINED, Examined, Found, draft_digest, of, want_once

logger = logging.getLogger(__name__)
LONGEST_REASON = 500


def ignored(workspace: Workspace) -> Mapping[str, IgnoredFinding]:
    """By key, those of findings that may long be gone among them."""
    return {row.key: row for row in IgnoredFinding.objects.filter(workspace=workspace)}


def find(workspace: Workspace, key: str) -> Found:
    """A finding about the draft, or else about what is live. Raises NotFound, and StaleDraft while nobody has looked."""
    looks = [of(workspace, digest) for digest in (draft_digest(workspace), working.live_digest(workspace))]
    for examined in looks:
        if examined is not None and key in examined.by_key:
            return examined.by_key[key]
    if looks[0] is None:
        raise StaleDraft(UNEXAMINED)
    raise NotFound("This is no longer found: what it was about has changed.")


def open_count(workspace: Workspace) -> int | None:
    """How many findings about the draft nobody ignores; None while nobody has looked."""
    examined = of(workspace, draft_digest(workspace))
    if examined is None:
        want_once(workspace.pk)
        return None
    return open_in(workspace, examined)


def open_in(workspace: Workspace, examined: Examined) -> int:
    keys = IgnoredFinding.objects.filter(workspace=workspace).values_list("key", flat=True)
    return len(examined.findings) - sum(key in examined.by_key for key in keys) + sum(examined.more.values())


@transaction.atomic
def ignore(workspace: Workspace, key: str, reason: str, *, by: Actor) -> IgnoredFinding:
    """Leave a finding as it is; a second reason takes the place of the first. Raises what `find` does, and InvalidRequest."""
    finding, reason = find(workspace, key), " ".join(reason.split())
    if not reason:
        raise InvalidRequest(
            "Say why it is left as it is; whoever comes after you will ask.",
            [{"path": "reason", "message": "must say something", "value": ""}],
        )
    if len(reason) > LONGEST_REASON:
        raise InvalidRequest(
            f"The reason is longer than {LONGEST_REASON} characters.",
            [{"path": "reason", "message": "is too long", "allowed": f"at most {LONGEST_REASON} characters"}],
        )
    present = IgnoredFinding.objects.filter(workspace=workspace, key=key).first()
    if present is not None and present.reason == reason:
        return present  # said twice is said once
    row, _ = IgnoredFinding.objects.update_or_create(
        workspace=workspace,
        key=key,
        defaults={"code": finding["code"], "reason": reason, "person": by.person, "by": str(by)},
    )
    _tell(workspace, "finding.ignored", finding, key, by, reason)
    return row


@transaction.atomic
def heed(workspace: Workspace, key: str, *, by: Actor) -> None:
    """Take it back that a finding is ignored. Raises NotFound."""
    row = IgnoredFinding.objects.filter(workspace=workspace, key=key).first()
    if row is None:
        raise NotFound("This is not ignored.")
    row.delete()
    _tell(workspace, "finding.heeded", {"code": row.code}, key, by)


def _tell(workspace: Workspace, action: str, finding: Found, key: str, by: Actor, message: str = "") -> None:
    about = finding.get("tool") or finding.get("name", "")
    target = f"finding {finding['code']} {about}".strip()
    audit.record(
        workspace.pk, action, target, by=by, after={"key": key, "path": finding.get("path", "")}, message=message
    )
    logger.info("%s of %s: %s by %s", target, workspace.name, action, by)
