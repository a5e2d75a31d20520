"""A registry that is kept in a file: look at it, note drift, take it into the draft, write what is live into it.

What is live stays what harnesses are answered from. The file is where the registry is changed (`read-only`: the console and
the API refuse edits, `registry.note_change`), or one of two places (`two-way`).
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone

from routing import sources, working
from routing.choices import SourceMode, SourceState
from routing.engine.canonical import digest_of
from routing.errors import ReadOnlySource, RoutingError, SourceUnreadable, StaleDraft
from routing.formats import read, write_json, write_yaml
from routing.models import Actor, Revision, SourceCheck, Workspace
from routing.services import audit, registry, revisions
from routing.sources import Checkout, Content

logger = logging.getLogger(__name__)
Document = dict[str, Any]
CHECK = Actor(kind="system", name="source check")
MOST_PROBLEMS = 50
MOST_KEPT = 4
NO_FILE = "This workspace names no file as its source of truth."


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a file holds now: a registry document, or why there is none."""

    document: Mapping[str, Any] | None = None  # in canonical form; not to be changed
    digest: str = ""  # of the document
    why: str = ""  # there is no document, in a sentence
    problems: tuple[Mapping[str, Any], ...] = ()  # of a document that breaks its rules
    is_there: bool = True  # something would be overwritten
    content: Content | None = None

    @property
    def mark(self) -> str:
        """What tells that the file changed since somebody looked at it."""
        return self.digest or "nothing"

    def checkout(self, path: str) -> Checkout | None:
        return sources.checkout_of(path, self.content.data if self.content else b"")


# --- read -------------------------------------------------------------------------------------------------------------
_seen: OrderedDict[str, Found] = OrderedDict()  # by path


def look(workspace: Workspace) -> Found:
    """The workspace's file as it is now; one that did not change is parsed once."""
    path = workspace.source_file
    if not path:
        return Found(why=NO_FILE, is_there=False)
    known = _seen.get(path)
    try:
        content = sources.read(path, known.content if known else None)
    except SourceUnreadable as error:
        _seen.pop(path, None)
        return Found(why=error.message, is_there=not isinstance(error, sources.Missing))
    if known and known.content is content:
        return known
    found = _seen[path] = _parsed(content, path)
    while len(_seen) > MOST_KEPT:
        _seen.popitem(last=False)
    return found


def _parsed(content: Content, path: str) -> Found:
    held = read(content.data, "switchyard", path)
    if held.document is None:
        why = f"It is no valid registry document; problems: {len(held.problems)}."
        return Found(why=why, problems=tuple(held.problems[:MOST_PROBLEMS]), content=content)
    return Found(document=held.document, digest=digest_of(held.document), content=content)


def state_of(found: Found, live: str) -> SourceState:
    """How the file stands to the live revision's digest."""
    if found.document is None:
        return SourceState.UNREADABLE
    return SourceState.IN_SYNC if found.digest == live else SourceState.DRIFTED


# --- the look that is taken again and again ---------------------------------------------------------------------------
def check_all() -> int:
    """Look at the file of every workspace that names one; returns how many. What breaks one stops no other."""
    named = Workspace.objects.select_related("live_revision").exclude(source_file="")
    for workspace in named:
        try:
            check(workspace)
        except DatabaseError:
            raise
        except Exception:
            logger.exception("the source of truth of %s could not be checked", workspace.pk)
    return len(named)


def check(workspace: Workspace) -> SourceCheck:
    """Note how the file stands, and propose what it says where the workspace asks for that."""
    found = look(workspace)
    noted = _note(workspace, found)
    if workspace.source_proposes and noted.state == SourceState.DRIFTED and noted.proposed != found.digest:
        try:
            _propose(workspace, found)
        except RoutingError as error:
            logger.warning("what the file of %s says was not proposed: %s", workspace.pk, error.message)
    return noted


@transaction.atomic
def _note(workspace: Workspace, found: Found) -> SourceCheck:
    """Keep what was found; that the state changed is told to the audit log."""
    registry.lock(workspace)
    state, now = state_of(found, working.live_digest(workspace)), timezone.now()
    row = SourceCheck.objects.filter(workspace=workspace).first()
    before = row.state if row else None
    if row is None:
        row = SourceCheck(workspace=workspace, since=now)
    if before != state:
        row.state, row.since = state, now
        told = {"state": str(state), "digest": found.digest or None} | ({"why": found.why} if found.why else {})
        target = f"file {sources.short(workspace.source_file)}"
        was = {"state": before} if before else None
        audit.record(workspace.pk, "source.checked", target, by=CHECK, before=was, after=told)
    row.checked_at, row.digest, row.why, row.problems = now, found.digest, found.why, list(found.problems)
    row.save()
    return row


