"""The working copy: read it, change one entry, replace it whole, or drop it. Every change is validated as a whole document."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from routing import mapping
from routing.engine.canonical import canonical_json, document_digest
from routing.engine.diff import Change, diff
from routing.engine.errors import RegistryError
from routing.engine.validation import parse_document, to_document
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import Actor, CapabilityRow, EndpointRow, EntryRow, PolicyRow, Revision, ScopeRow, Workspace
from routing.sealing import keyed_digest
from routing.services import revisions

logger = logging.getLogger(__name__)
Document = dict[str, Any]
STARTING_CAPABILITIES = ("structured-tools", "long-context", "code-generation", "summarization", "tool-dispatch")


@transaction.atomic
def create_workspace(name: str, *, title: str = "", by: Actor) -> Workspace:
    """A new, empty workspace with the words that every workspace starts with, published as its first revision."""
    workspace = Workspace.objects.create(name=name, title=title or name)
    replace_working_copy(
        workspace, {"version": 1, "capabilities": [{"name": word} for word in STARTING_CAPABILITIES]}, by=by
    )
    revisions.publish(workspace, message="Start empty", by=by)
    return workspace


def working_document(workspace: Workspace) -> Document:
    """The working copy as a document in canonical order."""
    return mapping.document_of(workspace)


def checked(document: Mapping[str, Any]) -> tuple[Document, list[Mapping[str, Any]]]:
    """The document in its canonical spelling, and warnings; raises InvalidRegistry with every problem."""
    try:
        parsed = parse_document(document)
    except RegistryError as error:
        raise InvalidRegistry("The registry document breaks its rules; nothing was saved.", error.problems) from None
    return to_document(parsed.registry), list(parsed.warnings)


@transaction.atomic
def replace_working_copy(workspace: Workspace, document: Mapping[str, Any], *, by: Actor) -> list[Mapping[str, Any]]:
    """Make the working copy say exactly this document; returns warnings, raises InvalidRegistry and saves nothing."""
    canonical, warnings = checked(document)
    lock(workspace)
    for model in (EndpointRow, CapabilityRow, ScopeRow, PolicyRow, EntryRow):
        model.objects.filter(workspace=workspace).delete()
    mapping.fill(workspace, canonical)
    logger.info("working copy of %s replaced by %s", workspace.name, by)
    return warnings


def endpoint_version(body: Mapping[str, Any]) -> str:
    """A mark of an endpoint as somebody read it, to notice that somebody else changed it since."""
    return keyed_digest("endpoint-version", canonical_json(body).decode())[:16]


@transaction.atomic
def edit_endpoint(
    workspace: Workspace, name: str, changes: Mapping[str, Any], *, by: Actor, version: str | None = None
) -> EndpointRow:
    """Change fields of one endpoint in the draft. `None` drops a field back to its default.

    Raises NotFound, StaleDraft (with the present document of the endpoint in `details`) when `version` is given and the
    endpoint has changed since, and InvalidRegistry with paths below the endpoint.
    """
    lock(workspace)
    row = EndpointRow.objects.filter(workspace=workspace, name=name).prefetch_related("tools").first()
    if row is None:
        raise NotFound(f"There is no endpoint {name} in this workspace.")
    before = mapping.endpoint_document(row)
    if version is not None and version != endpoint_version(before):
        raise StaleDraft(
            "Somebody changed this endpoint since you opened it.",
            [{"path": name, "message": "changed", "value": before}],
        )
    after = {key: value for key, value in {**before, **changes}.items() if value is not None}
    mapping.update_endpoint(row, _checked_endpoint(workspace, name, after))
    logger.info("endpoint %s of %s edited by %s: %s", name, workspace.name, by, ", ".join(sorted(changes)))
    fresh: EndpointRow = EndpointRow.objects.prefetch_related("tools").get(pk=row.pk)
    return fresh


def _checked_endpoint(workspace: Workspace, name: str, body: Mapping[str, Any]) -> Document:
    document = working_document(workspace)
    place = next(i for i, endpoint in enumerate(document["endpoints"]) if endpoint["name"] == name)
    document["endpoints"][place] = dict(body)
    try:
        parsed = parse_document(document)
    except RegistryError as error:
        prefix = f"endpoints[{place}]"
        problems = [{**problem, "path": problem["path"].removeprefix(f"{prefix}.")} for problem in error.problems]
        raise InvalidRegistry("This change breaks a rule of the registry; nothing was saved.", problems) from None
    return dict(to_document(parsed.registry)["endpoints"][place])


def draft_changes(workspace: Workspace) -> list[Change]:
    """What publishing would change: the live document against the working copy."""
    return diff(revisions.live_document(workspace), working_document(workspace))


def draft_digest(workspace: Workspace) -> str:
    return document_digest(working_document(workspace))


@transaction.atomic
def put(
    workspace: Workspace, document: Mapping[str, Any], *, message: str, seen: str | None, by: Actor
) -> tuple[Revision, bool, list[Mapping[str, Any]]]:
    """Make a document the draft and freeze it as a proposed revision; also says whether that number is new, and warnings.

    `seen` is the digest of what the caller had read: of the draft where it differs from live, else of the live revision.
    Raises StaleDraft when that has changed, or when nothing was named and a draft is open; InvalidRegistry as `checked`.
    """
    lock(workspace)
    canonical, _ = checked(document)
    present, is_open = _present_digest(workspace)
    if seen != present and (seen is not None or is_open) and document_digest(canonical) != present:
        raise StaleDraft(
            "The draft is not what you have read; read it again and send its digest as If-Match.",
            [{"path": "If-Match", "message": "must be the present digest", "value": seen, "allowed": present}],
        )
    warnings = replace_working_copy(workspace, canonical, by=by)
    newest = workspace.revisions.order_by("-number").values_list("number", flat=True).first() or 0
    revision = revisions.propose(workspace, canonical, message=message, by=by)
    return revision, revision.number > newest, warnings


def _present_digest(workspace: Workspace) -> tuple[str, bool]:
    draft, live = document_digest(working_document(workspace)), document_digest(revisions.live_document(workspace))
    return draft, draft != live


@transaction.atomic
def discard_draft(workspace: Workspace, *, by: Actor) -> None:
    """Make the working copy equal to the live revision again."""
    replace_working_copy(workspace, revisions.live_document(workspace), by=by)


def lock(workspace: Workspace) -> None:
    """Let one writer at a time change a workspace's registry; held until the transaction ends."""
    Workspace.objects.select_for_update().get(pk=workspace.pk)
