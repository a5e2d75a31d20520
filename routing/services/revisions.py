"""Revisions: propose a document, publish it, read it back."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Max
from django.utils import timezone

from routing import bus, generation, mapping, working
from routing.choices import AuditResult, RevisionState
from routing.engine.canonical import digest_of, document_digest
from routing.engine.diff import diff
from routing.engine.errors import RegistryError
from routing.engine.validation import parse_document, to_document
from routing.errors import (
    CanaryRunning,
    ExpectationsFailed,
    InvalidRegistry,
    NeedsApproval,
    NotFound,
    StaleDraft,
    Superseded,
)
from routing.manifests import EMPTY, freeze, thaw
from routing.models import Actor, Revision, Workspace
from routing.reviewing import Standing, authors_of, edits_of, proposal_of, standing
from routing.services import audit, checks, edits, waiting
from routing.services.canaries import ending
from routing.services.edits import hand_on
from routing.working import WorkingCopy

logger = logging.getLogger(__name__)
Document = dict[str, Any]


# --- read -----------------------------------------------------------------------------------------------------------
def live_document(workspace: Workspace) -> Document:
    """The document that harnesses are answered from; the empty one before the first publication."""
    row = Workspace.objects.select_related("live_revision").get(pk=workspace.pk)
    return dict(EMPTY) if row.live_revision is None else thaw(row.live_revision)


def find(workspace: Workspace, number: int) -> Revision:
    revision = Revision.objects.filter(workspace=workspace, number=number).first()
    if revision is None:
        raise NotFound(f"There is no revision {number} in this workspace.")
    return revision


def next_number(workspace: Workspace, digest: str) -> int:
    """The number under which a document with this digest would be published: that of the open proposal that it equals."""
    waiting_ones = workspace.revisions.filter(state__in=(RevisionState.CANARY, *OPEN))
    same = waiting_ones.filter(digest=digest).values_list("number", flat=True).first()
    newest: int = workspace.revisions.aggregate(newest=Max("number"))["newest"] or 0
    return same or newest + 1


def rejection_of(workspace: Workspace, digest: str) -> Revision | None:
    """The rejected revision that says this, when it was not proposed anew since."""
    last = Revision.objects.filter(workspace=workspace, digest=digest).order_by("-number").first()
    return last if last is not None and last.state == RevisionState.REJECTED else None


# --- write ----------------------------------------------------------------------------------------------------------
@transaction.atomic
def propose(
    workspace: Workspace, document: Mapping[str, Any], *, message: str = "", by: Actor, others: str = ""
) -> Revision:
    """Freeze a document as the next revision, proposed. The live revision's own document answers the live revision, and
    whatever was proposed gives way to it. `others` names who else has changes in it.
    """
    locked = Workspace.objects.select_for_update().select_related(None).get(pk=workspace.pk)
    try:
        canonical = to_document(parse_document(document).registry)
    except RegistryError as error:
        raise InvalidRegistry("The registry document breaks its rules; nothing was saved.", error.problems) from None
    digest = document_digest(canonical)
    same = Revision.objects.filter(
        workspace=locked, digest=digest, state__in=(RevisionState.LIVE, RevisionState.CANARY, *OPEN)
    ).first()
    if same is not None and same.state == RevisionState.LIVE:
        withdrawn = _withdraw_proposals(locked)
        if withdrawn:
            waiting.give_up(locked, "The proposal was withdrawn: the draft says what is live.", by=by)
            audit.record(locked.pk, "proposal.withdrawn", f"revision {withdrawn[0]}", by=by, message=message)
    live_now = thaw(locked.live_revision) if locked.live_revision else EMPTY
    authors = authors_of(diff(live_now, canonical), edits_of(locked)) or [by.person]
    if same is not None:
        return _also_by(same, authors)
    before_it = proposal_of(locked)
    withdrawn = _withdraw_proposals(locked)
    if withdrawn:
        waiting.give_up(locked, "A newer proposal took its place.", by=by)
    newest = Revision.objects.filter(workspace=locked).aggregate(newest=Max("number"))["newest"] or 0
    live = locked.live_revision
    revision = Revision.objects.create(
        workspace=locked,
        number=newest + 1,
        digest=digest,
        base_number=live.number if live else None,
        manifest=freeze(locked, canonical),
        message=message,
        created_by=(f"{others} and {by}" if others else str(by))[:200],
        authors=authors,
    )
    audit.record(
        locked.pk,
        "revision.proposed",
        f"revision {revision.number}",
        by=by,
        before={"base_revision": revision.base_number, "took_the_place_of": withdrawn},
        after={"digest": digest},
        message=message,
    )
    hand_on(revision, before_it)
    return revision


def _withdraw_proposals(workspace: Workspace) -> list[int]:
    """Open proposals give way to what comes after them; returns their numbers."""
    found = Revision.objects.filter(workspace=workspace).open()
    numbers = list(found.values_list("number", flat=True))
    found.update(state=RevisionState.SUPERSEDED)
    return numbers


def _also_by(revision: Revision, authors: list[str]) -> Revision:
    """An open proposal that further persons arrived at: none of them may approve it."""
    more = [person for person in authors if person not in revision.authors]
    if more and revision.state != RevisionState.LIVE:
        revision.authors = [*revision.authors, *more]
        revision.save(update_fields=["authors"])
    return revision


OPEN = (RevisionState.PROPOSED, RevisionState.APPROVED)


def publish(
    workspace: Workspace,
    *,
    message: str,
    emergency: bool = False,
    override: str = "",
    seen: str | None = None,
    by: Actor,
) -> Revision:
    """Freeze the working copy and make it live. Every process answers from it within a second.

    Publishing what is live already changes nothing and returns the live revision. Raises as publish_revision, StaleDraft
    when `seen` is given and is not the working copy's digest, and Superseded when it was rejected and not proposed since.
    """
    with told_when_refused(workspace, "draft", message, by):
        draft = draft_to_publish(workspace, seen)
        revision = propose(workspace, draft.document, message=message, by=by)
        return _publish(workspace, revision.number, message=message, emergency=emergency, override=override, by=by)


def draft_to_publish(workspace: Workspace, seen: str | None) -> WorkingCopy:
    """The working copy, which nobody changes until the transaction ends. Raises StaleDraft when it is not what was `seen`, and
    Superseded when it was rejected and not proposed since.
    """
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    draft = working.copy_of(workspace)
    if seen is not None and seen != draft.digest:
        raise StaleDraft("The draft changed since it was read; nothing was published.")
    if (rejected := rejection_of(workspace, draft.digest)) is not None:
        raise Superseded(f"This draft was rejected as revision {rejected.number}; propose it again, then publish it.")
    return draft


def publish_revision(
    workspace: Workspace, number: int, *, message: str, emergency: bool = False, override: str = "", by: Actor
) -> Revision:
    """Make a proposed revision live, or one that answers some as a canary; one that is live already stays so.

    Raises CanaryRunning while another revision's canary runs, unless this is an emergency or was live before: then that stops.
    Raises NotFound, Superseded when it is no open proposal or its base is no longer live, and, when this is no emergency,
    NeedsApproval when it has fewer approvals than the workspace asks for and ExpectationsFailed when it does not do what
    it expects of itself. `override` is the reason why it goes live although expectations are not met; it stands in for no
    approval. Who may override or call it an emergency is for the doors to say. A refusal is told to the audit log.
    """
    with told_when_refused(workspace, f"revision {number}", message, by):
        return _publish(workspace, number, message=message, emergency=emergency, override=override, by=by)


@contextmanager
def told_when_refused(
    workspace: Workspace, target: str, message: str, by: Actor, *, action: str = "revision.published"
) -> Iterator[None]:
    """All or nothing inside; that it was refused, and why, outlives what is rolled back."""
    try:
        with transaction.atomic():
            yield
    except (NeedsApproval, ExpectationsFailed, Superseded, StaleDraft, CanaryRunning) as error:
        told = {"code": error.code, "why": error.message}
        audit.record(
            workspace.pk,
            action,
            target,
            by=by,
            after=told,
            message=message,
            result=AuditResult.REFUSED,
        )
        raise


def _publish(workspace: Workspace, number: int, *, message: str, emergency: bool, override: str, by: Actor) -> Revision:
    locked = Workspace.objects.select_for_update().get(pk=workspace.pk)
    revision = find(workspace, number)
    if revision.state == RevisionState.LIVE:
        return revision
    ending.refuse_beside(locked, revision, emergency=emergency)
    found, broken = cleared(locked, revision, emergency=emergency, override=override)
    bypassed = bool(emergency and (found.missing or broken))
    _note_publication(
        locked, revision, message=message, bypassed=bypassed, broken=broken, reason=override or message, by=by
    )
    revision.approvals_needed, revision.emergency = found.needed, emergency
    return _make_live(revision, message=message, by=by)


def cleared(
    locked: Workspace, revision: Revision, *, emergency: bool, override: str
) -> tuple[Standing, Sequence[checks.Broken]]:
    """That nothing stands in a revision's way: its approvals, and what of its expectations is overridden. Raises as
    publish_revision.
    """
    live, number = locked.live_revision.number if locked.live_revision else None, revision.number
    if revision.state == RevisionState.REJECTED:
        raise Superseded(f"Revision {number} was rejected; propose its changes anew.")
    if revision.base_number != live:
        raise Superseded(f"Revision {number} was made from what is no longer live; propose its changes anew.")
    if revision.state not in (RevisionState.CANARY, *OPEN):
        why = "was stopped as a canary" if ending.was_stopped(revision) else "gave way to a later proposal"
        raise Superseded(f"Revision {number} {why}; propose its changes anew.")
    found = standing(revision, locked)
    if found.missing and not emergency:
        raise NeedsApproval(
            f"Revision {number} has {len(found.given)} of the {found.needed} approvals that this workspace asks for.",
            [{"path": "approvals", "message": "not enough", "value": len(found.given), "allowed": found.needed}],
        )
    broken = _broken(revision)
    if broken and not (emergency or override):
        raise checks.refusal(number, broken)
    return found, broken


def _note_publication(
    workspace: Workspace,
    revision: Revision,
    *,
    message: str,
    bypassed: bool,
    broken: Sequence[checks.Broken],
    reason: str,
    by: Actor,
) -> None:
    """`bypassed` says that something was missing and this was an emergency; `broken` are expectations that were overridden,
    and `reason` says why.
    """
    live = workspace.live_revision
    before = thaw(live) if live else EMPTY
    after: dict[str, Any] = {"live_revision": revision.number, "digest": revision.digest}
    audit.record(
        workspace.pk,
        "revision.published",
        f"revision {revision.number}",
        by=by,
        before={"live_revision": live.number if live else None, "digest": live.digest if live else digest_of(before)},
        after=after
        | ({"emergency": True} if bypassed else {})
        | ({"expectations_failed": [one.name for one in broken], "override_reason": reason} if broken else {}),
        changes=diff(before, thaw(revision)),
        message=message or revision.message,
    )


def _broken(revision: Revision) -> Sequence[checks.Broken]:
    """What the document expects of itself and does not do. What no process could load must not go live either; a valid
    document always can, so that names a fault of ours.
    """
    try:
        return checks.anew(revision.workspace_id, thaw(revision), revision.digest).broken
    except DatabaseError:
        raise
    except Exception as error:
        logger.exception("revision %s of %s cannot be compiled", revision.number, revision.workspace_id)
        raise InvalidRegistry(
            f"This document is valid, but it could not be compiled ({type(error).__name__}); nothing was published."
        ) from None


def _make_live(revision: Revision, *, message: str, by: Actor) -> Revision:
    workspace, document = revision.workspace, thaw(revision)
    draft = working.copy_of(workspace)
    if draft.digest == working.live_digest(workspace) and draft.digest != revision.digest:
        # Without a draft the working copy follows, else it would undo this.
        draft = WorkingCopy(document=document, registry=parse_document(document).registry)
        mapping.replace(workspace, document)
        working.written(workspace, draft)
    Revision.objects.filter(workspace=revision.workspace, state=RevisionState.LIVE).update(
        state=RevisionState.SUPERSEDED
    )
    revision.state = RevisionState.LIVE
    revision.message = message or revision.message
    revision.published_at = timezone.now()
    revision.published_by = str(by)
    revision.save(update_fields=["state", "message", "published_at", "published_by", "approvals_needed", "emergency"])
    Workspace.objects.filter(pk=revision.workspace_id).update(live_revision=revision)
    waiting.give_up(revision.workspace, f"Revision {revision.number} went live before.", by=by)
    ending.give_way(revision, by=by)
    edits.settle(revision, document, draft.document)
    if draft.digest == revision.digest:
        Workspace.objects.filter(pk=revision.workspace_id).update(draft_by="")  # nothing is left to be lost
    generation.bump()
    transaction.on_commit(lambda: _announce(revision), robust=True)
    logger.info("revision %s of %s published by %s", revision.number, revision.workspace_id, by)
    return revision


def _announce(revision: Revision) -> None:
    bus.tell([{"event": "revision.published", "workspace": str(revision.workspace_id), "revision": revision.number}])
