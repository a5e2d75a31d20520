"""The working copy: read it, replace it whole, propose it, or drop it. Every change is validated as a whole document.

Changes of single entries are in `entries`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from routing import mapping, working
from routing.choices import RevisionState
from routing.engine.canonical import digest_of
from routing.engine.diff import Change, diff
from routing.engine.errors import RegistryError
from routing.engine.validation import parse_document, to_document
from routing.errors import InvalidRegistry, ReadOnlySource, StaleDraft
from routing.manifests import thaw
from routing.models import Actor, Edit, Revision, Workspace
from routing.services import audit, checks, edits, reviews, revisions
from routing.services.doctor import examinations
from routing.sources import short
from routing.working import WorkingCopy

logger = logging.getLogger(__name__)
Document = dict[str, Any]
Proposed = tuple[Revision, bool, list[Mapping[str, Any]]]
TAKEN, DISCARDED = "source.taken", "draft.discarded"  # what may be done to the draft of a registry kept in a file
STARTING_CAPABILITIES = ("structured-tools", "long-context", "code-generation", "summarization", "tool-dispatch")


@transaction.atomic
def create_workspace(name: str, *, title: str = "", by: Actor) -> Workspace:
    """A new, empty workspace with the words that every workspace starts with, published as its first revision."""
    workspace = Workspace.objects.create(name=name, title=title or name)
    audit.record(workspace.pk, "workspace.created", f"workspace {name}", by=by, after={"title": workspace.title})
    replace_working_copy(
        workspace, {"version": 1, "capabilities": [{"name": word} for word in STARTING_CAPABILITIES]}, by=by
    )
    revisions.publish(workspace, message="Start empty", by=by)
    return workspace


def working_document(workspace: Workspace) -> Document:
    """The working copy as a document in canonical order, the caller's own to change."""
    return mapping.document_of(workspace)


def checked(document: Mapping[str, Any]) -> tuple[Document, list[Mapping[str, Any]]]:
    """The document in its canonical spelling, and warnings; raises InvalidRegistry with every problem."""
    copy, warnings = _read(document)
    return copy.document, warnings


def copy_for(document: Mapping[str, Any]) -> WorkingCopy:
    """A document in its canonical spelling with its values; raises RegistryError with every problem."""
    registry = parse_document(document).registry
    return WorkingCopy(document=to_document(registry), registry=registry)


def _read(document: Mapping[str, Any]) -> tuple[WorkingCopy, list[Mapping[str, Any]]]:
    try:
        parsed = parse_document(document)
    except RegistryError as error:
        raise InvalidRegistry("The registry document breaks its rules; nothing was saved.", error.problems) from None
    return WorkingCopy(document=to_document(parsed.registry), registry=parsed.registry), list(parsed.warnings)


@transaction.atomic
def replace_working_copy(
    workspace: Workspace,
    document: Mapping[str, Any],
    *,
    by: Actor,
    action: str = "draft.replaced",
    message: str = "",
) -> list[Mapping[str, Any]]:
    """Make the working copy say exactly this document; returns warnings, raises InvalidRegistry and saves nothing.

    `action` names in the audit log for what it is done.
    """
    copy, warnings = _read(document)
    lock(workspace)
    before = working.copy_of(workspace)
    mapping.replace(workspace, copy.document)
    note_change(workspace, before, copy, action=action, target="draft", message=message, by=by)
    logger.info("working copy of %s replaced by %s", workspace.name, by)
    return warnings


def note_change(
    workspace: Workspace,
    before: WorkingCopy,
    after: WorkingCopy,
    *,
    action: str,
    target: str,
    message: str = "",
    undoes: Edit | None = None,
    by: Actor,
) -> None:
    """What every write to the working copy ends with: an entry of the audit log, and who changed it last.

    Nobody did when it says what is live, and the same as before when nothing changed. A change takes the approvals of an
    open proposal that says something else. `undoes` is the edit that this takes back: it is gone with what it did.
    Raises ReadOnlySource for an edit of a registry that is changed in its file alone.
    """
    changes = diff(before.document, after.document)
    if changes and action not in (TAKEN, DISCARDED):
        refuse_where_a_file_is_the_source(workspace)
    audit.record(
        workspace.pk,
        action,
        target,
        by=by,
        before={"digest": before.digest},
        after={"digest": after.digest},
        changes=changes,
        message=message,
    )
    if changes:
        working.written(workspace, after)
        examinations.want_after_commit(workspace)
        reviews.void(workspace, after.digest, by=by)
        checks.want(workspace)
    if after.digest == working.live_digest(workspace):
        _set_author(workspace, "")
        edits.drop(workspace)
    elif undoes is not None:
        _set_author(workspace, edits.take_back(undoes))
    elif changes:
        _set_author(workspace, str(by))
        edits.note(workspace, changes, before=before.document, after=after.document, message=message, by=by)


def refuse_where_a_file_is_the_source(workspace: Workspace) -> None:
    """Raises ReadOnlySource when the registry is changed in its file alone."""
    present = Workspace.objects.only("name", "source_file", "source_mode").get(pk=workspace.pk)
    if present.is_read_only:
        file = short(present.source_file)
        raise ReadOnlySource(
            f"Nothing was changed: this registry is kept in {file}. Change it there; what the file says is then taken into "
            "the draft. An administrator can make the workspace two-way in its settings.",
            [{"path": "source_file", "message": "is where the registry is changed", "value": file}],
        )


def _set_author(workspace: Workspace, name: str) -> None:
    workspace.draft_by = name
    Workspace.objects.filter(pk=workspace.pk).update(draft_by=name)


