"""The cast of the domain's tests: a workspace with a published registry, and a harness that asks."""

from __future__ import annotations

import pytest

from routing.models import Actor, Workspace
from routing.services import registry
from routing.services.decisions import Caller

EDITOR = Actor(kind="operator", name="an-editor")
DOCUMENT = {
    "version": 1,
    "endpoints": [
        {
            "name": "hitspec",
            "kind": "declared",
            "description": "HTTP request runner",
            "tags": ["web", "http"],
            "use_when": ["fetch a public web page as readable Markdown text"],
            "tools": [
                {
                    "name": "hitspec_fetch",
                    "description": "Fetch a URL and return its text as bounded Markdown",
                    "input_schema": {
                        "type": "object",
                        "properties": {"url": {"type": "string"}, "format": {"type": "string"}},
                    },
                },
                {
                    "name": "hitspec_validate",
                    "description": "Check one request definition for mistakes without sending it",
                },
            ],
        },
        {
            "name": "notes",
            "kind": "declared",
            "description": "Notebook",
            "tools": [
                {"name": "add_note", "description": "Write a note into the notebook"},
                {"name": "delete_note", "description": "Delete a note from the notebook", "effect": "erase"},
            ],
        },
    ],
    "scopes": [{"name": "default"}, {"name": "web-only", "endpoints": ["hitspec"]}],
}


@pytest.fixture
def by() -> Actor:
    return EDITOR


@pytest.fixture
def workspace(db, request: pytest.FixtureRequest) -> Workspace:
    """The workspace acme: empty, or the one that is published when a test asks for that, too."""
    if "published" in request.fixturenames:
        return request.getfixturevalue("published")
    return registry.create_workspace("acme", by=EDITOR)


@pytest.fixture
def published(db) -> Workspace:
    from tests import baseline  # it begins with what stands here

    return baseline.two_endpoints()


@pytest.fixture
def caller(published) -> Caller:
    return Caller(workspace_id=published.pk, scope="default", harness="a-harness")
