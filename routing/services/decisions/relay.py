"""Quick decisions on their way to a worker: a list of ids on the bus, which one thread of a worker reads for as long as it pays.

A message of the task queue takes more processor time than a quick decision does, where it is sent and again where it is
received. So ids are put into a list, and a worker is called only when nobody reads that list, or when too many wait in it.
Whoever reads it is on shift: it takes what waits, a few at a time, and lingers for a moment for what may come. Ids that
are lost on the way, and those of a list that nobody was called for, are found by the sweep: their rows are kept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from uuid import UUID

from routing import bus

LINGERS_S = 1.0  # after the last decision
CROWD = 32  # ids that wait beside a shift before another worker is called
_LIST = "switchyard:relay"
_ON_SHIFT = "switchyard:relay:shift"
_CALLED = "switchyard:relay:called"
_SHORTEST_WAIT_S = 0.01  # an older bus takes less than a millisecond for no end
_LOOK_S = 0.25  # how long a shift may take to notice that its process is to stop
_SHIFT_LASTS_MS = 1500  # after a shift's last sign of life it is taken to be over
_CALL_LASTS_MS = 200  # and after a call without effect the next one is made

_shift = threading.Lock()  # one shift is enough for a process: what is quick computes, and computes one thing at a time
_stopping = threading.Event()


def put(ids: Sequence[str]) -> bool:
    """Hand ids over; whether a worker must be called now. Raises BusAway."""
    pipe = bus.client().pipeline(transaction=False)
    pipe.rpush(_LIST, *ids)
    pipe.exists(_ON_SHIFT)
    waiting, on_shift = bus.ask(pipe.execute)
    if on_shift and waiting <= CROWD:
        return False
    return bool(bus.ask(bus.client().set, _CALLED, 1, nx=True, px=_CALL_LASTS_MS))


def is_waiting() -> bool:
    """Whether ids wait to be read. Raises BusAway."""
    return bool(bus.ask(bus.client().llen, _LIST))


def read(decide: Callable[..., None], most: int) -> None:
    """Be on shift until nothing came for a while: `decide` gets up to `most` ids at a time. Returns at once where this
    process is on shift already. Raises BusAway and what `decide` raises; what still waits then is read by the next shift."""
    while _shift.acquire(blocking=False):
        try:
            _read_until_quiet(decide, most)
        finally:
            _shift.release()
            bus.ask(bus.client().delete, _ON_SHIFT, _CALLED)
        # Whoever put an id before that did not call a worker, or called one that found this shift.
        if _stopping.is_set() or not is_waiting():
            return


def stop() -> None:
    """End this process's shift, and begin no other."""
    _stopping.set()


def _read_until_quiet(decide: Callable[..., None], most: int) -> None:
    quiet_at = time.monotonic() + LINGERS_S
    while not _stopping.is_set():
        left = quiet_at - time.monotonic()
        if ids := _take(most, min(left, _LOOK_S)):
            decide(*(UUID(one.decode()) for one in ids))
            quiet_at = time.monotonic() + LINGERS_S
        elif left <= 0:
            return


def _take(most: int, wait_s: float) -> list[bytes]:
    pipe = bus.client().pipeline(transaction=False)
    pipe.set(_ON_SHIFT, 1, px=_SHIFT_LASTS_MS)
    pipe.lpop(_LIST, most)
    found = bus.ask(pipe.execute)[1]
    if found or wait_s <= 0:
        return list(found or ())
    first = bus.wait_for_first(_LIST, max(wait_s, _SHORTEST_WAIT_S))
    return [] if first is None else [first]
