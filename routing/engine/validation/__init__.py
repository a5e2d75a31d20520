"""The registry document: from a mapping to values and back.

`parse_document` reads everything and lists every breach at once; `to_document` writes values as the shortest document
that means the same.
"""

from __future__ import annotations

from routing.engine.validation.document import Parsed, parse_document, with_endpoint
from routing.engine.validation.writing import to_document

__all__ = ["Parsed", "parse_document", "to_document", "with_endpoint"]
