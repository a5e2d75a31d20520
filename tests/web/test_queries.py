"""Lists ask the database as often for many rows as for few."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from control.keys import create_key
from routing.models import Revision
from routing.services import entries, registry, remarks, workspaces
from tests.routing.conftest import DOCUMENT, EDITOR

LISTS = (
    "endpoints",
    "tools",
    "capabilities",
    "coverage",
    "scopes",
    "policies",
    "keys",
    "people",
    "publish",
    "revisions",
    "revisions/2",
    "revisions/compare?from=1&to=draft",
    "audit",
    "settings",
    "endpoints/hitspec",
    "endpoints/hitspec/form",
    "tools/hitspec__fetch",
    "capabilities/reading",
    "scopes/default",
    "scopes/default/edit",
    "policies/default",
    "policies/default/try",
    "go?q=more",
)


MORE_TOOLS = [{"name": f"more_{number}"} for number in range(40)]


def asked(client, page: str) -> int:
    client.get(f"/w/acme/{page}")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(f"/w/acme/{page}").status_code == 200
    return len(queries)


def grown(workspace) -> None:
    """More of everything that these pages list."""
    live = workspace.revisions.first()
    Revision.objects.bulk_create(
        Revision(
            workspace=workspace,
            number=number,
            state="superseded",
            digest=f"sha256:{number:064}",
            manifest=live.manifest,
            created_by="ben",
            published_at=timezone.now() - timedelta(days=1),
        )
        for number in range(3, 23)
    )
    names = [f"more-{number}" for number in range(20)]
    registry.replace_working_copy(
        workspace,
        {
            **DOCUMENT,
            "endpoints": [
                {**DOCUMENT["endpoints"][0], "tools": [*DOCUMENT["endpoints"][0]["tools"], *MORE_TOOLS]},
                DOCUMENT["endpoints"][1],
                *({"name": name, "kind": "declared", "tools": [{"name": "read"}]} for name in names),
            ],
            "capabilities": [{"name": name} for name in ("reading", *names)],
            "scopes": [*DOCUMENT["scopes"], *({"name": name, "endpoints": [name]} for name in names)],
            "policies": [{"name": name} for name in names],
        },
        by=EDITOR,
    )
    for name in names:
        create_key(workspace, "default", name=name, by=EDITOR)
        remarks.say(workspace, f"endpoints[{name}]", "Why?", by=EDITOR)
        entries.edit(workspace, "endpoints", name, {"description": "More"}, by=EDITOR)
        workspaces.configure(workspace, {"title": name}, by=EDITOR)


@pytest.mark.parametrize("page", LISTS)
def test_more_rows_ask_no_more_questions(admin, workspace, page):
    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    remarks.say(workspace, "endpoints[notes].tags", "Why?", by=EDITOR)
    create_key(workspace, "default", by=EDITOR)
    entries.add(workspace, "capabilities", {"name": "reading"}, by=EDITOR)
    few = asked(admin, page)
    grown(workspace)

    assert asked(admin, page) <= few
