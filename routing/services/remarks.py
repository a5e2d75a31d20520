"""Remarks on single lines of what the draft or a proposal changes: say, answer, resolve, open again."""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from routing.choices import RevisionState
from routing.errors import InvalidRequest, NotFound, Superseded
from routing.models import Actor, Remark, Revision, Workspace
from routing.reviewing import proposal_of
from routing.services import audit, revisions

logger = logging.getLogger(__name__)
LONGEST_QUOTE = 400


@transaction.atomic
def say(
    workspace: Workspace,
    path: str,
    text: str,
    *,
    line: int = 0,
    quote: str = "",
    number: int | None = None,
    by: Actor,
) -> Remark:
    """Say something about a line of a change of the open proposal, of the draft while there is none, or of revision `number`.

    Raises InvalidRequest for no text, NotFound for no such revision, and Superseded for one that is closed unpublished.
    """
    _required(text)
    revision = _about(workspace, number)
    remark = Remark.objects.create(
        workspace=workspace,
        revision=revision,
        path=path,
        line=line,
        quote=quote[:LONGEST_QUOTE],
        person=by.person,
        by=str(by),
        text=text.strip(),
    )
    _tell(remark, "remark.made", text, by)
    return remark


@transaction.atomic
def answer(workspace: Workspace, remark_id: UUID, text: str, *, by: Actor) -> Remark:
    """Answer a remark; a resolved one is open again. Raises NotFound and InvalidRequest."""
    _required(text)
    first = _found(workspace, remark_id)
    _still_open(first.revision)
    remark = Remark.objects.create(
        workspace=workspace,
        revision=first.revision,
        answers=first,
        path=first.path,
        line=first.line,
        person=by.person,
        by=str(by),
        text=text.strip(),
    )
    Remark.objects.filter(pk=first.pk).update(resolved_at=None, resolved_by="")
    _tell(remark, "remark.answered", text, by)
    return remark


@transaction.atomic
def resolve(workspace: Workspace, remark_id: UUID, *, resolved: bool = True, by: Actor) -> Remark:
    """Say that nothing is left to do about a remark, or that something is again. Doing so twice changes nothing."""
    remark = _found(workspace, remark_id)
    _still_open(remark.revision)
    if bool(remark.resolved_at) == resolved:
        return remark
    remark.resolved_at = timezone.now() if resolved else None
    remark.resolved_by = str(by) if resolved else ""
    remark.save(update_fields=["resolved_at", "resolved_by"])
    _tell(remark, "remark.resolved" if resolved else "remark.reopened", "", by)
    return remark


def _required(text: str) -> None:
    if not text.strip():
        raise InvalidRequest("comment: is required", [{"path": "comment", "message": "is required"}])


def _about(workspace: Workspace, number: int | None) -> Revision | None:
    Workspace.objects.select_for_update().get(pk=workspace.pk)  # a proposal is made or published meanwhile, or is not
    if number is None:
        return proposal_of(workspace)
    revision = revisions.find(workspace, number)
    _still_open(revision)
    return revision


def _still_open(revision: Revision | None) -> None:
    if revision is not None and revision.state not in (*revisions.OPEN, RevisionState.CANARY, RevisionState.LIVE):
        raise Superseded(f"Revision {revision.number} is {revision.state}; what was said about it stays as it is.")


def _found(workspace: Workspace, remark_id: UUID) -> Remark:
    """The first of a thread."""
    found = Remark.objects.select_related("revision").filter(workspace=workspace, pk=remark_id, answers=None).first()
    if found is None:
        raise NotFound("There is no such comment here.")
    return found


def _tell(remark: Remark, action: str, text: str, by: Actor) -> None:
    where = f"revision {remark.revision.number}" if remark.revision else "draft"
    facts = {"path": remark.path, "line": remark.line}
    audit.record(remark.workspace_id, action, where, by=by, after=facts, message=text.strip())
    logger.info("%s in %s of %s by %s", action, where, remark.workspace_id, by)
