"""How many recorded decisions a second are made again under a changed catalog, on one core, and against asking one by one.

    python bench/replay.py [--decisions 4000] [--rounds 3] [--json]

The catalog is the demo's (71 endpoints, 644 tools); the change is one endpoint's hints. Decisions are the demo's questions:
each once (`distinct`), as they come back in a ledger (`as recorded`: drawn by a power law), and with answers that are known
to hold for the live side (`known`). "One by one" is `resolve` on both sides for each decision, as a client of
/simulate/resolve would do it. Times are processor time of the one thread that works.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from control.demo.documents import default_document
from control.demo.requests import read_questions
from routing.engine import Catalog, load_registry, resolve
from routing.engine.replay import Recorded, Tally, replay


def changed(document: dict[str, Any]) -> dict[str, Any]:
    """The same document, in which one endpoint wants every download."""
    first, *others = document["endpoints"]
    hints = [*first.get("use_when", ()), "download a file or fetch a page from a URL"]
    return {**document, "endpoints": [{**first, "use_when": hints}, *others]}


def made(queries: Sequence[str], number: int, seed: int = 7) -> list[Recorded]:
    """So many decisions over these questions, a few of which come again and again."""
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(queries))]
    texts = rng.choices(queries, weights, k=number)
    return [Recorded(id=str(n), scope="default", policy="default", text=text) for n, text in enumerate(texts)]


def replayed(recorded: Sequence[Recorded], before: Catalog, after: Catalog) -> Tally:
    tally = Tally()
    for outcome in replay(recorded, before, after):
        tally.add(outcome)
    return tally


def one_by_one(recorded: Sequence[Recorded], before: Catalog, after: Catalog) -> None:
    for one in recorded:
        resolve(before, one.text or "")
        resolve(after, one.text or "")


def per_second(work: Callable[[], object], number: int, rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        began = time.thread_time()
        work()
        taken.append(time.thread_time() - began)
    return number / statistics.median(taken)


def measure(number: int, rounds: int) -> dict[str, Any]:
    document = default_document()
    before = load_registry(document)
    after = load_registry(changed(document), previous=before)
    questions = list(dict.fromkeys(read_questions()["default"].resolve))
    distinct = [Recorded(id=str(n), scope="default", policy="default", text=text) for n, text in enumerate(questions)]
    again = made(questions, number)
    sides = {outcome.recorded.text: outcome.before for outcome in replay(distinct, before, after) if outcome}
    known = [replace(one, told=sides[one.text]) for one in distinct]
    plain = per_second(lambda: one_by_one(distinct, before, after), len(distinct), rounds)
    figures = {
        "distinct": per_second(lambda: replayed(distinct, before, after), len(distinct), rounds),
        "known": per_second(lambda: replayed(known, before, after), len(known), rounds),
        "as recorded": per_second(lambda: replayed(again, before, after), number, rounds),
    }
    tally = replayed(again, before, after)
    return {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "tools": len(before.index.docs),
        "questions": len(questions),
        "decisions": number,
        "would change": tally.compared - tally.counts["same"],
        "one by one, decisions/s": round(plain),
        **{f"{name}, decisions/s": round(value) for name, value in figures.items()},
        **{f"{name}, against one by one": round(value / plain, 1) for name, value in figures.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.decisions, options.rounds)
    print(json.dumps(found, indent=2) if options.json else "\n".join(f"{k:<32}{v}" for k, v in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
