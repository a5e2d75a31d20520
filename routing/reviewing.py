"""Where a proposal stands: its approvals, what is missing, who changed what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from routing.choices import RevisionState, Verdict
from routing.engine.diff import Change
from routing.models import Edit, Review, Revision, Workspace

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
    is_open = revision.state in (RevisionState.PROPOSED, RevisionState.APPROVED)
    return own or (edits_of(workspace) if is_open else [])


def authors_of(changes: Iterable[Change], edits: Sequence[Edit]) -> list[str]:
    """The persons whose edits reach one of these changes; all of them when a change has no edit that would explain it."""
    explained = [touching(change.path, edits) for change in changes]
    found = [edit for group in explained for edit in group] if all(explained) else edits
    return list(dict.fromkeys(edit.person for edit in found))


def touching(path: str, edits: Iterable[Edit]) -> list[Edit]:
    """The edits that changed this path, something in it, or something that it lies in."""
    return [edit for edit in edits if any(_overlap(path, other) for other in edit.paths)]


def _overlap(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return not shorter or one == other or (longer.startswith(shorter) and longer[len(shorter)] in ".[")


def entry_of(path: str) -> str:
    """`endpoints[git].tools[log].risk` → `endpoints[git]`."""
    found = _ENTRY.match(path)
    return found.group() if found else path
