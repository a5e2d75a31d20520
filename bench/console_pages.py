"""What the console's pages take on the server with 200 endpoints, 10,000 tools, 50 scopes and 1,000 revisions.

    python bench/console_pages.py [--times 15] [--draft | --all-new]

Walks every address of the console that answers GET, and says at the end which take longer than 150 ms. Prints median and slowest time of each page, the first one apart since it compiles the catalog and counts the draft's
changes. With --draft the draft differs from what is live; with --all-new it says something else of every tool. Works in a database of its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
VERBS = ("get", "list", "write", "delete", "run")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--draft", action="store_true")
    parser.add_argument("--all-new", action="store_true")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {
            "SWITCHYARD_DATA_DIR": place,
            "DJANGO_SETTINGS_MODULE": "control.settings",
            "SWITCHYARD_LOG_LEVEL": "ERROR",
        }
        os.environ.pop("DATABASE_URL", None)
        measure(wanted.times, wanted.draft, wanted.all_new)


def measure(times: int, draft: bool, all_new: bool) -> None:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    client, workspace = _prepared(draft, all_new)
    slow = []
    for page in _pages(workspace):
        began = time.perf_counter()
        first = client.get(page, HTTP_HOST="localhost")
        took = [time.perf_counter() - began]
        for _ in range(times):
            began = time.perf_counter()
            client.get(page, HTTP_HOST="localhost")
            took.append(time.perf_counter() - began)
        usual = sorted(1000 * one for one in took[1:])
        middle = statistics.median(usual)
        print(
            f"{page:60} {first.status_code}  median {middle:6.1f} ms  slowest {usual[-1]:6.1f} ms  "
            f"first {1000 * took[0]:7.1f} ms  {len(first.getvalue()) / 1024:5.0f} KiB",
            flush=True,
        )
        if middle > BOUND_MS:
            slow.append(f"{page} ({middle:.0f} ms)")
    print(f"Above {BOUND_MS} ms: {', '.join(slow) or 'none'}")


BOUND_MS = 150
NAMED = {  # what place holders of addresses stand for, by the address's name and theirs
    "name": {"endpoint": "place-007", "capability": "word-07", "scope": "team-07", "policy": "default"},
    "public": {"tool": "place-007__get_thing_0"},
    "number": 500,
    "seq": 2,
}
# A file of everything, a deed that asks first, and what needs a thing that is not made here.
LEFT_OUT = ("export", "csv", "jsonl")


def _pages(workspace: Any) -> list[str]:
    """Every room that answers GET, as the URL conf has it, and some lists with filters."""
    from django.urls import NoReverseMatch, reverse

    from control.web import urls

    found = []
    for room in urls.rooms:
        if any(word in room.name for word in LEFT_OUT):
            continue
        kinds = {part: _named(room.name, part) for part in room.pattern.converters}
        try:
            found.append(reverse(room.name, kwargs={"workspace": workspace.name, **kinds}))
        except NoReverseMatch:
            continue
    return found + [f"/w/{workspace.name}/{page}" for page in PAGES]


def _named(room: str, part: str) -> Any:
    known = NAMED.get(part)
    return known.get(room.partition("-")[0]) if isinstance(known, dict) else known


PAGES = (
    "tools?q=thing+49&effect=write&sort=-risk",
    "tools?page=150&sort=category",
    "scopes/default",
    "revisions/compare?from=2&to=990",
    "revisions/compare?from=1&to=draft",
    "revisions/2",
    "go?q=t",
)


def _prepared(draft: bool, all_new: bool) -> tuple[Any, Any]:
    from django.contrib.auth import get_user_model
    from django.test import Client

    from control.models import Membership
    from routing.models.actor import SYSTEM
    from routing.services import entries, registry, revisions

    workspace = registry.create_workspace("bench", by=SYSTEM)
    registry.replace_working_copy(workspace, _document(), by=SYSTEM)
    revisions.publish(workspace, message="Many tools", by=SYSTEM)
    _many_revisions(workspace)
    if all_new:
        registry.replace_working_copy(workspace, _document(", anew"), by=SYSTEM)
    if draft:
        entries.edit(workspace, "endpoints", "place-000", {"description": "Another place"}, by=SYSTEM)
    user = get_user_model().objects.create_user("somebody")
    Membership.objects.create(user=user, workspace=workspace, role="administrator")
    client = Client()
    client.force_login(user)
    return client, workspace


def _many_revisions(workspace: Any) -> None:
    """A thousand: as rows that share the first one's entries, since publishing each would take a quarter of an hour."""
    from routing.models import Revision

    live = workspace.revisions.first()
    Revision.objects.bulk_create(
        Revision(
            workspace=workspace,
            number=number,
            state="superseded",
            digest=f"sha256:{number:064}",
            base_number=number - 1,
            manifest=live.manifest,
            message=f"Change {number}",
            created_by="somebody",
            published_at=live.published_at,
            published_by="somebody",
        )
        for number in range(3, 1001)
    )


def _document(more: str = "") -> dict[str, Any]:
    words = [f"word-{number:02}" for number in range(40)]
    return {
        "version": 1,
        "endpoints": [
            {
                "name": f"place-{number:03}",
                "kind": "declared",
                "description": f"Place {number}",
                "capabilities": [words[(number * step) % 40] for step in (1, 3, 7)] if number else words[:3],
                "tools": [_tool(number, place, more) for place in range(50)],
            }
            for number in range(200)
        ],
        "capabilities": [{"name": word, "synonyms": [f"saying of {word}"]} for word in words],
        "scopes": [
            {"name": f"team-{number:02}", "endpoints": [f"place-{4 * number + step:03}" for step in range(4)]}
            for number in range(50)
        ],
    }


def _tool(number: int, place: int, more: str) -> dict[str, Any]:
    verb = VERBS[place % len(VERBS)]
    return {
        "name": f"{verb}_thing_{place}",
        "description": f"{verb.capitalize()} thing {place} of place {number}, with all that belongs to it, as a table{more}",
        "input_schema": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "where it lies"},
                "most": {"type": "integer", "default": 20},
            },
            "required": ["place"],
        },
    }


if __name__ == "__main__":
    main()
