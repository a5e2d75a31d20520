"""How fast an installation decides routes: API, broker, worker and back, beside a Celery task that does nothing.

    python bench/route_throughput.py [--seconds 8] [--rounds 3] [--clients 1 8 32] [--json]

It starts an installation of its own (embedded bus, SQLite, demo content) in a temporary directory, so nothing else is
touched. Each client sends its next POST /route as soon as it has the answer to the last one; every goal is another one,
so that no answer comes from a cache. In the same rounds a task without a body is sent through the same broker to a
worker of the same kind and waited for in the same way: by a message on the bus. What is left between the two is ours. The processor time of the installation's own processes is printed for each
answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis.asyncio

CHECKOUT = Path(__file__).parents[1]
sys.path.insert(0, str(CHECKOUT))

from tests import installation as installations  # noqa: E402 - the line above lets it be found
from tests.installation import Installation  # noqa: E402

TOOLS = [
    {"name": "read_file", "description": "Read one file by its path"},
    {"name": "write_file", "description": "Replace the content of a file"},
    {"name": "run_tests", "description": "Run the tests of the project and report what failed"},
    {"name": "search_code", "description": "Search the project for a text"},
]
WORDS = ("config", "parser", "reader", "cache", "ledger", "router", "policy", "scope", "worker", "broker")
PROCESSES = {"web": "uvicorn", "decide": "-Q decide ", "ledger": "-Q ledger ", "bus": "valkey-server"}
Ask = Callable[[int], Awaitable[None]]


async def timed(ask: Ask, clients: int, seconds: float) -> dict[str, float]:
    """So many clients, each asking again and again; answers per second, and percentiles in milliseconds."""
    taken: list[float] = []
    until = time.perf_counter() + seconds

    async def client(number: int) -> None:
        while time.perf_counter() < until:
            began = time.perf_counter()
            await ask(number)
            taken.append((time.perf_counter() - began) * 1000)

    began = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    elapsed = time.perf_counter() - began
    ordered = sorted(taken)
    return {
        "answers": len(taken),
        "per_second": len(taken) / elapsed,
        "p50_ms": ordered[len(ordered) // 2],
        "p95_ms": ordered[int(len(ordered) * 0.95)],
    }


class Routes:
    """POST /route of the installation, with tools that the caller brings or over the scope's catalog.

    Spoken to over plain sockets: a client library would take as much processor time for an answer as the web process does,
    from the same cores.
    """

    def __init__(self, installation: Installation, *, brought: bool) -> None:
        self._place = urlsplit(installation.url)
        self._key, self._brought, self._number = installation.key, brought, 0
        self._open: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    async def __call__(self, client: int) -> None:
        if client not in self._open or self._open[client][0].at_eof():  # the server closes what stands idle
            self._open[client] = await asyncio.open_connection(self._place.hostname, self._place.port)
        reader, writer = self._open[client]
        writer.write(self._request())
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        if head[9:12] != b"200":
            raise SystemExit(f"route_throughput: {(head + body)[:500].decode(errors='replace')}")

    def _request(self) -> bytes:
        self._number += 1
        number, word = self._number, WORDS[self._number % len(WORDS)]
        asked: dict[str, Any] = {"goal": f"read the {word} file number {number} of the project", "wait_ms": 30_000}
        if self._brought:
            asked["tools"] = TOOLS
        body = json.dumps(asked).encode()
        head = (
            f"POST /api/v1/route HTTP/1.1\r\nHost: {self._place.netloc}\r\nAuthorization: Bearer {self._key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def processor_ms(installation: Installation) -> dict[str, float]:
    """Processor time that each kind of the installation's processes has taken so far."""
    tick, found = 1000 / os.sysconf("SC_CLK_TCK"), {}
    for name, part in PROCESSES.items():
        taken = 0.0
        for pid in installation.pids(part):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            taken += (int(fields[11]) + int(fields[12])) * tick
        found[name] = taken
    return found


class Tasks:
    """A task that does nothing, sent through the installation's broker to a worker like the one that decides; its end is told
    on the bus like a decision's."""

    def __init__(self, installation: Installation) -> None:
        bus = f"unix://{installation.directory}/run/bus.sock"
        if not Path(bus.removeprefix("unix://")).exists():
            raise SystemExit("route_throughput: the embedded bus is not where it is expected")
        self._environment = {**installation.environment, "BENCH_BUS": bus}
        os.environ["BENCH_BUS"] = bus
        from bench.noop import CHANNEL, nothing

        self._channel, self._task, self._number = CHANNEL, nothing, 0
        self._ends: dict[str, asyncio.Event] = {}
        self._redis = redis.asyncio.Redis.from_url(bus)
        self._listening: asyncio.Task[None] | None = None
        command = [sys.executable, "-m", "celery", "-A", "bench.noop", "worker", "-Q", "bench", "--pool", "threads"]
        quiet = ["-c", "8", "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
        self._worker = subprocess.Popen([*command, *quiet], env=self._environment, cwd=CHECKOUT)

    async def listen(self) -> None:
        heard = self._redis.pubsub()
        await heard.subscribe(self._channel)

        async def forward() -> None:
            async for message in heard.listen():
                if message["type"] == "message" and (end := self._ends.get(message["data"].decode())):
                    end.set()

        self._listening = asyncio.create_task(forward())

    async def __call__(self, _: int) -> None:
        self._number += 1
        mark = str(self._number)
        end = self._ends[mark] = asyncio.Event()
        await asyncio.to_thread(self._task.apply_async, (mark,))
        await asyncio.wait_for(end.wait(), 60)
        del self._ends[mark]

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        await self._redis.aclose()
        self._worker.terminate()
        self._worker.wait(timeout=20)


async def measure(installation: Installation, options: argparse.Namespace) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    tasks = Tasks(installation)
    await tasks.listen()
    kinds: dict[str, Ask] = {
        "no-op task": tasks,
        "route, tools brought": Routes(installation, brought=True),
        "route, scope's catalog": Routes(installation, brought=False),
    }
    for ask in kinds.values():
        await timed(ask, 2, 2)
    for _ in range(options.rounds):  # in turns, so that a busy moment of the machine meets all of them
        for clients in options.clients:
            for name, ask in kinds.items():
                before = processor_ms(installation)
                one = await timed(ask, clients, options.seconds)
                for part, taken in processor_ms(installation).items():
                    one[part] = (taken - before[part]) / one["answers"]
                found.setdefault((name, clients), []).append(one)
    await tasks.stop()
    return [
        {"what": name, "clients": clients}
        | {key: round(statistics.median(one[key] for one in rounds), 2) for key in rounds[0]}
        for (name, clients), rounds in found.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    installations.PATIENCE_S = 300  # a machine that is busy is measured too
    with (
        tempfile.TemporaryDirectory(prefix="route-") as place,
        Installation.started(Path(place), "--demo") as installation,
    ):
        rows = asyncio.run(measure(installation, options))
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        print(
            f"{row['what']:24} {row['clients']:>3} clients  {row['per_second']:8.1f}/s  "
            f"p50 {row['p50_ms']:7.2f} ms  p95 {row['p95_ms']:7.2f} ms  processor time for each: "
            + ", ".join(f"{part} {row[part]:.2f} ms" for part in PROCESSES)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
