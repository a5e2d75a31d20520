"""Candidates that nobody wrote down: what is live, without one endpoint or one tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]


def without_endpoint(document: Document, name: str) -> Document:
    """The document with an endpoint switched off."""
    return {**document, "endpoints": [_off(one) if one["name"] == name else one for one in document["endpoints"]]}


def without_tool(document: Document, name: str, wire: str) -> Document:
    """The document with one tool of an endpoint switched off."""
    return {
        **document,
        "endpoints": [_less(one, wire) if one["name"] == name else one for one in document["endpoints"]],
    }


def _less(endpoint: Document, wire: str) -> Document:
    return {**endpoint, "tools": [_off(tool) if tool["name"] == wire else tool for tool in endpoint.get("tools", ())]}


def _off(entry: Document) -> Document:
    return {**entry, "enabled": False}
