"""How fast the engine answers on the demo catalog, beside two plain rankers in the same process.

    python bench/resolve_latency.py [--rounds 3] [--json]

Measured: `load_registry` of the demo document (71 endpoints, 644 tools), `Catalog.replace` of one endpoint, `resolve` over
the demo's questions, and for comparison a loop that counts shared words and a textbook BM25 with postings. The plain rankers
return a sorted list of names and nothing else: no fields, judge, bounds or explanation. Times are processor time of the one
thread that works, so that other work on the machine counts as little as possible. Ratios compare; absolute figures belong to
the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import re
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from control.demo.documents import default_document
from control.demo.requests import read_questions
from routing.engine import load_registry, resolve

WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


class Loop:
    """Counts, tool by tool, how many words of the query occur in the tool's texts."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.bags = {name: set(words(text)) for name, text in texts.items()}

    def rank(self, query: str) -> list[str]:
        asked = set(words(query))
        return sorted(self.bags, key=lambda name: (-len(asked & self.bags[name]), name))


class Bm25:
    """BM25 with k1 = 1.2 and b = 0.75 over one bag of words per tool."""

    def __init__(self, texts: dict[str, str]) -> None:
        counts = {name: Counter(words(text)) for name, text in texts.items()}
        lengths = {name: sum(bag.values()) for name, bag in counts.items()}
        mean = statistics.fmean(lengths.values())
        self.postings: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for name, bag in counts.items():
            for word, count in bag.items():
                norm = count + 1.2 * (0.25 + 0.75 * lengths[name] / mean)
                self.postings[word].append((name, count * 2.2 / norm))
        self.total = len(texts)

    def rank(self, query: str) -> list[str]:
        scores: dict[str, float] = defaultdict(float)
        for word in set(words(query)):
            found = self.postings.get(word, ())
            rarity = math.log(1 + (self.total - len(found) + 0.5) / (len(found) + 0.5))
            for name, weight in found:
                scores[name] += rarity * weight
        return sorted(scores, key=lambda name: (-scores[name], name))


def tool_texts(document: dict[str, Any]) -> dict[str, str]:
    return {
        f"{endpoint['name']}/{tool['name']}": " ".join(
            [
                endpoint["name"],
                endpoint["description"],
                tool["name"],
                tool["description"],
                *endpoint.get("use_when", ()),
            ]
        )
        for endpoint in document["endpoints"]
        for tool in endpoint["tools"]
    }


def times_ms(call: Callable[[str], Any], queries: Sequence[str], rounds: int) -> list[float]:
    for query in queries[:50]:
        call(query)
    taken = []
    for _ in range(rounds):
        for query in queries:
            started = time.thread_time()
            call(query)
            taken.append((time.thread_time() - started) * 1000)
    return taken


def once_ms(call: Callable[[], Any], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.thread_time()
        call()
        taken.append((time.thread_time() - started) * 1000)
    return statistics.median(taken)


def spread(taken: Sequence[float]) -> dict[str, float]:
    ordered = sorted(taken)
    return {"p50_ms": round(ordered[len(ordered) // 2], 3), "p99_ms": round(ordered[int(len(ordered) * 0.99)], 3)}


def measure(rounds: int) -> dict[str, Any]:
    document = default_document()
    texts = tool_texts(document)
    queries = list(dict.fromkeys(query for asked in read_questions().values() for query in asked.resolve))
    started = time.thread_time()
    catalog = load_registry(document)
    first_ms = (time.thread_time() - started) * 1000
    endpoint = {**document["endpoints"][0], "use_when": ["something that no hint said before"]}
    loop, bm25 = Loop(texts), Bm25(texts)
    result: dict[str, Any] = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "tools": len(texts),
        "queries": len(queries),
        "rounds": rounds,
        "compile_first_ms": round(first_ms, 1),
        "compile_ms": round(once_ms(lambda: load_registry(document), 5), 1),
        "replace_one_endpoint_ms": round(once_ms(lambda: catalog.replace(endpoint), 5), 1),
        "resolve": spread(times_ms(lambda query: resolve(catalog, query), queries, rounds)),
        "plain_loop": spread(times_ms(loop.rank, queries, rounds)),
        "plain_bm25": spread(times_ms(bm25.rank, queries, rounds)),
    }
    for name in ("plain_loop", "plain_bm25"):
        result[f"resolve_to_{name}"] = round(result["resolve"]["p50_ms"] / result[name]["p50_ms"], 2)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often every query is asked")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.rounds)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, value in result.items():
        shown = f"p50 {value['p50_ms']} ms, p99 {value['p99_ms']} ms" if isinstance(value, dict) else value
        print(f"{name.replace('_', ' '):<28}{shown}")


if __name__ == "__main__":
    main()
