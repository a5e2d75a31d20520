"""Import a configuration into a workspace: read, merge, validate, and propose the outcome as a revision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import transaction

from routing.engine.canonical import digest_of
from routing.errors import InvalidRegistry, StaleDraft
from routing.formats import Import, read
from routing.formats.merging import Choices, Merged, merge
from routing.models import Actor, Workspace
from routing.services import registry, revisions

Detail = dict[str, Any]
REFUSED, DRY_RUN, UNCHANGED, DRAFT = "refused", "dry_run", "unchanged", "draft"


def import_registry(
    workspace: Workspace,
    content: str | bytes | Mapping[str, Any],
    *,
    format: str = "auto",
    filename: str | None = None,
    tools: str | bytes | Mapping[str, Any] | None = None,
    strategy: str = "update",
    dry_run: bool = False,
    message: str = "",
    by: Actor,
) -> Detail:
    """The answer of POST /registry/import. Its `state` is `refused` when something is wrong; then nothing was stored."""
    found = read(content, format, filename, tools)

    def store(document: Detail) -> Detail:
        return _propose(workspace, document, message=message, by=by)

    return _bring_in(workspace, found, None if dry_run else store, filename=filename, strategy=strategy)


@transaction.atomic
def into_draft(
    workspace: Workspace,
    found: Import,
    *,
    strategy: str = "update",
    choices: Choices | None = None,
    seen: str | None = None,
    message: str = "",
    by: Actor,
) -> Detail:
    """Bring what was read into the draft, proposing nothing. Answered as `import_registry`; the state is `draft`,
    `unchanged` or `refused`. Raises StaleDraft when the draft's digest is no longer `seen`.
    """
    registry.lock(workspace)
    present = registry.draft_digest(workspace)
    if seen is not None and seen != present:
        raise StaleDraft("The draft has changed since the import was looked at.")

    def store(document: Detail) -> Detail:
        if digest_of(document) == present:
            return {"state": UNCHANGED, "digest": present}
        registry.replace_working_copy(workspace, document, by=by, action="registry.imported", message=message)
        return {"state": DRAFT, "digest": digest_of(document)}

    return _bring_in(workspace, found, store, strategy=strategy, choices=choices)


def look(
    workspace: Workspace, found: Import, *, strategy: str = "update", choices: Choices | None = None
) -> tuple[Detail, str]:
    """What `into_draft` would do, storing nothing, and the digest of the draft that it was worked out for."""
    with transaction.atomic():
        registry.lock(workspace)
        answer = _bring_in(workspace, found, None, strategy=strategy, choices=choices)
        return answer, registry.draft_digest(workspace)


def clashes(workspace: Workspace, found: Import) -> list[tuple[str, str]]:
    """Kind and name of the entries that the draft has too, and differently: those that a strategy decides."""
    if found.problems or found.document is None:
        return []
    merged = merge(
        registry.working_document(workspace),
        found.document,
        keep_tools=found.format != "switchyard",
        gateway=found.gateway,
        assumed=found.assumed,
    )
    return [entry for entry, action in merged.actions.items() if action == "updated" and entry[0] != "gateway"]


def _bring_in(
    workspace: Workspace,
    found: Import,
    store: Callable[[Detail], Detail] | None,
    *,
    filename: str | None = None,
    strategy: str = "update",
    choices: Choices | None = None,
) -> Detail:
    """Merge what was read into the draft and hand the sound outcome to `store`; without one it is a dry run."""
    if found.problems or found.document is None:
        return _refused(found, list(found.entries), list(found.problems), filename)
    with transaction.atomic():
        registry.lock(workspace)
        before = registry.working_document(workspace)
        merged = merge(
            before,
            found.document,
            strategy=strategy,
            choices=choices,
            keep_tools=found.format != "switchyard",
            gateway=found.gateway,
            assumed=found.assumed,
        )
        entries = _entries(found, merged)
        clashes = [problem for entry in entries for problem in entry["problems"]]
        if clashes:
            return _refused(found, entries, clashes, filename)
        try:
            document, warnings = registry.checked(merged.document)
        except InvalidRegistry as error:
            return _refused(found, entries, error.details, filename)
        answer = _answer(found, [*entries, *_left_out(found)], [*warnings, *_without_tools(found, document)])
        if store is None:
            return answer | {"state": DRY_RUN, "digest": digest_of(document)}
        return answer | store(document)


def _propose(workspace: Workspace, document: Mapping[str, Any], *, message: str, by: Actor) -> Detail:
    others = registry.others_in_draft(workspace, by)
    newest = workspace.revisions.order_by("-number").values_list("number", flat=True).first() or 0
    registry.replace_working_copy(workspace, document, by=by, action="registry.imported", message=message)
    revision = revisions.propose(workspace, document, message=message, by=by, others=others)
    state = str(revision.state) if revision.number > newest else UNCHANGED
    return {"revision": revision.number, "state": state, "digest": revision.digest}


def _entries(found: Import, merged: Merged) -> list[Detail]:
    """What became of each entry. A new name that the file's own rules asked for is told as such."""
    entries: list[Detail] = []
    by_rule = {(entry["kind"], entry["name"]) for entry in found.entries if entry["action"] == "renamed"}
    for (kind, name), action in merged.actions.items():
        shown = "renamed" if action == "added" and (kind, name) in by_rule else action
        problems = (
            [{"path": f"{kind} {name}", "message": "exists already and differs", "value": name}]
            if action == "refused"
            else []
        )
        entries.append({"kind": kind, "name": name, "action": shown, "problems": problems})
    return entries


def _left_out(found: Import) -> list[Detail]:
    """Entries whose meaning was not clear: told with their problems, while the others come in."""
    return [entry for entry in found.entries if entry["action"] == "refused"]


def _without_tools(found: Import, document: Mapping[str, Any]) -> list[Detail]:
    """Imported endpoints that nobody can be sent to yet: nothing is known of what they offer."""
    imported = {entry["name"] for entry in (found.document or {}).get("endpoints", ())}
    return [
        {
            "path": f"endpoint {one['name']}",
            "message": f"endpoint {one['name']} has no tools yet; add them with --tools",
        }
        for one in document.get("endpoints", ())
        if one["name"] in imported
        and one["kind"] in ("mcp", "declared")
        and one.get("enabled", True)
        and not one.get("tools")
    ]


def _answer(found: Import, entries: list[Detail], warnings: Iterable[Mapping[str, Any]]) -> Detail:
    told = list(found.warnings)
    known = {warning["message"] for warning in told}
    told += [dict(warning) for warning in warnings if warning["message"] not in known]
    return {
        "format": found.format,
        "entries": entries,
        "warnings": told,
        "secrets": list(found.secrets),
        "revision": None,
        "state": REFUSED,
        "digest": None,
    }


def _refused(
    found: Import, entries: list[Detail], problems: Iterable[Mapping[str, Any]], filename: str | None
) -> Detail:
    """Every problem stands with its entry; those of no entry stand with the file."""
    placed = [problem for entry in entries for problem in entry["problems"]]
    others = [dict(problem) for problem in problems if problem not in placed]
    refused = [{**entry, "action": "refused" if entry["problems"] else "skipped"} for entry in entries]
    if others:
        refused.insert(0, {"kind": "document", "name": filename or "", "action": "refused", "problems": others})
    return _answer(found, refused, [])
