"""The audit log: who changed what, who was refused, who signed in, who read the log.

`record` is called inside the transaction of what it tells: neither is kept without the other. Entries of a workspace are
numbered without gap and chained as the ledger's events are (routing/events.py, docs/audit.md).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from routing.choices import AuditResult
from routing.engine.canonical import canonical_json, digest_of
from routing.engine.diff import Change
from routing.engine.secrets import looks_like_a_secret, url_secret
from routing.events import AUDITED, GENESIS, chain_hash, timestamp
from routing.models import Actor, AuditEntry, AuditHead, Workspace
from routing.services.ledger.verify import HIGHEST, Chain, Ends, Verification, prove

logger = logging.getLogger(__name__)

# An entry tells what changed, not the whole of it: longer values and those past the room are told by digest.
MOST_CHANGES = 200
MOST_VALUE_BYTES = 4_000
MOST_BYTES = 64_000
MOST_MESSAGE = 2_000
HIDDEN = "(hidden: it looks like a secret)"
_HEX = re.compile(r"[0-9a-fA-F]{7,64}[.,;:)]?")

Facts = Mapping[str, Any]


# --- where a request comes from ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The request in which something is done; empty for commands and workers."""

    request_id: str = ""
    address: str = ""


_NOWHERE = Origin()
_origin: ContextVar[Origin | None] = ContextVar("audit_origin", default=None)


@contextmanager
def origin(request_id: str, address: str) -> Iterator[None]:
    """Entries that are written inside name this request."""
    token = _origin.set(Origin(request_id=request_id, address=address))
    try:
        yield
    finally:
        _origin.reset(token)


# --- write ------------------------------------------------------------------------------------------------------------
@transaction.atomic
def record(
    workspace_id: Any,
    action: str,
    target: str = "",
    *,
    by: Actor,
    before: Facts | None = None,
    after: Facts | None = None,
    changes: Iterable[Change] = (),
    message: str = "",
    result: str = AuditResult.DONE,
) -> AuditEntry:
    """Append an entry. `before` and `after` are plain facts and digests of what the target was and is; `changes` are
    the fields that differ. Secrets never belong in them, and what looks like one is hidden.
    """
    head, place = _locked_head(workspace_id), _origin.get() or _NOWHERE
    entry = AuditEntry(
        workspace_id=workspace_id,
        seq=head.seq + 1,
        at=timezone.now(),
        actor_kind=by.kind,
        actor=_text(by.name, 200),
        action=action,
        target=_text(target, 400),
        result=str(result),
        before=None if before is None else dict(before),
        after=None if after is None else dict(after),
        changes=_told(changes),
        message=_without_secrets(_text(message, MOST_MESSAGE)),
        request_id=_text(place.request_id, 64),
        address=_text(place.address, 64),
        prev_hash=head.hash,
    )
    entry.hash = chain_hash(entry.prev_hash, said(entry), AUDITED)
    entry.save(force_insert=True)
    AuditHead.objects.filter(workspace_id=workspace_id).update(seq=entry.seq, hash=entry.hash)
    return entry


def _locked_head(workspace_id: Any) -> AuditHead:
    """Lock the log until the transaction ends. A head that somebody set back is moved past the newest entry, so that
    what is missing stays a gap for `verify` to find.
    """
    heads = AuditHead.objects.select_for_update()
    head = heads.filter(workspace_id=workspace_id).first()
    if head is None:
        AuditHead.objects.get_or_create(workspace_id=workspace_id)
        head = heads.get(workspace_id=workspace_id)
    newest = AuditEntry.objects.filter(workspace_id=workspace_id).values_list("seq", "hash").first()
    if newest and head.seq < newest[0]:
        logger.error("the head of an audit log stood at %d although %d was written", head.seq, newest[0])
        head.seq, head.hash = newest
    return head


