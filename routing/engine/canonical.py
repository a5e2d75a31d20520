"""One text for one meaning: the canonical JSON of a document and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from routing.engine.registry import Registry
from routing.engine.validation import parse_document, to_document


def canonical_json(value: Any) -> bytes:
    """Keys sorted, no spaces, non-ASCII kept. Raises ValueError for numbers that are not finite."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest_of(value: Any) -> str:
    """`sha256:` and the hash of a JSON value as it stands."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()


def registry_digest(registry: Registry) -> str:
    return digest_of(to_document(registry))


def document_digest(document: Mapping[str, Any]) -> str:
    """The same for every document that says the same: order of keys and defaults written out change nothing.

    Raises RegistryError when the document breaks a rule.
    """
    return registry_digest(parse_document(document).registry)
