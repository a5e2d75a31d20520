"""What the console's pages take on the server with 200 endpoints, 10,000 tools, 50 scopes and 40 capabilities.

    python bench/console_pages.py [--times 15] [--draft]

Prints median and slowest time of each page, the first one apart since it compiles the catalog and counts the draft's
changes. With --draft the draft differs from what is live. Works in a database of its own.
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
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {
            "SWITCHYARD_DATA_DIR": place,
            "DJANGO_SETTINGS_MODULE": "control.settings",
            "SWITCHYARD_LOG_LEVEL": "ERROR",
        }
        os.environ.pop("DATABASE_URL", None)
        measure(wanted.times, wanted.draft)


def measure(times: int, draft: bool) -> None:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    client = _prepared(draft)
    for page in PAGES:
        began = time.perf_counter()
        first = client.get(f"/w/bench/{page}", HTTP_HOST="localhost")
        took = [time.perf_counter() - began]
        for _ in range(times):
            began = time.perf_counter()
            client.get(f"/w/bench/{page}", HTTP_HOST="localhost")
            took.append(time.perf_counter() - began)
        usual = sorted(1000 * one for one in took[1:])
        print(
            f"{page:52} {first.status_code}  median {statistics.median(usual):6.1f} ms  slowest {usual[-1]:6.1f} ms  "
            f"first {1000 * took[0]:7.1f} ms  {len(first.content) / 1024:5.0f} KiB"
        )


PAGES = (
    "tools",
    "tools?q=thing+49&effect=write&sort=-risk",
    "tools?page=150&sort=category",
    "tools/place-007__get_thing_0",
    "scopes",
    "scopes/default",
    "scopes/team-07",
    "capabilities",
    "capabilities/word-07",
    "coverage",
)


def _prepared(draft: bool) -> Any:
    from django.contrib.auth import get_user_model
    from django.test import Client

    from control.models import Membership
    from routing.models.actor import SYSTEM
    from routing.services import entries, registry, revisions

    workspace = registry.create_workspace("bench", by=SYSTEM)
    registry.replace_working_copy(workspace, _document(), by=SYSTEM)
    revisions.publish(workspace, message="Many tools", by=SYSTEM)
    if draft:
        entries.edit(workspace, "endpoints", "place-000", {"description": "Another place"}, by=SYSTEM)
    user = get_user_model().objects.create_user("somebody")
    Membership.objects.create(user=user, workspace=workspace, role="editor")
    client = Client()
    client.force_login(user)
    return client


def _document() -> dict[str, Any]:
    words = [f"word-{number:02}" for number in range(40)]
    return {
        "version": 1,
        "endpoints": [
            {
                "name": f"place-{number:03}",
                "kind": "declared",
                "description": f"Place {number}",
                "capabilities": [words[(number * step) % 40] for step in (1, 3, 7)] if number else words[:3],
                "tools": [_tool(number, place) for place in range(50)],
            }
            for number in range(200)
        ],
        "capabilities": [{"name": word, "synonyms": [f"saying of {word}"]} for word in words],
        "scopes": [
            {"name": f"team-{number:02}", "endpoints": [f"place-{4 * number + step:03}" for step in range(4)]}
            for number in range(50)
        ],
    }


def _tool(number: int, place: int) -> dict[str, Any]:
    verb = VERBS[place % len(VERBS)]
    return {
        "name": f"{verb}_thing_{place}",
        "description": f"{verb.capitalize()} thing {place} of place {number}, with all that belongs to it, as a table",
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
