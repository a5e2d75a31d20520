"""Where a proposal stands: its approvals, what is missing, who changed what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from routing.choices import RevisionState, Verdict
from routing.engine.diff import Change
from routing.models import AuditEntry, Edit, Review, Revision, Workspace

_ENTRY = re.compile(r"[^.\[]*(?:\[[^\]]*\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a revision is approved. `given` holds the approvals that count, oldest first."""

    needed: int
    given: tuple[Review, ...]
    rejection: Review | None

    @property
    def missing(self) -> int:
        return max(0, self.needed - len(self.given))


def standing(revision: Revision, workspace: Workspace) -> Standing:
    """Counted anew each time, so that changed settings hold at once; what was published keeps what was asked of it."""
    reviews = sorted(revision.reviews.all(), key=lambda review: review.pk)
    counts = revision.published_at is not None or workspace.self_approval
    return Standing(
        needed=workspace.approvals_needed if revision.approvals_needed is None else revision.approvals_needed,
        given=tuple(
            review
            for review in reviews
            if review.verdict == Verdict.APPROVED
            and not review.void
            and (counts or review.person not in revision.authors)
        ),
        rejection=next((review for review in reviews if review.verdict == Verdict.REJECTED), None),
    )


def proposal_of(workspace: Workspace) -> Revision | None:
    """The open proposal, of which a workspace has one at most."""
    return workspace.revisions.open().prefetch_related("reviews").first()


def edits_of(workspace: Workspace, revision: Revision | None = None) -> list[Edit]:
    """Who changed what, oldest first: of the draft, or of a revision (an open one is still the draft's)."""
    if revision is None:
        return list(Edit.objects.filter(workspace=workspace, revision=None))
    own = list(Edit.objects.filter(revision=revision))
    is_open = revision.state in (RevisionState.PROPOSED, RevisionState.APPROVED, RevisionState.CANARY)
    return own or (edits_of(workspace) if is_open else [])


def authors_of(changes: Iterable[Change], edits: Sequence[Edit]) -> list[str]:
    """The persons whose edits reach one of these changes; all of them when a change has no edit that would explain it."""
    explained = touching((change.path for change in changes), edits)
    found = [edit for group in explained.values() for edit in group] if all(explained.values()) else edits
    return list(dict.fromkeys(edit.person for edit in found))


def touching(paths: Iterable[str], edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    """For each path the edits that changed it, something in it, or something that it lies in; oldest first."""
    edited: dict[str, dict[str, list[tuple[str, Edit]]]] = {}  # section, entry: only few can overlap with a path
    for edit in edits:
        for path in edit.paths:
            entry = entry_of(path)
            edited.setdefault(_section(entry), {}).setdefault(entry, []).append((path, edit))
    return {path: _touching(path, edited) for path in paths}


LOOKED_AT = 200  # edits, newest first


def last_edits(workspace: Workspace, paths: Iterable[str]) -> dict[str, Edit]:
    """For each path the last of the recent edits that changed it, where there is one; published ones too."""
    recent = list(Edit.objects.filter(workspace=workspace).defer("step").order_by("-id")[:LOOKED_AT])
    return {path: edits[-1] for path, edits in touching(paths, recent).items() if edits}


def _touching(path: str, edited: Mapping[str, Mapping[str, list[tuple[str, Edit]]]]) -> list[Edit]:
    entry = entry_of(path)
    section = _section(entry)
    known = edited.get(section, {})
    groups = known.values() if entry == section else [known.get(entry, []), known.get(section, [])]
    near = [*chain.from_iterable(groups), *edited.get("", {}).get("", [])]
    found = {edit.pk: edit for other, edit in near if _overlap(path, other)}
    return [found[key] for key in sorted(found)]


def _section(entry: str) -> str:
    return entry.partition("[")[0]


def _overlap(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return not shorter or one == other or (longer.startswith(shorter) and longer[len(shorter)] in ".[")


def entry_of(path: str) -> str:
    """`endpoints[git].tools[log].risk` → `endpoints[git]`."""
    found = _ENTRY.match(path)
    return found.group() if found else path


MOST_SINCE = 20


def changes_since(workspace: Workspace, digest: str) -> list[AuditEntry]:
    """What was done to the draft after it had this digest, oldest first; nothing when that is long ago or never was."""
    found: list[AuditEntry] = []
    for entry in AuditEntry.objects.filter(workspace=workspace)[:200]:
        after = entry.after or {}
        if after.get("digest") == digest:
            return found[-MOST_SINCE:][::-1]
        if (entry.before or {}).get("digest") and after.get("digest") and entry.changes:
            found.append(entry)
        if (entry.before or {}).get("digest") == digest:
            return found[-MOST_SINCE:][::-1]
    return []