def others_in_draft(workspace: Workspace, by: Actor) -> str:
    """Who else has changes in the draft that are not live yet; empty when nobody has."""
    if draft_digest(workspace) == working.live_digest(workspace):
        return ""
    proposal = workspace.revisions.open().first()
    authors = (
        Workspace.objects.values_list("draft_by", flat=True).get(pk=workspace.pk),
        proposal.created_by if proposal else "",
    )
    return next((name for name in authors if name not in ("", str(by))), "")


def draft_changes(workspace: Workspace) -> list[Change]:
    """What publishing would change: the live document against the working copy."""
    return diff(working.live_of(workspace), working.copy_of(workspace).document)


_counted: dict[Any, tuple[tuple[int, Any], int]] = {}  # workspace id -> ((draft's version, live revision), changes)


def draft_change_count(workspace: Workspace) -> int:
    """How many changes the draft holds. Every page shows the number, so it is found out once for each version of the draft."""
    key = (workspace.draft_version, workspace.live_revision_id)
    known = _counted.get(workspace.pk)
    if known is None or known[0] != key:
        known = _counted[workspace.pk] = (key, len(draft_changes(workspace)))
    return known[1]


def forget() -> None:
    """Drop what this process remembers of drafts (tests change databases under it)."""
    _counted.clear()
    working.forget()


def draft_digest(workspace: Workspace) -> str:
    return working.copy_of(workspace).digest


@transaction.atomic
def put(workspace: Workspace, document: Mapping[str, Any], *, message: str, seen: str | None, by: Actor) -> Proposed:
    """Make a document the draft and freeze it as a proposed revision; also says whether that number is new, and warnings.

    `seen` is the digest of what the caller had read. Raises StaleDraft when that is no longer what is there, or when
    nothing was named and somebody else has a draft or an open proposal; InvalidRegistry as `checked`.
    """
    lock(workspace)
    canonical, _ = checked(document)
    found = _found(workspace, by)
    fits = found.admits(seen) if seen is not None else not found.is_anothers
    if not fits and digest_of(canonical) != found.digest:
        refuse_where_a_file_is_the_source(workspace)
        raise StaleDraft(
            "The draft is not what you have read; read it again and send its digest as If-Match.",
            [{"path": "If-Match", "message": "must be the present digest", "value": seen, "allowed": found.digest}],
        )
    return _take(workspace, canonical, action="registry.put", message=message, by=by)


@transaction.atomic
def propose_draft(workspace: Workspace, *, message: str, by: Actor) -> Revision:
    """Freeze the draft as it is as a proposed revision, for review; the same draft again is the same proposal."""
    lock(workspace)
    others = others_in_draft(workspace, by)
    return revisions.propose(workspace, working_document(workspace), message=message, by=by, others=others)


@transaction.atomic
def restore(workspace: Workspace, number: int, *, message: str, by: Actor) -> Proposed:
    """Propose the document of an earlier revision anew, answered as `put`. One's own draft or proposal gives way to it.

    Raises NotFound, and StaleDraft when somebody else has a draft or an open proposal.
    """
    lock(workspace)
    document = thaw(revisions.find(workspace, number))
    found = _found(workspace, by)
    if found.is_anothers and digest_of(document) != found.digest:
        raise StaleDraft(
            f"Revision {number} was not restored: somebody else's changes are still a draft and would be lost. Have them "
            "published or discarded first.",
            [{"path": "", "message": "another draft is open", "value": found.digest}],
        )
    return _take(
        workspace, document, action="revision.restored", message=message or f"Restore revision {number}", by=by
    )


def _take(workspace: Workspace, document: Mapping[str, Any], *, action: str, message: str, by: Actor) -> Proposed:
    warnings = replace_working_copy(workspace, document, by=by, action=action, message=message)
    newest = workspace.revisions.order_by("-number").values_list("number", flat=True).first() or 0
    revision = revisions.propose(workspace, document, message=message, by=by)
    return revision, revision.number > newest, warnings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a new draft would take the place of."""

    digest: str  # of the draft where it differs from live, else of the open proposal, else of the live revision
    others: frozenset[str]  # further digests that the caller may have read
    is_anothers: bool  # somebody else has changes that are not live

    def admits(self, seen: str) -> bool:
        return seen == self.digest or seen in self.others


def _found(workspace: Workspace, by: Actor) -> _Found:
    live, draft = working.live_digest(workspace), draft_digest(workspace)
    proposal = workspace.revisions.open().first()
    proposed = proposal.digest if proposal else live
    author = Workspace.objects.values_list("draft_by", flat=True).get(pk=workspace.pk)
    canary = workspace.revisions.filter(state=RevisionState.CANARY).values_list("digest", flat=True).first()
    strange_draft = draft not in (live, proposed, canary) and author != str(by)  # a canary's changes are kept with it
    strange_proposal = proposal is not None and proposal.created_by != str(by)
    return _Found(
        digest=proposed if draft == live else draft,
        others=frozenset() if strange_draft else frozenset({proposed}),
        is_anothers=strange_draft or strange_proposal,
    )


@transaction.atomic
def discard_draft(workspace: Workspace, *, by: Actor) -> None:
    """Make the working copy equal to the live revision again."""
    replace_working_copy(workspace, revisions.live_document(workspace), by=by, action=DISCARDED)


def lock(workspace: Workspace) -> None:
    """Let one writer at a time change a workspace's registry; held until the transaction ends."""
    Workspace.objects.select_for_update().get(pk=workspace.pk)
