"""The event loop of this process's calls to providers: one, in a thread of its own, since a connection belongs to a loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop] | None = None


def run(work: Coroutine[Any, Any, T]) -> T:
    """Wait, in this thread, for what the loop makes of it; raises what it raises."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


def _loop() -> asyncio.AbstractEventLoop:
    """The loop, begun when it is first needed: after a fork the child needs one of its own."""
    global _running
    with _lock:
        if _running is None or _running[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="providers", daemon=True).start()
            _running = (os.getpid(), loop)
        return _running[1]


def later(delay_s: float, work: Coroutine[Any, Any, Any]) -> None:
    """Have the loop do something after a while; nobody waits for it."""

    async def after() -> None:
        await asyncio.sleep(delay_s)
        await work

    asyncio.run_coroutine_threadsafe(after(), _loop())
