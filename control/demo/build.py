"""Packs a published catalog of MCP servers into `mcp_servers.json.gz`, the registry source of the demo.

    python -m control.demo.build CATALOG.json

CATALOG.json is a list of tools as `{"tools": [{server, name, description, input_schema, server_description}]}`: the
tools of 70 public servers from icip-cas/LiveMCPBench at a928e57 (Apache-2.0) and of the official GitHub server at
github/github-mcp-server 64a49f3 (MIT). Texts and schemas are taken over as published; only a server name that is not
allowed as an endpoint name is changed, and then kept as title. The same input, packed by the same zlib, gives
the same bytes.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PACKED = Path(__file__).with_name("mcp_servers.json.gz")
SOURCES = [
    {"repository": "icip-cas/LiveMCPBench", "commit": "a928e57", "licence": "Apache-2.0"},
    {"repository": "github/github-mcp-server", "commit": "64a49f3", "licence": "MIT"},
]


def endpoint_name(server: str) -> str:
    return re.sub(r"_{2,}", "_", re.sub(r"[^a-z0-9._-]+", "-", server.lower())).strip("_-.")


def endpoints(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Groups tools by server. Servers are sorted, tools keep the order in which they were published."""
    by_server: dict[str, dict[str, Any]] = {}
    for tool in tools:
        server = by_server.setdefault(tool["server"], _endpoint(tool["server"], tool["server_description"]))
        server["tools"].append({key: tool[key] for key in ("name", "description", "input_schema")})
    return [by_server[name] for name in sorted(by_server, key=str.lower)]


def _endpoint(server: str, description: str) -> dict[str, Any]:
    name = endpoint_name(server)
    title = {} if name == server else {"title": server}
    return {"name": name, **title, "description": description.strip(), "tools": []}


def pack(catalog: Mapping[str, Any]) -> bytes:
    content = {"sources": SOURCES, "endpoints": endpoints(catalog["tools"])}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m control.demo.build CATALOG.json", file=sys.stderr)
        return 2
    packed = pack(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    PACKED.write_bytes(packed)
    print(f"{PACKED.name}: {len(packed):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
