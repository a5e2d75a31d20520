"""What asking a decision service costs over HTTP on this machine, one call after another and many at once.

`python -m bench.provider` compares, in the same run and against the same server (another process on the loopback), the
client of `routing.providers` with a plain one that keeps fewer connections alive than it opens: 16 and 8, as clients that were not
measured tend to.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection

import httpx

from routing.providers import OpenRouterConfig, OpenRouterJevProvider
from tests.fake_decisions import decisions_server

KEY = "sk-test-0123456789abcdef"
AT_ONCE = (1, 8, 16, 64)
CRITERIA = {f"tool_{place}": "inspect|r:l|Read one file by its path and show it" for place in range(24)}
CRITERIA["__fallback__"] = "Nothing fits."
STATE = json.dumps({"goal": "Find out why the build fails", "observation": "exit status 2"})

Ask = Callable[[], Awaitable[object]]


def serve(pipe: Connection) -> None:
    """Tell the address, then at each word how many connections there have been."""
    with decisions_server() as server:
        pipe.send(server.url)
        while pipe.recv():
            pipe.send(server.connections)


async def timed(ask: Ask, count: int, at_once: int) -> tuple[float, float]:
    """Calls per second, and milliseconds of this process's CPU for each: the latter hardly depends on other programs."""
    limit = asyncio.Semaphore(at_once)

    async def one() -> None:
        async with limit:
            await ask()

    began, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one() for _ in range(count)))
    return count / (time.perf_counter() - began), (time.process_time() - worked) / count * 1000


async def measure(url: str, pipe: Connection, count: int, rounds: int) -> None:
    def connections() -> int:
        pipe.send("?")
        return int(pipe.recv())

    body = {
        "model": "m",
        "state": json.loads(STATE),
        "questions": {"route": {"type": "choice", "instructions": "i", "criteria": CRITERIA}},
    }
    limits = httpx.Limits(max_connections=16, max_keepalive_connections=8, keepalive_expiry=30)
    config = OpenRouterConfig(url=url, timeout_seconds=60)
    async with (
        httpx.AsyncClient(limits=limits, timeout=60) as client,
        OpenRouterJevProvider(KEY, config=config) as provider,
    ):

        async def plain() -> object:
            return (await client.post(url, json=body, headers={"Authorization": f"Bearer {KEY}"})).json()

        asks: dict[str, Ask] = {
            "ours": lambda: provider.choose(state=STATE, instructions="i", criteria=CRITERIA),
            "plain": plain,
        }
        print(f"{'at once':>8} {'client':>6} {'calls/s':>8} {'CPU ms':>7} {'connections opened':>19}")
        for at_once in AT_ONCE:
            speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in asks}
            opened = dict.fromkeys(asks, 0)
            for _ in range(rounds):
                for name, ask in asks.items():
                    before = connections()
                    speeds[name].append(await timed(ask, count, at_once))
                    opened[name] += connections() - before
            for name, found in speeds.items():
                wall, worked = (statistics.median(one) for one in zip(*found, strict=True))
                print(f"{at_once:>8} {name:>6} {wall:>8.0f} {worked:>7.2f} {opened[name]:>10} in {rounds * count}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    try:
        asyncio.run(measure(ours.recv(), ours, given.calls, given.rounds))
    finally:
        ours.send("")
        server.join(10)


if __name__ == "__main__":
    main()
