"""What the console's pages take on the server with 200 endpoints, 10,000 tools, 50 scopes and 1,000 revisions.

    python bench/console_pages.py [--times 15] [--draft | --all-new]

Walks every page of the console as an administrator has it, with every form, and says at the end which take longer than 150 ms; files of everything are left
out. Prints what a web process takes to make itself ready before its first request, and of each page the median, how much of it the process was at work (the
rest it waited, also for other programs), the slowest, and its first one apart. With --draft the draft differs from what is live; with --all-new it says something else of every tool. Works in a database of its own, with a bus and
workers of its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
VERBS = ("get", "list", "write", "delete", "run")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--draft", action="store_true")
    parser.add_argument("--all-new", action="store_true")
    parser.add_argument("--prepare", metavar="PLACE", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    os.environ |= {"DJANGO_SETTINGS_MODULE": "control.settings", "SWITCHYARD_LOG_LEVEL": "ERROR"}
    os.environ.pop("DATABASE_URL", None)
    if wanted.prepare:
        os.environ["SWITCHYARD_DATA_DIR"] = wanted.prepare
        prepare(wanted.draft, wanted.all_new)
        return
    with tempfile.TemporaryDirectory() as place:
        os.environ["SWITCHYARD_DATA_DIR"] = place
        # A process of its own, so that the one that is measured has nothing in memory yet.
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--prepare", place], check=True)
        with _services(place):
            measure(wanted.times)


@contextmanager
def _services(place: str) -> Iterator[None]:
    """The bus and the workers that pages ask, as `up` starts them."""
    from control import lifeline, processes
    from control.environment import Environment

    socket, directory, here = Environment().bus_socket, Path(place) / "bus", os.getpid()
    for made in (socket.parent, directory):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    workers = processes.services(listener=0, web_processes=0, decide_threads=2, search_processes=1)[1:3]
    started = []
    with (Path(place) / "services.log").open("wb") as log:
        for one in (processes.bus(socket=socket, directory=directory), *workers):
            tied = (lambda: lifeline.die_with(here)) if sys.platform == "linux" else None
            started.append(subprocess.Popen(one.command, stdout=log, stderr=subprocess.STDOUT, preexec_fn=tied))
        try:
            yield
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()


def measure(times: int) -> None:
    import django

    django.setup()
    client, workspace = _signed_in()
    _start_as_the_web_does()
    slow = []
    for page in _pages(workspace):
        if page.endswith(FILES):
            continue
        began = time.perf_counter()
        first = client.get(page, HTTP_HOST="localhost")
        if first.status_code in (404, 405):  # what only takes posts, and what is not made here
            continue
        took, worked = [time.perf_counter() - began], []
        for _ in range(times):
            began, busy = time.perf_counter(), time.process_time()
            client.get(page, HTTP_HOST="localhost")
            took.append(time.perf_counter() - began)
            worked.append(1000 * (time.process_time() - busy))
        usual = sorted(1000 * one for one in took[1:])
        middle = statistics.median(usual)
        print(
            f"{page:60} {first.status_code}  median {middle:6.1f} ms (at work {statistics.median(worked):6.1f})  "
            f"slowest {usual[-1]:6.1f} ms  first {1000 * took[0]:7.1f} ms  {len(first.getvalue()) / 1024:5.0f} KiB",
            flush=True,
        )
        if middle > BOUND_MS:
            slow.append(f"{page} ({middle:.0f} ms)")
    print(f"Above {BOUND_MS} ms: {', '.join(slow) or 'none'}")


BOUND_MS = 150
NAMED = {  # what place holders of addresses stand for, by the address's name and theirs
    "name": {
        "endpoint": "place-007",
        "capability": "word-07",
        "scope": "team-07",
        "policy": "default",
        "provider": "local-model",
    },
    "public": {"tool": "place-007__get_thing_0"},
    "number": 500,
    "seq": 2,
}
FILES = (".yaml", ".json", ".csv", ".jsonl")  # of everything, which nobody waits for as for a page


def _pages(workspace: Any) -> list[str]:
    """Every room that answers GET, as the URL conf has it, and some lists with filters."""
    from django.urls import NoReverseMatch, reverse

    from control.web import urls

    found = []
    for room in urls.rooms:
        kinds = {part: _named(room.name, part) for part in room.pattern.converters}
        try:
            found.append(reverse(room.name, kwargs={"workspace": workspace.name, **kinds}))
        except NoReverseMatch:
            continue
    return found + [f"/w/{workspace.name}/{page}" for page in PAGES]


def _named(room: str, part: str) -> Any:
    if part == "mark":
        from control.web.expecting import mark_of

        return mark_of("thing 0")
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


def _start_as_the_web_does() -> None:
    import control.asgi  # noqa: F401  (registers what a web process keeps in memory)
    from routing import generation

    began = time.perf_counter()
    generation.refresh_all()
    print(f"Ready for the first request after {time.perf_counter() - began:.1f} s", flush=True)
    generation.watcher.start()


def _signed_in() -> tuple[Any, Any]:
    from django.contrib.auth import get_user_model
    from django.test import Client

    from routing.models import Workspace

    client = Client()
    client.force_login(get_user_model().objects.get(username="somebody"))
    return client, Workspace.objects.get(name="bench")


def prepare(draft: bool, all_new: bool) -> None:
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from control.models import Membership
    from routing.models.actor import SYSTEM
    from routing.services import entries, registry, revisions

    call_command("migrate", verbosity=0)
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


# An endpoint of which everything is said that its page has a form for.
FULL: dict[str, Any] = {
    "title": "The seventh place",
    "kind": "mcp",
    "url": "https://place.example/mcp",
    "credential": "env:PLACE",
    "tags": [f"tag-{number}" for number in range(12)],
    "use_when": [f"someone wants the seventh place for reason {number}" for number in range(8)],
    "tool_use_when": {
        f"{VERBS[place % len(VERBS)]}_thing_{place}": [f"thing {place} is wanted for reason {one}" for one in range(3)]
        for place in range(50)
    },
    "owner": "The team of places",
    "note": "Ask before it is changed",
    "data_zone": "eu",
}


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
            | (FULL if number == 7 else {})
            for number in range(200)
        ],
        "providers": [{"name": "local-model", "kind": "compatible", "url": "http://127.0.0.1:9/v1"}],
        "expectations": [{"name": "thing 0", "query": "get thing 0", "expect": {"alternatives_max": 10}}],
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
