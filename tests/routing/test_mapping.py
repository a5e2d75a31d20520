"""A document survives the working copy's tables whole, whatever it says."""

from __future__ import annotations

from typing import Any

import pytest

from control.demo.documents import contextual_routing_document, default_document
from routing.engine.validation import parse_document, to_document
from routing.models import Workspace
from routing.models.actor import SYSTEM
from routing.services import registry

pytestmark = pytest.mark.django_db

EVERYTHING: dict[str, Any] = {
    "version": 1,
    "gateway": {"expose": "all", "pins": ["web__fetch"], "response_budget_bytes": 0, "verbatim": True},
    "groups": {"reading": ["web"]},
    "providers": [{"name": "outside", "kind": "openrouter", "credential": "env:KEY", "send": ["goal"]}],
    "endpoints": [
        {
            "name": "web",
            "title": "Web",
            "kind": "mcp",
            "url": "https://web.example/mcp",
            "transport": "sse",
            "credential": "env:WEB_TOKEN",
            "headers": {"X-Team": "one"},
            "enabled": False,
            "description": "reads pages",
            "tags": ["http"],
            "capabilities": [{"name": "web-fetch", "level": 0.5, "provenance": "probed"}],
            "use_when": ["a page is to be read"],
            "tool_use_when": {"web_fetch": ["as Markdown"]},
            "owner": "team one",
            "note": "kept",
            "tools": [
                {
                    "name": "web_fetch",
                    "title": "Fetch",
                    "description": "reads one page",
                    "input_schema": {"type": "object", "properties": {"url": {"type": "string"}}},
                    "output_schema": {"type": "object"},
                    "annotations": {"readOnlyHint": True},
                    "category": "network",
                    "risk": "low",
                    "effect": "read",
                    "enabled": False,
                }
            ],
        },
        {"name": "model", "kind": "ollama", "url": "http://model.example", "model": "m", "priority": 5, "cost_in": 0.5},
    ],
    "capabilities": [{"name": "web-fetch", "synonyms": ["get"], "prefer": ["web"], "deprecated": True}],
    "scopes": [
        {"name": "some", "endpoints": ["group:reading"], "tools": ["web__fetch"], "deny": ["model"], "pins": []},
        {"name": "none", "endpoints": [], "tools": [], "policy": "careful", "policies": ["careful"]},
        {"name": "default"},
    ],
    "policies": [{"name": "careful", "resolver": {"confident_at": 0.9}, "router": {"direct_execution_threshold": 0.9}}],
    "expectations": [{"name": "x", "scope": "some", "query": "read", "note": "n", "expect": {"status": ["no_match"]}}],
}


@pytest.mark.parametrize(
    "document",
    [EVERYTHING, default_document(), contextual_routing_document()],
    ids=["everything", "default", "contextual-routing"],
)
def test_a_document_comes_out_of_the_working_copy_as_it_went_in(document: dict[str, Any]) -> None:
    workspace = Workspace.objects.create(name="w")
    canonical = to_document(parse_document(document).registry)

    registry.replace_working_copy(workspace, document, by=SYSTEM)

    assert to_document(parse_document(registry.working_document(workspace)).registry) == canonical
