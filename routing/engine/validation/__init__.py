"""The registry document: from a mapping to values and back.

`parse_document` reads everything and lists every breach at once; `to_document` writes values as the shortest document
that means the same.
"""

from __future__ import annotations

from routing.engine.validation.document import (
    SECTIONS,
    Parsed,
    parse_document,
    with_endpoint,
    with_entries,
    without_entries,
)
from routing.engine.validation.writing import entry_document, to_document

__all__ = [
    "SECTIONS",
    "Parsed",
    "entry_document",
    "parse_document",
    "to_document",
    "with_endpoint",
    "with_entries",
    "without_entries",
]
