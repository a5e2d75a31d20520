"""What a name leads to right now, asked within a bound: for whoever saves an address and waits for the answer.

A lookup has no patience of its own that can be set, so it runs in a thread that nobody has to wait for. What was just
found is remembered for a moment: saving asks, and what is said about the saved asks again.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from routing.providers.addresses import Address, read_addresses

PATIENCE_S = 1.0
REMEMBERED_S = 10.0
REMEMBERED = 64
AT_ONCE = 8  # lookups that hang; while there are so many, names count as not found

_places = threading.BoundedSemaphore(AT_ONCE)
_known: OrderedDict[tuple[str, int], tuple[float, list[Address]]] = OrderedDict()
_lock = threading.Lock()


def system_lookup(host: str, port: int) -> list[str]:
    """The system's answer, however long it takes. Raises OSError and UnicodeError."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


lookup: Callable[[str, int], list[str]] = system_lookup  # tests put another in its place


def addresses_of(host: str, port: int, *, patience_s: float = PATIENCE_S) -> list[Address]:
    """The addresses of a name; none when it has none or nobody answers in time."""
    with _lock:
        known = _known.get((host, port))
    if known is not None and time.monotonic() < known[0]:
        return known[1]
    found = _asked(host, port, patience_s)
    with _lock:
        _known[host, port] = (time.monotonic() + REMEMBERED_S, found)
        while len(_known) > REMEMBERED:
            _known.popitem(last=False)
    return found


def forget() -> None:
    with _lock:
        _known.clear()


def _asked(host: str, port: int, patience_s: float) -> list[Address]:
    if not _places.acquire(blocking=False):
        return []
    answers: queue.SimpleQueue[list[Address]] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(read_addresses(lookup(host, port)))
        except (OSError, UnicodeError, ValueError):
            answers.put([])
        finally:
            _places.release()

    threading.Thread(target=ask, name="name-lookup", daemon=True).start()
    try:
        return answers.get(timeout=patience_s)
    except queue.Empty:
        return []
