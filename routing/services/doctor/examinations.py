"""What the hint doctor finds in the draft and in what is live: made by workers, kept by the digest of the document.

No page waits for it. Every change of the draft has one made; whoever finds none has one asked for and looks again.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import transaction

from routing import bus, snapshot, working
from routing.dispatch import Dispatch
from routing.engine import Catalog
from routing.engine.doctor import examine
from routing.errors import NotFound
from routing.models import Examination, Workspace

logger = logging.getLogger(__name__)
Found = Mapping[str, Any]
KEPT = 6  # of each workspace: the draft's, the live one's, and some that an undo may come back to
MOST = 8  # that a process keeps
CLAIM_S = 60
ASKED_AGAIN_S = 30.0
ROUNDS = 3  # documents that one run examines, while the draft goes on changing

UNEXAMINED = "The draft changed since it was examined. Look again in a moment."

workers = Dispatch("examination")


@dataclass(frozen=True, kw_only=True)
class Examined:
    """The findings about one document, as plain data; shared by all who ask, not to be changed."""

    digest: str
    findings: tuple[Found, ...]
    more: Mapping[str, int]
    made_at: Any
    seconds: float
    asked: int
    unasked: int

    @cached_property
    def by_key(self) -> Mapping[str, Found]:
        return {one["key"]: one for one in self.findings}


_known: OrderedDict[tuple[Any, str], Examined] = OrderedDict()  # (workspace id, digest)
_asked: dict[Any, float] = {}  # workspace id -> until when it is not asked for again
_digests: dict[Any, tuple[int, str]] = {}  # workspace id -> version and digest of its draft


# --- asking -----------------------------------------------------------------------------------------------------------
def draft_digest(workspace: Workspace) -> str:
    """Of the draft, found out once for each version of it: every page shows how much was found."""
    known = _digests.get(workspace.pk)
    if known is None or known[0] != workspace.draft_version:
        known = _digests[workspace.pk] = (workspace.draft_version, working.copy_of(workspace).digest)
    return known[1]


def of(workspace: Workspace, digest: str) -> Examined | None:
    """What was found in a document; None while nobody has looked."""
    key = (workspace.pk, digest)
    if key not in _known:
        row = Examination.objects.filter(workspace=workspace, digest=digest).first()
        if row is None:
            return None
        _keep(key, _told(row))
    return _known[key]


def want(workspace_id: Any) -> bool:
    """Have a worker look; False when none can be reached."""
    _asked[workspace_id] = time.monotonic() + ASKED_AGAIN_S
    return workers.send(str(workspace_id))


def want_once(workspace_id: Any) -> None:
    """The same for pages that show no more than a number: each process asks once in a while."""
    if time.monotonic() >= _asked.get(workspace_id, 0.0):
        want(workspace_id)


def want_after_commit(workspace: Workspace) -> None:
    transaction.on_commit(lambda: want(workspace.pk), robust=True)


def _told(row: Examination) -> Examined:
    return Examined(
        digest=row.digest,
        findings=tuple(row.found),
        more=row.more,
        made_at=row.made_at,
        seconds=row.seconds,
        asked=row.asked,
        unasked=row.unasked,
    )


def _keep(key: tuple[Any, str], found: Examined) -> None:
    _known[key] = found
    while len(_known) > MOST:
        _known.popitem(last=False)


def forget() -> None:
    """Drop what is kept in memory (tests change databases under it)."""
    _known.clear()
    _digests.clear()
    _asked.clear()


# --- making -----------------------------------------------------------------------------------------------------------
def make(workspace_id: UUID) -> int:
    """Examine the draft and what is live, as far as nobody has; returns how many were made. Safe to call twice."""
    workspace = Workspace.objects.select_related("live_revision").filter(pk=workspace_id).first()
    if workspace is None:
        return 0
    work = f"examination:{workspace_id}"
    try:
        if not bus.claim(work, CLAIM_S):  # whoever has it looks again when it is done
            return 0
    except bus.BusAway:
        return _make(workspace)
    try:
        return _make(workspace)
    finally:
        _release(work)


def _release(work: str) -> None:
    try:
        bus.release(work)
    except bus.BusAway:
        logger.info("bus away: %s is free again within a minute", work)


def _make(workspace: Workspace) -> int:
    made = 0
    for _ in range(ROUNDS):
        missing = _missing(workspace)
        for digest, document in missing.items():
            made += _examine(workspace, digest, document)
        if not missing:
            break
    return made


def _missing(workspace: Workspace) -> dict[str, Mapping[str, Any]]:
    copy = working.copy_of(workspace)
    wanted = {copy.digest: copy.document, working.live_digest(workspace): working.live_of(workspace)}
    there = Examination.objects.filter(workspace=workspace, digest__in=wanted).values_list("digest", flat=True)
    return {digest: document for digest, document in wanted.items() if digest not in set(there)}


def _examine(workspace: Workspace, digest: str, document: Mapping[str, Any]) -> int:
    started = time.monotonic()
    found = examine(_catalog(workspace, digest, document))
    Examination.objects.bulk_create(
        [
            Examination(
                workspace=workspace,
                digest=digest,
                seconds=round(time.monotonic() - started, 3),
                found=[one.told() for one in found.findings],
                more=dict(found.more),
                asked=found.asked,
                unasked=found.unasked,
            )
        ],
        ignore_conflicts=True,  # somebody else may have looked at the same document
    )
    _prune(workspace)
    return 1


def _catalog(workspace: Workspace, digest: str, document: Mapping[str, Any]) -> Catalog:
    try:
        live = snapshot.live(workspace.pk)
    except NotFound:
        live = None
    if live is not None and live.digest == digest:
        return live.catalog
    return snapshot.try_out(workspace.pk, document)


def _prune(workspace: Workspace) -> None:
    rows = Examination.objects.filter(workspace=workspace).order_by("-id")
    Examination.objects.filter(pk__in=list(rows.values_list("pk", flat=True)[KEPT:])).delete()
