"""Packs a published catalog of MCP servers and queries for it into the package data of the demo.

    python -m control.demo.build CATALOG.json QUERIES.jsonl

CATALOG.json is a list of tools as `{"tools": [{server, name, description, input_schema, server_description}]}`: the
tools of 70 public servers from icip-cas/LiveMCPBench at a928e57 (Apache-2.0) and of the official GitHub server at
github/github-mcp-server 64a49f3 (MIT). Texts and schemas are taken over as published; only a server name that is not
allowed as an endpoint name is changed, and then kept as title. The same input, packed by the same zlib, gives
the same bytes.

QUERIES.jsonl holds `{id, query, gold, kind}` a line. Kept are the annotated tasks and steps (LiveMCPBench) and 60 short
prompts that need no tool (HowieHwong/MetaTool at 35e81bb, MIT), without their annotations.
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
QUERIES = Path(__file__).with_name("published_queries.jsonl")
SMALL_TALK = 60
# A demo is looked at by anybody: prompts about private people, peoples, politics, illness or law are left out.
UNFIT = re.compile(
    r"puppy|kill|vomit|sulfa|breakup|legal|death|nationalis|sex|ethnic|religio|biden|ssn|semit|american indian"
    r"|company ask|insult|resume"
    r"|/root(?=/)",  # where an annotator's own files lay
    re.IGNORECASE,
)
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


def queries(lines: Iterable[str]) -> list[dict[str, str]]:
    rows = [json.loads(line) for line in lines if line.strip()]
    asked = [
        _query(row, "LiveMCPBench")
        for row in rows
        if row["kind"] in ("task", "step") and not UNFIT.search(row["query"])
    ]
    talk = [_query(row, "MetaTool") for row in rows if row["kind"] == "no_match_far" and _is_fit(row["query"])]
    return asked + talk[:SMALL_TALK]


def _query(row: Mapping[str, Any], source: str) -> dict[str, str]:
    return {"id": row["id"], "source": source, "query": row["query"]}


def _is_fit(text: str) -> bool:
    return len(text) <= 160 and not UNFIT.search(text)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: python -m control.demo.build CATALOG.json QUERIES.jsonl", file=sys.stderr)
        return 2
    catalog, asked = (Path(argument).read_text(encoding="utf-8") for argument in arguments)
    PACKED.write_bytes(pack(json.loads(catalog)))
    lines = [json.dumps(row, ensure_ascii=False) for row in queries(asked.splitlines())]
    QUERIES.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{PACKED.name}: {PACKED.stat().st_size:,} bytes; {QUERIES.name}: {len(lines)} queries")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
