"""Searches on a running installation: how soon a cancelled one ends, how many simulations a second, what a small one takes.

python -m bench.searches            starts an installation of its own
python -m bench.searches --keep-going DIR   uses the data dir of one that runs (its policy `large` is published)
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.installation import Installation

LARGE = {
    "name": "large",
    "mcts": {"deadline_ms": 600_000, "limits": {"max_simulations": 5_000_000, "depth_limit": 8}},
}


def graph(branches: int = 4, depth: int = 4) -> dict[str, Any]:
    """A graph with cycles, in which every state has so many tools."""
    tools = [{"name": f"tool-{number}"} for number in range(branches)]
    states = [{"id": f"s{number}", "goal": "the end", "value": number / 64, "tools": tools} for number in range(64)]
    edges = [
        {
            "from_state": f"s{number}",
            "tool": f"tool-{place}",
            "to_state": f"s{(number * branches + place + 1) % 64}",
            "reward": ((number * 7 + place * 13) % 29) / 29 - 0.5,
        }
        for number in range(64)
        for place in range(branches)
    ]
    return {"root_state": "s0", "states": states, "transitions": edges, "max_depth": depth, "use_prior": False}


class Server:
    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def publish_large(self) -> None:
        document = self.call("GET", "/registry")["document"]
        others = [one for one in document.get("policies", []) if one["name"] != "large"]
        scopes = [one for one in document.get("scopes", []) if one["name"] != "default"]
        own = next((one for one in document.get("scopes", []) if one["name"] == "default"), {"name": "default"})
        own = own | {"policies": sorted({*own.get("policies", []), "default", "large"})}
        proposed = self.call(
            "PUT", "/registry", {"document": document | {"policies": [*others, LARGE], "scopes": [*scopes, own]}}
        )
        self.call("POST", f"/revisions/{proposed['revision']}/publish", {"message": "A policy for long searches"})


def cancel(server: Server) -> tuple[float, float]:
    """Milliseconds from the wish to the end, and simulations a second of the worker's processor until then."""
    asked = {**graph(), "method": "puct", "simulations": 5_000_000, "policy": "large", "wait_ms": 0}
    id_ = server.call("POST", "/searches", asked)["id"]
    while not server.call("GET", f"/searches/{id_}")["progress"]["simulations"]:
        time.sleep(0.05)
    began = time.monotonic()
    server.call("POST", f"/searches/{id_}/cancel", {})
    while (found := server.call("GET", f"/searches/{id_}"))["state"] == "running":
        time.sleep(0.005)
    assert found["state"] == "cancelled", found
    return (time.monotonic() - began) * 1000, found["cost"]["simulations"] / found["cost"]["cpu_ms"] * 1000


def small(server: Server, **more: Any) -> float:
    began = time.monotonic()
    found = server.call("POST", "/searches", {**graph(), "wait_ms": 30_000, **more})
    assert found["state"] == "finished", found
    return (time.monotonic() - began) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep-going", metavar="DIR", type=Path)
    parser.add_argument("--times", type=int, default=10)
    asked = parser.parse_args()
    if asked.keep_going:
        first = json.loads((asked.keep_going / "first-run.json").read_text())
        measure(Server(first["url"], first["harness_key"]), asked.times)
        return
    with tempfile.TemporaryDirectory() as place, Installation.started(Path(place), "--empty") as running:
        measure(Server(running.url, running.key), asked.times)


def measure(server: Server, times: int) -> None:
    server.publish_large()
    small(server)
    ends, speeds = zip(*(cancel(server) for _ in range(times)), strict=True)
    print(f"cancel of 5,000,000 simulations: median {statistics.median(ends):.0f} ms, worst {max(ends):.0f} ms")
    print(f"simulations a second of processor time: median {statistics.median(speeds):,.0f}")
    for name, more in (
        ("exact", {}),
        ("puct, 64", {"method": "puct"}),
        ("puct, 4096", {"method": "puct", "simulations": 4096}),
    ):
        taken = sorted(small(server, **more) for _ in range(times * 3))
        print(f"{name}: median {statistics.median(taken):.1f} ms, 95 % {taken[int(len(taken) * 0.95)]:.1f} ms")


if __name__ == "__main__":
    main()
