"""Death at a given step, for tests: a process that has this folder on its path dies where a file says so.

FAULTS names a folder. A file in it is called `step@part` after a step of STEPS and a kind of process; whichever of them comes to
that step first takes the file away and kills what it names: process ids, or itself when it is empty.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# Each step is before or after a call: (module, function, whether before).
STEPS = {
    "kept": ("routing.services.decisions.queue", "enqueue", True),  # the row is committed, nobody was told
    "sent": ("routing.services.decisions.queue", "enqueue", False),
    "received": ("routing.services.decisions.running", "run", True),
    "claimed": ("routing.services.decisions.running", "claim_all", False),
    "decided": ("routing.services.decisions.running", "finish_all", True),
    "finished": ("routing.services.decisions.running", "announce_final", True),
    "told": ("routing.services.decisions.running", "announce_final", False),
    "gathered": ("routing.services.ledger.write", "_append", True),  # within the writer's transaction
    "appended": ("routing.services.ledger.write", "_append", False),
    "written": ("routing.services.ledger.write", "_announce", True),
}


def part() -> str:
    """What this process does: its queue, or `web`."""
    return "web" if "uvicorn" in sys.argv[0] else sys.argv[sys.argv.index("-Q") + 1] if "-Q" in sys.argv else "other"


def strike(step: str) -> None:
    """Die, or kill what is to die, if that was asked for at this step."""
    armed = Path(os.environ["FAULTS"], f"{step}@{part()}")
    try:
        victims = armed.read_text()
        armed.unlink()  # one process alone takes it away
    except FileNotFoundError:
        return
    for pid in map(int, victims.split() or [os.getpid()]):
        os.kill(pid, signal.SIGKILL)


def guarded(call: Callable[..., Any], before: Sequence[str], after: Sequence[str]) -> Callable[..., Any]:
    @functools.wraps(call)
    def inner(*args: Any, **kwargs: Any) -> Any:
        for step in before:
            strike(step)
        result = call(*args, **kwargs)
        for step in after:
            strike(step)
        return result

    return inner


class Guarding(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the modules of STEPS as usual, then puts the steps around their functions."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name not in {module for module, _, _ in STEPS.values()}:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None and spec.loader is not None
        self.loaders = getattr(self, "loaders", {}) | {name: spec.loader}
        spec.loader = self
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.loaders[module.__name__].exec_module(module)
        for function in {function for where, function, _ in STEPS.values() if where == module.__name__}:
            found = [
                (step, first)
                for step, (where, name, first) in STEPS.items()
                if (where, name) == (module.__name__, function)
            ]
            before, after = [step for step, first in found if first], [step for step, first in found if not first]
            setattr(module, function, guarded(getattr(module, function), before, after))


if "FAULTS" in os.environ:
    sys.meta_path.insert(0, Guarding())
