"""Documents at rest: entries stored once by digest, and the manifest that puts a revision together from them."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from routing.models import Entry, Revision, Workspace

Document = dict[str, Any]
EMPTY: Document = {"version": 1}


def freeze(workspace: Workspace, document: Mapping[str, Any]) -> dict[str, Any]:
    """Store the document's entries, each once by digest, and return the manifest that puts them together again.

    An endpoint is one entry that names its tools' entries by digest, so that editing a hint stores the endpoint's head
    alone. The manifest names sections and the row ids of their entries.
    """
    pieces: dict[bytes, bytes] = {}

    def keep(value: Any) -> str:
        body = orjson.dumps(value)
        digest = hashlib.sha256(body).digest()
        pieces[digest] = body
        return digest.hex()

    sections: dict[str, Any] = {}
    for section, content in document.items():
        if section == "endpoints":
            sections[section] = [
                keep({**head, "tools": [keep(tool) for tool in head.get("tools", ())]}) for head in content
            ]
        elif isinstance(content, list):
            sections[section] = [keep(item) for item in content]
        elif section != "version":
            sections[section] = keep(content)
    ids = _store(workspace, pieces)
    return {
        "sections": {
            name: [ids[bytes.fromhex(d)] for d in part] if isinstance(part, list) else ids[bytes.fromhex(part)]
            for name, part in sections.items()
        }
    }


def _store(workspace: Workspace, pieces: Mapping[bytes, bytes]) -> dict[bytes, int]:
    known = _ids(workspace, pieces)
    fresh = [
        Entry(workspace=workspace, digest=d, body=zlib.compress(b, 6)) for d, b in pieces.items() if d not in known
    ]
    Entry.objects.bulk_create(fresh, batch_size=200, ignore_conflicts=True)
    return known | _ids(workspace, [bytes(entry.digest) for entry in fresh])


def _ids(workspace: Workspace, digests: Iterable[bytes]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    wanted = list(digests)
    for start in range(0, len(wanted), 400):
        rows = Entry.objects.filter(workspace=workspace, digest__in=wanted[start : start + 400])
        found |= {bytes(digest): pk for digest, pk in rows.values_list("digest", "pk")}
    return found


def thaw(revision: Revision) -> Document:
    """The document of a revision, as it was frozen."""
    sections = revision.manifest["sections"]
    ids = [pk for part in sections.values() for pk in (part if isinstance(part, list) else [part])]
    bodies = _bodies(Entry.objects.filter(workspace_id=revision.workspace_id), "pk", ids)
    tools = _tools_of(revision, [bodies[pk] for pk in sections.get("endpoints", ())])
    document: Document = {"version": 1}
    for section, part in sections.items():
        if section == "endpoints":
            document[section] = [_endpoint(bodies[pk], tools) for pk in part]
        else:
            document[section] = [bodies[pk] for pk in part] if isinstance(part, list) else bodies[part]
    return document


def _bodies(rows: Any, field: str, values: Iterable[Any]) -> dict[Any, Any]:
    wanted = list(dict.fromkeys(values))
    found: dict[Any, Any] = {}
    for start in range(0, len(wanted), 400):
        part = rows.filter(**{f"{field}__in": wanted[start : start + 400]}).values_list(field, "body")
        found |= {bytes(key) if field == "digest" else key: orjson.loads(zlib.decompress(body)) for key, body in part}
    return found


def _tools_of(revision: Revision, heads: Iterable[Mapping[str, Any]]) -> dict[bytes, Any]:
    digests = [bytes.fromhex(digest) for head in heads for digest in head["tools"]]
    return _bodies(Entry.objects.filter(workspace_id=revision.workspace_id), "digest", digests)


def _endpoint(head: Mapping[str, Any], tools: Mapping[bytes, Any]) -> Document:
    body = {key: value for key, value in head.items() if key != "tools"}
    return body | ({"tools": [tools[bytes.fromhex(d)] for d in head["tools"]]} if head["tools"] else {})


def entries_of(revision: Revision, section: str) -> list[Document]:
    """The entries of one list of a revision's document, without reading the others; not for endpoints, which have tools."""
    ids = revision.manifest["sections"].get(section, ())
    bodies = _bodies(Entry.objects.filter(workspace_id=revision.workspace_id), "pk", ids)
    return [bodies[pk] for pk in ids]
