"""Documents and revisions as the API gives them."""

from __future__ import annotations

from typing import Any

from routing import mapping
from routing.choices import RevisionState
from routing.engine.canonical import document_digest
from routing.engine.diff import diff
from routing.errors import InvalidRequest, NotFound
from routing.events import timestamp
from routing.manifests import EMPTY, thaw
from routing.models import Review, Revision, Workspace
from routing.reviewing import standing

Record = dict[str, Any]


def registry(workspace_id: Any, which: str) -> Record:
    """The body of GET /registry: `which` is live, draft, or a revision's number."""
    workspace = Workspace.objects.select_related("live_revision").get(pk=workspace_id)
    if which == "draft":
        document = mapping.document_of(workspace)
        return {"revision": None, "state": "draft", "digest": document_digest(document), "document": document}
    row = workspace.live_revision if which == "live" else _find(workspace_id, which)
    if row is None:
        return {"revision": 0, "state": "live", "digest": document_digest(EMPTY), "document": dict(EMPTY)}
    return {"revision": row.number, "state": told_state(row), "digest": row.digest, "document": thaw(row)}


def revisions(workspace_id: Any, after: str | None, limit: int) -> tuple[list[Record], str | None]:
    rows = (
        Revision.objects.filter(workspace_id=workspace_id)
        .select_related("workspace")
        .prefetch_related("reviews", "canaries")
    )
    if after is not None:
        rows = rows.filter(number__lt=_whole(after, "after"))
    found = list(rows.order_by("-number")[: limit + 1])
    return [revision_record(row) for row in found[:limit]], str(found[limit - 1].number) if len(found) > limit else None


def revision(workspace_id: Any, number: int) -> Record:
    """One revision with its document and what it changes against its base."""
    row = _find(workspace_id, str(number))
    base = (
        Revision.objects.filter(workspace_id=workspace_id, number=row.base_number).first() if row.base_number else None
    )
    document = thaw(row)
    changes = [change.as_dict() for change in diff(thaw(base) if base else EMPTY, document)]
    return revision_record(row) | {"document": document, "changes": changes}


def revision_summary(workspace_id: Any, number: int) -> Record:
    """One revision as lists show it: where it stands, without its document."""
    return revision_record(_find(workspace_id, str(number)))


def revision_record(row: Revision) -> Record:
    found = standing(row, row.workspace)
    return {
        "revision": row.number,
        "state": told_state(row),
        "digest": row.digest,
        "base_revision": row.base_number,
        "message": row.message,
        "created_at": timestamp(row.created_at),
        "created_by": row.created_by,
        "published_at": timestamp(row.published_at) if row.published_at else None,
        "published_by": row.published_by or None,
        "approvals": {
            "given": len(found.given),
            "needed": found.needed,
            "by": [_review_record(review) for review in found.given],
        },
        "rejected": _review_record(found.rejection) if found.rejection else None,
        "emergency": row.emergency,
        "canary": next((one.state for one in row.canaries.all()), None),
    }


def told_state(row: Revision) -> str:
    """A revision's state in the words of the API: what answers some first is approved, and not live yet."""
    return str(RevisionState.APPROVED if row.state == RevisionState.CANARY else row.state)


def _review_record(review: Review) -> Record:
    return {"by": review.by, "at": timestamp(review.created_at), "comment": review.comment}


def _find(workspace_id: Any, which: str) -> Revision:
    row = (
        Revision.objects.filter(workspace_id=workspace_id, number=_whole(which, "revision"))
        .select_related("workspace")
        .first()
    )
    if row is None:
        raise NotFound(f"There is no revision {which} in this workspace.")
    return row


def _whole(text: str, path: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise InvalidRequest(
            f"{path}: must be live, draft or a revision's number",
            [{"path": path, "message": "must be a number", "allowed": "live, draft, N"}],
        )
    return int(text)
