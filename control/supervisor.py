"""Keeps the processes of one installation alive as a tree, and takes the whole tree down with it."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from control import lifeline
from control.processes import Process

GRACE_S = 6.0  # for everything but the bus; the promise is ten seconds for all
BUS_GRACE_S = 2.5
STEADY_S = 30.0  # a child that lived this long starts anew without delay
LONGEST_PAUSE_S = 30.0
DEATHS_BEFORE_READY = 4
LOG_LIMIT = 8 * 1024 * 1024
LOG_GENERATIONS = 3
_PROBLEM = re.compile(r"\b(ERROR|CRITICAL)\b")

Say = Callable[[str], None]


class Stopped(Exception):
    """Somebody asked to stop while the tree was still being put up."""


class CannotStart(Exception):
    """A process ends by itself again and again before everything was ready."""


@dataclass(slots=True, kw_only=True)
class Child:
    """A process that is meant to run, and what is known about its present incarnation."""

    process: Process
    log: Path
    popen: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    born: int = 0  # size of the log when it started
    read: int = 0  # how far the log was looked through for problems
    deaths: int = 0  # one after the other
    start_at: float = 0.0

    @property
    def name(self) -> str:
        return self.process.name


@dataclass(slots=True, kw_only=True)
class Supervisor:
    """Starts children, starts them again when they die, stops all of them. Single-threaded on purpose: it forks."""

    logs: Path
    directory: Path
    say: Say
    children: list[Child] = field(default_factory=list)
    signals: int = 0
    ready: bool = False
    _wake: tuple[int, int] = field(default_factory=os.pipe)

    # --- signals ----------------------------------------------------------------------------------------------------
    def listen(self) -> None:
        """From here on SIGTERM, SIGINT and SIGHUP ask for a stop; the second one ends everything at once."""
        os.set_blocking(self._wake[1], False)
        signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # nohup and a shell's background jobs ignore a signal on purpose.
            if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._asked_to_stop)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def _asked_to_stop(self, number: int, frame: FrameType | None) -> None:
        self.signals += 1
        if self.signals > 1:
            self.kill()
            os._exit(130 if number == signal.SIGINT else 143)

    def check(self) -> None:
        """Give way to a request to stop; called between the steps of putting up the tree."""
        if self.signals:
            raise Stopped

    def _pause(self, seconds: float) -> None:
        woken, _, _ = select.select([self._wake[0]], [], [], max(0.0, seconds))
        if woken:
            os.read(self._wake[0], 4096)

    # --- starting ---------------------------------------------------------------------------------------------------
    def start(self, processes: Sequence[Process]) -> None:
        for process in processes:
            child = Child(process=process, log=self.logs / f"{process.name}.log")
            self.children.append(child)
            self._spawn(child)

    def _spawn(self, child: Child) -> None:
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        parent = os.getpid()
        with child.log.open("ab") as log:
            child.born = child.read = log.tell()
            child.popen = subprocess.Popen(
                child.process.command,
                cwd=self.directory,
                env={**os.environ, "PYTHONUNBUFFERED": "1", lifeline.SUPERVISED: str(parent)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a session and a process group of its own: Ctrl-C reaches the supervisor alone
                pass_fds=child.process.inherits,
                preexec_fn=(lambda: lifeline.die_with(parent)) if sys.platform == "linux" else None,
            )
        child.started_at = time.monotonic()
        child.start_at = 0.0

    # --- watching ---------------------------------------------------------------------------------------------------
    def wait_until(self, is_ready: Callable[[], bool], *, patience_s: float, waiting_for: Callable[[], str]) -> None:
        """Look after the children until everything answers; says what it waits for when that takes long."""
        deadline = time.monotonic() + patience_s
        while not is_ready():
            self.check()
            self._tend()
            if time.monotonic() > deadline:
                self.say(f"still waiting for: {waiting_for()}")
                deadline = time.monotonic() + patience_s
            self._pause(0.15)
        self.ready = True

    def run(self) -> None:
        """Look after the children until somebody asks to stop."""
        while not self.signals:
            self._tend()
            self._pause(0.5)

    def _tend(self) -> None:
        for child in self.children:
            self._show_problems(child)
            if child.popen is None:
                if time.monotonic() >= child.start_at:
                    self._spawn(child)
            elif child.popen.poll() is not None:
                self._bury(child)
            else:
                self._rotate(child)

    def _bury(self, child: Child) -> None:
        assert child.popen is not None
        status = child.popen.returncode
        # What the dead one started (a pool) goes too: a half-dead worker would swallow the messages of its successor.
        _kill_group(child.popen)
        child.popen = None
        child.deaths = 1 if time.monotonic() - child.started_at > STEADY_S else child.deaths + 1
        pause = 0.0 if child.deaths == 1 else min(LONGEST_PAUSE_S, 0.5 * 2 ** (child.deaths - 2))
        child.start_at = time.monotonic() + pause
        again = f"starting it again in {pause:g} s" if pause else "starting it again"
        self.say(f"{child.name} ended ({_describe(status)}); {again}. Its last lines in {child.log}:")
        for line in last_lines(child.log, child.born, 8):
            self.say(f"  {child.name} | {line}")
        if not self.ready and child.deaths >= DEATHS_BEFORE_READY:
            raise CannotStart(f"{child.name} ends by itself; what it said is above and in {child.log}")

    def _show_problems(self, child: Child) -> None:
        with contextlib.suppress(FileNotFoundError), child.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            if size <= child.read:
                child.read = size
                return
            log.seek(child.read)
            lines = log.read(256 * 1024).split(b"\n")
            child.read = size
        problems = [line for line in (line.decode(errors="replace") for line in lines) if _PROBLEM.search(line)]
        for line in problems[:5]:
            self.say(f"  {child.name} | {line[:400]}")
        if len(problems) > 5:
            self.say(f"  {child.name} | and {len(problems) - 5} more, in {child.log}")

    def _rotate(self, child: Child) -> None:
        if child.log.stat().st_size < LOG_LIMIT:
            return
        generations = [child.log.with_suffix(f".log.{number}") for number in range(1, LOG_GENERATIONS + 1)]
        for older, newer in zip(reversed(generations), [*reversed(generations[:-1]), None], strict=True):
            if newer is not None and newer.exists():
                newer.replace(older)
        # The child keeps its file open (for appending), so the content moves and the file stays.
        with child.log.open("rb") as log, generations[0].open("wb") as copy:
            _copy(log, copy)
        os.truncate(child.log, 0)
        child.born = child.read = 0

    # --- stopping ---------------------------------------------------------------------------------------------------
    def stop(self) -> None:
        """Everything ends in good order: first those who use the bus, then the bus itself."""
        for child in self.children:
            self._show_problems(child)
        self._end([child for child in self.children if child.name != "bus"], GRACE_S)
        self._end([child for child in self.children if child.name == "bus"], BUS_GRACE_S)

    def _end(self, children: list[Child], grace_s: float) -> None:
        running = [child.popen for child in children if child.popen is not None]
        for popen in running:
            # Only the leader is told: a pool's processes are the leader's to stop. One that sleeps is woken to hear it.
            for number in (signal.SIGTERM, signal.SIGCONT):
                with contextlib.suppress(ProcessLookupError):
                    popen.send_signal(number)
        deadline = time.monotonic() + grace_s
        while any(popen.poll() is None for popen in running) and time.monotonic() < deadline:
            self._pause(0.1)
        for popen in running:
            _kill_group(popen)
        for child in children:
            child.popen = None

    def kill(self) -> None:
        """Everything ends now."""
        for child in self.children:
            if child.popen is not None:
                _kill_group(child.popen)


def _kill_group(popen: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen.wait(timeout=2)


def _describe(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-status).name}"
    return f"killed by signal {-status}"


def last_lines(log: Path, start: int, count: int) -> list[str]:
    """The last lines that were written after `start`."""
    with contextlib.suppress(FileNotFoundError), log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(min(start, size), size - 16 * 1024))
        return [line[:400] for line in file.read().decode(errors="replace").splitlines()[-count:]]
    return []


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    while block := source.read(1024 * 1024):
        target.write(block)