@transaction.atomic
def _propose(workspace: Workspace, found: Found) -> None:
    """Once for each state of the file, and over nobody's changes."""
    registry.lock(workspace)
    row = SourceCheck.objects.get(workspace=workspace)
    draft = working.copy_of(workspace).digest
    if draft not in (working.live_digest(workspace), row.proposed, found.digest):
        return
    message = _from(workspace, found)
    _into_draft(workspace, found, message=message, by=CHECK)
    registry.propose_draft(workspace, message=message, by=CHECK)
    SourceCheck.objects.filter(pk=row.pk).update(proposed=found.digest)


# --- from the file and into it ----------------------------------------------------------------------------------------
@transaction.atomic
def take(
    workspace: Workspace, *, seen: str, draft: str | None = None, message: str = "", by: Actor
) -> list[Mapping[str, Any]]:
    """Make the draft say what the file says; returns warnings. `seen` is the mark of the file and `draft` the digest of
    the draft that were looked at. Raises StaleDraft when one of them changed since, and SourceUnreadable.
    """
    registry.lock(workspace)
    found = _readable(workspace)
    if seen != found.mark:
        raise StaleDraft("The file changed since you looked at it; nothing was taken.")
    if draft is not None and draft != registry.draft_digest(workspace):
        raise StaleDraft("The draft changed since you looked at it; nothing was taken.")
    return _into_draft(workspace, found, message=message or _from(workspace, found), by=by)


def _readable(workspace: Workspace) -> Found:
    found = look(workspace)
    if found.document is None:
        raise SourceUnreadable(f"{sources.short(workspace.source_file) or 'No file'}: {found.why}", found.problems)
    return found


def _into_draft(workspace: Workspace, found: Found, *, message: str, by: Actor) -> list[Mapping[str, Any]]:
    return registry.replace_working_copy(workspace, found.document or {}, by=by, action=registry.TAKEN, message=message)


def _from(workspace: Workspace, found: Found) -> str:
    """Where it comes from, as a revision's message."""
    checkout = found.checkout(workspace.source_file)
    at = ""
    if checkout and checkout.is_committed:
        at = f" at {checkout.abbreviated}: {checkout.subject}"
    return f"From {sources.short(workspace.source_file)}{at}"[:2000]


@transaction.atomic
def write(workspace: Workspace, *, seen: str, by: Actor) -> Revision:
    """Write the live revision into the file, in canonical form, and commit nothing. `seen` is the mark of the file that
    was looked at.

    Raises ReadOnlySource unless the workspace is kept two-way, StaleDraft when the file changed since, and
    SourceUnreadable when it cannot be written or holds something that is no registry document, which stays.
    """
    registry.lock(workspace)
    present = Workspace.objects.select_related("live_revision").get(pk=workspace.pk)
    if not present.source_file or present.source_mode != SourceMode.TWO_WAY:
        raise ReadOnlySource("The file is written only where a workspace is kept two-way in it; nothing was written.")
    found, live = look(present), present.live_revision
    if found.document is None and found.is_there:
        raise SourceUnreadable(f"{found.why} It is not overwritten.", found.problems)
    if seen != found.mark:
        raise StaleDraft("The file changed since you looked at it; nothing was written.")
    if live is None:
        raise SourceUnreadable("Nothing is published yet; nothing was written.")
    audit.record(
        present.pk,
        "source.written",
        f"file {sources.short(present.source_file)}",
        by=by,
        before={"digest": found.digest or None},
        after={"digest": live.digest, "revision": live.number},
    )
    sources.write(present.source_file, text_of(revisions.live_document(present), present.source_file).encode())
    now = timezone.now()
    told = {
        "state": SourceState.IN_SYNC,
        "since": now,
        "checked_at": now,
        "digest": live.digest,
        "why": "",
        "problems": [],
    }
    SourceCheck.objects.update_or_create(workspace=present, defaults=told)
    return live


def text_of(document: Mapping[str, Any], path: str) -> str:
    """A document in the canonical form that the file's ending asks for."""
    return write_json(document) if path.lower().endswith(".json") else write_yaml(document)
