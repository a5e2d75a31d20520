"""What a keystroke in the playground costs: two rankings with all their reasons, beside two plain answers of the resolver.

    python bench/playground.py [--tools 10000] [--rounds 5] [--json]

Measured on a made catalog and a draft of it in which one endpoint differs: `resolve` of both (what a harness waits for), the
ranking of both as the playground shows them (every word, field and adjustment of the first twenty, and the lead at which the
answer turns), the same with the hint that matters most taken away, which the page fetches when nothing is typed for a
moment, and the compilation of the draft, which is done beside the requests. Times are processor time of the one thread that
works. Ratios compare; absolute figures belong to the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from routing.engine import Catalog, load_registry, rank, resolve_detailed
from routing.engine.validation import with_entries

PER_ENDPOINT = 50
VERBS = ("get", "list", "write", "delete", "run")
THINGS = (
    "invoice",
    "calendar",
    "container",
    "repository",
    "message",
    "page",
    "archive",
    "ticket",
    "dataset",
    "address",
)
QUERIES = (
    "list the open invoices of this month",
    "fetch the page and keep it as Markdown",
    "which container writes to the archive",
    "send a message about the ticket to everybody in the calendar",
    "create a dataset from the addresses in the repository",
)


def document(tools: int) -> dict[str, Any]:
    return {"version": 1, "endpoints": [_endpoint(number) for number in range(tools // PER_ENDPOINT)]}


def _endpoint(number: int, more: str = "") -> dict[str, Any]:
    thing, other = THINGS[number % len(THINGS)], THINGS[(number * 7 + 3) % len(THINGS)]
    return {
        "name": f"{thing}-{number:03}",
        "kind": "declared",
        "description": f"Everything about a {thing}, and what a {other} has to do with it{more}",
        "tags": [thing, other],
        "use_when": [f"work with the {thing} of a team", f"look after every {other}{more}"],
        "tools": [_tool(thing, other, place) for place in range(PER_ENDPOINT)],
    }


def _tool(thing: str, other: str, place: int) -> dict[str, Any]:
    verb = VERBS[place % len(VERBS)]
    return {
        "name": f"{verb}_{thing}_{place}",
        "description": f"{verb.capitalize()} a {thing} by number {place}, with the {other} that belongs to it",
        "input_schema": {"properties": {thing: {"type": "string"}, "most": {"type": "integer"}}, "required": [thing]},
    }


def milliseconds(deed: Callable[[], Any]) -> float:
    began = time.thread_time()
    deed()
    return (time.thread_time() - began) * 1000


def measure(tools: int, rounds: int) -> dict[str, float]:
    live = load_registry(document(tools))
    registry = with_entries(live.registry, "endpoints", [_endpoint(0, ", reviewed")])
    compiled: list[Catalog] = []

    def compile_draft() -> None:
        draft = Catalog(registry, previous=live)
        rank(draft, "warm the index", limit=1)
        compiled.append(draft)

    found = {"compile the draft": milliseconds(compile_draft)}
    sides = (live, compiled[0])
    deeds: dict[str, dict[str, Any]] = {
        "two plain answers": {},
        "two rankings": {"explain": True, "weigh_hints": False},
        "two rankings, hints weighed": {"explain": True},
    }
    for name, how in deeds.items():
        took = [milliseconds(partial(_both, sides, query, how)) for query in QUERIES * rounds]
        found[name] = statistics.median(took)
        found[f"{name}, slowest"] = max(took)
    return found


def _both(sides: Sequence[Catalog], query: str, how: Mapping[str, Any]) -> None:
    for side in sides:
        resolve_detailed(side, query, **how)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = measure(asked.tools, asked.rounds)
    if asked.json:
        print(json.dumps({"tools": asked.tools, **{name: round(value, 2) for name, value in found.items()}}))
        return
    plain = found["two plain answers"]
    for name, value in found.items():
        print(f"{name:40} {value:8.1f} ms  {value / plain:6.1f} × two plain answers")


if __name__ == "__main__":
    main()