def said(entry: AuditEntry) -> dict[str, Any]:
    """All that is hashed of an entry, and all that an export shows of it besides the two hashes."""
    return {
        "workspace": str(entry.workspace_id),
        "seq": entry.seq,
        "at": timestamp(entry.at),
        "actor_kind": entry.actor_kind,
        "actor": entry.actor,
        "action": entry.action,
        "target": entry.target,
        "result": entry.result,
        "before": entry.before,
        "after": entry.after,
        "changes": entry.changes,
        "message": entry.message,
        "request_id": entry.request_id,
        "address": entry.address,
    }


def _text(text: str, length: int) -> str:
    """What every database takes: no NUL, no halves of characters, and no more than there is room for."""
    return str(text).replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:length]


def _told(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """The changes as they are kept; what exceeds the room is told by digest, and past the bound by number alone."""
    kept: list[dict[str, Any]] = []
    room, left_out = MOST_BYTES, 0
    for change in changes:
        if len(kept) == MOST_CHANGES:
            left_out += 1
            continue
        told = change.as_dict()
        for side in ("before", "after"):
            if side in told:
                told[side], size = _bounded(told[side], room)
                room -= size
        kept.append(told)
    if left_out:
        kept.append({"path": "", "action": "left_out", "number": left_out})
    return kept


def _bounded(value: Any, room: int) -> tuple[Any, int]:
    shown = _hide(value)
    size = len(canonical_json(shown))
    if size <= min(room, MOST_VALUE_BYTES):
        return shown, size
    return {"digest": digest_of(value), "bytes": size}, 0


def _hide(value: Any) -> Any:
    if isinstance(value, str):
        return _without_secrets(value)
    if isinstance(value, Mapping):
        return {key: _hide(held) for key, held in value.items()}
    return [_hide(held) for held in value] if isinstance(value, list | tuple) else value


def _without_secrets(text: str) -> str:
    """The text with every word that may be a secret hidden; digests and commits may stay."""
    if not looks_like_a_secret(text) and "://" not in text:
        return text
    words = re.split(r"(\s+)", text)
    hidden = [HIDDEN if _is_secret(word) else word for word in words]
    return "".join(hidden) if hidden != words or "://" in text else _rest(text)


def _is_secret(word: str) -> bool:
    if _HEX.fullmatch(word) or word.startswith("sha256:"):
        return False
    return bool(url_secret(word)) if "://" in word else looks_like_a_secret(word)


def _rest(text: str) -> str:
    """A text that looks like a secret only as a whole: `Bearer x` is one, a sentence with a commit in it is none."""
    return text if any(_HEX.fullmatch(word) or word.startswith("sha256:") for word in text.split()) else HIDDEN


# --- verify -----------------------------------------------------------------------------------------------------------
def verify(workspace: Workspace, start: int | None = None, end: int | None = None) -> Verification:
    """Walk the log and recompute every hash, as `ledger.verify` does for events. Raises InvalidRequest likewise."""
    chain = Chain(
        workspace=workspace.name,
        noun="audit entry",
        rows=AuditEntry.objects.filter(workspace=workspace),
        said=said,
        hashed=AUDITED,
        ends=_ends(workspace),
    )
    return prove(chain, start, end)


def _ends(workspace: Workspace) -> Ends:
    # One statement: whoever appends meanwhile must not look like somebody who cut the chain.
    newest = AuditEntry.objects.filter(workspace=OuterRef("pk"), seq__lte=HIGHEST).order_by("-seq")
    seq, hash_, head, head_hash = (
        Workspace.objects.filter(pk=workspace.pk)
        .values_list(
            Subquery(newest.values("seq")[:1]),
            Subquery(newest.values("hash")[:1]),
            "audit_head__seq",
            "audit_head__hash",
        )
        .get()
    )
    known = head if isinstance(head, int) else None
    return Ends(newest=seq or 0, newest_hash=hash_, head=known, head_hash=head_hash or GENESIS, witness=known or 0)
