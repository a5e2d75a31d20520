"""Readers and writers of registry documents and of what other tools keep instead.

`read` takes any of the formats and answers one report: the document it came to and everything worth telling about the
way there. It stores nothing and returns no secret.
"""

from __future__ import annotations

from routing.formats.native import write_json, write_yaml
from routing.formats.reading import FORMATS, detect, read
from routing.formats.values import Import, Unreadable

__all__ = ["FORMATS", "Import", "Unreadable", "detect", "read", "write_json", "write_yaml"]
