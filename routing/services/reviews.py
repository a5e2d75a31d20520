"""Reviews of a proposal: approve it, reject it, say something about it."""

from __future__ import annotations

import logging

from django.db import transaction

from routing import working
from routing.choices import RevisionState, Verdict
from routing.errors import InvalidRequest, NotAllowed, StaleDraft, Superseded
from routing.models import Actor, Review, Revision, Workspace
from routing.reviewing import proposal_of, standing
from routing.services import audit, revisions, waiting

logger = logging.getLogger(__name__)


@transaction.atomic
def approve(workspace: Workspace, number: int, *, comment: str = "", seen: str | None = None, by: Actor) -> Revision:
    """Approve an open proposal, once a person. Approving again changes nothing. `seen` is the digest of the draft that the
    person looked at.

    Raises NotFound, Superseded when it is no open proposal or its base is no longer live, StaleDraft when the draft is not
    what was seen or says something else than the proposal, and NotAllowed for an author of any change in it, unless the
    workspace allows self-approval.
    """
    locked, revision = _open(workspace, number)
    _refuse_when_stale(locked, seen)
    if is_outdated(locked, revision):
        raise StaleDraft(
            f"The draft changed after revision {number} was proposed, and nothing was counted. Have the draft proposed "
            "again, then review that."
        )
    if by.person in revision.authors and not locked.self_approval:
        raise NotAllowed(
            f"Revision {number} holds changes of {by.person}, and nobody approves their own changes in this workspace."
        )
    standing_one = revision.reviews.filter(person=by.person, verdict=Verdict.APPROVED, void=False)
    if not standing_one.exists():
        _say(revision, Verdict.APPROVED, comment, by)
    found = standing(revision, locked)
    if len(found.given) >= max(1, found.needed) and revision.state != RevisionState.APPROVED:
        revision.state = RevisionState.APPROVED
        revision.save(update_fields=["state"])
    return revision


@transaction.atomic
def reject(workspace: Workspace, number: int, *, reason: str, seen: str | None = None, by: Actor) -> Revision:
    """Close an open proposal with a reason; its changes stay in the draft. An author may, and what the draft no longer says
    may be rejected too; else it raises as `approve`.
    """
    if not reason.strip():
        raise InvalidRequest("reason: is required", [{"path": "reason", "message": "is required"}])
    locked, revision = _open(workspace, number)
    _refuse_when_stale(locked, seen)
    _say(revision, Verdict.REJECTED, reason, by)
    waiting.give_up(workspace, f"Revision {number} was rejected.", by=by)
    revision.state = RevisionState.REJECTED
    revision.save(update_fields=["state"])
    return revision


@transaction.atomic
def comment(workspace: Workspace, number: int, *, text: str, by: Actor) -> Review:
    """Say something about an open proposal; it approves and blocks nothing."""
    if not text.strip():
        raise InvalidRequest("comment: is required", [{"path": "comment", "message": "is required"}])
    _, revision = _open(workspace, number)
    return _say(revision, Verdict.COMMENTED, text, by)


def void(workspace: Workspace, digest: str, *, by: Actor) -> None:
    """The draft now has this digest: approvals of a proposal that says something else no longer hold."""
    proposal = proposal_of(workspace)
    if proposal is None or proposal.digest == digest:
        return
    if proposal.reviews.filter(verdict=Verdict.APPROVED, void=False).update(void=True):
        logger.info("approvals of revision %s of %s are void: the draft changed", proposal.number, workspace.name)
    Revision.objects.filter(pk=proposal.pk).update(state=RevisionState.PROPOSED)
    waiting.give_up(workspace, f"The draft changed after revision {proposal.number} was scheduled.", by=by)


def is_outdated(workspace: Workspace, revision: Revision) -> bool:
    """Whether the draft went on from what this revision proposes. A discarded draft leaves the proposal as it is."""
    return working.copy_of(workspace).digest not in (revision.digest, working.live_digest(workspace))


def _refuse_when_stale(workspace: Workspace, seen: str | None) -> None:
    if seen is not None and seen != working.copy_of(workspace).digest:
        raise StaleDraft("The draft changed since you looked, and nothing was counted. Look at the changes again.")


def _open(workspace: Workspace, number: int) -> tuple[Workspace, Revision]:
    locked = Workspace.objects.select_for_update().select_related(None).get(pk=workspace.pk)
    revision = revisions.find(workspace, number)
    live = locked.live_revision.number if locked.live_revision else None
    if revision.state not in revisions.OPEN:
        stands = "running as a canary" if revision.state == RevisionState.CANARY else revision.state
        raise Superseded(f"Revision {number} is {stands}; only an open proposal can be reviewed.")
    if revision.base_number != live:
        raise Superseded(f"Revision {number} was made from what is no longer live; propose its changes anew.")
    return locked, revision


def _say(revision: Revision, verdict: Verdict, text: str, by: Actor) -> Review:
    logger.info("revision %s of %s %s by %s", revision.number, revision.workspace_id, verdict.value, by)
    audit.record(
        revision.workspace_id, f"revision.{verdict.value}", f"revision {revision.number}", by=by, message=text.strip()
    )
    return Review.objects.create(revision=revision, verdict=verdict, person=by.person, by=str(by), comment=text.strip())
