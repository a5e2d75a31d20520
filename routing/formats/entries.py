"""Entries of other tools' files, one by one: each becomes a valid endpoint, or is told and stays out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routing.engine.errors import RegistryError
from routing.engine.validation import parse_document
from routing.formats.values import Converted, Report

_OWN = "endpoints[0]"


class Unclear(Exception):
    """What an entry means cannot be told for sure; the message says why, `path` where inside of the entry."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


class Endpoints:
    """The endpoints of one file, as they are found."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.found = Converted(document={"version": 1})
        self._endpoints: list[dict[str, Any]] = []

    def add(self, old: str, new: str, endpoint: Mapping[str, Any], path: str) -> None:
        """Take an endpoint in, under its new name and with the old spelling as title where the two differ."""
        named = self._named(old, new, endpoint, path)
        problems = _problems(named)
        if problems:
            self.report.refuse("endpoint", new, [{**one, "path": _inside(path, one["path"])} for one in problems])
            return
        self.found.sources[f"endpoints[{len(self._endpoints)}]"] = path
        self.found.renamed[old] = new
        self._endpoints.append(named)

    def refuse(self, name: str, path: str, reason: Unclear) -> None:
        self.report.refuse("endpoint", name, [{"path": path + reason.path, "message": reason.message}])

    def done(self) -> Converted:
        if self._endpoints:
            self.found.document["endpoints"] = self._endpoints
        return self.found

    def _named(self, old: str, new: str, endpoint: Mapping[str, Any], path: str) -> dict[str, Any]:
        if old == new:
            return {"name": new, **endpoint}
        titled = {"name": new, "title": old, **endpoint}
        if any(problem["path"] == f"{_OWN}.title" for problem in _problems(titled)):
            self.report.warn(path, f"renamed to {new}; the old spelling holds marks that cannot be kept")
            return {"name": new, **endpoint}
        self.report.warn(path, f"renamed to {new}; the old spelling is kept as title")
        return titled


def _problems(endpoint: Mapping[str, Any]) -> list[dict[str, Any]]:
    try:
        parse_document({"version": 1, "endpoints": [endpoint]})
    except RegistryError as error:
        return [dict(problem) for problem in error.problems]
    return []


def _inside(path: str, problem: str) -> str:
    return path + problem.removeprefix(_OWN)
