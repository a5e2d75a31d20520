"""How fast the resolver answers and compiles, beside bm25s on the same queries.

    python bench/resolver.py --data DIR [--sizes 500,5000,10000] [--rounds 3]

DIR holds the sets that bench/fit_judge.py reads; their catalogs together, repeated under other endpoint names until there
are enough tools, are asked 300 of their questions. bm25s is asked too where it is installed (it is no dependency). Times are
processor time of the one thread that works, each question's best of the rounds. Memory is what the compiled catalog adds
to the process, tables included, the document left out: it holds for the first size only, since a process keeps what it had.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from routing.engine import load_registry, resolve
from routing.engine.registry import Registry
from routing.engine.validation import parse_document

SETS = "metatool,bfcl,mcp_servers,clinc_oos"
QUESTIONS = 300
TOOLS_PER_ENDPOINT = 25


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--sets", default=SETS)
    asked.add_argument("--sizes", default="500,5000,10000")
    asked.add_argument("--rounds", type=int, default=3)
    given = asked.parse_args()
    tools, questions = read(given.data, given.sets.split(","))
    for size in map(int, given.sizes.split(",")):
        document = catalog_of(tools, size)
        registry = parse_document(document).registry
        compile_times(document, registry, size)
        catalog = load_registry(registry)
        for tier in ("lexical", "static"):
            print_times(f"{size} tools, {tier}", partial(resolve, catalog, tier=tier), questions, given.rounds)
        if (rival := bm25(registry)) is not None:
            print_times(f"{size} tools, bm25s", rival, questions, given.rounds)


def read(folder: Path, names: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    tools: list[dict[str, Any]] = []
    questions: list[str] = []
    for name in names:
        tools.extend(json.loads((folder / name / "catalog.json").read_text())["tools"])
        lines = (folder / name / "queries.jsonl").read_text().splitlines()
        questions.extend(json.loads(line)["query"] for line in lines)
    step = max(len(questions) // QUESTIONS, 1)
    texts = [text.encode()[:2048].decode(errors="ignore") for text in questions[::step][:QUESTIONS]]
    return tools, texts


def catalog_of(tools: Sequence[dict[str, Any]], size: int) -> dict[str, Any]:
    """The tools spread evenly over the sets, in endpoints of 25; past the last one they begin again."""
    order = np.random.default_rng(7).permutation(len(tools))
    endpoints = []
    for first in range(0, size, TOOLS_PER_ENDPOINT):
        chosen = [tools[order[place % len(tools)]] for place in range(first, min(first + TOOLS_PER_ENDPOINT, size))]
        named = {tool["name"]: tool for tool in chosen}
        endpoints.append(
            {
                "name": f"endpoint-{first}",
                "kind": "declared",
                "tools": [
                    {
                        "name": name,
                        "description": tool.get("description", ""),
                        "input_schema": tool.get("input_schema") or {},
                    }
                    for name, tool in named.items()
                ],
            }
        )
    return {"version": 1, "endpoints": endpoints}


def compile_times(document: dict[str, Any], registry: Registry, size: int) -> None:
    gc.collect()
    before = resident()
    whole, catalog = timed(lambda: load_registry(registry))
    resolve(catalog, "warm up")
    added = resident() - before
    again, _ = timed(lambda: load_registry(document))
    changed = {**document["endpoints"][0], "description": "Another description."}
    one, edited = timed(lambda: catalog.replace(changed))
    first, _ = timed(lambda: resolve(edited, "warm up"))
    print(
        f"{size} tools: compile {whole:.2f} s ({again:.2f} s with the document's validation), one endpoint changed "
        f"{one * 1e3:.0f} ms and {first * 1e3:.0f} ms for the first question after it, memory {added / 2**20:.0f} MiB",
        flush=True,
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def print_times(label: str, ask: Callable[[str], Any], questions: Sequence[str], rounds: int) -> None:
    best = np.full(len(questions), np.inf)
    for _ in range(rounds):
        for place, text in enumerate(questions):
            start = time.thread_time()
            ask(text)
            best[place] = min(best[place], time.thread_time() - start)
    p50, p99 = np.percentile(best * 1e3, [50, 99])
    print(f"{label}: p50 {p50:.2f} ms, p99 {p99:.2f} ms", flush=True)


def bm25(registry: Registry) -> Callable[[str], Any] | None:
    try:
        import bm25s
    except ImportError:
        return None
    texts = [
        f"{tool.name} {tool.description} {' '.join(tool.input_schema.get('properties') or {})}"
        for endpoint in registry.endpoints
        for tool in endpoint.tools
    ]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    return lambda text: index.retrieve(bm25s.tokenize([text], show_progress=False), k=10, show_progress=False)


if __name__ == "__main__":
    main()
