"""How fast a running installation answers POST /resolve over HTTP.

    python bench/http_resolve.py [--url … --key …] [--clients 8] [--seconds 10] [--json]

Address and key come from `<data-dir>/first-run.json` (SWITCHYARD_DATA_DIR, else .switchyard) when they are not given. Each
client asks its next question as soon as it has the answer to the last one, so latency and rate belong together: more
clients, more waiting. Every answer is recorded by the installation like any other: do not point this at a ledger that
should stay clean.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import httpx

CHECKOUT = Path(__file__).parents[1]
sys.path.insert(0, str(CHECKOUT))

from control.demo.requests import read_questions  # noqa: E402 - the line above lets it be found


async def ask(client: httpx.AsyncClient, queries: list[str], start: int, until: float, taken: list[float]) -> int:
    failed = 0
    place = start
    while time.perf_counter() < until:
        began = time.perf_counter()
        response = await client.post("/api/v1/resolve", json={"query": queries[place % len(queries)]})
        taken.append((time.perf_counter() - began) * 1000)
        failed += response.status_code != 200
        place += 1
    return failed


async def measure(url: str, key: str, clients: int, seconds: float) -> dict[str, Any]:
    queries = list(read_questions()["default"].resolve)
    taken: list[float] = []
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30, trust_env=False) as client:
        await ask(client, queries, 0, time.perf_counter() + 1, [])
        began = time.perf_counter()
        step = max(1, len(queries) // clients)
        failed = sum(
            await asyncio.gather(*(ask(client, queries, n * step, began + seconds, taken) for n in range(clients)))
        )
        elapsed = time.perf_counter() - began
    ordered = sorted(taken)
    return {
        "clients": clients,
        "seconds": round(elapsed, 1),
        "answers": len(taken),
        "failed": failed,
        "per_second": round(len(taken) / elapsed, 1),
        **{
            f"p{share}_ms": round(ordered[min(int(len(ordered) * share / 100), len(ordered) - 1)], 2)
            for share in (50, 90, 99)
        },
    }


def first_run() -> dict[str, str]:
    directory = Path(os.environ.get("SWITCHYARD_DATA_DIR") or CHECKOUT / ".switchyard")
    try:
        return dict(json.loads((directory / "first-run.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url")
    parser.add_argument("--key")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    known = first_run()
    url, key = options.url or known.get("url"), options.key or known.get("harness_key")
    if not url or not key:
        print("http_resolve: no first-run.json found; give --url and --key", file=sys.stderr)
        return 2
    try:
        result = asyncio.run(measure(url, key, options.clients, options.seconds))
    except httpx.TransportError as problem:
        print(f"http_resolve: no answer from {url} ({type(problem).__name__})", file=sys.stderr)
        return 1
    print(
        json.dumps(result, indent=2) if options.json else "  ".join(f"{name} {value}" for name, value in result.items())
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
