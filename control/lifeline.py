"""Nothing that `up` starts outlives it, not even after `kill -9`: the kernel is told to end a process with its parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

# Set by the supervisor for its children; absent when a service is started by hand or by a container.
SUPERVISED = "SWITCHYARD_SUPERVISOR"
_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Ask for SIGKILL when the parent ends. SIGKILL, because a process that only waits for its own work would stay behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    else:
        threading.Thread(target=_watch, args=(parent,), name="lifeline", daemon=True).start()
    if os.getppid() != parent:  # it ended before the kernel was told
        os._exit(1)


def hold_children() -> None:
    """Tie every process that this one forks (a worker's pool) to it, when it runs under `up`."""
    if SUPERVISED in os.environ:
        mother = os.getpid()
        os.register_at_fork(after_in_child=lambda: die_with(mother) if os.getppid() == mother else None)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
