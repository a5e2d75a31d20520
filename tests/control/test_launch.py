"""The first start, as far as it can be shown without a network: when it installs, and what it writes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from control import launch


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small project with an (empty) virtual environment, in place of this one."""
    project = tmp_path / "a checkout"
    project.mkdir()
    (project / "sample.py").write_text("def main():\n    print('it runs')\n    return 3\n")
    (project / "pyproject.toml").write_text(
        '[project]\nname = "sample"\nversion = "1.2"\ndescription = "A sample."\n[project.scripts]\nsample-run = "sample:main"\n'
    )
    (project / launch.RUNTIME).write_text("pytest==0.0.1 \\\n    --hash=sha256:00\n")
    (project / launch.DEVELOPMENT).write_text("")
    monkeypatch.setattr(launch, "CHECKOUT", project)
    monkeypatch.setattr(launch, "VENV", project / ".venv")
    monkeypatch.setattr(launch, "PYTHON", project / ".venv" / "bin" / "python")
    monkeypatch.setattr(launch, "STAMP", project / ".venv" / "switchyard.json")
    monkeypatch.setattr(launch, "UNFINISHED", project / ".venv" / "switchyard.unfinished")
    yield project


@pytest.fixture
def installed(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands for the installer: remembers what it was asked for."""
    asked: list[str] = []
    monkeypatch.setattr(launch, "_install", asked.append)
    monkeypatch.setattr(launch, "_make_venv", lambda: venv.create(launch.VENV, clear=True, with_pip=False))
    return asked


def test_the_tests_need_the_tools_of_development_and_nothing_else_does() -> None:
    assert launch.lock_for(["manage.py", "test", "-k", "x"]) == launch.DEVELOPMENT
    assert launch.lock_for(["manage.py", "--data-dir=x", "up"]) == launch.RUNTIME
    assert launch.lock_for(["manage.py"]) == launch.RUNTIME


def test_a_first_start_installs_once(checkout: Path, installed: list[str]) -> None:
    first, second = launch.prepare(launch.RUNTIME), launch.prepare(launch.RUNTIME)

    assert (first, second) == (True, False)
    assert installed == [launch.RUNTIME]
    assert json.loads(launch.STAMP.read_text())[launch.RUNTIME] == launch.digest(launch.RUNTIME)


def test_a_changed_lock_is_installed_and_a_changed_project_only_written_anew(
    checkout: Path, installed: list[str]
) -> None:
    launch.prepare(launch.RUNTIME)
    (checkout / "pyproject.toml").write_text((checkout / "pyproject.toml").read_text() + "# more\n")
    assert launch.prepare(launch.RUNTIME)
    assert installed == [launch.RUNTIME]
    (checkout / launch.RUNTIME).write_text("pytest==0.0.2 \\\n    --hash=sha256:00\n")

    assert launch.prepare(launch.RUNTIME)
    assert installed == [launch.RUNTIME] * 2


def test_an_interrupted_installation_begins_anew(checkout: Path, installed: list[str]) -> None:
    launch.prepare(launch.RUNTIME)
    launch.STAMP.unlink()
    launch.UNFINISHED.touch()
    half = launch.VENV / "half-a-package"
    half.touch()
    launch.prepare(launch.RUNTIME)

    assert not half.exists()
    assert not launch.UNFINISHED.exists()
    assert launch.is_stamped(launch.RUNTIME)


def test_two_starts_at_once_install_once(checkout: Path, installed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_install", lambda lock: (time.sleep(0.3), installed.append(lock)))
    starts = [threading.Thread(target=launch.prepare, args=(launch.RUNTIME,)) for _ in range(3)]
    for start in starts:
        start.start()
    for start in starts:
        start.join()

    assert installed == [launch.RUNTIME]


def test_another_python_beneath_the_environment_counts_as_not_installed(checkout: Path, installed: list[str]) -> None:
    launch.prepare(launch.RUNTIME)
    launch.PYTHON.unlink()

    assert not launch.is_stamped(launch.RUNTIME)
    assert launch.prepare(launch.RUNTIME)
    assert launch.is_stamped(launch.RUNTIME)


def test_the_console_scripts_run_from_everywhere_also_from_a_path_with_blanks(
    checkout: Path, installed: list[str], tmp_path: Path
) -> None:
    launch.prepare(launch.RUNTIME)
    link = tmp_path / "linked"
    link.symlink_to(launch.PYTHON.parent / "sample-run")
    for script in (launch.PYTHON.parent / "sample-run", link):
        done = subprocess.run([script], cwd="/", capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (3, "it runs\n"), done.stderr


def test_the_checkout_is_listed_as_installed_at_its_version(checkout: Path, installed: list[str]) -> None:
    launch.prepare(launch.RUNTIME)
    program = "import importlib.metadata as m; d = m.distribution('sample'); print(d.version, [e.name for e in d.entry_points])"
    done = subprocess.run([launch.PYTHON, "-c", program], cwd="/", capture_output=True, text=True, check=True)

    assert done.stdout == "1.2 ['sample-run']\n"


def test_what_differs_from_a_lock_is_named(checkout: Path) -> None:
    [difference] = launch.differences(launch.RUNTIME)

    assert difference.startswith("pytest is ")
    assert difference.endswith(", not 0.0.1")


def test_a_machine_without_an_installer_is_told_what_to_get(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_base_executable", "/bin/false")

    with pytest.raises(launch.CannotInstall, match="apt install python3-venv"):
        launch.prepare(launch.RUNTIME)


def test_an_index_out_of_reach_is_named_with_the_last_lines(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_uv", lambda: None)
    monkeypatch.setattr(
        launch, "_run", lambda command, environment: None if "--version" in command else "no route to host"
    )

    with pytest.raises(launch.CannotInstall, match="no route to host"):
        launch._install(launch.RUNTIME)
