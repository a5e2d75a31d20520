"""The supervisor with small processes of its own: restarts, logs, and ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from control import supervisor as module
from control.processes import Process
from control.supervisor import CannotStart, Supervisor
from tests.installation import eventually

pytestmark = pytest.mark.embedded

GRANDCHILD = "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print(p.pid)"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def tree(tmp_path: Path, said: list[str]) -> Iterator[Supervisor]:
    supervisor = Supervisor(logs=tmp_path / "logs", directory=tmp_path, say=said.append)
    yield supervisor
    supervisor.kill()


def python(name: str, program: str) -> Process:
    return Process(name=name, command=(sys.executable, "-c", program))


def tend(tree: Supervisor, times: int = 1) -> None:
    for _ in range(times):
        tree._tend()
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][:3] if Path("/proc").exists() else True


def test_one_that_dies_is_started_again_and_its_last_lines_are_shown(tree: Supervisor, said: list[str]) -> None:
    tree.start([python("short", "print('the reason'); raise SystemExit(3)")])
    [child] = tree.children
    assert child.popen is not None
    child.popen.wait()
    tend(tree, 2)

    assert child.popen is not None
    assert said[0].startswith("short ended (status 3); starting it again.")
    assert "  short | the reason" in said


def test_one_that_dies_again_and_again_waits_longer_each_time(tree: Supervisor, said: list[str]) -> None:
    tree.ready = True
    tree.start([python("short", "pass")])
    [child] = tree.children
    pauses = []
    for _ in range(4):
        eventually(lambda: child.popen is not None and child.popen.poll() is not None)
        tree._tend()
        pauses.append(child.start_at - time.monotonic())
        child.start_at = 0.0
        tree._tend()

    assert [round(max(0.0, pause), 1) for pause in pauses] == [0.0, 0.5, 1.0, 2.0]


def test_one_that_never_lives_ends_the_start_with_its_log_named(tree: Supervisor) -> None:
    tree.start([python("broken", "raise SystemExit('no such setting')")])

    with pytest.raises(CannotStart, match=r"broken ends by itself.*broken\.log"):
        tree.wait_until(lambda: False, patience_s=60, waiting_for=lambda: "it")


def test_what_a_dead_one_had_started_goes_with_it(tree: Supervisor) -> None:
    tree.start([python("mother", f"{GRANDCHILD}; sys.stdout.flush(); time.sleep(60)")])
    [child] = tree.children
    text = eventually(lambda: child.log.read_text().strip())
    assert child.popen is not None
    os.kill(child.popen.pid, signal.SIGKILL)
    child.popen.wait()
    tend(tree)

    eventually(lambda: not alive(int(text.split()[0])), 5)


def test_stopping_kills_what_does_not_listen_after_its_grace(tree: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.5)
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
    )
    tree.start([python("deaf", deaf), python("polite", "import time; print('ready', flush=True); time.sleep(60)")])
    pids = [child.popen.pid for child in tree.children if child.popen]
    eventually(lambda: all(child.log.read_text() for child in tree.children))
    began = time.monotonic()
    tree.stop()

    assert time.monotonic() - began < 3
    assert not any(alive(pid) for pid in pids)


def test_the_bus_is_stopped_after_those_who_use_it(tree: Supervisor, tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\n"
        "def end(*_):\n"
        "    open('order', 'a').write(sys.argv[1] + '\\n'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end); print('ready', flush=True); time.sleep(60)"
    )
    tree.start([Process(name=name, command=(sys.executable, "-c", program, name)) for name in ("bus", "web")])
    eventually(lambda: all(child.log.read_text() for child in tree.children))
    tree.stop()

    assert (tmp_path / "order").read_text().split() == ["web", "bus"]


def test_errors_in_a_log_are_shown_and_other_lines_are_not(tree: Supervisor, said: list[str]) -> None:
    tree.start(
        [python("talker", "import time; print('INFO fine\\n2026 ERROR something broke', flush=True); time.sleep(60)")]
    )
    [child] = tree.children
    eventually(lambda: "broke" in child.log.read_text())
    tend(tree, 2)

    assert said == ["  talker | 2026 ERROR something broke"]


def test_a_log_that_grows_large_is_put_aside_and_the_writer_goes_on(
    tree: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOG_LIMIT", 1000)
    tree.start([python("talker", "import time\nwhile True: print('x' * 100, flush=True); time.sleep(0.005)")])
    [child] = tree.children
    for _ in range(4):
        eventually(lambda: child.log.stat().st_size > 1000)
        tree._tend()
    eventually(lambda: child.log.stat().st_size > 0)

    kept = sorted(path.name for path in child.log.parent.iterdir())
    assert kept == ["talker.log", "talker.log.1", "talker.log.2", "talker.log.3"]
    assert child.log.with_suffix(".log.1").stat().st_size > 1000
    assert b"\0" not in child.log.read_bytes()
