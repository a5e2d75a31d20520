"""How long the hint doctor takes, beside asking every hint and every tool one by one.

    python bench/doctor.py --data DIR [--sizes 1000,3000,10000] [--every 20] [--scopes 50]

DIR holds the sets of bench/resolver.py; their catalogs together, repeated under other endpoint names until there are enough
tools. Each tool carries as its operator's hint a published question that it is the answer to, copies another one, as far as
there are any. The other way is to ask the resolver each hint, and each tool's name with its description, which finds what the
doctor finds by asking; of these every 20th is asked, and the time multiplied. Times are processor time of one thread, the
catalog being compiled and warm. With --scopes, so many scopes beside the default one, which is then narrower, see half of the
endpoints each, no two of them the same and none all of another's. Ratios compare; absolute figures belong to the machine.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.resolver import SETS, catalog_of, read
from routing.engine import Catalog, load_registry, rank, resolve
from routing.engine.doctor import examine


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--sets", default=SETS)
    asked.add_argument("--sizes", default="1000,3000,10000")
    asked.add_argument("--every", type=int, default=20)
    asked.add_argument("--scopes", type=int, default=0)
    given = asked.parse_args()
    names = given.sets.split(",")
    tools, _ = read(given.data, names)
    questions = questions_of(given.data, names)
    for size in map(int, given.sizes.split(",")):
        catalog = load_registry(overlapping(hinted(catalog_of(tools, size), questions), given.scopes))
        rank(catalog, "warm the index")
        took, found = timed(lambda catalog=catalog: examine(catalog))
        texts = one_by_one(catalog)
        slow, _ = timed(lambda catalog=catalog, texts=texts: [resolve(catalog, one) for one in texts[:: given.every]])
        slow *= len(texts) / len(texts[:: given.every])
        again, _ = timed(lambda catalog=catalog: examine(catalog))
        hints = sum(len(doc.hints) for doc in catalog.index.docs)
        print(
            f"{len(catalog.index.docs):,} tools, {hints:,} hints: {took:.2f} s ({again:.2f} s again), {found.asked:,} questions "
            f"asked, {found.unasked:,} left out, {len(found.findings):,} findings and {sum(found.more.values()):,} more; "
            f"{len(texts):,} texts one by one {slow:.1f} s, {slow / took:.1f} times as long",
            flush=True,
        )


def questions_of(folder: Path, names: list[str]) -> dict[str, list[str]]:
    """Name of a tool -> questions that it alone answers."""
    found: dict[str, list[str]] = {}
    for name in names:
        for line in (folder / name / "queries.jsonl").read_text().splitlines():
            one = json.loads(line)
            gold = one.get("gold") or []
            if len(gold) == 1 and len(one["query"].encode()) <= 256 and one["query"].isprintable():
                found.setdefault(gold[0].split("__", 1)[1], []).append(one["query"])
    return found


def hinted(document: dict[str, Any], questions: dict[str, list[str]]) -> dict[str, Any]:
    left = {name: list(texts) for name, texts in questions.items()}
    for endpoint in document["endpoints"]:
        hints = {tool["name"]: [left[tool["name"]].pop()] for tool in endpoint["tools"] if left.get(tool["name"])}
        if hints:
            endpoint["tool_use_when"] = hints
    return document


def overlapping(document: dict[str, Any], number: int) -> dict[str, Any]:
    """The document with so many scopes of half of the endpoints each, drawn at random; the default one sees a tenth."""
    if not number:
        return document
    names, drawn = [endpoint["name"] for endpoint in document["endpoints"]], random.Random(7)
    scopes = [{"name": f"scope-{n}", "endpoints": sorted(drawn.sample(names, len(names) // 2))} for n in range(number)]
    return {**document, "scopes": [{"name": "default", "endpoints": names[: len(names) // 10]}, *scopes]}


def one_by_one(catalog: Catalog) -> list[str]:
    texts = []
    for doc in catalog.index.docs:
        texts += [*doc.hints, " ".join([*doc.name_words, doc.title, doc.tool.description])[:400]]
    return texts


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


if __name__ == "__main__":
    main()
