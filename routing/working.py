"""The working copy in memory: the draft of a workspace as a document and as values, kept for each version of it.

Every write of the working copy gives the workspace a new `draft_version`, and so a copy that has the present version is
the present one. Reading ten thousand tools from their rows and checking them anew would make each edit, and each page
that shows how much the draft changes, take a second.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from django.db import connection, transaction

from routing import mapping
from routing.engine.canonical import digest_of
from routing.engine.registry import Registry
from routing.engine.validation import entry_document, parse_document, with_entries, without_entries
from routing.manifests import EMPTY, thaw
from routing.models import Revision, Workspace

Document = dict[str, Any]
ORDER = ("version", *(field.name for field in fields(Registry)))
MOST = 4  # documents of each kind that a process keeps


@dataclass(frozen=True, kw_only=True)
class WorkingCopy:
    """A registry document and its values. Shared by all who ask: not to be changed."""

    document: Document
    registry: Registry

    @cached_property
    def digest(self) -> str:
        return digest_of(self.document)

    def entry(self, section: str, name: str) -> Document | None:
        return next((one for one in self.document.get(section, ()) if one["name"] == name), None)

    def with_entries(self, section: str, bodies: Sequence[Mapping[str, Any]]) -> WorkingCopy:
        """Raises RegistryError when one of them breaks a rule, as the engine does."""
        registry = with_entries(self.registry, section, bodies)
        names = {body["name"] for body in bodies}
        fresh = {one.name: entry_document(one) for one in getattr(registry, section) if one.name in names}
        known = {one["name"]: one for one in self.document.get(section, ())}
        return self._with(section, list((known | fresh).values()), registry)

    def without_entries(self, section: str, names: Iterable[str]) -> WorkingCopy:
        """Raises RegistryError when something that stays refers to one of them."""
        gone = set(names)
        registry = without_entries(self.registry, section, gone)
        return self._with(section, [one for one in self.document.get(section, ()) if one["name"] not in gone], registry)

    def _with(self, section: str, entries: list[Document], registry: Registry) -> WorkingCopy:
        said = {**self.document, section: entries}
        document = {key: said[key] for key in ORDER if said.get(key)}
        return WorkingCopy(document=document, registry=registry)


_copies: OrderedDict[Any, tuple[int, WorkingCopy]] = OrderedDict()  # workspace id -> its version and copy
_frozen: OrderedDict[Any, Document] = OrderedDict()  # revision id -> its document


def copy_of(workspace: Workspace) -> WorkingCopy:
    """The working copy as it is now."""
    version = Workspace.objects.values_list("draft_version", flat=True).get(pk=workspace.pk)
    known = _copies.get(workspace.pk)
    if known is not None and known[0] == version:
        _copies.move_to_end(workspace.pk)
        return known[1]
    document = mapping.document_of(workspace)
    fresh = WorkingCopy(document=document, registry=parse_document(document).registry)
    if not connection.in_atomic_block:  # what a transaction wrote may yet be taken back, and its version given again
        _keep(workspace.pk, version, fresh)
    return fresh


def written(workspace: Workspace, copy: WorkingCopy) -> None:
    """The tables say this now: give it the next version. The workspace's lock is held, so writers come one at a time."""
    present = Workspace.objects.values_list("draft_version", flat=True).get(pk=workspace.pk)
    version = workspace.draft_version = present + 1
    Workspace.objects.filter(pk=workspace.pk).update(draft_version=version)
    transaction.on_commit(lambda: _keep(workspace.pk, version, copy), robust=True)


def _keep(workspace_id: Any, version: int, copy: WorkingCopy) -> None:
    known = _copies.get(workspace_id)
    if known is None or known[0] < version:
        _put(_copies, workspace_id, (version, copy))


def frozen(revision: Revision | None) -> Document:
    """The document of a revision, not to be changed; the empty one before the first publication."""
    if revision is None:
        return EMPTY
    if revision.pk not in _frozen:
        _put(_frozen, revision.pk, thaw(revision))
    return _frozen[revision.pk]


def forget() -> None:
    """Drop what this process remembers (tests change databases under it)."""
    _copies.clear()
    _frozen.clear()


def _put(kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MOST:
        kept.popitem(last=False)


def live_of(workspace: Workspace) -> Document:
    """The document that is live now, not to be changed."""
    return frozen(_live_revision(workspace))


def live_digest(workspace: Workspace) -> str:
    live = _live_revision(workspace)
    return live.digest if live else digest_of(EMPTY)


def _live_revision(workspace: Workspace) -> Revision | None:
    return Workspace.objects.select_related("live_revision").get(pk=workspace.pk).live_revision
