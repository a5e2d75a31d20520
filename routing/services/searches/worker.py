"""The search itself, in a thread of its own: the worker's thread looks after it meanwhile and alone speaks to the database."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from routing.engine import MCTSResult, MCTSToolRouter, SearchProgress
from routing.engine.search.telling import pack_node
from routing.services.searches.telling import MOST_NODES

LOOK_EVERY_S = 0.05  # a wish to cancel is seen within this
TELL_EVERY_MS = 400
SHOWN_NODES = 300  # of a tree that still grows


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A search that is under way."""

    simulations: int
    elapsed_ms: float
    tree: list[list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    result: MCTSResult
    elapsed_ms: float
    cpu_ms: float


@dataclass(slots=True)
class Worker:
    """`look` is called about every LOOK_EVERY_S with what is new since the last time, or None; false ends the search."""

    router: MCTSToolRouter
    look: Callable[[Standing | None], bool]
    _stop: threading.Event = field(default_factory=threading.Event)
    _standing: Standing | None = None

    def run(self, root: Any) -> Found:
        with ThreadPoolExecutor(1, thread_name_prefix="search") as pool:
            future = pool.submit(self._search, root)
            try:
                while not _is_done(future):
                    standing, self._standing = self._standing, None
                    if not self.look(standing):
                        self._stop.set()
            finally:
                self._stop.set()
            return future.result()

    def _search(self, root: Any) -> Found:
        began, cpu = time.monotonic(), time.thread_time()
        searching = self.router.search(
            root,
            cancel=self._stop.is_set,
            progress=self._note,
            progress_every_ms=TELL_EVERY_MS,
            tree_nodes=MOST_NODES,
        )
        result = asyncio.run(searching)
        elapsed_ms, cpu_ms = (time.monotonic() - began) * 1000, (time.thread_time() - cpu) * 1000
        return Found(result=result, elapsed_ms=round(elapsed_ms, 3), cpu_ms=round(cpu_ms, 3))

    def _note(self, progress: SearchProgress) -> None:
        tree = [pack_node(node) for node in progress.tree(SHOWN_NODES)]
        self._standing = Standing(simulations=progress.simulations, elapsed_ms=round(progress.elapsed_ms, 3), tree=tree)


def _is_done(future: Future[Found]) -> bool:
    try:
        future.exception(timeout=LOOK_EVERY_S)
    except TimeoutError:
        return future.done()
    return True
