"""The edit that a finding suggests, made to the draft where it needs no words of anybody's."""

from __future__ import annotations

from routing import working
from routing.errors import InvalidRequest, NotFound, StaleDraft
from routing.models import Actor, Workspace
from routing.services import entries
from routing.services.doctor.examinations import UNEXAMINED, Found, of


def mend(workspace: Workspace, key: str, *, by: Actor) -> Found:
    """Make the suggested edit, as an ordinary edit of the draft; returns the finding.

    Raises NotFound for a finding that is not about the draft as it is now, InvalidRequest for one whose edit needs words,
    StaleDraft when the entry was changed meanwhile, and whatever `entries.edit` refuses.
    """
    copy = working.copy_of(workspace)
    examined = of(workspace, copy.digest)
    if examined is None:
        raise StaleDraft(UNEXAMINED)
    finding = examined.by_key.get(key)
    if finding is None:
        raise NotFound("This is no longer found: what it was about has changed.")
    suggestion = finding["suggestion"]
    body = copy.entry(suggestion["section"], suggestion["name"])
    if suggestion["changes"] is None or body is None:
        raise InvalidRequest("This edit needs words that only a person can find; open its form.")
    entries.edit(
        workspace,
        suggestion["section"],
        suggestion["name"],
        suggestion["changes"],
        read=entries.version(body),
        message=f"Hint doctor: {suggestion['words']}",
        by=by,
    )
    return finding
