"""What the pages say about a proposal's review, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from control.access import allows
from control.web.forms.publish import CommentForm
from routing.choices import RevisionState
from routing.models import Review, Revision, Workspace
from routing.reviewing import Standing, standing
from routing.services import registry, reviews

_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The review of one revision as one person sees it."""

    revision: Revision
    standing: Standing
    said: list[Review]  # everything, oldest first
    is_open: bool
    reviews: bool  # this person may approve and reject, apart from authorship
    own: bool  # this person changed something in it
    why_not: str  # why this person cannot approve, in words; empty when they can
    has_approved: bool
    seen: str  # digest of the draft, which goes along with what this person says

    @property
    def waiting(self) -> range:
        """One for each approval that is missing."""
        return range(self.standing.missing if self.is_open else 0)


def desk(request: Any, workspace: Workspace, revision: Revision) -> Desk:
    person, may = request.actor.person, allows(request.role, "revision.review")
    own = person in revision.authors
    found, outdated = standing(revision, workspace), reviews.is_outdated(workspace, revision)
    return Desk(
        revision=revision,
        standing=found,
        said=list(revision.reviews.all()),
        is_open=revision.state in (RevisionState.PROPOSED, RevisionState.APPROVED),
        reviews=may,
        own=own,
        why_not=_why_not(request.role, may, own and not workspace.self_approval, outdated),
        has_approved=any(review.person == person for review in found.given),
        seen=registry.draft_digest(workspace),
    )


def _why_not(role: str, may: bool, own: bool, is_outdated: bool) -> str:
    if not may:
        return f"Your role here, {role}, does not review; a reviewer or an administrator does."
    if is_outdated:
        return "The draft changed after this was proposed; it can be approved once it is proposed again."
    return "You changed something in this proposal, and nobody approves their own changes here." if own else ""


def missing_words(found: Standing) -> str:
    """ "One more approval is needed: 1 of 2 given."."""
    number = _NUMBERS[found.missing] if found.missing < len(_NUMBERS) else f"{found.missing}"
    noun = "approval is" if found.missing == 1 else "approvals are"
    return f"{number} more {noun} needed: {len(found.given)} of {found.needed} given."


def told(request: Any, workspace: Workspace, revision: Revision | None, form: Any = None) -> dict[str, Any]:
    """The context of `reviews/_desk.html`; nothing when there is no proposal."""
    if revision is None:
        return {"desk": None}
    return {"desk": desk(request, workspace, revision), "review_form": form or CommentForm()}
