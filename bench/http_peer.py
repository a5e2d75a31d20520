"""POST /resolve of an installation against a bare Django Ninja route that answers a constant, in one run.

    python bench/http_peer.py [--clients 1,16] [--seconds 5] [--rounds 3] [--ahead] [--json]

Starts both and stops them again: the product by `manage.py up` in an empty data dir of its own with the demo registry (644
tools), and `bench/bare_route.py` under the same server program with the same options and as many processes. Rounds
alternate between the two. A client keeps its connection and asks its next question on getting the answer to the last one;
all clients live in one process that does nothing but write and read bytes, and its own share of a core is shown, so that
it is seen not to be what is measured. After the last round the chain of all recorded events is verified.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvloop

CHECKOUT = Path(__file__).parents[1]
sys.path.insert(0, str(CHECKOUT))

from control import processes  # noqa: E402 - the line above lets it be found
from control.demo.requests import read_questions  # noqa: E402

PATIENCE_S = 60.0


# --- load -----------------------------------------------------------------------------------------------------------
@dataclass
class Tally:
    """What the clients of one round saw: milliseconds of each answer, and answers that were not 200."""

    taken: list[float] = field(default_factory=list)
    failed: int = 0


class Client(asyncio.Protocol):
    """One connection over HTTP/1.1 that always waits for exactly one answer."""

    def __init__(self, requests: Sequence[bytes], start: int, until: float, tally: Tally) -> None:
        self.requests, self.place, self.until, self.tally = requests, start, until, tally
        self.finished = asyncio.get_running_loop().create_future()
        self.buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._ask()

    def _ask(self) -> None:
        self.began = time.perf_counter()
        self.transport.write(self.requests[self.place % len(self.requests)])
        self.place += 1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator or not _is_whole(head.lower(), body):
            return
        now = time.perf_counter()
        self.tally.taken.append((now - self.began) * 1000)
        self.tally.failed += not head.startswith(b"HTTP/1.1 200")
        self.buffer = b""
        if now < self.until:
            self._ask()
        else:
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if time.perf_counter() < self.until:
            self.tally.failed += 1
        self.finished.set_result(None)


def _is_whole(head: bytes, body: bytes) -> bool:
    """Whether an answer has arrived to its end; `head` in lower case."""
    _, named, after = head.partition(b"content-length:")
    return len(body) >= int(after.partition(b"\r\n")[0]) if named else body.endswith(b"0\r\n\r\n")


async def load(port: int, requests: Sequence[bytes], clients: int, seconds: float) -> dict[str, float]:
    """So many clients for so many seconds: their rate, their latencies in milliseconds, and this process's share of a core."""
    loop, tally, step = asyncio.get_running_loop(), Tally(), max(1, len(requests) // clients)
    began, own = time.perf_counter(), time.process_time()
    made = [
        await loop.create_connection(
            lambda n=n: Client(requests, n * step, began + seconds, tally),  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        for n in range(clients)
    ]
    await asyncio.gather(*(client.finished for _, client in made))
    elapsed = time.perf_counter() - began
    ordered = sorted(tally.taken)
    return {
        "answers": len(ordered),
        "failed": tally.failed,
        "per_second": len(ordered) / elapsed,
        "client_share": (time.process_time() - own) / elapsed,
        **{f"p{share}": ordered[min(int(len(ordered) * share / 100), len(ordered) - 1)] for share in (50, 90, 99)},
    }


def request_bytes(path: str, port: int, key: str, body: bytes) -> bytes:
    head = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        *([f"Authorization: Bearer {key}"] if key else []),
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return ("\r\n".join(head) + "\r\n\r\n").encode() + body


# --- what is measured -----------------------------------------------------------------------------------------------
@contextlib.contextmanager
def product(directory: Path, options: Sequence[str]) -> Iterator[tuple[int, str, subprocess.Popen[bytes]]]:
    """An installation of its own; yields its port, a harness key and its supervisor."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHYARD_DATA")}
    command = [sys.executable, "manage.py", "up", "--port", "0", "--data-dir", str(directory), *options]
    with _running(command, environment, CHECKOUT) as process:
        notes = directory / "first-run.json"
        _wait(process, lambda: notes.exists() and bool(notes.read_text().strip()))
        first = json.loads(notes.read_text())
        port = int(first["url"].rpartition(":")[2])
        _wait(process, lambda: _answers(port, "/readyz"))
        yield port, first["harness_key"], process


@contextlib.contextmanager
def bare(count: int) -> Iterator[tuple[int, list[int]]]:
    """The bare route under the product's server program, options and number of processes; yields its port and processes."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as `up` has it; connections inherit it
        listener.bind(("127.0.0.1", 0))
        listener.listen(2048)
        listener.set_inheritable(True)
        words = [
            "bench.bare_route:application" if word == "control.asgi:application" else word for word in processes.web()
        ]
        command = [sys.executable, "-m", *words, "--fd", str(listener.fileno())]
        environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        started = [
            stack.enter_context(_running(command, environment, CHECKOUT, listener.fileno())) for _ in range(count)
        ]
        port = listener.getsockname()[1]
        _wait(started[-1], lambda: _answers(port, "/api/v1/openapi.json"))
        yield port, [process.pid for process in started]


@contextlib.contextmanager
def _running(
    command: Sequence[str], environment: dict[str, str], directory: Path, *inherited: int
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=inherited,
        start_new_session=True,  # as `up` starts its processes: Linux shares processors out between sessions first
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], is_there: Any) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_there():
        if process.poll() is not None or time.monotonic() > until:
            raise SystemExit("http_peer: a server did not start")
        time.sleep(0.1)


def _answers(port: int, path: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=2, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def children(parent: int) -> list[int]:
    """The processes that this one has started; Linux only, elsewhere none."""
    found: list[int] = []
    for place in Path(f"/proc/{parent}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in place.read_text().split()]
    return found


@contextlib.contextmanager
def ahead_of_others(is_wanted: bool) -> Iterator[None]:
    """Let this process and all below it run before every other program of the machine, as equals among themselves."""
    if is_wanted:
        _schedule(os.SCHED_RR, 1)
    try:
        yield
    finally:
        if is_wanted:
            _schedule(os.SCHED_OTHER, 0)


def _schedule(policy: int, priority: int) -> None:
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        waiting += children(pid)
        for thread in Path(f"/proc/{pid}/task").glob("*"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(int(thread.name), policy, os.sched_param(priority))


def processor_ms(pids: Sequence[int]) -> dict[str, float]:
    """Processor time that these processes have used so far, by name; Linux only, elsewhere nothing."""
    ticks = os.sysconf("SC_CLK_TCK")
    used: dict[str, float] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            name = next((name for mark, name in _MARKS.items() if mark in words), "other")
            used[name] = used.get(name, 0) + (int(fields[11]) + int(fields[12])) * 1000 / ticks
    return used


_MARKS = {
    "bare_route": "bare",
    "uvicorn": "web",
    "-Q ledger": "ledger",
    "-Q decide": "decide",
    "-Q search": "search",
    " beat": "beat",
    "valkey": "bus",
}
_MARKS |= {"redis-server": "bus"}


# --- the run --------------------------------------------------------------------------------------------------------
def measure(
    counts: Sequence[int], seconds: float, rounds: int, directory: Path, *, ahead: bool = False
) -> dict[str, Any]:
    web_processes = int(os.environ.get("SWITCHYARD_WEB_PROCESSES") or 1)
    queries = list(read_questions()["default"].resolve)
    bodies = [json.dumps({"query": query}).encode() for query in queries]
    found: dict[str, Any] = {"rounds": []}
    with product(directory, ["--demo"]) as (port, key, supervisor), bare(web_processes) as (bare_port, bare_pids):
        questions = [request_bytes("/api/v1/resolve", port, key, body) for body in bodies]
        constant = [request_bytes("/api/v1/constant", bare_port, "", body) for body in bodies]
        asyncio.run(load(port, questions, 4, 2))
        asyncio.run(load(bare_port, constant, 4, 1))
        for number in range(rounds):
            for clients in counts:
                before = processor_ms([*children(supervisor.pid), *bare_pids])
                with ahead_of_others(ahead):
                    ours = asyncio.run(load(port, questions, clients, seconds))
                _drain()
                with ahead_of_others(ahead):
                    theirs = asyncio.run(load(bare_port, constant, clients, seconds))
                after = processor_ms([*children(supervisor.pid), *bare_pids])
                spent = {
                    name: (after[name] - before.get(name, 0)) / (theirs if name == "bare" else ours)["answers"]
                    for name in after
                }
                found["rounds"].append(
                    {"round": number + 1, "clients": clients, "resolve": ours, "bare": theirs, "processor_ms": spent}
                )
        found["chain"] = _chain(directory)
    found["summary"] = [_summary(clients, found["rounds"]) for clients in counts]
    return found


def _drain() -> None:
    """Let the ledger's writer finish before the bare route is measured, which would otherwise pay for it."""
    time.sleep(1.0)


def _chain(directory: Path) -> dict[str, Any]:
    command = [sys.executable, "manage.py", "verify_ledger", "--data-dir", str(directory), "--json"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return dict(json.loads(done.stdout or "{}"))


def _summary(clients: int, rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the rounds."""
    own = [entry for entry in rounds if entry["clients"] == clients]

    def middle(values: Sequence[float]) -> float:
        return sorted(values)[len(values) // 2]

    said: dict[str, Any] = {"clients": clients}
    for side in ("resolve", "bare"):
        said[side] = {name: middle([entry[side][name] for entry in own]) for name in own[0][side]}
        said[side]["failed"] = sum(entry[side]["failed"] for entry in own)
    said["ratio"] = middle([entry["resolve"]["per_second"] / entry["bare"]["per_second"] for entry in own])
    said["p50_difference_ms"] = middle([entry["resolve"]["p50"] - entry["bare"]["p50"] for entry in own])
    said["processor_ms"] = {
        name: middle([entry["processor_ms"].get(name, 0.0) for entry in own]) for name in own[0]["processor_ms"]
    }
    return said


def show(found: dict[str, Any]) -> None:
    for entry in found["rounds"]:
        print(
            f"round {entry['round']}, {entry['clients']:2} clients: resolve {entry['resolve']['per_second']:7.1f}/s, "
            f"bare {entry['bare']['per_second']:7.1f}/s, ratio {entry['resolve']['per_second'] / entry['bare']['per_second']:.3f}"
        )
    for said in found["summary"]:
        print(f"\n{said['clients']} clients, medians of the rounds")
        for side in ("resolve", "bare"):
            row = said[side]
            print(
                f"  {side:8} {row['per_second']:7.1f}/s  p50 {row['p50']:6.2f}  p90 {row['p90']:6.2f}  p99 {row['p99']:6.2f} ms"
                f"  failed {row['failed']}  client's share of a core {row['client_share']:.2f}"
            )
        spent = ", ".join(f"{name} {value:.2f}" for name, value in sorted(said["processor_ms"].items()))
        print(f"  ratio {said['ratio']:.3f}, p50 difference {said['p50_difference_ms']:.2f} ms")
        print(f"  processor ms for each answer: {spent}")
    print(f"\nchain: {json.dumps(found['chain'])}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", default="1,16", help="numbers of clients, separated by commas")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--ahead",
        action="store_true",
        help="while it is measured, run before all other programs of a machine that is busy (Linux, as root)",
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    uvloop.install()
    counts = [int(word) for word in options.clients.split(",")]
    with tempfile.TemporaryDirectory(prefix="switchyard-peer-") as directory:
        found = measure(counts, options.seconds, options.rounds, Path(directory) / "data", ahead=options.ahead)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
