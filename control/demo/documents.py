"""The registry documents of the demo: published tools with an operator's overlay, and six declared specialists."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent


def default_document() -> dict[str, Any]:
    """71 published servers and their tools, with the hints, scopes and policies of `overlay.yaml`."""
    overlay = _yaml("overlay.yaml")
    additions: Mapping[str, Any] = overlay.pop("endpoints")
    endpoints = [_laid_over(endpoint, additions.get(endpoint["name"], {})) for endpoint in _published()]
    return {"version": 1, "endpoints": endpoints, **overlay}


def contextual_routing_document() -> dict[str, Any]:
    """Six declared specialists, with the acceptance checklist of contextual routing as expectations."""
    return _yaml("contextual_routing.yaml")


def _published() -> list[dict[str, Any]]:
    packed = (HERE / "mcp_servers.json.gz").read_bytes()
    return json.loads(gzip.decompress(packed))["endpoints"]  # type: ignore[no-any-return]


def _laid_over(endpoint: Mapping[str, Any], addition: Mapping[str, Any]) -> dict[str, Any]:
    changes = dict(addition)
    corrected: Mapping[str, Any] = changes.pop("tools", {})
    tools = [{**tool, **corrected.get(tool["name"], {})} for tool in endpoint["tools"]]
    return {**endpoint, "kind": "declared", **changes, "tools": tools}


def _yaml(name: str) -> dict[str, Any]:
    return yaml.load((HERE / name).read_bytes(), Loader=_Loader)  # type: ignore[no-any-return]


_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
