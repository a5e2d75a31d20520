"""What a reader of a foreign format hands on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_WARNINGS = 2000
Detail = dict[str, Any]  # {"path", "message", "value"?, "allowed"?}


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """A file as a registry document, with all that its reader found worth telling.

    `document` is None when the file could not be read as one; with problems it is what was understood so far, and is not
    to be stored. `secrets` gives the place of each literal secret and the reference that stands in for it; no value of
    one is anywhere in here. `launches` names the entries that the host-side file needs. `gateway` holds the workspace
    defaults that the file itself states, also those that say what is the default anyway; `assumed` what the format means
    by stating nothing, which is for a new workspace.
    """

    format: str
    document: Mapping[str, Any] | None = None
    entries: tuple[Detail, ...] = ()  # {"kind", "name", "action": "added|renamed|refused", "problems"}
    warnings: tuple[Detail, ...] = ()
    secrets: tuple[Detail, ...] = ()  # {"path", "suggested"}
    problems: tuple[Detail, ...] = ()
    launches: tuple[str, ...] = ()
    gateway: Mapping[str, Any] = field(default_factory=dict)
    assumed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    """Findings while a file is read."""

    warnings: list[Detail] = field(default_factory=list)
    secrets: list[Detail] = field(default_factory=list)
    problems: list[Detail] = field(default_factory=list)
    launches: list[str] = field(default_factory=list)
    refused: list[Detail] = field(default_factory=list)  # entries that stay out, with their problems
    _secret_places: set[tuple[str, str]] = field(default_factory=set)
    _unlisted: int = 0

    def refuse(self, kind: str, name: str, problems: Iterable[Mapping[str, Any]]) -> None:
        """An entry whose meaning is unclear stays out of the document, is told, and keeps nothing else from coming in."""
        told = [dict(problem) for problem in problems]
        self.refused.append({"kind": kind, "name": name[:64], "action": "refused", "problems": told})
        for problem in told:
            self.warn(problem["path"], f"not imported: {problem['message']}")

    def warn(self, path: str, message: str) -> None:
        """Note a warning; past the bound they are counted in the last one."""
        if len(self.warnings) < MOST_WARNINGS:
            self.warnings.append({"path": path, "message": message})
            return
        self._unlisted += 1
        self.warnings[-1] = {"path": "", "message": f"{self._unlisted + 1} more warnings are not listed"}

    def secret(self, path: str, suggested: str) -> None:
        if (path, suggested) not in self._secret_places:
            self._secret_places.add((path, suggested))
            self.secrets.append({"path": path, "suggested": suggested})

    def problem(self, path: str, message: str, **more: Any) -> None:
        self.problems.append({"path": path, "message": message, **more})


@dataclass(slots=True, kw_only=True)
class Converted:
    """What a reader made of a file: a document, old names by new ones, and for paths of the document those of the file."""

    document: dict[str, Any]
    renamed: dict[str, str] = field(default_factory=dict)  # old -> new, of endpoints
    sources: dict[str, str] = field(default_factory=dict)


class Unreadable(Exception):
    """The content is no text, or no YAML, TOML or JSON that may be read; the message says where and why."""
